"""Agents on tools by the chat prompt format, with a scripted model and real requests, readers and ledgers."""

import functools
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, kind_of
from tape.errors import ConfigError
from tape.lm.base import Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, ToolFailedError, tool
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.results import LONGEST_TEXT
from tape.tools.state import ToolState
from tape.trace import ReplannedEvent, TraceWriter
from tests.tape.tools.helpers import TOOLS, Filled, computing, follow, program, prompt, script

PLAN: list[tuple[str, dict[str, Any]]] = [
    ("multiply.exact", {"a": 3, "b": 4}),
    ("multiply.exact", {"a": "#1", "b": 7}),
    ("add", {"a": "#2", "b": 5}),
]
QUICK = [(name.replace("exact", "quick"), arguments) for name, arguments in PLAN]
AGENTS: list[type[Agent]] = [TapeAgent, ReactAgent, PlanAndActAgent, PlanAndActReplanAgent, BestOfNReactAgent]
PRICE = TokenPrice(Decimal("1e-6"), Decimal("4e-6"))


@pytest.mark.parametrize("agent", AGENTS)
def test_agents_do_the_task_within_the_budget(agent: type[Agent]) -> None:
    lm = ScriptedLM(script(PLAN, act=follow(PLAN)), obey=True)
    result = agent(lm, horizon=10).run(computing(usd="0.041", seconds=3, steps=4))
    assert (result.end_state, result.budget_violations) == ("success", [])
    assert (result.used["usd"], result.steps, result.malformed) == (41_000, 4, 0)


@pytest.mark.parametrize(
    ("agent", "kind"),
    [*((TapeAgent, kind) for kind in ("tokens", "usd", "calls")), *((agent, "tokens") for agent in AGENTS[1:])],
)
def test_caps_on_model_calls_are_kept_wherever_they_lie(agent: type[Agent], kind: str) -> None:
    ends = set()
    full = {"tokens": 25_000, "usd": 0.11, "calls": 14}[kind]
    for share in (1, 4, 10):
        lm = ScriptedLM(script(PLAN, act=follow(PLAN)), price=PRICE)
        count = kind_of(kind).count(full) * share * share // 100
        result = agent(lm, horizon=10).run(computing(), budget=Budget({kind: count}))
        assert result.used.get(kind, 0) <= count
        assert result.budget_violations == []
        assert result.end_state in {"success", "infeasible", f"budget:{kind}", "failure"}
        ends.add(result.end_state)
    assert "success" in ends
    assert ends & {"infeasible", f"budget:{kind}"}


def test_the_solver_takes_what_the_budget_pays_and_begins_no_plan_that_it_cannot() -> None:
    for usd, best in (("0.041", "exact exact"), ("0.040", "exact quick"), ("0.021", "quick quick")):
        lm = ScriptedLM(script(QUICK))
        result = TapeAgent(lm, execution="forced").run(computing(usd=usd))
        chosen = [action.split("(")[0].removeprefix("multiply.") for action in result.actions[:2]]
        assert sorted(chosen) == best.split()
    result = TapeAgent(ScriptedLM(script(PLAN)), on_infeasible="stop", ablations={"score": "ends", "extend": 0}).run(
        computing(usd="0.0029")
    )
    assert (result.end_state, result.steps, result.used.get("usd", 0)) == ("infeasible", 0, 0)


def test_after_a_failed_call_it_plans_again_and_is_shown_the_failure() -> None:
    plans = ([("divide", {"a": 1, "b": 0}), ("add", {"a": "#1", "b": 1})], PLAN)
    seen: list[str] = []
    reply = script(*plans)

    def model(request: Request, sample: int) -> str:
        if request.role == "plan" and sample == 0:
            seen.append(prompt(request))
        return reply(request, sample)

    trace = TraceWriter("x")
    result = TapeAgent(ScriptedLM(model)).run(computing(usd="0.05"), trace=trace)
    assert (result.end_state, result.replans, len(result.failed_calls)) == ("success", 1, 1)
    assert result.actions[0] == "divide(a=1, b=0)"
    assert "This line failed:\nr1 = divide(a=1, b=0)\nWhy: division by zero\nTool: def divide(" in seen[1]
    assert [event.reason for event in trace.events if isinstance(event, ReplannedEvent)] == ["mismatch"]


@pytest.mark.parametrize("agent", [TapeAgent, PlanAndActReplanAgent])
def test_what_failed_is_not_called_again_by_the_same_plan(agent: type[Agent]) -> None:
    plan = [("divide", {"a": 1, "b": 0}), ("add", {"a": "#1", "b": 1})]
    result = agent(ScriptedLM(script(plan, act=follow(plan))), horizon=20, max_replans=3).run(computing(usd="1"))
    assert result.end_state in {"infeasible", "replan_limit", "failure", "no_plan"}
    assert result.used["usd"] == 2000  # a refused call costs nothing but its step


def test_a_final_answer_is_given_at_the_limit() -> None:
    lm = ScriptedLM(script(PLAN, act=follow([PLAN[0], *PLAN])), price=PRICE)
    env = ToolEnvironment("3 * 4?", TOOLS, judge=lambda value: value == 12)
    agent = ReactAgent(lm, on_limit="final_answer", horizon=10)
    result = agent.run(env, budget=Budget.of(steps=1, usd="0.2"))
    assert (result.end_state, env.answered) == ("success", 12)
    assert result.final_answer == "answer(r1)"
    assert result.lm_calls["answer"] == 1


@pytest.mark.parametrize("final", ["#9", Filled("#2 and #8")])
@pytest.mark.parametrize(
    "settings", [{}, {"horizon": 30, "ablations": {"replan_every_step": True}}, {"on_infeasible": "stop"}]
)
def test_a_path_without_an_answer_ends_or_replans_but_never_for_ever(final: Any, settings: dict[str, Any]) -> None:
    result = TapeAgent(ScriptedLM(script(PLAN[:1], answers=[final])), **settings).run(computing())
    assert result.end_state == "no_plan"
    assert result.steps <= 1


def test_a_path_without_an_answer_is_planned_on() -> None:
    lm = ScriptedLM(script(PLAN[:1], [PLAN[1], PLAN[2]], answers=["#9", "#3"]))
    # The second plan goes on from what was obtained.
    result = TapeAgent(lm, ablations={"extend": 0, "resample": 0}, on_infeasible="partial").run(computing())
    assert (result.end_state, result.replans) == ("success", 1)


@tool(pure=True, reads=True, quality=0.5, usd="0.01", kind="search", variant="poor")
def poor(query: str) -> str:
    """Search a few documents."""
    return "Nothing of use."


@tool(pure=True, reads=True, quality=0.9, usd="0.05", kind="search", variant="good")
def good(query: str) -> str:
    """Search all documents."""
    return {"founder of Acme": "Acme was founded by Ann Ode.", "birthplace of Ann Ode": "Ann Ode: born in Rome."}[query]


def read(request: Request) -> str:
    text = prompt(request)
    for words, answer in (("founded by Ann Ode", "Ann Ode"), ("born in Rome", "Rome")):
        if words in text:
            return json.dumps({"answer": answer})
    return json.dumps({"answer": ""})


def searches(variant: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"search.{variant}", {"query": "founder of Acme"}),
        (f"search.{variant}", {"query": Filled("birthplace of #1")}),
    ]


def question(**caps: Any) -> ToolEnvironment:
    task = "Where was the founder of Acme born?"
    return ToolEnvironment(task, [poor, good], budget=Budget.of(**caps), judge=lambda value: value == "Rome")


@pytest.mark.parametrize("agent", AGENTS)
def test_results_are_read_and_what_was_read_is_used(agent: type[Agent]) -> None:
    plan = searches("good")
    lm = ScriptedLM(script(plan, act=follow(plan), project=read), obey=True)
    env = question(usd="0.1", steps=9)
    result = agent(lm).run(env)
    assert (result.end_state, env.answered) == ("success", "Rome")
    assert result.lm_calls["project"] == 2
    assert env._state.values() == ["Ann Ode", "Rome"]


@tool(pure=True, reads=True, quality=0.95, usd="0.04", kind="search", variant="boastful")
def boastful(query: str) -> str:
    """Search, it says, everything."""
    return "Nothing of use."


def test_what_is_not_found_is_searched_again_by_another_tool() -> None:
    # The plan never changes; the solver takes the tool of the highest quality, and after its failure the next one.
    env = ToolEnvironment("Who founded Acme?", [poor, boastful, good], budget=Budget.of(usd="0.09"))
    result = TapeAgent(ScriptedLM(script(searches("poor")[:1], project=read)), execution="forced").run(env)
    assert (result.end_state, env.answered, result.replans) == ("success", "Ann Ode", 0)  # and nobody is asked
    assert [action.split("(")[0] for action in result.actions] == ["search.boastful", "search.good", "answer"]
    assert result.used["usd"] == 90_000


@pytest.mark.parametrize("answer", ['{"answer": tru', '{"answer": 3}', "{}", ""])
def test_a_reading_that_cannot_be_read_is_counted_and_makes_the_call_a_failed_one(answer: str) -> None:
    lm = ScriptedLM(script(searches("good")[:1], project=lambda _: answer))
    env = ToolEnvironment("Who founded Acme?", [poor, good])
    result = TapeAgent(lm, execution="forced").run(env)
    assert (result.malformed, len(env._state.failed), result.end_state) == (2, 2, "no_plan")
    assert [action.split("(")[0] for action in result.actions] == ["search.good", "search.poor"]
    assert (env.answered, env._state.got) == (None, ())
    assert [made.variant for made in env._state.failed] == ["good", "poor"]


def test_reading_is_paid_from_the_same_budget() -> None:
    steps = {}
    for tokens in range(500, 20_000, 3000):
        agent = TapeAgent(
            ScriptedLM(script(searches("good"), project=read)),
            num_plans=1,
            on_infeasible="stop",
            ablations={"score": "ends"},
        )
        result = agent.run(question(), budget=Budget.of(tokens=tokens))
        assert result.used.get("tokens", 0) <= tokens
        steps[tokens] = result.steps
    # Two results of up to 6000 characters may have to be read: no path is begun that cannot pay for that.
    assert {count for tokens, count in steps.items() if tokens <= 2 * LONGEST_TEXT // 2} == {0}
    assert {count for tokens, count in steps.items() if tokens > 12_000} == {3}


@pytest.mark.parametrize(
    "item", ["add me(a=1, b=2)", "add(a me=1, b=2)", f"note(text={'a' * 5000!r})", "(a=1)", "power(a=x)"]
)
def test_a_plan_with_a_call_that_cannot_be_read_ends_no_run(item: str) -> None:
    plan = f"x = add(a=1, b=2)\ny = {item}\nanswer([x, y])"
    read = ProgramFormat(computing().domain).read_plan(ToolState(), plan)
    assert (read.actions, read.valid) == (("add(a=1, b=2)",), False)
    result = TapeAgent(ScriptedLM(lambda request, sample: plan), horizon=4).run(computing(usd="0.1"))
    assert result.end_state == "no_plan"


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize(
    "make", [OpenLoopAgent, functools.partial(TapeAgent, ablations={"replan": False, "score": "ends"})]
)
def test_a_plan_without_replanning_ends_at_a_failed_call_where_tools_change_things(
    make: Callable[[ScriptedLM], Agent], changes: bool
) -> None:
    written: list[str] = []

    @tool(usd="0.001", pure=True)
    def find(name: str) -> str:
        """Find a person."""
        if name == "ann":
            raise ToolFailedError("nobody is called that")
        return name

    @tool(usd="0.001", pure=not changes)
    def note(person: str) -> str:
        """Note a person."""
        written.append(person)
        return "noted"

    calls = [("find", {"name": "ann"}), ("find", {"name": "bob"}), ("note", {"person": "#1"})]
    plan = program(calls, ["#1", "#2", "#3"])
    model = ScriptedLM(lambda request, _: "right" if request.role == "score" else plan)
    result = make(model).run(ToolEnvironment("Note ann.", [find, note]))
    assert (written, "gave nothing" in result.detail) == (([], True) if changes else (["bob"], False))


def test_a_budget_that_is_none_is_refused_wherever_it_is_given() -> None:
    wrong: Any = 1
    with pytest.raises(ConfigError, match=r"Budget\.of"):
        ToolEnvironment("x", TOOLS, budget=wrong)
    env = computing()
    with pytest.raises(ConfigError, match=r"Budget\.of"):
        TapeAgent(ScriptedLM(["{}"])).run(env, budget=wrong)
    env.budget = wrong
    with pytest.raises(ConfigError, match="the environment's budget"):
        TapeAgent(ScriptedLM(["{}"])).run(env)

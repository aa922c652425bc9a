"""What agents really execute: calls that are not pure in the order and number in which they were planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tape.agents.base import Agent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.budget.prices import Cost
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import Fixed, Tool, ToolEnvironment, ToolFailedError, Uniform, tool
from tests.profiles import examples
from tests.tape.tools.helpers import Calls, fixed_action, follow, program, script

KINDS = ("a", "b", "c")
MISSING = 9
"""The number of a result that no call of a plan gives."""


@dataclass(frozen=True)
class Item:
    """A call of a plan: ``of`` is the number of the call in the plan whose result it takes, 0 for none."""

    kind: str
    variant: str
    x: int
    of: int


@dataclass
class World:
    """The tools' view of what was done, in order: a list of the pure calls made, then an impure one, and so on."""

    pure: frozenset[str]
    done: list[Any] = field(default_factory=lambda: [[]])

    def make(self, kind: str, x: int, of: str | None) -> str:
        """Do it; the result names the call, so that a later call shows which one it used."""
        if kind in self.pure:
            self.done[-1].append(f"{kind}({x}, {of}) in {len(self.done)}")
            return str(self.done[-1][-1])
        self.done += [f"{kind}({x}, {of})", []]
        return f"result of change {len(self.done)}"


@dataclass(frozen=True)
class Case:
    """An episode: tools, sampled plans, a cap and how it is played."""

    pure: frozenset[str]
    tools: tuple[tuple[str, str, int, float | None, bool, bool], ...]
    plans: tuple[tuple[Item, ...], ...]
    usd: int | None
    settings: dict[str, Any]
    wrong: frozenset[int]


@st.composite
def cases(draw: st.DrawFn, pure: st.SearchStrategy[frozenset[str]]) -> Case:
    """Few kinds and arguments, so that plans repeat and share calls; the later plans are made of the first one's."""
    names = {kind: [f"v{n}" for n in range(draw(st.integers(1, 2)))] for kind in KINDS}
    quality, fails = st.sampled_from([None, 0.5, 0.9]), st.sampled_from([False] * 5 + [True])
    settings = st.tuples(st.integers(0, 4), quality, st.booleans(), fails)
    tools = [(kind, variant, *draw(settings)) for kind in KINDS for variant in names[kind]]

    def one(number: int) -> Item:
        kind = draw(st.sampled_from(KINDS))
        of = draw(st.integers(0, number - 1)) if draw(st.booleans()) else 0
        of = MISSING if draw(st.integers(0, 30)) == 17 else of
        return Item(kind, draw(st.sampled_from(names[kind])), draw(st.integers(0, 1)), of)

    first = tuple(one(number) for number in range(1, draw(st.integers(1, 6)) + 1))
    plans = [first]
    for _ in range(draw(st.integers(0, 2))):
        kept = [made for made in first if draw(st.integers(0, 4)) != 2]
        mixed = draw(st.permutations(kept)) if draw(st.booleans()) else kept
        plans.append(tuple(replace(m, of=m.of if m.of == MISSING else min(m.of, i)) for i, m in enumerate(mixed)))
    switches = {
        "execution": draw(st.sampled_from(["forced", "constrained"])),
        "on_infeasible": draw(st.sampled_from(["partial", "stop"])),
        "ablations": {
            "selector": draw(st.sampled_from(["solver", "solver", "experiments.ablations.selectors:LmSelector"])),
            "score": draw(st.sampled_from(["ends", "argmax"])),
            "extend": 0,
            "resample": 0,
        },
        "parallel": draw(st.sampled_from([1, 1, 2, 4])),
    }
    usd = draw(st.none() | st.integers(0, 14))
    wrong = draw(st.frozensets(st.integers(0, 2), max_size=2))
    return Case(draw(pure), tuple(tools), tuple(plans), usd, switches, wrong)


def toolbox(case: Case, world: World) -> list[Tool]:
    """Tools that report to the world what they are asked to do."""

    def made(kind: str, variant: str, usd: int, quality: float | None, *, varies: bool, fails: bool) -> Tool:
        worst = Resources({"usd": usd})
        cost: Cost = Uniform(worst, 0.0, ("usd",)) if varies else Fixed(worst)

        @tool(kind=kind, variant=variant, quality=quality, cost=cost, pure=kind in case.pure)
        def function(x: int, of: str | None = None) -> str:
            """Do something."""
            result = world.make(kind, x, of)
            if fails:
                raise ToolFailedError("no")
            return result

        return function

    return [made(*item[:4], varies=item[4], fails=item[5]) for item in case.tools]


def written(plan: Sequence[Item], final: str) -> str:
    """A plan as a model of the chat prompt format writes it."""
    calls: Calls = [
        (f"{made.kind}.{made.variant}", {"x": made.x, **({"of": f"#{made.of}"} if made.of else {})}) for made in plan
    ]
    return program(calls, [final, *(f"#{number}" for number in range(1, len(calls) + 1))])  # so all results are used


def meant(plan: Sequence[Item], pure: frozenset[str]) -> list[Any]:
    """What the world would hold if a plan were executed as it stands."""
    world, results = World(pure), [None, *[""] * 9]
    for number, made in enumerate(plan, 1):
        results[number] = world.make(made.kind, made.x, results[made.of])
    return world.done


def is_beginning(done: list[Any], plan: list[Any], *, whole: bool) -> bool:
    """Whether a plan was executed from its beginning on, nothing left out before the end, each pure call once.

    Where execution ended before the plan did, some of the pure calls that stand there may be missing.
    """
    changes = done[1::2]
    reads = [set(group) for group in done[::2]]
    planned = [set(group) for group in plan[::2]]
    return (
        changes == plan[1::2][: len(changes)]
        and all(len(set(group)) == len(group) for group in done[::2])
        and reads[:-1] == planned[: len(reads) - 1]
        and reads[-1] <= planned[len(reads) - 1]
        and (not whole or reads == planned)
    )


def play(case: Case) -> tuple[World, int | None]:
    """Play an episode of one planning round; what the tools were asked to do, and the plan whose answer was given."""
    world = World(case.pure)
    finals = [f"answer {number}" for number in range(len(case.plans))]

    def reply(request: Request, sample: int) -> str:
        if request.role == "plan":
            return written(case.plans[sample], finals[sample])
        if request.role == "act":
            return str(fixed_action(request))
        shown = str(request.prompt)
        wrong = any(f'the answer ["{finals[n]}"' in shown for n in case.wrong if n < len(finals))
        return {"score": "wrong" if wrong else "right", "select": "1"}[request.role]

    counts = {"num_plans": len(case.plans), "max_replans": 0}
    agent = TapeAgent(ScriptedLM(reply), **counts, **case.settings)
    budget = Budget() if case.usd is None else Budget({"usd": case.usd})
    env = ToolEnvironment("task", toolbox(case, world))
    result = agent.run(env, budget=budget)
    assert result.budget_violations == []
    # The model as selector does not ask what a path costs.
    assert result.end_state in {"success", "infeasible", "replan_limit", "budget:usd", "no_plan"}
    event(result.end_state)
    # Of a program that names what is not there the pure calls at its beginning are read.
    unread = [any(m.of == MISSING for m in p) and not (p[0].kind in case.pure and p[0].of == 0) for p in case.plans]
    assert (result.end_state == "no_plan") == all(unread)
    if (
        case.usd is None
        and case.settings["ablations"]["selector"] == "solver"
        and not any(fails for *_, fails in case.tools)
    ):
        # Nothing stands in the way of a plan that refers to no result that is not there.
        assert result.success == any(all(made.of != MISSING for made in plan) for plan in case.plans)
    return world, finals.index(env.answered[0]) if result.success else None


SOME = st.frozensets(st.sampled_from(KINDS), max_size=2)


@examples(120)
@given(cases(SOME))
def test_what_is_executed_is_the_beginning_of_a_sampled_plan(case: Case) -> None:
    world, answered = play(case)
    event(f"{len(world.done) // 2} changes")
    if answered is not None:
        assert is_beginning(world.done, meant(case.plans[answered], case.pure), whole=True)
    else:
        assert any(is_beginning(world.done, meant(plan, case.pure), whole=False) for plan in case.plans)


def acting(name: str, log: list[str], **settings: Any) -> Tool:
    @tool(kind=name, **settings)
    def function(text: str = "") -> str:
        """Do it."""
        log.append(f"{name} {text}".strip())
        return f"{len(log)} done"

    return function


STEP_BY_STEP: list[type[Agent]] = [ReactAgent, PlanAndActAgent, PlanAndActReplanAgent]


@pytest.mark.parametrize("agent", [TapeAgent, OpenLoopAgent, *STEP_BY_STEP])
@pytest.mark.parametrize("steps", ["snapshot drop_table", "press press", "lock append append unlock"])
def test_every_agent_does_what_was_planned_in_that_order(agent: type[Agent], steps: str) -> None:
    log: list[str] = []
    plan: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in steps.split()]
    tools = [acting(name, log) for name in sorted({*steps.split()})]
    lm = ScriptedLM(script(plan, act=follow(plan)), obey=True)
    result = agent(lm, horizon=9).run(ToolEnvironment("Do it.", tools))
    assert (result.end_state, log) == ("success", steps.split())
    assert result.actions[:-1] == [f"{name}()" for name in steps.split()]


@pytest.mark.parametrize("agent", STEP_BY_STEP)
def test_a_pure_call_is_made_again_only_after_a_change(agent: type[Agent]) -> None:
    log: list[str] = []
    plan: list[tuple[str, dict[str, Any]]] = [("read", {}), ("write", {}), ("read", {}), ("write", {})]
    tools = [acting("read", log, pure=True), acting("write", log)]
    lm = ScriptedLM(script(plan, act=follow(plan)), obey=True)
    assert agent(lm, horizon=9).run(ToolEnvironment("Do it.", tools)).end_state == "success"
    assert log == ["read", "write", "read", "write"]
    del log[:]
    twice = [("read", {}), ("read", {}), *plan[1:]]
    lm = ScriptedLM(script(twice, act=follow(twice)), obey=True)
    # Its result is there already, so the line gives it a second name.
    assert agent(lm, horizon=9).run(ToolEnvironment("Do it.", tools)).end_state == "success"
    assert log == ["read", "write", "read", "write"]


def waiting(log: list[str], opened: Callable[[], bool]) -> Tool:
    @tool(kind="enter")
    def function() -> str:
        """Go through the door."""
        log.append("enter")
        if not opened():
            raise ToolFailedError("the door is shut")
        return "inside"

    return function


def test_what_failed_is_tried_again_once_something_has_changed() -> None:
    log: list[str] = []
    tools = [waiting(log, lambda: "open" in log), acting("open", log)]
    plans = [[("enter", {})], [("enter", {})], [("open", {}), ("enter", {})]]
    lm = ScriptedLM(script(*plans, answers=["#1", "#1", "#2"]))
    result = TapeAgent(lm, execution="forced").run(ToolEnvironment("Go in.", tools))
    assert (result.end_state, log) == ("success", ["enter", "open", "enter"])


def test_what_was_read_before_a_change_is_read_anew_by_the_next_plan() -> None:
    log: list[str] = []
    tools = [acting("read", log, pure=True), acting("write", log), waiting(log, lambda: False)]
    plans = [[("read", {}), ("write", {}), ("enter", {})], [("read", {}), ("read", {})]]
    lm = ScriptedLM(script(*plans, answers=[["#1", "#3"], "#4"]))
    env = ToolEnvironment("task", tools)
    result = TapeAgent(lm, execution="forced").run(env)
    assert (result.end_state, log) == ("success", ["read", "write", "enter", "read"])
    assert env.answered == "4 done"

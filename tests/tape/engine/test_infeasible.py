"""No plan fits: explained before anything but planning is paid for, with proven caps that would suffice."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger, Resources, kind_of
from tape.lm.base import FREE, Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolEnvironment, tool
from tape.tools.making import make_tool
from tape.trace import InfeasibleEvent, PathSelectedEvent, TraceWriter
from tests.profiles import examples
from tests.tape.helpers import CORRIDOR, play
from tests.tape.tools.helpers import TOOLS, asked, program, script

PRICE = TokenPrice(Decimal("1e-7"), Decimal("4e-7"))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("multiply.exact", {"a": 3, "b": 4}),
    ("multiply.exact", {"a": "#1", "b": 7}),
    ("add", {"a": "#2", "b": 5}),
]


def run(
    caps: dict[str, Any],
    plan: Any = CALLS,
    *,
    price: TokenPrice = FREE,
    tools: list[Tool] | None = None,
    trace: TraceWriter | None = None,
    parent: Ledger | None = None,
    **settings: Any,
) -> EpisodeResult:
    model = ScriptedLM(script(plan), price=price)
    env = ToolEnvironment("3 * 4 * 7 + 5?", tools or TOOLS)
    return TapeAgent(model, **settings).run(env, budget=Budget.of(**caps), trace=trace, parent=parent)


def test_the_explanation_is_in_units_before_anything_but_planning_is_spent() -> None:
    trace = TraceWriter("x")
    # A multiplication takes $0.001 at least, so does the addition.
    result = run({"usd": "0.002"}, trace=trace, ablations={"resample": 1})
    text = "no plan fits into $0.002: the cheapest complete plan needs a cap of $0.003"
    assert (result.end_state, result.detail, result.steps, result.spent["usd"]) == ("infeasible", text, 0, 0)
    assert (result.explanation["cause"], result.explanation["left"]) == ("budget", {"usd": 0.002})
    [option] = result.explanation["options"]
    assert (option["caps"], option["proven"]) == ([{"resource": "usd", "ledger": "episode", "cap": 0.003}], True)
    assert option["plan"][1:] == [
        "multiply.quick(a=multiply(a=3, b=4), b=7)",
        "add(a=multiply(a=multiply(a=3, b=4), b=7), b=5)",
        "answer(r3)",
    ]
    [event] = [outcome for outcome in trace.events if isinstance(outcome, InfeasibleEvent)]
    assert (event.text, event.explanation, event.description()) == (text, result.explanation, text)
    assert json.loads(json.dumps(result.explanation)) == result.explanation
    selected = [event for event in trace.events if isinstance(event, PathSelectedEvent)]
    assert [event.status for event in selected] == ["INFEASIBLE"]
    paid = run({"usd": "0.003"}, price=PRICE)  # as much as the plan takes
    assert (paid.end_state, set(paid.lm_calls)) == ("infeasible", {"plan"})
    assert f"(planning took ${paid.spent['usd']})" in paid.detail


def test_the_budget_that_binds_is_named() -> None:
    def divide(a: int, b: int) -> float:
        """Divide."""
        return a / b

    episode_result = run({"usd": "0.002", "steps": 9, "seconds": 9})
    assert episode_result.detail.endswith("needs a cap of $0.003, the other caps as they are")
    both = run({"usd": "0.002", "steps": 2})
    assert both.detail.endswith("into 2 steps and $0.002: the cheapest complete plan needs caps of 4 steps and $0.003")
    tools = [
        make_tool(divide, kind="divide", variant="dear", usd="0.02", seconds="0.1"),
        make_tool(divide, kind="divide", variant="slow", usd="0.01", seconds=7),
    ]
    either = run({"usd": "0.015", "seconds": "0.5"}, [("divide.dear", {"a": 1, "b": 1})], tools=tools)
    assert either.detail == (
        "no plan fits into 0.5 s and $0.015: the cheapest complete plan needs a cap of 7 s, or a cap of $0.02, the "
        "other caps as they are"
    )
    short = run({"usd": 1}, horizon=2)
    assert short.detail == "no plan fits: the horizon of 2 moves is too short, 4 would do"
    assert (short.explanation or {})["horizon"] == 4
    both = run({"usd": "0.002"}, horizon=2)
    assert both.detail.endswith("needs a cap of $0.003 and a horizon of 4 moves")


@pytest.mark.parametrize("caps", [{}, {"usd": "0.05", "steps": 9}])
def test_where_no_plan_comes_to_an_end_it_is_not_the_budget(caps: dict[str, Any]) -> None:
    result = run(caps, [("add", {"a": "x", "b": 1})], ablations={"score": "ends"})
    assert result.end_state == "infeasible"
    assert result.detail == "no plan fits: none of 12 sampled plans comes to an end, and no budget would change that"
    assert (result.explanation["cause"], result.explanation["options"]) == ("no_end", [])


def test_what_is_kept_for_planning_and_what_others_have_taken_counts() -> None:
    kept = run({"usd": "0.004"}, planning_reserve={"usd": 2_000})
    assert kept.detail.endswith("needs a cap of $0.005")
    assert run({"usd": "0.005"}, planning_reserve={"usd": 2_000}).end_state == "success"
    team = Ledger(Budget.of(usd="0.01"), name="team")
    with team.reserve(Resources.of(usd="0.008")):
        inside = run({"usd": "0.0025"}, parent=team)
    assert inside.detail.endswith("needs caps of $0.003 and $0.011 of the team ledger")
    [option] = (inside.explanation or {})["options"]
    assert [(cap["ledger"], cap["cap"]) for cap in option["caps"]] == [("episode", 0.003), ("team", 0.011)]


def test_in_the_middle_the_explanation_has_what_the_steps_took() -> None:
    @tool(usd="0.01")
    def breaks(part: int) -> int:
        """Fails."""
        raise ValueError("no")

    def plan(request: Request, sample: int) -> str:
        if request.role != "plan":
            return "right"
        return program([("breaks", {"part": 2 if "ValueError: no" in asked(request) else 1})], "#1", request)

    env = ToolEnvironment("?", [breaks])
    result = TapeAgent(ScriptedLM(plan)).run(env, budget=Budget.of(usd="0.015"))
    assert (result.end_state, result.steps) == ("infeasible", 1)
    assert result.detail == (
        "no plan fits into what is left, $0.005 of $0.015 (1 step and planning took $0.01): the cheapest complete plan "
        "needs a cap of $0.02; "
        "1 call failed: breaks(part=1): ValueError: no"
    )


def test_tools_stop_and_are_called_as_planned_by_default() -> None:
    usual = run({"usd": "0.002"})
    asked = run({"usd": "0.002"}, execution="constrained", on_infeasible="partial")
    assert (usual.end_state, usual.partial_walk, usual.lm_calls.get("act")) == ("infeasible", False, None)
    assert asked.partial_walk
    assert asked.lm_calls["act"] == asked.steps > 0
    rich = run({"usd": 1})
    assert (rich.end_state, "act" in rich.lm_calls) == ("success", False)


def test_elsewhere_a_partial_path_is_followed_and_stopping_is_explained_too() -> None:
    result, events = play(CORRIDOR, 1, max_replans=0, ablations={"resample": 0})
    assert result.partial_walk
    assert [event.config["execution"] for event in events if event.type == "started"] == ["constrained"]
    stopped, _ = play(CORRIDOR, 1, on_infeasible="stop", ablations={"resample": 0})
    assert stopped.end_state == "infeasible"
    assert stopped.detail.startswith("no plan fits into 1 step: the cheapest complete plan needs a cap of ")


def test_what_does_not_fit_before_planning_is_named() -> None:
    result = run({"steps": 0})
    assert (result.end_state, result.lm_calls) == ("budget:steps", {})
    assert result.detail == (
        "no action fits any more, not even the cheapest, multiply.quick: steps of the episode ledger: 1 step "
        "requested, 0 of 0 steps used or reserved; it takes a cap of at least 1 step"
    )
    result = run({"usd": "0.0001"}, price=PRICE)
    assert (result.end_state, result.lm_calls) == ("budget:usd", {})
    assert result.detail.startswith("a model call (plan): usd of the episode ledger: $0.0")
    assert "requested, $0 of $0.0001 used or reserved; it takes a cap of at least $0.0" in result.detail


def test_the_time_that_is_left_bounds_the_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    explain = solvers.explain

    def watched(problem: Any, time_limit: float | None) -> Any:
        limits.append(time_limit)
        return explain(problem, 1e-9)

    monkeypatch.setattr(solvers, "explain", watched)
    result = run({"usd": "0.002", "wall_seconds": 600}, ablations={"resample": 0})
    assert [limit for limit in limits if limit is not None and 0 < limit <= 600] == limits != []
    assert result.end_state == "infeasible"
    assert result.detail.endswith("and there was no time to find out which caps would do")
    assert (result.explanation or {})["options"] == [], "nothing unproven is reported"


PLANS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a.x", "a.y", "b", "c"]), st.integers(0, 3)), min_size=1, max_size=4, unique=True
    ),
    min_size=1,
    max_size=3,
)


@examples(80)
@given(
    plans=PLANS,
    costs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=4),
    caps=st.fixed_dictionaries(
        {}, optional={"usd": st.integers(0, 12), "seconds": st.integers(0, 12), "steps": st.integers(1, 4)}
    ),
    price=st.sampled_from([FREE, PRICE]),
    reserve=st.integers(0, 1),
)
def test_the_least_cap_does_and_one_less_does_not(
    plans: Any, costs: Any, caps: dict[str, int], price: TokenPrice, reserve: int
) -> None:
    """Against playing again: with the raised caps the plan succeeds, and with one count less it is not begun."""

    def work(n: int) -> int:
        """Work."""
        return n

    names = [("a", "x"), ("a", "y"), ("b", ""), ("c", "")]
    tools = [
        make_tool(work, kind=kind, variant=variant, usd=usd / 1000, seconds=seconds)
        for (kind, variant), (usd, seconds) in zip(names, costs, strict=True)
    ]
    sampled = [program([(name, {"n": n}) for name, n in plan]) for plan in plans]

    def model(request: Request, sample: int) -> str:
        return sampled[sample % len(sampled)] if request.role == "plan" else "right"

    unit = {"usd": 1000, "seconds": 1000, "steps": 1}
    given_caps = {
        kind: cap * unit[kind] + (20_000 if kind == "usd" and price is PRICE else 0) for kind, cap in caps.items()
    }

    def attempt(caps: dict[str, int]) -> EpisodeResult:
        agent = TapeAgent(
            ScriptedLM(model, price=price),
            num_plans=len(plans),
            ablations={"score": "ends"},
            planning_reserve={"seconds": reserve} if "seconds" in caps else {},
        )
        return agent.run(ToolEnvironment("?", tools), budget=Budget(caps))

    result = attempt(given_caps)
    assert not result.budget_violations
    if result.end_state != "infeasible":
        return
    assert (result.steps, result.explanation["cause"]) == (0, "budget")
    assert result.explanation["options"]
    for option in result.explanation["options"]:
        raised = {cap["resource"]: kind_of(cap["resource"]).count(cap["cap"]) for cap in option["caps"]}
        assert option["proven"]
        assert all(raised[kind] > given_caps[kind] for kind in raised)
        assert attempt(given_caps | raised).end_state == "success"
        for kind, cap in raised.items():
            assert attempt(given_caps | raised | {kind: cap - 1}).end_state in ("infeasible", f"budget:{kind}")


def test_the_least_cap_is_that_of_the_cheapest_of_all_samplings() -> None:
    """What planning has left differs from sampling to sampling, so what they need is compared as caps."""

    def dear() -> int:
        """Look it up, dearly."""
        return 1

    def cheap() -> int:
        """Look it up."""
        return 1

    tools = [make_tool(dear, usd="0.034"), make_tool(cheap, usd="0.0285")]

    def played(cap: Any) -> EpisodeResult:
        samplings: list[int] = []

        def reply(request: Request, sample: int) -> str:
            if request.role == "score":
                return "right"
            samplings.append(sample)
            return program([("dear" if len(samplings) == 1 else "cheap", {})])

        model = ScriptedLM(reply, price=TokenPrice(Decimal("1e-5"), Decimal("1e-5")))
        agent = TapeAgent(model, num_plans=1, ablations={"resample": 1, "extend": 0, "score": "ends"})
        return agent.run(ToolEnvironment("Look it up.", tools), budget=Budget.of(usd=cap))

    refused = played("0.03")
    [option] = refused.explanation["options"]
    least = Decimal(str(option["caps"][0]["cap"]))
    assert option["plan"][0] == "cheap()"
    assert played(least).success
    assert played(least - Decimal("0.000001")).end_state == "infeasible"

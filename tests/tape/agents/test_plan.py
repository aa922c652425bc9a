"""``agent.plan``: the path that would be followed, its cost and its alternatives, without taking a step."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape import Budget, Ledger, TapeAgent, TapeConfig, TraceWriter
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.planned import PricedPath
from tape.agents.react import ReactAgent
from tape.budget import Resources, kind_of
from tape.errors import ConfigError, ModelError
from tape.lm.base import Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.protocols import Action, Observation
from tape.tools import ToolEnvironment, tool
from tape.trace import ActedEvent, Event, FinishedEvent, GraphFoldedEvent, LedgerEvent, PathSelectedEvent
from tests.tape.agents.cleaning import CAPS, Cleaning, obedient
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel


class Untouched(SokobanEnvironment):
    """Takes no step."""

    def step(self, action: Action) -> tuple[Observation, Resources]:
        raise AssertionError(f"{action} was executed")


def first_selected(events: list[Event]) -> PathSelectedEvent:
    return next(event for event in events if isinstance(event, PathSelectedEvent))


def test_nothing_is_executed_and_only_planning_is_paid() -> None:
    world, trace, parent = Cleaning(), TraceWriter("x"), Ledger()
    planned = TapeAgent(obedient()).plan(world.environment(), budget=CAPS, trace=trace, parent=parent)
    assert world.done == []
    assert planned.path == ('look(table="t")', 'drop(table="t")', "answer([r1, r2])")
    assert planned
    assert parent.used["steps"] == 0
    assert {kind: kind_of(kind).count(str(amount)) for kind, amount in planned.spent.items()} == dict(parent.used)
    purposes = {event.purpose for event in trace.events if isinstance(event, LedgerEvent)}
    assert purposes == {"lm:plan"}
    assert not any(isinstance(event, ActedEvent | FinishedEvent) for event in trace.events)
    assert parent.reserved == Resources()


def test_costs_are_worst_cases_in_units_and_add_up() -> None:
    planned = TapeAgent(obedient()).plan(Cleaning().environment(), budget=CAPS)
    assert [dict(cost) for cost in planned.costs] == [
        {"steps": 1, "usd": Decimal("0.002")}, {"steps": 1, "usd": Decimal("0.01")}, {"steps": 1}
    ]  # fmt: skip
    assert planned.cost == {"steps": 3, "usd": Decimal("0.012")}
    assert (planned.left, planned.end_state, planned.detail) == ({"steps": 9, "usd": Decimal("0.05")}, "", "")
    assert planned.value == 1.0
    assert planned.graph.edges()
    with pytest.raises(TypeError):
        planned.cost["usd"] = Decimal(0)  # type: ignore[index]


def test_the_cost_of_writing_the_actions_is_included_where_it_is_capped() -> None:
    model = obedient()
    model.price = TokenPrice(Decimal("1e-6"), Decimal("2e-6"))
    agent = TapeAgent(model, execution="constrained")
    planned = agent.plan(Cleaning().environment(), budget=Budget.of(steps=9, usd=1, tokens=100_000))
    assert all(cost["tokens"] for cost in planned.costs)
    assert planned.cost["tokens"] == sum(cost["tokens"] or 0 for cost in planned.costs)
    assert planned.spent["usd"] == 1 - planned.left["usd"] > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", [{}, {"on_limit": "final_answer"}])
def test_the_path_is_the_one_that_run_begins_with(settings: dict[str, Any], seed: int) -> None:
    agent, trace = TapeAgent(obedient(), **settings), TraceWriter("x")
    caps = CAPS | Budget.of(tokens=40_000)
    planned = agent.plan(Cleaning().environment(), budget=caps, seed=seed)
    agent.run(Cleaning().environment(), budget=caps, seed=seed, trace=trace)
    selected = first_selected(trace.events)
    assert list(planned.path) == selected.actions
    counts = {kind: kind_of(kind).count(str(amount)) for kind, amount in planned.cost.items() if kind in caps}
    assert counts == {kind: count for kind, count in selected.consumption.items() if count}
    folded = next(event for event in trace.events if isinstance(event, GraphFoldedEvent))
    assert planned.graph.to_dict(start=folded.graph["start"]) == folded.graph


@tool(kind="find", variant="quick", quality=0.6, pure=True, usd="0.001")
def quick(name: str) -> str:
    """Find something."""
    return name


@tool(kind="find", variant="good", quality=0.9, pure=True, usd="0.01")
def good(name: str) -> str:
    """Find something for sure."""
    return name


def finding(request: Request, sample: int) -> str:
    del sample
    if request.role == "plan":
        return 'found = find("a")\nanswer(found)'
    return "right"


def test_the_frontier_weighs_costs_against_the_score_of_the_end() -> None:
    """What is left of a criterion is no limit there, what is left of another resource is."""
    agent, tools = TapeAgent(ScriptedLM(finding)), [quick, good]
    planned = agent.plan(ToolEnvironment("Find a.", tools), budget=Budget.of(usd="0.005", steps=4))
    cheap, dear = planned.frontier()
    assert (cheap.path[0], dear.path[0]) == ('find.quick(name="a")', 'find.good(name="a")')
    assert (cheap.cost["usd"], dear.cost["usd"]) == (Decimal("0.001"), Decimal("0.01"))
    assert (cheap.path, cheap.value) == (planned.path, planned.value)
    assert (dear.value or 0) > (cheap.value or 0)
    assert planned.frontier("value", "usd") == (dear, cheap)
    assert planned.frontier("steps", "usd", "value", epsilon=0) == (cheap, dear)
    assert planned.frontier("steps", "usd") == (cheap,)
    assert planned.frontier("steps", "value") == (cheap,)  # the budget in dollars holds
    with pytest.raises(ConfigError, match="one criterion"):
        planned.frontier("usd")
    with pytest.raises(ConfigError, match="no known cost"):
        planned.frontier("gold", "value")
    short = agent.plan(ToolEnvironment("Find a.", tools), budget=Budget.of(usd="0.0005"))
    assert not short
    assert short.frontier() == (cheap, dear)


def test_alternatives_are_the_next_best_paths() -> None:
    agent, caps = TapeAgent(ScriptedLM(finding)), Budget.of(usd="0.02")
    planned = agent.plan(ToolEnvironment("Find a.", [quick, good]), budget=caps)
    assert planned.path[0] == 'find.good(name="a")'
    [other] = planned.alternatives
    assert type(other) is PricedPath
    assert (other.path, other.cost) == (
        ('find.quick(name="a")', "answer(found)"), {"usd": Decimal("0.001"), "steps": 2}
    )  # fmt: skip
    assert other.value is not None
    assert planned.value is not None
    assert planned.value > other.value
    assert agent.plan(ToolEnvironment("Find a.", [quick, good]), budget=caps, alternatives=0).alternatives == ()


def test_alternatives_differ_and_are_at_most_as_many_as_requested() -> None:
    model = SimulatedModel(ROOM, plans=[" R R R", " U R R D L D R R", " D R U R R", " U R D R R"])
    planned = TapeAgent(model).plan(Untouched(ROOM, 12), alternatives=2)
    paths = [planned.path, *(other.path for other in planned.alternatives)]
    assert planned.path == ("R", "R", "R")
    assert len(set(paths)) == len(paths) <= 3


def test_where_nothing_fits_it_is_false_and_has_the_explanation_of_run() -> None:
    world, model, caps = Cleaning(), obedient(), Budget.of(usd="0.005")
    planned = TapeAgent(model, on_limit="final_answer").plan(world.environment(), budget=caps)
    assert (bool(planned), planned.path, planned.end_state, world.done) == (False, (), "infeasible", [])
    assert {request.role for request in model.requests} == {"plan"}, "no final answer either"
    assert "$0.012" in planned.detail
    result = TapeAgent(obedient()).run(world.environment(), budget=caps)
    assert planned.explanation == result.explanation is not None
    assert (planned.detail, planned.alternatives, world.done) == (result.detail, (), [])


def test_a_partial_path_is_marked() -> None:
    planned = TapeAgent(SimulatedModel(ROOM), ablations={"extend": 0}).plan(Untouched(ROOM, 2))
    assert (bool(planned), planned.partial, planned.alternatives) == (True, True, ())
    assert not TapeAgent(SimulatedModel(ROOM)).plan(Untouched(ROOM, 9)).partial


def test_where_planning_itself_does_not_fit_it_ends_by_the_budget_without_a_final_answer() -> None:
    model, ends, kept_back = obedient(), set[str](), 0
    agent = TapeAgent(model, on_limit="final_answer")
    for tokens in range(1000, 30_000, 3000):
        trace = TraceWriter("x")
        planned = agent.plan(Cleaning().environment(), budget=Budget.of(tokens=tokens), trace=trace)
        assert bool(planned) is (planned.end_state == "")
        assert bool(planned) is (planned.detail == "")
        ends.add(planned.end_state)
        reserved = any(isinstance(e, LedgerEvent) and e.purpose == "lm:answer" for e in trace.events)
        kept_back += reserved and not planned
    assert ends == {"", "budget:tokens"}
    assert kept_back
    assert "answer" not in {request.role for request in model.requests}


def test_where_nothing_is_left_to_do_it_is_false_with_success() -> None:
    class Solved(Untouched):
        def success(self) -> bool:
            return True

    planned = TapeAgent(SimulatedModel(CORRIDOR)).plan(Solved(CORRIDOR, 4))
    assert (bool(planned), planned.end_state, planned.spent) == (False, "success", {})


def test_faults_end_it_as_they_end_an_episode() -> None:
    def failing(request: Request, sample: int) -> str:
        raise ModelError("no answer")

    planned = TapeAgent(ScriptedLM(failing)).plan(Cleaning().environment())
    assert (bool(planned), planned.end_state, planned.detail) == (False, "model_error", "no answer")

    class Shut(Untouched):
        def reset(self, seed: int) -> Observation:
            raise OSError("shut")

    planned = TapeAgent(SimulatedModel(CORRIDOR)).plan(Shut(CORRIDOR, 4))
    assert (bool(planned), planned.end_state) == (False, "env_error")


def test_the_chain_of_subgoals_plans_where_it_comes_from_the_graph() -> None:
    assert SdpAgent(SimulatedModel(ROOM)).plan(Untouched(ROOM, 9)).path == ("R", "R", "R")
    with pytest.raises(ConfigError, match="chain='sample' plans without the plan graph"):
        SdpAgent(SimulatedModel(ROOM), sdp={"chain": "sample"}).plan(Untouched(ROOM, 9))


def test_agents_that_act_to_plan_or_do_not_plan_are_refused() -> None:
    model = SimulatedModel(ROOM)
    with pytest.raises(ConfigError, match="queries, which are actions"):
        TapeAgent(model, aec=True).plan(Untouched(ROOM, 9))
    for agent in (ReactAgent, OpenLoopAgent):
        assert not hasattr(agent, "plan")
    with pytest.raises(ConfigError, match="alternatives= is a number of paths"):
        TapeAgent(model).plan(Untouched(ROOM, 9), alternatives=-1)
    with pytest.raises(ConfigError, match="world_model='simulator'"):
        TapeAgent(model, TapeConfig(world_model="simulator")).plan(Untouched(ROOM, 9))
    assert model.requests == []

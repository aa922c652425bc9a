"""What TAPE does beyond the paper when its plans, predictions or scores are poor: each switch does its work."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.engine.sample import frontier
from tape.engine.select import SolverSelector
from tape.lm.base import Completion, OneOf, Request, Usage
from tape.lm.scripted import obeys
from tape.trace import Event, GraphFoldedEvent, LedgerEvent, PathSelectedEvent, PlansSampledEvent
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play, state_of


def of_type(events: Sequence[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


class NearSighted(SimulatedModel):
    """Plans well only when the goal is near: from further away its plans make one good move, then stop."""

    def _answer(self, request: Request, sample: int) -> str:
        text = super()._answer(request, sample)
        return " ".join(["", *text.split()[:1]]) if request.role == "plan" else text


def test_the_graph_is_extended_until_a_path_reaches_a_goal() -> None:
    result, events = play(model=NearSighted(CORRIDOR), num_plans=1)
    assert (result.success, result.replans, result.actions) == (True, 0, ["R", "R", "R"])
    starts = [event.start for event in of_type(events, PlansSampledEvent)]
    assert len(starts) == len(set(starts)) == 3  # from the start, then from the end of each plan
    assert of_type(events, PathSelectedEvent)[-1].actions == ["R"] * 3
    assert len(of_type(events, GraphFoldedEvent)) == 3
    result, events = play(model=NearSighted(CORRIDOR), num_plans=1, ablations={"extend": 0})
    assert (result.success, result.replans, len(of_type(events, PlansSampledEvent))) == (True, 2, 3)


@pytest.mark.parametrize("extend", [1, 2, 5])
def test_no_more_plans_are_sampled_than_asked_for(extend: int) -> None:
    model = SimulatedModel(ROOM, plans=[" U", " D", " L", " R", " U U", " D D"])
    play(level=ROOM, model=model, steps=1, num_plans=2, ablations={"extend": extend, "replan": False}, max_replans=0)
    sampled = [request.n for request in model.requests if request.role == "plan"]
    assert sampled[0] == 2
    assert all(count == 1 for count in sampled[1:])
    assert len(sampled) - 1 <= extend


class LongWinded(SimulatedModel):
    """Its first plan is one good move, all later ones are long: the extension is far dearer than what came before."""

    def _answer(self, request: Request, sample: int) -> str:
        if request.role != "plan":
            return super()._answer(request, sample)
        self._proposed += 1
        best = self.shortest(state_of(self.level, str(request.prompt)))
        return " ".join(["", *best[:1]]) if self._proposed == 1 else " U D" * 4 + " ".join(["", *best])


@pytest.mark.parametrize("kind", [NearSighted, LongWinded])
def test_the_extension_never_spends_what_the_path_in_hand_needs(kind: type[SimulatedModel]) -> None:
    """What a refused extension had begun is not in the graph either."""
    refused = 0
    for tokens in range(20, 700, 60):
        budget, edges = Budget({"tokens": tokens}), set[tuple[str, str, str]]()
        plain, _ = play(model=kind(CORRIDOR), num_plans=1, budget=budget, ablations={"extend": 0})
        result, events = play(model=kind(CORRIDOR), num_plans=1, budget=budget)
        assert result.used.get("tokens", 0) <= tokens
        assert not result.budget_violations
        assert result.end_state in ("success", "budget:tokens", "infeasible")
        assert bool(result.steps) == bool(plain.steps)  # the first path, if there is one, can still be followed
        refused += any(event.what == "refused" for event in of_type(events, LedgerEvent)) and result.steps > 0
        for event in events:
            if isinstance(event, GraphFoldedEvent):
                edges = {(e["source"], e["action"], e["target"]) for e in event.graph["links"]}
            if isinstance(event, PathSelectedEvent) and event.actions:
                assert set(zip(event.nodes, event.actions, event.nodes[1:], strict=False)) <= edges
    assert refused


def test_a_cap_of_nothing_on_what_nothing_costs_changes_nothing() -> None:
    free, _ = play(model=NearSighted(CORRIDOR), num_plans=1, budget=Budget({"usd": 0}))
    assert (free.success, free.replans) == (True, 0)


def chain(length: int, price: int = 1) -> PlanGraph:
    graph = PlanGraph()
    graph.fold([str(i) for i in range(length + 1)], ["go"] * length)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": price}))
    return graph


@given(st.integers(1, 8), st.integers(0, 12), st.integers(1, 3))
def test_the_frontier_is_what_the_budget_reaches_with_something_left(length: int, budget: int, price: int) -> None:
    nodes = frontier(chain(length, price), "0", {"steps": budget}, ["0"])
    assert [f.node for f in nodes] == [str(i) for i in range(1, length + 1) if (i + 1) * price <= budget]
    for f in nodes:
        assert f.remaining == {"steps": budget - int(f.node) * price}


def test_the_frontier_leaves_out_goals_hopeless_nodes_and_what_lies_behind_a_goal() -> None:
    graph = chain(4)
    graph.fold(["0", "dead"], ["jump"])
    graph.set_reward("dead", -1.0)
    graph.set_reward("2", 1.0, goal=True)
    assert [f.node for f in frontier(graph, "0", {}, ["0"])] == ["1"]
    assert [f.node for f in frontier(graph, "0", {}, ["0", "1"])] == []
    graph.contradict("0", "go", "1")
    assert frontier(graph, "0", {}, ["0"]) == []


class Unsure(SimulatedModel):
    """Calls every push invalid with a given confidence, and predicts it correctly when it must name a state."""

    def __init__(self, confidence: float) -> None:
        super().__init__(CORRIDOR)
        self.confidence = confidence

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        answers = await super().generate(requests)
        return [self._unsure(request, answer) for request, answer in zip(requests, answers, strict=True)]

    def _unsure(self, request: Request, answer: Completion) -> Completion:
        if request.role != "next" or not obeys(request, " invalid"):
            return answer
        return replace(answer, texts=(" invalid",), logprobs=(math.log(self.confidence),))


@pytest.mark.parametrize(("confidence", "threshold", "again"), [(0.6, 0.9, True), (0.95, 0.9, False), (0.6, 0, False)])
def test_an_uncertain_invalid_is_predicted_again_and_kept_with_little_confidence(
    confidence: float, threshold: float, again: bool
) -> None:
    model = Unsure(confidence)
    result, events = play(model=model, num_plans=1, ablations={"requery_threshold": threshold})
    outcome = [edge["confidence"] for edge in of_type(events, GraphFoldedEvent)[0].graph["links"]]
    assert outcome == (pytest.approx([1 - confidence] * 3) if again else [])
    assert (result.replans == 0) is again, "else the action is tried without a prediction"
    assert result.success or not again
    assert all(obeys(request, " invalid") for request in model.requests if request.role == "next") is not again


@pytest.mark.parametrize("solver", ["labelling", "pulp:cbc"])
@pytest.mark.parametrize(
    ("cautious", "steps", "expected"),
    [
        (True, 4, ["down", "on", "on"]),  # confident, though longer
        (False, 4, ["up", "on"]),
        (True, 2, ["up", "on"]),  # the budget leaves only the uncertain path
    ],
)
def test_a_confident_path_to_a_goal_comes_first(solver: str, cautious: bool, steps: int, expected: list[str]) -> None:
    graph = PlanGraph()
    graph.fold(["s", "a", "goal"], ["up", "on"], [0.6, 0.99])
    graph.fold(["s", "b", "c", "goal"], ["down", "on", "on"], [0.99, 0.95, 0.97])
    graph.set_reward("goal", 1.0, goal=True)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1}))
    selector = SolverSelector(solver, cautious=cautious)
    selection = asyncio.run(selector.select(graph, "s", {"steps": steps}, steps))
    assert [graph.edge(number).action for number in selection.path] == expected
    assert selection.confidence == (0.9 if expected[0] == "down" else 0.5 if cautious else 0.0)
    assert solvers.check(selection.problem, selection.solution) == []


class Solving(SimulatedModel):
    """Finds states likely to be solved: one likelihood for the goal, another for all others."""

    likelihoods = (0.0, 0.0)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        answers = []
        for request, (weights, usage) in zip(requests, await super().score_options(requests), strict=True):
            assert isinstance(request.constraint, OneOf)
            solved = dict(zip(request.constraint.options, weights, strict=True))[" solved"]
            likely = self.likelihoods[0 if solved else 1]
            share = {" solved": likely, " open": 1 - likely, " hopeless": 0.0}
            answers.append((tuple(share[option] for option in request.constraint.options), usage))
        return answers


class Hopeful(Solving):
    """Misses the goal when it scores, but finds it likelier than other states."""

    likelihoods = (0.4, 0.01)


class Undecided(Solving):
    """Sees the goal, but finds every other state nearly as likely to be one."""

    likelihoods = (0.9, 0.45)


def test_without_a_goal_the_path_leads_to_the_most_promising_end() -> None:
    # The shorter plan ends nowhere; with the most probable scores alone nothing favours the longer one.
    plans = [" U", " " + " ".join(SimulatedModel(ROOM).shortest(ROOM.start))]
    steps = len(plans[1].split())
    first = {}
    for score in ("ends", "argmax"):
        _, events = play(
            ROOM, steps, model=Hopeful(ROOM, plans=plans), num_plans=2, ablations={"extend": 0, "score": score}
        )
        first[score] = of_type(events, PathSelectedEvent)[0].actions
    assert first == {"ends": plans[1].split(), "argmax": ["U"]}


def test_a_goal_within_the_budget_comes_before_any_open_end() -> None:
    way = SimulatedModel(ROOM).shortest(ROOM.start)
    plans = [" " + way[0], " " + " ".join(way)]
    for spare in (0, 2, 20):
        model = Undecided(ROOM, plans=plans)
        _, events = play(ROOM, len(way) + spare, model=model, num_plans=2, ablations={"extend": 0})
        assert of_type(events, PathSelectedEvent)[0].actions == way

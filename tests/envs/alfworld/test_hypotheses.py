"""The reward of nodes beyond an assumption falls with how unlikely the assumption is."""

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from envs.alfworld.domain import AlfworldDomain, RulesWorldModel
from envs.alfworld.state import Knowledge
from envs.sokoban.environment import SokobanEnvironment
from tape.agents.tape import TapeAgent
from tape.budget import Ledger
from tape.choice.graph import PlanGraph
from tape.engine.context import RoleContext
from tape.engine.unseen import FoldedPlan, Weigher, weigh_assumptions
from tape.lm.accounting import AccountedLM
from tape.lm.base import OneOf, Request, Usage
from tape.lm.scripted import ScriptedLM
from tape.protocols import Domain, State
from tape.trace import GraphFoldedEvent, TraceWriter
from tests.envs.alfworld.played import PlayedAlfworld
from tests.envs.alfworld.worlds import SHELVES, known, world_of
from tests.tape.helpers import ROOM

START = known(SHELVES)
LIKELY = {"shelf 1": 0.2, "shelf 2": 0.7}


class Guessing(ScriptedLM):
    """Answers every choice with fixed weights: a fake at the edge."""

    def __init__(self, likely: Mapping[str, float]) -> None:
        super().__init__([""])
        self.likely = likely

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        self.requests += requests
        choices = [request.constraint for request in requests]
        assert all(isinstance(choice, OneOf) for choice in choices)
        return [
            (tuple(self.likely.get(o, 0.0) for o in c.options), Usage(1, 1)) for c in choices if isinstance(c, OneOf)
        ]


def context_of(likely: Mapping[str, float] = LIKELY, env: Any = None) -> RoleContext:
    env, trace = env or PlayedAlfworld(world_of(SHELVES), steps=9), TraceWriter("test")
    return RoleContext(AccountedLM(Guessing(likely), Ledger(None), trace), env.prompt_format("chat"), env.domain, trace)


def plan(*places: str) -> list[str]:
    """Fetch a book from each place and put it into the cabinet, which is taken to be closed."""
    texts = []
    for place in places:
        texts += [f"go to {place}", f"take book from {place}", "go to cabinet 1"]
        texts += [*([] if "open cabinet 1" in texts else ["open cabinet 1"]), "put book in/on cabinet 1"]
    return texts


def folded(graph: PlanGraph, domain: Domain, start: State, actions: list[str]) -> FoldedPlan:
    assert isinstance(domain, AlfworldDomain)
    [predictions] = asyncio.run(RulesWorldModel(domain).rollout([(start, actions)]))
    states = [start, *(prediction.state for prediction in predictions)]
    assert all(state is not None for state in states)
    return actions, graph.fold([*map(domain.hooks.plain, states)], actions)


def weighed(
    context: RoleContext, plans: Sequence[list[str]], start: Knowledge = START
) -> tuple[PlanGraph, list[FoldedPlan]]:
    graph = PlanGraph(context.domain.key)
    paths = [folded(graph, context.domain, start, actions) for actions in plans]
    asyncio.run(weigh_assumptions(graph, context.domain.hooks, Weigher(context), start, paths))
    return graph, paths


def chance(graph: PlanGraph, node: str) -> float:
    return float(graph.attributes(node)["likelihood"])


def asked(context: RoleContext) -> int:
    model = context.lm._model
    assert isinstance(model, Guessing)
    return len(model.requests)


def test_a_goal_behind_an_unlikely_assumption_has_less_reward() -> None:
    graph, [(_, unlikely), (_, likely)] = weighed(context_of(), [plan("shelf 1"), plan("shelf 2")])
    share = 0.05 / 3  # of what is spread evenly over the three places
    assert chance(graph, unlikely[-1]) == pytest.approx(0.95 * 0.2 + share)
    assert chance(graph, likely[-1]) == pytest.approx(0.95 * 0.7 + share)


def test_what_was_looked_into_counts_from_there_on() -> None:
    graph, [(_, nodes)] = weighed(context_of(), [plan("shelf 1")])
    assert {chance(graph, node) for node in nodes[1:]} == {chance(graph, nodes[-1])}  # the look is the first step
    closed = ["go to cabinet 1", "open cabinet 1", "take book from cabinet 1"]
    graph, [(_, nodes)] = weighed(context_of({"cabinet 1": 0.5}), [closed])
    assert [chance(graph, node) for node in nodes[1:]] == pytest.approx([1.0, 0.475 + 0.05 / 3, 0.475 + 0.05 / 3])


def test_several_assumptions_have_to_be_so_together() -> None:
    graph, [(_, texts), (_, both)] = weighed(context_of(), [plan("shelf 2"), plan("shelf 2", "shelf 1")])
    single = chance(graph, texts[-1])
    assert chance(graph, both[-1]) == pytest.approx(single * (0.95 * 0.2 + 0.05 / 3))


def test_of_several_ways_to_a_state_the_likeliest_counts() -> None:
    seen = replace(START, inside=frozenset({("book 1", "shelf 1")})).found("shelf 1", "bare")
    sure = ["go to shelf 2", "go to shelf 1", "take book from shelf 1"]
    graph, [(_, nodes)] = weighed(context_of(), [sure], seen)
    assert [chance(graph, node) for node in nodes[1:]] == [1.0] * 3
    node = nodes[-1]
    graph.set_likelihood(node, 0.3)
    assert chance(graph, node) == 1.0


def test_a_plan_from_a_state_that_rests_on_something_rests_on_it_too() -> None:
    context, actions = context_of(), plan("shelf 1")
    graph, [(_, nodes)] = weighed(context, [actions[:2]])
    middle = graph.state(nodes[-1])
    path = folded(graph, context.domain, middle, actions[2:])
    asyncio.run(weigh_assumptions(graph, context.domain.hooks, Weigher(context), middle, [path]))
    assert chance(graph, path[1][-1]) == pytest.approx(0.95 * 0.2 + 0.05 / 3)


@pytest.mark.parametrize("best", ["shelf 1", "shelf 2"])
def test_tape_looks_first_where_the_model_thinks_it_likeliest(best: str) -> None:
    house = PlayedAlfworld(world_of(SHELVES), steps=9)
    places = itertools.cycle(["shelf 1", "shelf 2"])

    def answer(request: Request, sample: int) -> str:
        if request.role == "plan":  # every plan is asked for on its own, under another supposition
            return json.dumps({"actions": plan(next(places))})
        return {"score": "5", "predict": best}[request.role]

    trace = TraceWriter("test")
    agent = TapeAgent(ScriptedLM(answer), num_plans=2, world_model="simulator", execution="forced")
    result = agent.run(house, trace=trace, simulator=RulesWorldModel(house.domain))
    assert (result.success, result.replans, result.actions) == (True, 0, plan(best))
    [folded] = [event for event in trace.events if isinstance(event, GraphFoldedEvent)]
    rewards = sorted({node["reward"] for node in folded.graph["nodes"] if node["goal"]})
    assert rewards == pytest.approx([0.05 / 3, 0.95 + 0.05 / 3])


def test_an_answer_that_rules_out_all_others_or_cannot_be_read_leaves_some_hope() -> None:
    graph, [(_, nodes), (_, other)] = weighed(context_of({"shelf 1": 1.0}), [plan("shelf 1"), plan("shelf 2")])
    assert 0 < chance(graph, other[-1]) < 0.05 < 0.95 < chance(graph, nodes[-1]) < 1
    graph, [(_, nodes)] = weighed(context_of({}), [plan("shelf 1")])
    assert chance(graph, nodes[-1]) == pytest.approx(1 / 3)


def test_each_state_is_asked_about_once() -> None:
    context = context_of()
    weigher = Weigher(context)
    for _ in range(2):
        graph = PlanGraph(context.domain.key)
        paths = [folded(graph, context.domain, START, plan(place)) for place in ("shelf 1", "shelf 2")]
        asyncio.run(weigh_assumptions(graph, context.domain.hooks, weigher, START, paths))
        assert asked(context) == 1  # the places of one kind are one question


def test_nothing_is_asked_where_nothing_is_assumed() -> None:
    seen = replace(START, inside=frozenset({("book 1", "shelf 1")})).found("shelf 1", "bare")
    context = context_of()
    weighed(context, [plan("shelf 1")], seen)
    assert asked(context) == 0


def test_domains_without_assumptions_are_left_alone() -> None:
    context = context_of(env=SokobanEnvironment(ROOM))
    domain = context.domain
    assert not domain.hooks.unseen
    graph = PlanGraph(domain.key)
    nodes = graph.fold([ROOM.start, ROOM.start], ["U"])
    asyncio.run(weigh_assumptions(graph, domain.hooks, Weigher(context), ROOM.start, [(["U"], nodes)]))
    assert all("likelihood" not in graph.attributes(node) for node in graph.nodes)
    assert asked(context) == 0

"""Rewards of nodes: which nodes are goals, and saving a resource among equally good ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from tape.agents.best_of_n import BestOfNReactAgent, GoalTestScorer
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.engine.score import ScoredNode, by_goal, by_score, save, value_of
from tape.errors import GraphError
from tape.lm.base import Request
from tape.protocols import Score, State
from tape.protocols.parts import GoalTest, Progress
from tape.testing.line import Line, LineDomain, LineModel

CENTS = 10_000


def graph_of(paths: list[list[int]], ends: list[float]) -> PlanGraph:
    """A graph of parallel paths, one a list of prices in cents, each to an end of its own."""
    graph = PlanGraph()
    for number, prices in enumerate(paths):
        states = ["start", *(f"{number}.{step}" for step in range(1, len(prices))), f"end {number}"]
        graph.fold(states, [f"{number}:{step}" for step in range(len(prices))])
    for edge in graph.edges():
        number, step = map(int, edge.action.split(":"))
        graph.set_cost(edge.id, Resources({"usd": paths[number][step] * CENTS, "steps": 1}))
    for node in graph.nodes:
        if node.startswith("end"):
            graph.set_reward(node, ends[int(node[4:])], goal=True)
        else:
            graph.no_end(node)
            depth = 0 if node == "start" else int(node.split(".")[1])
            graph.set_reward(node, 1e-7 * depth, goal=False)
    save(graph, "usd")
    return graph


@given(st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=8), min_size=1, max_size=5), st.integers(0, 1000))
def test_of_equal_ends_the_cheapest_that_fits_is_selected(paths: list[list[int]], cap: int) -> None:
    graph = graph_of(paths, [1.0] * len(paths))
    problem, ids = graph.path_problem("start", {"usd": cap * CENTS}, 50, 0.9, objective=graph.objective)
    solution = solvers.solve(problem)
    fitting = [sum(prices) for prices in paths if sum(prices) <= cap]
    assert solution.has_path is bool(fitting)
    if fitting:
        assert sum(graph.edge(ids[e]).cost["usd"] or 0 for e in solution.edges) == min(fitting) * CENTS


def test_saving_prefers_better_ends_and_needs_a_horizon_and_known_prices() -> None:
    for graph, cap, any_end, chosen in (
        (graph_of([[1], [300, 300]], [0.5, 1.0]), 600, False, ["1:0", "1:1"]),
        (graph_of([[1, 1, 500]], [1.0]), 10, True, ["0:0", "0:1"]),
    ):
        problem, ids = graph.path_problem("start", {"usd": cap * CENTS}, 50, objective="save", any_end=any_end)
        assert [graph.edge(ids[e]).action for e in solvers.solve(problem).edges] == chosen
    graph = graph_of([[1]], [1.0])
    with pytest.raises(GraphError, match='"save" needs a horizon'):
        graph.path_problem("start", {}, objective="save")
    graph.set_cost(0, Resources({"usd": None}))
    with pytest.raises(GraphError, match="0:0: its cost in usd is unknown"):
        save(graph, "usd")
    assert graph.copy().objective == "save"


class Scored:
    def __init__(self, score: Score) -> None:
        self.asked: list[State] = []
        self._score = score

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        del remaining
        self.asked += states
        return [self._score for _ in states]


class Knows:
    def satisfied(self, state: State) -> bool:
        return state == "goal"


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_the_declared_test_goes_before_the_score(likely: float, mean: float) -> None:
    scorer = Scored(Score(likely, mean))
    score = asyncio.run(GoalTestScorer(scorer, Knows()).score(["a", "goal", "b"], {}))  # type: ignore[arg-type]
    assert scorer.asked == ["a", "b"]
    assert score[1] == Score(1.0, 1.0)
    assert score[0] == score[2]
    assert score[0].likely < 0.5 > score[0].mean
    assert score[0].likely == likely or likely > 0.49


class KnownLine(Line):
    """A line whose domain has a goal test."""

    def __init__(self, last: int = 3) -> None:
        super().__init__(last, steps=2 * last)

        class Knowing(LineDomain, GoalTest):
            goal_test = property(lambda self: self)

            def satisfied(self, state: State) -> bool:
                return state == self.last

        self.domain = Knowing(last)


@pytest.mark.parametrize(
    ("goal_test", "wrong", "goals"),
    [
        ("declared", {("score", 3): "far", ("score", 1): "solved"}, {"3"}),
        ("lm", {("score", 3): "far", ("score", 1): "solved"}, {"1"}),
        ("lm", {}, {"3"}),
    ],
)
def test_which_nodes_are_goals(goal_test: str, wrong: dict[tuple[str, int], str], goals: set[str]) -> None:
    agent = TapeAgent(LineModel(wrong), ablations={"goal_test": goal_test, "extend": 0}, num_plans=1)
    planned = agent.plan(KnownLine())
    assert {node for node in planned.graph.nodes if planned.graph.attributes(node)["goal"]} == goals
    assert len(planned.path) == int(min(goals))


@pytest.mark.parametrize(("goal_test", "chosen"), [("declared", "right"), ("lm", "left")])
def test_best_of_n_keeps_to_the_same_goal_test(goal_test: str, chosen: str) -> None:
    class Torn(LineModel):
        def _reply(self, request: Request, sample: int) -> str:
            if request.role == "act" and sample > 0:
                return "left"
            return super()._reply(request, sample)

    model = Torn({("score", 1): "far", ("score", 0): "far"})
    result = BestOfNReactAgent(model, ablations={"goal_test": goal_test}, num_plans=3).run(
        KnownLine(1), budget=Budget({"steps": 1})
    )
    assert result.actions == [chosen]  # two of three samples go left, which leads nowhere
    assert result.success is (goal_test == "declared")


SCORES = st.builds(Score, st.floats(-1, 1), st.floats(-1, 1))
MODES = st.sampled_from(["ends", "argmax", "expected"])


def place(**known: Any) -> ScoredNode:
    usual: dict[str, Any] = {"end": True, "visited": False, "likelihood": 1.0, "depth": 1.0}
    return ScoredNode("key", "state", **{**usual, **known})


@given(SCORES, MODES, st.booleans())
def test_a_visited_state_is_no_goal_and_an_open_end_earns_less_than_any_goal(
    score: Score, mode: Any, end: bool
) -> None:
    assert value_of(place(visited=True), score, mode) <= 0
    assert by_score(place(visited=True), score, mode)[1] is False
    reward, goal = by_score(place(end=end), score, mode)
    if mode == "ends" and end and -0.5 < score.likely < 0.5:
        assert 0 <= reward <= 1e-4
    else:
        assert reward == (score.mean if mode == "expected" else score.likely)
    assert goal == (reward >= 0.5)


class Half(GoalTest, Progress):
    """Half of the task is done, whatever the state."""

    def satisfied(self, state: State) -> bool:
        return False

    def value(self, state: State) -> float:
        return 0.5


@given(SCORES, MODES, st.floats(0, 1), st.floats(0, 1))
def test_short_of_the_goal_only_ends_earn_anything(score: Score, mode: Any, likelihood: float, depth: float) -> None:
    likely = place(likelihood=likelihood, depth=depth)
    for progress in (None, Half()):
        reward, goal = by_goal(likely, score, mode, Half(), progress)
        assert not goal
        assert reward <= 1e-4 * likelihood
        assert by_goal(place(end=False), score, mode, Half(), progress)[0] <= 0
    assert by_goal(likely, Score(1.0, 1.0), mode, None, None) == (likelihood, True)
    assert not by_goal(place(visited=True), Score(1.0, 1.0), mode, None, None)[1]
    further = by_goal(place(depth=1.0), Score(0.0, 0.0), mode, Half(), Half())
    assert further[0] > by_goal(place(depth=0.5), Score(0.0, 0.0), mode, Half(), Half())[0] > 0

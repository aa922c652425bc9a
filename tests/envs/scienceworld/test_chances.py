"""Chances of predicted outcomes, and the path of the greatest expected value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import solvers
from envs.scienceworld.chances import OutcomeCounts, weigh
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import A_STEP, LEAST
from tape.engine.predict import Memory
from tests.profiles import examples


class Counted:
    """States are a place and a counter, which does not count."""

    def situation(self, state: Any) -> str:
        return str(state[0])

    def outcome_key(self, state: Any) -> str:
        return str(state[0])

    def committed(self, state: Any) -> str:
        return str(state[0]) if str(state[0]).startswith("sold") else ""


def test_what_was_observed_outweighs_what_is_predicted() -> None:
    def chance(observed: list[Any], wrong: list[Any], target: str = "b", prior: float = 1.0) -> float:
        return OutcomeCounts(Counted(), observed, wrong).chance(("a", 9), "go", (target, 9), prior)

    assert chance([], [], prior=0.4) == 0.4
    stayed = [(("a", i), "go", ("a", i + 1)) for i in range(3)]
    missed = [(("a", i), "go", ("b", 0)) for i in range(3)]
    falling = [chance(stayed[:n], missed[:n]) for n in range(4)]
    assert falling == sorted(falling, reverse=True)
    assert falling[3] < 0.1
    assert chance(stayed, missed, "a") > 0.75
    arrived = [(("a", 0), "go", ("b", 0))]
    assert chance(arrived, []) == 1.0
    elsewhere = [(("c", 0), "go", ("c", 1))]
    assert chance(elsewhere, [(("c", 0), "go", ("b", 0))]) == 0.5  # the same action is trusted less in a new place
    assert chance([(("c", 0), "stay", ("c", 1))], []) == 1.0


def planned(memory: Memory, counter: int) -> tuple[str, ...]:
    """What is selected between a short way to the goal and a longer one, with another counter in each key."""
    graph = PlanGraph()
    start, goal = ("a", counter), ("goal", counter)
    graph.fold([start, goal], ["jump"])
    graph.fold([start, ("b", counter), goal], ["walk", "walk on"])
    graph.set_goal(str(goal))
    graph.set_reward(str(goal), 1.0)
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1}))
    weigh(graph, Counted(), memory.transitions, memory.contradicted)
    problem, ids = graph.path_problem(str(start), {"steps": 5}, 5, objective=graph.objective)
    return tuple(graph.edge(ids[e]).action for e in solvers.solve(problem).edges)


def test_a_refused_action_is_not_planned_for_ever_in_states_that_only_a_counter_makes_new() -> None:
    memory = Memory()
    assert planned(memory, 0) == ("jump",)
    memory.add(("a", 0), "jump", ("a", 1))
    memory.contradict(("a", 0), "jump", ("goal", 0))
    assert planned(memory, 1) == ("walk", "walk on")


def test_what_cannot_be_undone_is_done_as_most_plans_do_it() -> None:
    graph = PlanGraph()
    for plan in (["a", "b", "sold x", "goal"], ["b", "sold x"], ["a", "sold y", "goal"], ["a", "b"]):
        graph.fold([(place, 0) for place in plan], [f"to {place}" for place in plan[1:]])
    weigh(graph, Counted(), (), ())
    chances = {(edge.source, edge.target): edge.chance for edge in graph.edges()}
    assert chances[str(("b", 0)), str(("sold x", 0))] == 2 / 3
    assert chances[str(("a", 0)), str(("sold y", 0))] == 1 / 3  # whoever else does it, and wherever
    assert chances[str(("a", 0)), str(("b", 0))] == 1.0


graphs = st.tuples(
    st.lists(st.tuples(*[st.integers(0, 5)] * 2, st.floats(0.01, 1.0)), min_size=1, max_size=14),
    st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6),
    st.integers(1, 6),
)


def paths(graph: PlanGraph, node: str, seen: tuple[str, ...], left: int) -> Iterator[list[Any]]:
    """All paths from a node that visit no node twice."""
    yield []
    for edge in graph.edges():
        if edge.source == node and edge.target not in seen and left:
            for rest in paths(graph, edge.target, (*seen, edge.target), left - 1):
                yield [edge, *rest]


@given(graphs)
@examples(200)
def test_the_selected_path_has_the_greatest_expected_value_and_no_circle(drawn: Any) -> None:
    links, values, steps = drawn
    graph = PlanGraph()
    for node in range(6):
        graph.add_state(str(node))
        graph.set_reward(str(node), values[node])
    for number, (a, b, chance) in enumerate(links):
        graph.fold([str(a), str(b)], [f"{number}"])
        graph.set_chance(number, chance)
        graph.set_cost(number, Resources({"steps": 1}))
    graph.objective, graph.ends_anywhere = "expect", True

    def value(path: list[Any]) -> float:
        end = math.log(max(values[int(path[-1].target)], LEAST))
        return end + sum(math.log(edge.chance) - A_STEP for edge in path)

    possible = [path for path in paths(graph, "0", ("0",), steps) if path]
    problem, ids = graph.path_problem("0", {"steps": steps}, 6, objective="expect")
    solution = solvers.solve(problem)
    assert solution.has_path == bool(possible)
    if possible:
        path = [graph.edge(ids[e]) for e in solution.edges]
        assert math.isclose(value(path), max(map(value, possible)), rel_tol=1e-9, abs_tol=1e-9)
        nodes = ["0", *(edge.target for edge in path)]
        assert len(set(nodes)) == len(nodes)

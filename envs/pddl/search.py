"""The exact search of a small problem: all states become a plan graph, and the solver picks the best plans in it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import solvers
from envs.pddl.errors import PddlError
from envs.pddl.state import PddlState, as_state
from tape.choice.graph import PlanGraph
from tape.engine.score import save
from tape.protocols import Action, Domain
from tape.protocols.parts import Outcomes


@dataclass(frozen=True)
class Bounds:
    """How far planners and searches go.

    Attributes:
        seconds: The longest that one may take.
        memory: The most memory of a planner, in MiB.
        states: The most states of the exact search.
    """

    seconds: float = 60
    memory: int = 2048
    states: int = 20_000


class SearchedDomain(Domain, Outcomes):
    """A domain all of whose states can be looked at.

    Attributes:
        bounds: How far.
        saves: The resource that the best plan uses least of.
    """

    bounds: Bounds
    saves: str

    @abstractmethod
    def applicable(self, state: PddlState) -> Sequence[Action]:
        """The calls that apply."""


class TooManyStatesError(PddlError):
    """There are more states than the bounds allow."""


def state_graph(domain: SearchedDomain, start: PddlState) -> PlanGraph:
    """All states that are reachable, with the costs of the actions between them; goals are its ends.

    Raises:
        TooManyStatesError: There are more states than the bounds of the domain allow, or it takes too long.
    """
    bounds, until = domain.bounds, time.monotonic() + domain.bounds.seconds
    graph, queue = PlanGraph(domain.key), [start]
    known = {graph.add_state(start)}
    for here in queue:  # grows while it is read
        key = domain.key(here)
        if domain.is_end(here):
            graph.set_goal(key)
            graph.set_reward(key, 1.0)
            continue
        graph.no_end(key)
        for action in domain.applicable(here):
            after = domain.outcome(here, action).state
            if after is None:  # a cap on a number of the state forbids it
                continue
            target = graph.add_variant(here, action, after)
            graph.set_cost(graph.find(key, action, target), domain.cost(here, action))
            if target not in known:
                known.add(target)
                queue.append(as_state(after))
        if len(known) > bounds.states or time.monotonic() > until:
            raise TooManyStatesError(
                f"the exact search has looked at {len(known):,} states within {bounds.seconds:g} s and is not through "
                f"(at most {bounds.states:,}); use a planner: --proposer planner:pyperplan"
            )
    return graph


def cheapest_plans(
    domain: SearchedDomain, start: PddlState, remaining: Mapping[str, int], count: int, *, relaxed: bool = True
) -> Sequence[Sequence[Action]]:
    """At most ``count`` plans of least cost within what remains.

    With ``relaxed`` the cheapest without caps where none fits, so that the caps that would do can be told.
    """
    if domain.is_end(start):
        return [()]
    graph = state_graph(domain, start)
    if not graph.leads_to_goal(domain.key(start)):
        return []
    declared = {kind for edge in graph.edges() for kind, amount in edge.cost.items() if amount}
    caps = {kind: left for kind, left in remaining.items() if kind in declared}
    save(graph, domain.saves)
    for limits in (caps, {}) if relaxed else (caps,):
        problem, ids = graph.path_problem(
            domain.key(start), limits, len(graph.nodes), 1.0, objective="save", goals=None
        )
        best = solvers.k_best(problem, count)
        if not best.solutions and best.status is not solvers.Status.INFEASIBLE:
            raise PddlError(f"the exact search ended without an answer: {best.message or best.status.value}")
        plans = [tuple(graph.edge(ids[edge]).action for edge in solution.edges) for solution in best.solutions]
        if plans or not caps:
            return plans
    return []

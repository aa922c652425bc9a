"""The chances of predicted outcomes: what was observed, on the model's own samples as prior [ours].

The counts of each state (without its counters) and action give an outcome t of prior q the posterior mean
(q r + n_t) / (1 + n) of a Dirichlet distribution of weight 1. q is the share of the sampled plans that predict t, times
the model's confidence. r is the share of the episode's predictions about this action that came out, with one more that
did: an action that was wrongly predicted in one state is trusted less in the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.protocols import Action, State
from tape.protocols.hooks import Transition


class Chances(Protocol):
    """What counts as the same where the outcomes of actions are uncertain."""

    def situation(self, state: State) -> str:
        """The identity of a state without counters, for instance of how long has been waited."""

    def outcome_key(self, state: State) -> str:
        """What an action has led to as far as plans rest on it; equal outcomes are counted as one."""

    def committed(self, state: State) -> str:
        """What was done that cannot be undone: a step that adds to it is trusted as far as plans agree on it."""


class OutcomeCounts:
    """The outcomes that were observed in an episode.

    Args:
        chances: What counts as the same.
        observed: The transitions: state, action, next state.
        wrong: The predictions that ended a path, in the same form.
    """

    def __init__(
        self,
        chances: Chances,
        observed: Iterable[Transition],
        wrong: Iterable[Transition],
    ) -> None:
        self._chances = chances
        self._seen: dict[tuple[str, Action], Counter[str]] = defaultdict(Counter)
        self._tries: Counter[Action] = Counter()
        for before, action, after in observed:
            self._seen[chances.situation(before), action][chances.outcome_key(after)] += 1
            self._tries[action] += 1
        self._wrong = Counter(action for _, action, _ in wrong)

    def chance(self, before: State, action: Action, after: State, prior: float) -> float:
        """The posterior mean of a predicted outcome, in (0, 1] for a positive prior."""
        seen = self._seen.get((self._chances.situation(before), action), Counter())
        trust = (1 + self._tries[action] - self._wrong[action]) / (1 + self._tries[action])
        return (prior * trust + seen[self._chances.outcome_key(after)]) / (1 + seen.total())


def weigh(graph: PlanGraph, chances: Chances, observed: Sequence[Transition], wrong: Sequence[Transition]) -> None:
    """Set the chance of every edge; paths are then selected by their expected value [ours]."""
    counts = OutcomeCounts(chances, observed, wrong)
    edges, votes = [*graph.edges()], Counter[tuple[str, Action]]()
    for edge in edges:
        votes[edge.source, edge.action] += edge.votes
    agreed = _agreement(graph, chances)
    for edge in edges:
        prior = edge.confidence * edge.votes / (votes[edge.source, edge.action] or 1) * agreed(edge)
        states = graph.state(edge.source), graph.state(edge.target)
        graph.set_chance(edge.id, counts.chance(states[0], edge.action, states[1], prior))
    graph.objective, graph.ends_anywhere = "expect", True


def _agreement(graph: PlanGraph, chances: Chances) -> Callable[[Edge], float]:
    """The share of the plans that agree on what a step does for good; 1 where it does nothing of the kind.

    Of the plans that go on from what was done for good before the step, it is the share of those that do the same next,
    wherever they do it. So one plan with a wrong decision, or with decisions in another order, does not prevail.
    """
    done = {node: chances.committed(graph.state(node)) for node in graph.nodes}

    def decision(edge: Edge) -> tuple[str, str]:
        return done[edge.source], done[edge.target]

    taken = Counter(pair for plan in graph.plans for pair in {decision(graph.edge(number)) for number in plan})
    among = Counter[str]()
    for (before, after), count in taken.items():
        among[before] += count * (before != after)

    def agreed(edge: Edge) -> float:
        before, after = decision(edge)
        return 1.0 if before == after else taken[before, after] / (among[before] or 1)

    return agreed

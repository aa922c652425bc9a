"""The chances of predicted outcomes: what was observed, on the model's own samples as prior [ours].

The counts of each state (without its counters) and action give an outcome t of prior q the posterior mean
(q r + n_t) / (1 + n) of a Dirichlet distribution of weight 1. q is the share of the sampled plans that predict t, times
the model's confidence. r is the share of the episode's predictions about this action that came out, with one more that
did: an action that was wrongly predicted in one state is trusted less in the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from tape.engine.graph import PlanGraph
from tape.engine.predict import Memory
from tape.protocols import Action, State
from tape.protocols.parts import Chances


class OutcomeCounts:
    """The outcomes that were observed in an episode.

    Args:
        chances: What counts as the same.
        memory: The observed transitions, and the predictions that turned out wrong.
    """

    def __init__(self, chances: Chances, memory: Memory) -> None:
        self._chances = chances
        self._seen: dict[tuple[str, Action], Counter[str]] = defaultdict(Counter)
        self._tries: Counter[Action] = Counter()
        self._wrong: Counter[Action] = Counter()
        for before, action, after in memory.transitions:
            self._seen[chances.situation(before), action][chances.outcome(after)] += 1
            self._tries[action] += 1
        for _, action, _ in memory.contradicted:
            self._wrong[action] += 1

    def chance(self, before: State, action: Action, after: State, prior: float) -> float:
        """The posterior mean of a predicted outcome, in (0, 1] for a positive prior."""
        seen = self._seen.get((self._chances.situation(before), action), Counter())
        trust = (1 + self._tries[action] - self._wrong[action]) / (1 + self._tries[action])
        return (prior * trust + seen[self._chances.outcome(after)]) / (1 + seen.total())


def weigh(graph: PlanGraph, chances: Chances, memory: Memory) -> None:
    """Set the chance of every edge; paths are then selected by their expected value."""
    counts, votes = OutcomeCounts(chances, memory), Counter[tuple[str, Action]]()
    edges = [*graph.edges()]
    for edge in edges:
        votes[edge.source, edge.action] += edge.votes
    for edge in edges:
        prior = edge.confidence * edge.votes / (votes[edge.source, edge.action] or 1)
        before, after = graph.state(edge.source), graph.state(edge.target)
        graph.set_chance(edge.id, counts.chance(before, edge.action, after, prior))
    graph.objective = "expect"

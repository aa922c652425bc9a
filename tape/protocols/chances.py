"""The chances of predicted outcomes: what was observed, on the model's own samples as prior [ours].

The counts of each state (without its counters) and action give an outcome t of prior q the posterior mean
(q r + n_t) / (1 + n) of a Dirichlet distribution of weight 1. q is the share of the sampled plans that predict t, times
the model's confidence. r is the share of the episode's predictions about this action that came out, with one more that
did: an action that was wrongly predicted in one state is trusted less in the next.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from tape.protocols.parts import Chances
from tape.protocols.types import Action, State


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
        observed: Iterable[tuple[State, Action, State]],
        wrong: Iterable[tuple[State, Action, State]],
    ) -> None:
        self._chances = chances
        self._seen: dict[tuple[str, Action], Counter[str]] = defaultdict(Counter)
        self._tries: Counter[Action] = Counter()
        for before, action, after in observed:
            self._seen[chances.situation(before), action][chances.outcome(after)] += 1
            self._tries[action] += 1
        self._wrong = Counter(action for _, action, _ in wrong)

    def chance(self, before: State, action: Action, after: State, prior: float) -> float:
        """The posterior mean of a predicted outcome, in (0, 1] for a positive prior."""
        seen = self._seen.get((self._chances.situation(before), action), Counter())
        trust = (1 + self._tries[action] - self._wrong[action]) / (1 + self._tries[action])
        return (prior * trust + seen[self._chances.outcome(after)]) / (1 + seen.total())

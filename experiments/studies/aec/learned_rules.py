"""Rules learned from failures that override a predictor (in the spirit of WALL-E; form and thresholds are ours).

A case is one predicate of one episode whose truth came to light: what was predicted of it, in what context,
and what was observed. A rule says of all predicates of one name in one kind of context what their value is. It is
learned where the predictor keeps being wrong and the observations agree; a rule that keeps failing is dropped, reported
and not learned again. Rules speak of beliefs alone: nothing here grounds a fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from tape.aec.overrides import Override, OverrideRule, Overrides
from tape.errors import ConfigError
from tape.protocols.predicates import Feature, Predicate
from tape.reading import short

MOST_CONTEXT = 8
"""Most features in a rule: all choices of so many are looked at."""


class Case(NamedTuple):
    """What was predicted and what was observed.

    Attributes:
        episode: Names the episode, so that a case is counted once however often it is handed in.
        predicate: Of what.
        features: The context, in any order.
        predicted: The predictor's own mu, before any rule.
        observed: What the environment showed.
    """

    episode: str
    predicate: Predicate
    features: tuple[Feature, ...]
    predicted: float
    observed: bool

    @property
    def is_counterexample(self) -> bool:
        """Whether the prediction was wrong; one of exactly 1/2 predicts nothing, and is."""
        return self.predicted == 0.5 or (self.predicted > 0.5) != self.observed


@dataclass(frozen=True)
class Settings:
    """When a rule is learned and when it is dropped.

    Attributes:
        support: Least number of counterexamples, of different episodes, that a rule must put right.
        precision: Least share of all cases in its context that have its value.
        context: Most features in a rule.
        failures: As many cases against a rule as it takes to drop it, if its precision is then too low.

    Raises:
        ConfigError: One of them is out of range.
    """

    support: int = 3
    precision: float = 0.9
    context: int = 2
    failures: int = 2

    def __post_init__(self) -> None:
        for name in ("support", "context", "failures"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected at least 1, got {getattr(self, name)!r}")
        if self.context > MOST_CONTEXT:
            raise ConfigError(f"context: expected at most {MOST_CONTEXT} features, got {short(self.context)}")
        if not 0.5 < self.precision <= 1.0:
            raise ConfigError(f"precision: expected a share above 0.5 and at most 1, got {self.precision!r}")


@dataclass(frozen=True)
class Refinement:
    """What one iteration changed.

    Attributes:
        learned: New rules.
        dropped: Rules that kept failing.
    """

    learned: tuple[OverrideRule, ...]
    dropped: tuple[OverrideRule, ...]


class LearnedRules:
    """The rules so far and the cases behind them.

    Args:
        settings: The thresholds.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._cases: set[Case] = set()
        self._rules: set[OverrideRule] = set()
        self._dropped: set[OverrideRule] = set()

    @property
    def rules(self) -> tuple[OverrideRule, ...]:
        """The rules in force, sorted."""
        return tuple(sorted(self._rules))

    @property
    def dropped(self) -> tuple[OverrideRule, ...]:
        """The rules that kept failing, sorted; none of them is learned again."""
        return tuple(sorted(self._dropped))

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, sorted."""
        return tuple(sorted(self._cases))

    def refine(self, cases: Iterable[Case]) -> Refinement:
        """Take new cases in, drop what they refute, then learn. The same cases once more change nothing.

        Hand in right predictions as well as wrong ones: without them every rule looks precise.
        """
        for case in cases:
            self._cases.add(case._replace(features=tuple(sorted(set(case.features)))))
        dropped = {rule for rule in self._rules if self._fails(rule)}
        self._rules -= dropped
        self._dropped |= dropped
        learned: set[OverrideRule] = set()
        for rule in self._candidates():  # shorter contexts first: a rule is not repeated for a part of its context
            if not any(self._covers(known, rule) for known in self._rules | learned):
                learned.add(rule)
        self._rules |= learned
        return Refinement(tuple(sorted(learned)), tuple(sorted(dropped)))

    def evidence(self, rule: OverrideRule) -> tuple[int, int]:
        """How many cases there are in the rule's context, and how many of them have its value."""
        found = [case.observed for case in self._cases if rule.applies(case.predicate, case.features)]
        return len(found), sum(observed == rule.value for observed in found)

    def overrides(self) -> Overrides:
        """The rules in force with their records, as an agent uses them."""
        return Overrides(tuple(Override(rule, *self.evidence(rule)) for rule in self.rules))

    def _fails(self, rule: OverrideRule) -> bool:
        n, hits = self.evidence(rule)
        return n - hits >= self.settings.failures and hits < self.settings.precision * n

    @staticmethod
    def _covers(known: OverrideRule, rule: OverrideRule) -> bool:
        same = (known.predicate, known.value) == (rule.predicate, rule.value)
        return same and set(known.context) <= set(rule.context)

    def _candidates(self) -> list[OverrideRule]:
        """What passes the thresholds and was never dropped."""
        episodes: dict[OverrideRule, set[str]] = {}
        seen: Counter[OverrideRule] = Counter()
        for case in self._cases:
            for size in range(1, min(self.settings.context, len(case.features)) + 1):
                for context in combinations(case.features, size):
                    rule = OverrideRule(case.predicate.name, context, case.observed)
                    seen[rule] += 1
                    if case.is_counterexample:
                        episodes.setdefault(rule, set()).add(case.episode)
        found = []
        for rule, where in episodes.items():
            against = seen[OverrideRule(rule.predicate, rule.context, not rule.value)]
            precise = seen[rule] >= self.settings.precision * (seen[rule] + against)
            if len(where) >= self.settings.support and precise and rule not in self._dropped:
                found.append(rule)
        return sorted(found, key=lambda rule: (len(rule.context), rule))

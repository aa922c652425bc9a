"""Rules learned from failures that override a predictor (in the spirit of WALL-E; form and thresholds are ours).

A case is one predicate of one episode whose truth came to light: what the predictor had said of it, in what context,
and what was observed. A rule says of all predicates of one name in one kind of context what their value is. It is
learned where the predictor keeps being wrong and the observations agree; a rule that keeps failing is dropped, reported
and not learned again. Rules speak of beliefs alone: nothing here grounds a fact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import Field

from tape.aec.overrides import Override, OverrideRule, Overrides
from tape.errors import ConfigError
from tape.protocols.predicates import Feature, Predicate
from tape.reading import parse_json, read_text, shaped, short

SCHEMA = "tape.learned_rules/1"
MOST_CONTEXT = 8
"""Most features in a rule: all choices of so many are looked at."""

__all__ = ["Case", "Feature", "LearnedRules", "OverrideRule", "Refinement", "Settings", "read_overrides"]


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
        """Whether the prediction was wrong; one of exactly 1/2 said nothing, and is."""
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
        for rule in self._candidates():  # shorter contexts first: a rule is not said again of a part of its context
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

    def rule_for(self, predicate: Predicate, features: Sequence[Feature]) -> OverrideRule | None:
        """The rule that speaks here, see :meth:`Overrides.speaking`."""
        speaking = self.overrides().speaking(predicate, features)
        return None if speaking is None else speaking.rule

    def mu(self, predicate: Predicate, features: Sequence[Feature], predicted: float) -> float:
        """The probability that the predicate is true, see :meth:`Overrides.mu`."""
        return self.overrides().mu(predicate, features, predicted)

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

    def to_json(self) -> str:
        """One JSON object with a ``schema``: settings, cases, rules, dropped rules."""
        rules = {
            name: [list(_plain(r)) for r in own] for name, own in (("rules", self.rules), ("dropped", self.dropped))
        }
        data: dict[str, Any] = {"schema": SCHEMA, "settings": asdict(self.settings), "cases": self.cases, **rules}
        return json.dumps(data, indent=1)

    @classmethod
    def from_json(cls, text: str, where: str = "rules") -> LearnedRules:
        """Read what :meth:`to_json` wrote.

        Args:
            text: JSON.
            where: Where it stands, for messages.

        Raises:
            ConfigError: It is something else.
        """
        data = shaped(parse_json(text, where, error=_no_rules), _File, where, error=_no_rules)
        if data.schema != SCHEMA:
            raise ConfigError(f"{where}: learned rules: expected schema {SCHEMA!r}, found {short(data.schema)}")
        made = cls(data.settings)
        made._cases = {
            Case(episode, Predicate(name, args), features, predicted, observed)
            for episode, (name, args), features, predicted, observed in data.cases
        }
        made._rules, made._dropped = ({OverrideRule(*rule) for rule in rules} for rules in (data.rules, data.dropped))
        return made

    def save(self, file: Path) -> None:
        """Write them into a file."""
        file.write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> LearnedRules:
        """Read a file that :meth:`save` wrote.

        Raises:
            ConfigError: It holds something else.
        """
        return cls.from_json(read_text(file, error=_no_rules), str(file))


def read_overrides(text: str, where: str = "rules") -> Overrides:
    """The rules in force, from what :class:`LearnedRules` or :class:`Overrides` wrote.

    Args:
        text: JSON.
        where: Where it stands, for messages.

    Raises:
        ConfigError: It is something else.
    """
    learned = SCHEMA in text[:200]
    return LearnedRules.from_json(text, where).overrides() if learned else Overrides.from_json(text, where)


def _plain(rule: OverrideRule) -> _Rule:
    return rule.predicate, rule.context, rule.value


def _no_rules(said: str) -> ConfigError:
    return ConfigError(f"{said}; so these are not learned rules as this version writes them ({SCHEMA})")


_Rule: TypeAlias = tuple[str, tuple[Feature, ...], bool]
_Case: TypeAlias = tuple[
    str, tuple[str, tuple[str, ...]], tuple[Feature, ...], Annotated[float, Field(ge=0, le=1)], bool
]


@dataclass(frozen=True)
class _File:
    schema: str
    settings: Settings
    cases: list[_Case]
    rules: list[_Rule]
    dropped: list[_Rule]

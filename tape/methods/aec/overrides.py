"""Learned rules that predict a predicate's value in a kind of context, with how often they were right.

Rules only change beliefs: nothing here grounds a fact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tape.errors import ConfigError
from tape.protocols import Domain
from tape.protocols.predicates import Feature, Predicate
from tape.reading import parse_json, shaped, short

SCHEMA = "tape.override_rules/1"


_Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class _File:
    schema: str
    rules: list[tuple[str, tuple[tuple[str, ...], ...], bool, _Count, _Count]]


def _no_rules(problem: str) -> ConfigError:
    return ConfigError(f"{problem}; so these are not rules as this version writes them ({SCHEMA})")


@dataclass(frozen=True, order=True)
class OverrideRule:
    """Predicates of this name have this value in this context.

    Attributes:
        predicate: The name of the predicates.
        context: Features that must all be present, sorted.
        value: The predicted value.
    """

    predicate: str
    context: tuple[Feature, ...]
    value: bool

    def applies(self, predicate: Predicate, features: Iterable[Feature]) -> bool:
        """Whether it applies to a predicate with these features."""
        return predicate.name == self.predicate and set(self.context) <= set(features)

    def __str__(self) -> str:
        """As in ``in(..) is false where object type apple``."""
        where = " and ".join(" ".join(feature) for feature in self.context)
        return f"{self.predicate}(..) is {str(self.value).lower()} where {where}"


@dataclass(frozen=True, order=True)
class Override:
    """A rule and its record.

    Attributes:
        rule: The rule.
        n: Cases in its context.
        hits: How many of them had its value.
    """

    rule: OverrideRule
    n: int
    hits: int

    @property
    def share(self) -> float:
        """``(hits + 1) / (n + 2)``: never certainty."""
        return (self.hits + 1) / (self.n + 2)

    @property
    def mu(self) -> float:
        """The probability of true that it predicts."""
        return self.share if self.rule.value else 1.0 - self.share


@dataclass(frozen=True)
class Overrides:
    """Rules in force.

    Attributes:
        items: The rules with their records, sorted.
    """

    items: tuple[Override, ...] = ()

    def applying(self, predicate: Predicate, features: Sequence[Feature]) -> Override | None:
        """The rule that applies: the most precise one, then the one with more cases, then by name."""
        able = [item for item in self.items if item.rule.applies(predicate, features)]
        return min(able, key=lambda item: (-item.share, -item.n, item.rule), default=None)

    def mu(self, predicate: Predicate, features: Sequence[Feature], predicted: float) -> float:
        """The probability that the predicate is true: of the rule that applies, else the given prediction."""
        rule = self.applying(predicate, features)
        return predicted if rule is None else rule.mu

    def to_json(self) -> str:
        """One line of JSON with a ``schema``."""
        rules = [[i.rule.predicate, i.rule.context, i.rule.value, i.n, i.hits] for i in self.items]
        return json.dumps({"schema": SCHEMA, "rules": rules})

    @classmethod
    def from_json(cls, text: str, where: str = "rules") -> Overrides:
        """Read what :meth:`to_json` wrote.

        Args:
            text: JSON.
            where: The source, for messages.

        Raises:
            ConfigError: The text holds no rules.
        """
        data = shaped(parse_json(text, where, error=_no_rules), _File, where, error=_no_rules)
        if data.schema != SCHEMA:
            raise ConfigError(f"{where}: rules: expected schema {SCHEMA!r}, found {short(data.schema)}")
        items = []
        for name, context, value, n, hits in data.rules:
            if hits > n:
                raise _no_rules(f"{where}: a rule of {short(name)} was right {hits} times of {n}")
            items.append(Override(OverrideRule(name, tuple(sorted(context)), value), n, hits))
        return cls(tuple(sorted(items)))


def features_of(domain: Domain, predicate: Predicate) -> tuple[Feature, ...]:
    """The context of a predicate, sorted."""
    return tuple(sorted(set(domain.hooks.features(predicate))))

"""Rules between the steps of a schedule, each as amounts that add up: what the solver of schedules keeps exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tape.budget.units import nearest
from tape.choice.rules import AtLeast, AtMost, Before, Floor, Requires, Rule
from tape.errors import ConfigError


@dataclass(frozen=True)
class RuleRow:
    """An amount of each variant, and the most that the chosen ones may add up to.

    Attributes:
        rule: What it stands for.
        uses: By step and variant.
        most: Not exceeded exactly where the rule is kept.
    """

    rule: Rule
    uses: Sequence[Sequence[int]]
    most: int

    def broken(self, chosen: Sequence[int]) -> bool:
        """Whether some variants break the rule, one of each step."""
        return sum(row[index] for row, index in zip(self.uses, chosen, strict=True)) > self.most


def rows_of(rules: Sequence[Rule], names: Sequence[Sequence[Any]], levels: Any) -> list[RuleRow]:
    """The rows of some rules.

    Args:
        rules: The rules.
        names: Of the variants, by step.
        levels: The level of a variant by a floor's name, its step and its place.

    Raises:
        ConfigError: A rule names what is no variant, or cannot be kept here.
    """
    return [row for rule in rules for row in _rows(rule, names, levels)]


def _rows(rule: Rule, names: Sequence[Sequence[Any]], levels: Any) -> list[RuleRow]:
    steps = len(names)
    if isinstance(rule, Before):
        raise ConfigError(f"{rule}: the order of a schedule is what after= says; write it there, and Requires")
    if isinstance(rule, Floor):
        if not rule.worst:
            raise ConfigError(f"{rule}: in a schedule a floor is of each step; give worst_at_least=")
        low = [[int(levels(rule.name, s, v) < rule.least) for v in range(len(row))] for s, row in enumerate(names)]
        return [RuleRow(rule, low, 0)]
    known = {name for row in names for name in row}
    for name in rule.of if isinstance(rule, AtMost | AtLeast) else vars(rule).values():
        if name not in known:
            raise ConfigError(f"{rule} names {name!r}, which no variant is called{nearest(str(name), map(str, known))}")
    if isinstance(rule, AtMost | AtLeast):
        least = isinstance(rule, AtLeast)
        most = steps - rule.count if least else rule.count
        if most < 0:
            raise ConfigError(f"{rule}: there are {steps} steps, and each is done once")
        return [RuleRow(rule, [[int((name in rule.of) != least) for name in row] for row in names], most)]
    step, other = rule.step, rule.other
    if isinstance(rule, Requires):
        times = max(1, sum(step in row for row in names))
        uses = [[times * (name != other) + (name == step) for name in row] for row in names]
        return [RuleRow(rule, uses, times * steps)]
    times = max(1, sum(other in row for row in names))
    return [
        RuleRow(rule, [[times * (name == step and s == of) + (name == other) for name in row] for s, row in
                       enumerate(names)], times)
        for of, own in enumerate(names) if step in own
    ]  # fmt: skip

"""Rules between steps that are not costs: which go together, which do not, how many, and in which order.

A rule is a small automaton over the steps of a plan. The graph to choose from is multiplied by the states of all rules,
so that every search, frontier, explanation and proof is of plans that keep them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

from tape.budget.units import nearest
from tape.choice.amounts import number
from tape.choice.options import EdgeOption, PlanSpace
from tape.errors import ConfigError
from tape.reading import short

MOST_STATES = 1_000_000
"""Nodes times states of rules; more are a mistake, or need fewer rules."""


class _Rule:
    """How rules are written in sentences: ``Before(check, refund)``."""

    def __str__(self) -> str:
        parts = (f"of {', '.join(map(str, part))}" if name == "of" else str(part) for name, part in vars(self).items())
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True)
class Requires(_Rule):
    """A plan with one step has another one too, before or after it.

    Attributes:
        step: The step.
        other: What it requires.

    Examples:
        >>> from tape import select
        >>> from tape.choice import Requires
        >>> select([["refund"], ["refund", "check"]], value=[2, 1], rules=[Requires("refund", "check")]).plan
        ['refund', 'check']
    """

    step: Any
    other: Any

    def after(self, state: int, option: EdgeOption) -> int | None:
        """The state after a step; None where the rule is broken for good."""
        return 2 if self.other in option.names or state == 2 else 1 if self.step in option.names else state

    def kept(self, state: int) -> bool:
        """Whether a plan may end so."""
        return state != 1


@dataclass(frozen=True)
class Excludes(_Rule):
    """A plan has at most one of two steps.

    Attributes:
        step: The step.
        other: What it excludes.

    Examples:
        >>> from tape import select
        >>> from tape.choice import Excludes
        >>> select([["ask", "pay"], ["ask"]], value=[2, 1], rules=[Excludes("ask", "pay")]).plan
        ['ask']
    """

    step: Any
    other: Any

    def after(self, state: int, option: EdgeOption) -> int | None:
        """See :meth:`Requires.after`."""
        state |= (1 if self.step in option.names else 0) | (2 if self.other in option.names else 0)
        return None if state == 3 else state

    def kept(self, state: int) -> bool:
        """See :meth:`Requires.kept`."""
        return state != 3


@dataclass(frozen=True)
class Before(_Rule):
    """Each time a plan takes one step, another one has come before it.

    Attributes:
        first: What has to have come.
        step: The step.

    Examples:
        >>> from tape import select
        >>> from tape.choice import Before
        >>> select([["refund", "check"], ["check", "refund"]], value=[2, 1], rules=[Before("check", "refund")]).plan
        ['check', 'refund']
    """

    first: Any
    step: Any

    def after(self, state: int, option: EdgeOption) -> int | None:
        """See :meth:`Requires.after`."""
        if self.step in option.names and state == 0:
            return None
        return 1 if self.first in option.names else state

    def kept(self, state: int) -> bool:
        """See :meth:`Requires.kept`."""
        del state
        return True


@dataclass(frozen=True)
class AtMost(_Rule):
    """A plan takes some steps so many times at most, counted together.

    Attributes:
        count: How many times.
        of: The steps.

    Examples:
        >>> from tape import select
        >>> from tape.choice import AtMost
        >>> select([["ask", "ask"], ["ask"]], value=[2, 1], rules=[AtMost(1, of=["ask"])]).plan
        ['ask']
    """

    count: int
    of: Sequence[Any]

    def after(self, state: int, option: EdgeOption) -> int | None:
        """See :meth:`Requires.after`."""
        state += any(step in option.names for step in self.of)
        return None if state > self.count else state

    def kept(self, state: int) -> bool:
        """See :meth:`Requires.kept`."""
        return state <= self.count


@dataclass(frozen=True)
class AtLeast(_Rule):
    """A plan takes some steps so many times at least, counted together.

    Attributes:
        count: How many times.
        of: The steps.

    Examples:
        >>> from tape import select
        >>> from tape.choice import AtLeast
        >>> select([["write"], ["check", "write"]], value=[2, 1], rules=[AtLeast(1, of=["check"])]).plan
        ['check', 'write']
    """

    count: int
    of: Sequence[Any]

    def after(self, state: int, option: EdgeOption) -> int | None:
        """See :meth:`Requires.after`."""
        return min(self.count, state + any(step in option.names for step in self.of))

    def kept(self, state: int) -> bool:
        """See :meth:`Requires.kept`."""
        return state >= self.count


@dataclass(frozen=True)
class Floor:
    """What a level of a plan may not fall below: the product of its steps', or the least of them.

    Attributes:
        name: Of the level, which steps have beside their costs, above 0 and at most 1; 1 where it is not named.
        least: The floor.
        worst: Of the least step.
    """

    name: str
    least: Fraction
    worst: bool

    def __str__(self) -> str:
        return f"{self.name} at least {float(self.least):g}{' in each step' if self.worst else ''}"

    def level(self, option: EdgeOption) -> Fraction:
        """The level of a step.

        Raises:
            ConfigError: It is no share.
        """
        level = option.cost.get(self.name, Decimal(1))
        if level is None or not 0 < level <= 1:
            raise ConfigError(f"{option.step!r} has {self.name} {level}; a level is above 0 and at most 1")
        return Fraction(level)

    def after(self, state: Fraction, option: EdgeOption) -> Fraction | None:
        """See :meth:`Requires.after`; the state is the product so far."""
        level = self.level(option) * (1 if self.worst or not state else state)
        return None if level < self.least else Fraction(0) if self.worst else level

    def kept(self, state: Fraction) -> bool:
        """See :meth:`Requires.kept`."""
        del state
        return True


Rule: TypeAlias = Requires | Excludes | Before | AtMost | AtLeast | Floor
_PAIRS: dict[Any, Any] = {"requires": Requires, "excludes": Excludes, "before": Before}
_COUNTS: dict[Any, Any] = {"at_most": AtMost, "at_least": AtLeast}


def read_floors(given: Any, *, worst: bool) -> list[Rule]:
    """Floors by the names of their levels.

    Raises:
        ConfigError: One is malformed.
    """
    what = "worst_at_least" if worst else "at_least"
    if not isinstance(given, Mapping):
        raise ConfigError(f'{what}={short(given)}: expected floors by name, for instance {{"quality": 0.8}}')
    floors = [Floor(str(name), number(least, f"the floor {name!r}"), worst) for name, least in given.items()]
    for floor in floors:
        if not 0 < floor.least <= 1:
            raise ConfigError(f"{what}= has {floor.name} {float(floor.least):g}; a floor is above 0 and at most 1")
    return [*floors]


def read_rules(given: Any) -> list[Rule]:
    """Rules, some of them as files have them: ``{"before": ["check", "refund"]}``, ``{"at_most": 2, "of": [...]}``.

    Raises:
        ConfigError: One is malformed.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ConfigError(f"rules={short(given)}: expected a list of rules, for instance [Before('check', 'refund')]")
    return [_rule(item) for item in given]


def _rule(given: Any) -> Rule:
    if isinstance(given, Mapping):
        name, value = next(iter(given.items()), ("", None))
        if name in _PAIRS and isinstance(value, list) and len(value) == 2 and len(given) == 1:
            made: Rule = _PAIRS[name](*value)
            return made
        if name in _COUNTS and given.keys() == {name, "of"}:
            count: Any = value
            return _rule(_COUNTS[name](count, given["of"]))
    elif isinstance(given, AtMost | AtLeast):
        if isinstance(given.count, bool) or not isinstance(given.count, int) or given.count < 0:
            raise ConfigError(f"{given}: count is how many times, at least 0")
        if isinstance(given.of, str | bytes) or not isinstance(given.of, Sequence):
            raise ConfigError(f"{given}: of= is a list of steps")
        return given
    elif isinstance(given, Requires | Excludes | Before):
        return given
    known = ", ".join([*(f'{{"{name}": [a, b]}}' for name in _PAIRS), *(f'{{"{n}": 1, "of": [a]}}' for n in _COUNTS)])
    raise ConfigError(f"{short(given)} is no rule; in files rules are {known}")


def under_rules(space: PlanSpace, rules: Sequence[Rule]) -> PlanSpace:
    """The graph in which a path is a plan that keeps all rules.

    Raises:
        ConfigError: A rule names a step that there is not, or there are too many states.
    """
    if not rules:
        return space
    _require_known(space, rules)
    leaving: dict[int, list[int]] = {}
    for place, option in enumerate(space.options):
        leaving.setdefault(option.tail, []).append(place)
    first: tuple[int, tuple[Any, ...]] = (space.start, (0,) * len(rules))
    number_of, waiting, moves = {first: 0}, [first], list[tuple[int, int, int]]()
    for node, states in waiting:
        for place in leaving.get(node, ()):
            option = space.options[place]
            after = tuple(rule.after(state, option) for rule, state in zip(rules, states, strict=True))
            if None in after:
                continue
            there = (option.head, after)
            if there not in number_of:
                number_of[there] = len(number_of)
                waiting.append(there)
            moves.append((place, number_of[node, states], number_of[there]))
        if len(waiting) > MOST_STATES:
            raise ConfigError(f"{len(rules)} rules make more than {MOST_STATES:,} nodes of this graph; give fewer")
    ends, nodes = set(space.ends), [node for node, _ in number_of]
    return replace(
        space,
        names=[space.names[node] for node in nodes],
        describe=lambda option: space.describe(replace(option, tail=nodes[option.tail], head=nodes[option.head])),
        options=[replace(space.options[place], tail=tail, head=head) for place, tail, head in sorted(moves)],
        start=0,
        ends=[place for (node, states), place in number_of.items() if node in ends and _kept(rules, states)],
        again=None if space.again is None else number_of.get((space.again, first[1])),
    )


def _kept(rules: Sequence[Rule], states: Sequence[Any]) -> bool:
    return all(rule.kept(state) for rule, state in zip(rules, states, strict=True))


def _require_known(space: PlanSpace, rules: Sequence[Rule]) -> None:
    steps = [name for option in space.options for name in option.names]
    for rule in rules:
        if isinstance(rule, Floor):
            if not any(rule.name in option.cost for option in space.options):
                raise ConfigError(
                    f"no step has a level {rule.name!r}; give it beside the costs: {{{rule.name!r}: 0.9}}"
                )
            continue
        for name in rule.of if isinstance(rule, AtMost | AtLeast) else vars(rule).values():
            if name not in steps:
                texts = [str(step) for step in steps]
                raise ConfigError(f"{rule} names {name!r}, which is no step{nearest(str(name), texts)}")


def broken(rules: Sequence[Rule], path: Sequence[EdgeOption]) -> list[Rule]:
    """The rules that a path breaks."""
    kept = []
    for rule in rules:
        state: Any = 0
        for option in path:
            state = None if state is None else rule.after(state, option)
        kept.append(state is not None and rule.kept(state))
    return [rule for rule, held in zip(rules, kept, strict=True) if not held]


def reached(floors: Sequence[Floor], path: Sequence[EdgeOption]) -> dict[str, float]:
    """The levels of a plan."""
    levels = {floor: [floor.level(option) for option in path] for floor in floors}
    return {
        floor.name: float(min(some, default=Fraction(1)) if floor.worst else prod(some, start=Fraction(1)))
        for floor, some in levels.items()
    }


def contradiction(space: PlanSpace, rules: Sequence[Rule]) -> str:
    """Which rule no plan keeps, or which two; whatever the budgets. Empty where some plan keeps all."""

    def possible(some: Sequence[Rule]) -> bool:
        made = under_rules(space, some)
        met = _reached(made)
        return any(end in met for end in made.ends)

    if possible(rules):
        return ""
    for count in (1, 2):
        for some in combinations(rules, count):
            if not possible(some):
                return f"No plan keeps {' and '.join(map(str, some))}{' together' if count == 2 else ''}."
    return "No plan keeps all rules together."


def _reached(space: PlanSpace) -> set[int]:
    """The nodes that paths lead to."""
    met, waiting = {space.start}, [space.start]
    leaving: dict[int, list[int]] = {}
    for option in space.options:
        leaving.setdefault(option.tail, []).append(option.head)
    for node in waiting:
        waiting += (fresh := set(leaving.get(node, ())) - met)
        met |= fresh
    return met

"""`select` of steps that wait for each other: a variant of each, and when it starts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import solvers
from solvers import ScheduleProblem, SolverError, Status
from tape.budget.units import nearest
from tape.choice.amounts import WIDE, amounts_of, digits, number, plain, require_apart, whole, written
from tape.choice.answer import Choice, Scheduled, Why
from tape.choice.rules import Floor, Rule
from tape.choice.schedule_rules import RuleRow, rows_of
from tape.errors import ConfigError, TapeError

TIME = "seconds"
"""The resource that does not add up: its amount for a plan is the end of the last step."""

_SEARCH_SECONDS = 2.0
"""How long CP-SAT may search where calls at once are limited; the answer then says its gap."""


@dataclass(frozen=True)
class ScheduleLimits:
    """What `tape.schedule` was given beside the steps and the budget."""

    after: Mapping[Any, Iterable[Any]] | None = None
    parallel: int | None = None
    at_once: Mapping[str, int] | None = None
    aim: str = "value"
    rules: Sequence[Rule] = ()


@dataclass(frozen=True)
class _Way:
    """A variant as it was written."""

    name: Any
    cost: Mapping[str, Decimal]
    value: Fraction
    tool: str


def select_schedule(
    steps: Mapping[Any, Any], limits: ScheduleLimits, caps: Mapping[str, Decimal], texts: Mapping[str, str]
) -> Choice:
    """The best variants and their starts within all caps."""
    if not steps:
        raise ConfigError("there are no steps; give a dict of steps, each with its variants")
    ways = [_ways(step, given, caps) for step, given in steps.items()]
    search = _Search([*steps], ways, limits, caps, texts)
    schedule = search.solve(search.problem)
    return search.choice(schedule) if schedule else search.none()


def _ways(step: Any, given: Any, caps: Mapping[str, Decimal]) -> list[_Way]:
    listed = [given] if isinstance(given, Mapping) else given
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise ConfigError(f'step {step!r} is {given!r}: expected variants such as [{{"name": "quick", "usd": 1}}]')
    ways = []
    for place, mapping in enumerate(listed):
        if not isinstance(mapping, Mapping):
            raise ConfigError(f"variant {place} of step {step!r} is {mapping!r}: expected a dict with its amounts")
        what = f"variant {mapping.get('name', place)!r} of step {step!r}"
        tool = mapping.get("tool", mapping.get("name", ""))
        cost = {name: amount for name, amount in mapping.items() if name not in ("name", "value", "tool")}
        value = number(mapping.get("value", 0), f"the value of {what}")
        ways.append(_Way(mapping.get("name", step), amounts_of(cost, caps, what), value, str(tool)))
    if not ways:
        raise ConfigError(f"step {step!r} has no variants; give at least one")
    return ways


def _waits(steps: Sequence[Any], after: Mapping[Any, Iterable[Any]] | None) -> list[list[int]]:
    """For each step the numbers of those that it waits for."""
    place = {step: number for number, step in enumerate(steps)}
    waits: list[list[int]] = [[] for _ in steps]
    if after is not None and not isinstance(after, Mapping):
        raise ConfigError(f'after={after!r}: expected steps by the step that waits for them: {{"join": ["load"]}}')
    for step, others in (after or {}).items():
        listed = [others] if isinstance(others, str | bytes) or not isinstance(others, Iterable) else [*others]
        for item in (step, *listed):
            if not isinstance(item, Hashable) or item not in place:
                raise ConfigError(f"after= names {item!r}, which is no step{nearest(str(item), map(str, steps))}")
        waits[place[step]] = [place[name] for name in listed]
    left = {number: {*several} for number, several in enumerate(waits)}
    while free := [number for number, several in left.items() if not several & left.keys()]:
        left = {number: several for number, several in left.items() if number not in free}
    if left:
        circle = [min(left)]
        while circle[-1] not in circle[:-1]:
            circle.append(min(left[circle[-1]] & left.keys()))
        names = " waits for ".join(repr(steps[index]) for index in circle[circle.index(circle[-1]) :])
        raise ConfigError(f"after= is a circle: {names}; leave one of these out")
    return waits


class _Search:
    """The problem of some steps, and its answers."""

    def __init__(
        self,
        steps: Sequence[Any],
        ways: Sequence[Sequence[_Way]],
        limits: ScheduleLimits,
        caps: Mapping[str, Decimal],
        texts: Mapping[str, str],
    ) -> None:
        self._steps, self._ways, self._caps, self._texts = steps, ways, caps, texts
        every = [way for row in ways for way in row]
        floors = {rule.name for rule in limits.rules if isinstance(rule, Floor)}
        named = dict.fromkeys(name for way in every for name in way.cost if name not in floors)
        self._rows = rows_of(limits.rules, [[way.name for way in row] for row in ways], self._level)
        for name in caps:
            if name not in named:
                raise ConfigError(f"the budget {name!r} would cap nothing: no variant names it{nearest(name, named)}")
        require_apart(named)
        if limits.aim not in ("value", *named):
            raise ConfigError(f"aim={limits.aim!r}: expected 'value', or a resource of which as little as possible")
        tools = {way.tool for way in every}
        if wrong := [tool for tool in limits.at_once or {} if tool not in tools]:
            raise ConfigError(
                f"at_once= names {wrong[0]!r}, which no variant has as its tool{nearest(wrong[0], tools)}"
            )
        self._resources = [name for name in named if name != TIME]
        self._unit = {name: self._unit_of(name) for name in (*self._resources, TIME)}
        values = iter(whole([way.value for way in every]))
        aims: dict[str, Any] = {"value": "value", TIME: "time"} | {n: i for i, n in enumerate(self._resources)}
        try:
            self.problem = ScheduleProblem(
                [
                    [
                        solvers.Variant(
                            self._count(TIME, way.cost.get(TIME)),
                            (
                                *(self._count(name, way.cost.get(name)) for name in self._resources),
                                *(rule.uses[step][place] for rule in self._rows),
                            ),
                            next(values),
                            way.tool,
                        )
                        for place, way in enumerate(row)
                    ]
                    for step, row in enumerate(ways)
                ],
                _waits(steps, limits.after),
                [
                    *(self._count(name, caps[name]) if name in caps else None for name in self._resources),
                    *(row.most for row in self._rows),
                ],
                self._count(TIME, caps[TIME]) if TIME in caps else None,
                limits.parallel,
                limits.at_once or {},
                aims[limits.aim],
            )
        except SolverError as error:
            raise ConfigError(str(error)) from None

    def _unit_of(self, name: str) -> Decimal:
        """The largest unit of which all amounts of a resource are whole numbers."""
        amounts = [way.cost.get(name, Decimal(0)) for row in self._ways for way in row]
        finest = Decimal(1).scaleb(-digits(amounts), context=WIDE)
        return finest * max(1, math.gcd(*(int(WIDE.divide(amount, finest)) for amount in amounts)))

    def _level(self, name: str, step: int, place: int) -> Fraction:
        level = self._ways[step][place].cost.get(name, Decimal(1))
        if not 0 < level <= 1:
            raise ConfigError(
                f"a variant of {self._steps[step]!r} has {name} {level}; a level is above 0 and at most 1"
            )
        return Fraction(level)

    def _count(self, name: str, amount: Decimal | None) -> int:
        return int(WIDE.divide(amount or Decimal(0), self._unit[name]))  # of a budget what is left over buys nothing

    def _amount(self, name: str, count: int) -> Decimal:
        return plain(WIDE.multiply(Decimal(count), self._unit[name]))

    def _written(self, name: str, count: int) -> str:
        return written(name, self._amount(name, count))

    def _given(self, name: str) -> str:
        return self._texts.get(name) or written(name, self._caps[name])

    def solve(self, problem: ScheduleProblem) -> solvers.Schedule:
        """An answer that is a plan, or a proof that there is none."""
        try:
            schedule = solvers.schedule(problem, _SEARCH_SECONDS if problem.limited else None)
        except SolverError as error:
            raise ConfigError(str(error)) from None
        if schedule.status in (Status.ERROR, Status.TIMEOUT):
            raise TapeError(f"no plan was found ({schedule.status}): {schedule.message or 'the time was up'}")
        return schedule

    def choice(self, result: solvers.Schedule) -> Choice:
        """A plan as an answer."""
        ways = [row[index] for row, index in zip(self._ways, result.chosen, strict=True)]
        variants = [row[index] for row, index in zip(self.problem.steps, result.chosen, strict=True)]
        critical = solvers.critical_steps(self.problem.after, result.starts, [variant.time for variant in variants])
        order = sorted(range(len(ways)), key=lambda step: (result.starts[step], self.problem.order.index(step)))
        schedule = [
            Scheduled(
                self._steps[step],
                ways[step].name,
                self._amount(TIME, result.starts[step]),
                self._amount(TIME, result.starts[step] + variants[step].time),
                step in critical,
            )
            for step in order
        ]
        counts = {**dict(zip(self._resources, result.used, strict=False)), TIME: result.end or 0}
        spent = {name: self._amount(name, count) for name, count in counts.items()}
        return Choice(
            plan=[scheduled.variant for scheduled in schedule],
            spent=spent,
            left={name: plain(cap - spent[name]) for name, cap in self._caps.items()},
            value=float(sum(way.value for way in ways)),
            why=self._with_rules(self._why(ways, schedule, result), sum(way.value for way in ways)),
            schedule=tuple(schedule),
            gap=result.gap,
        )

    def _why(self, ways: Sequence[_Way], schedule: Sequence[Scheduled], result: solvers.Schedule) -> Why:
        """The critical path, and the caps that the most valuable variants would exceed."""
        chain = " -> ".join(str(scheduled.step) for scheduled in schedule if scheduled.critical)
        text = f"The critical path is {chain}: {self._written(TIME, result.end or 0)}."
        if result.gap:
            text += f" The time for the proof was up: the best plan may be better by {result.gap:.2%}."
        dearest = [max(row, key=lambda way: way.value) for row in self._ways]
        if sum(way.value for way in dearest) == sum(way.value for way in ways):
            return Why(f"{text} No plan is worth more.")
        times = [self._count(TIME, way.cost.get(TIME)) for way in dearest]
        needs = {name: sum(self._count(name, way.cost.get(name)) for way in dearest) for name in self._resources}
        needs[TIME] = sum(times[step] for step in self.problem.longest_chain(times))
        short = tuple(name for name in self._caps if needs[name] > self._count(name, self._caps[name]))
        takes = " and ".join(f"{self._written(name, needs[name])} ({self._given(name)} given)" for name in short)
        return Why(f"{text} The most valuable variants would take {takes}." if short else text, short)

    def _with_rules(self, why: Why, value: Fraction | int) -> Why:
        """With the rules that excluded a better plan."""
        if not self._rows or self.problem.aim != "value":
            return why
        better = self.solve(self._under(self.problem, ()))
        worth = sum(row[index].value for row, index in zip(self._ways, better.chosen, strict=True)) if better else value
        names = dict.fromkeys(str(row.rule) for row in self._rows if better and row.broken(better.chosen))
        if worth <= value or not names:
            return why
        lead = "The rule" if len(names) == 1 else "The rules"
        text = f"{lead} {' and '.join(names)} excluded the better plan, worth {float(worth):g}."
        return replace(why, text=f"{why.text} {text}")

    def _under(self, problem: ScheduleProblem, rows: Sequence[RuleRow]) -> ScheduleProblem:
        """The problem under some of the rules alone."""
        most = [row.most if row in rows else None for row in self._rows]
        return replace(problem, budgets=[*problem.budgets[: len(self._resources)], *most])

    def _contradiction(self, free: ScheduleProblem) -> Choice | None:
        """The answer where no plan keeps the rules, whatever the budgets."""
        if not self._rows or self.solve(free):
            return None
        for count in range(1, len(self._rows) + 1):
            for rows in combinations(self._rows, count):
                if not self.solve(self._under(free, rows)):
                    names = " and ".join(dict.fromkeys(str(row.rule) for row in rows))
                    left = {name: plain(cap) for name, cap in self._caps.items()}
                    return Choice(None, {}, left, None, (), Why(f"No plan of these steps keeps {names}."))
        raise AssertionError("all rules together are one of the combinations")

    def none(self) -> Choice:
        """No plan, and the least of each budget that would do."""
        problem = self.problem
        most = problem.budgets[len(self._resources) :]
        free = replace(problem, budgets=[*([None] * len(self._resources)), *most], deadline=None)
        if (none := self._contradiction(free)) is not None:
            return none
        least: dict[str, Decimal | None] = {name: self._least(name, problem) for name in self._caps}
        sentences = [
            f"{name} is short: {self._given(name)} given, {written(name, amount)} would do, everything else unchanged."
            for name, amount in least.items()
            if amount is not None
        ]
        together: dict[str, Decimal] = {}
        if not sentences:
            for name in self._caps:
                together[name] = self._least(name, free) or Decimal(0)
                free = self._with(free, name, self._count(name, together[name]))
            sentences = [
                "Together " + " and ".join(written(n, amount) for n, amount in together.items()) + " would do."
            ]
        times = [min(variant.time for variant in row) for row in problem.steps]
        chain = problem.longest_chain(times)
        if problem.deadline is not None and (needed := sum(times[step] for step in chain)) > problem.deadline:
            names = " -> ".join(str(self._steps[step]) for step in chain)
            sentences.insert(0, f"Even at its fastest, {names} takes {self._written(TIME, needed)}.")
        short = tuple(name for name, amount in least.items() if amount is not None) or tuple(together)
        left = {name: plain(cap) for name, cap in self._caps.items()}
        return Choice(None, {}, left, None, (), Why("No plan fits. " + " ".join(sentences), short, least, together))

    def _least(self, name: str, problem: ScheduleProblem) -> Decimal | None:
        aim: Any = "time" if name == TIME else self._resources.index(name)
        schedule = self.solve(replace(self._with(problem, name, None), aim=aim))
        return self._amount(name, (schedule.end or 0) if name == TIME else schedule.used[aim]) if schedule else None

    def _with(self, problem: ScheduleProblem, name: str, cap: int | None) -> ScheduleProblem:
        if name == TIME:
            return replace(problem, deadline=cap)
        budgets = [
            cap if resource == name else old for resource, old in zip(self._resources, problem.budgets, strict=False)
        ]
        return replace(problem, budgets=[*budgets, *problem.budgets[len(budgets) :]])

"""Rendering a problem: a wording with its alternatives chosen and its places filled, and its calls in reading order."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping, Sequence

from envs.gsm_hard.problem import ProgramStep
from envs.gsm_hard.templates import CONSTANTS, DISTRACTORS, RANGES, WORD_LISTS, Part, Range, parse

ASIDE_SHARE = 0.2
"""Of texts with a sentence that has nothing to do with the problem."""
_ASIDES = tuple(map(parse, WORD_LISTS.asides))
_START = re.compile(r"(?:^|[.?] )[a-z]")
_COMMUTATIVE = frozenset({"add", "multiply"})


def draw_number(rng: random.Random, kind: Range, taken: Collection[float]) -> float:
    """Draw a number unlike those taken and unlike all constants, so that every number has one meaning."""
    low, high = math.log(kind.low), math.log(kind.high)
    while True:
        value = float(round(math.exp(rng.uniform(low, high)), rng.choice(kind.decimals)))
        if value not in taken and value not in CONSTANTS:
            return value


class Rendering:
    """One text of a wording.

    Args:
        rng: Source of randomness.
        numbers: The numbers of the program by name.
        wording: The wording.

    Attributes:
        text: The text.
        order: The names of all numbers, distractors included, in the order of the text.
    """

    def __init__(self, rng: random.Random, numbers: Mapping[str, float], wording: Sequence[Part]) -> None:
        self._rng = rng
        self._numbers = dict(numbers)
        self._commas = rng.random() < 0.5
        self._filled: dict[str, str] = {}
        self.order: list[str] = []
        pieces: list[str] = []
        self._render(wording, pieces)
        text = " ".join("".join(pieces).split())
        if rng.random() < ASIDE_SHARE:
            text = self._with_aside(text)
        self.text = _START.sub(lambda match: match.group().upper(), text)

    def _render(self, parts: Sequence[Part], pieces: list[str]) -> None:
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, tuple):
                money = bool(pieces) and pieces[-1].endswith("$")
                pieces.append(self._fill(part[0], money))
            else:
                self._render(self._rng.choice(part), pieces)

    def _fill(self, name: str, money: bool) -> str:
        if len(name) == 1:
            return self._written(name, money)
        if name not in self._filled:
            self._filled[name] = self._word(name)
        return self._filled[name]

    def _written(self, name: str, money: bool) -> str:
        if name not in self._numbers:
            self._numbers[name] = draw_number(self._rng, RANGES[DISTRACTORS[name]], self._numbers.values())
        self.order.append(name)
        value = self._numbers[name]
        comma = "," if self._commas else ""
        if value.is_integer():
            return f"{int(value):{comma}}"
        return f"{value:{comma}.2f}" if money else f"{value:{comma}}"

    def _word(self, name: str) -> str:
        if name.lower() in {"he", "his", "him"}:
            word = WORD_LISTS.pronouns[self._fill("name", money=False)][name.lower()]
            return word.capitalize() if name[0].isupper() else word
        taken = self._filled.values()
        return self._rng.choice([word for word in WORD_LISTS.lists[name.rstrip("0123456789")] if word not in taken])

    def _with_aside(self, text: str) -> str:
        aside: list[str] = []
        order, self.order = self.order, []
        self._render(self._rng.choice(_ASIDES), aside)
        before, stop, last = text.rpartition(". ")
        if not stop or self._rng.random() < 0.5:
            self.order += order
            return f"{''.join(aside)} {text}"
        self.order = order  # an aside has no number of a program, so its place among them does not matter
        return f"{before}. {''.join(aside)} {last}"


def in_order_of_text(steps: Sequence[ProgramStep], order: Sequence[str]) -> tuple[ProgramStep, ...]:
    """Put steps that do not depend on each other into the order in which a reader can take them.

    A step comes when the last number that it builds on has been read. In sums and products earlier results come first,
    then numbers in the order of the text, then constants.

    Args:
        steps: A program with numbers by name.
        order: The names of the numbers as they come up in the text.

    Returns:
        The same program in its one order, references renamed.
    """
    place = {name: float(index) for index, name in enumerate(order)}
    known: list[float] = []
    for step in steps:
        known.append(max(_place(arg, place, known) for arg in step.args))
    # Stable: a step that builds on another one is never read before it, and comes after it in the program.
    moved = sorted(range(len(steps)), key=known.__getitem__)
    renamed = {f"#{old + 1}": f"#{new + 1}" for new, old in enumerate(moved)}
    program_steps = []
    for old in moved:
        args = [renamed.get(arg, arg) if isinstance(arg, str) else arg for arg in steps[old].args]
        if steps[old].kind in _COMMUTATIVE:
            args.sort(key=lambda arg: _rank(arg, place))
        program_steps.append(ProgramStep(steps[old].kind, tuple(args)))
    return tuple(program_steps)


def _place(arg: float | str, place: dict[str, float], known: Sequence[float]) -> float:
    if not isinstance(arg, str):
        return -1.0
    return known[int(arg[1:]) - 1] if arg[0] == "#" else place[arg]


def _rank(arg: float | str, place: dict[str, float]) -> tuple[int, float]:
    if not isinstance(arg, str):
        return 2, arg
    return (0, float(arg[1:])) if arg[0] == "#" else (1, place[arg])

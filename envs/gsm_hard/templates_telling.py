"""Telling a problem: a wording with its alternatives chosen and its places filled."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Mapping, Sequence

from envs.gsm_hard.templates import CONSTANTS, DISTRACTORS, RANGES, Part, Range, parse
from envs.gsm_hard.templates_lists import ASIDES, LISTS, PRONOUNS

ASIDE_SHARE = 0.2
"""Of texts with a sentence that has nothing to do with the problem."""
_ASIDES = tuple(map(parse, ASIDES))
_START = re.compile(r"(?:^|[.?] )[a-z]")


def number(rng: random.Random, kind: Range, taken: Collection[float]) -> float:
    """Draw a number unlike those taken and unlike all constants, so that every number has one meaning."""
    low, high = math.log(kind.low), math.log(kind.high)
    while True:
        value = float(round(math.exp(rng.uniform(low, high)), rng.choice(kind.decimals)))
        if value not in taken and value not in CONSTANTS:
            return value


class Telling:
    """One telling of a wording.

    Args:
        rng: Source of randomness.
        numbers: The numbers of the program by name.
        wording: What to tell.

    Attributes:
        text: What came out.
        order: The names of all numbers, distractors included, in the order of the text.
    """

    def __init__(self, rng: random.Random, numbers: Mapping[str, float], wording: Sequence[Part]) -> None:
        self._rng = rng
        self._numbers = dict(numbers)
        self._commas = rng.random() < 0.5
        self._filled: dict[str, str] = {}
        self.order: list[str] = []
        pieces: list[str] = []
        self._tell(wording, pieces)
        text = " ".join("".join(pieces).split())
        if rng.random() < ASIDE_SHARE:
            text = self._with_aside(text)
        self.text = _START.sub(lambda match: match.group().upper(), text)

    def _tell(self, parts: Sequence[Part], pieces: list[str]) -> None:
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, tuple):
                money = bool(pieces) and pieces[-1].endswith("$")
                pieces.append(self._fill(part[0], money))
            else:
                self._tell(self._rng.choice(part), pieces)

    def _fill(self, name: str, money: bool) -> str:
        if len(name) == 1:
            return self._written(name, money)
        if name not in self._filled:
            self._filled[name] = self._word(name)
        return self._filled[name]

    def _written(self, name: str, money: bool) -> str:
        if name not in self._numbers:
            self._numbers[name] = number(self._rng, RANGES[DISTRACTORS[name]], self._numbers.values())
        self.order.append(name)
        value = self._numbers[name]
        comma = "," if self._commas else ""
        if value.is_integer():
            return f"{int(value):{comma}}"
        return f"{value:{comma}.2f}" if money else f"{value:{comma}}"

    def _word(self, name: str) -> str:
        if name.lower() in {"he", "his", "him"}:
            word = PRONOUNS[self._fill("name", money=False)][name.lower()]
            return word.capitalize() if name[0].isupper() else word
        taken = self._filled.values()
        return self._rng.choice([word for word in LISTS[name.rstrip("0123456789")] if word not in taken])

    def _with_aside(self, text: str) -> str:
        aside: list[str] = []
        order, self.order = self.order, []
        self._tell(self._rng.choice(_ASIDES), aside)
        before, stop, last = text.rpartition(". ")
        if not stop or self._rng.random() < 0.5:
            self.order += order
            return f"{''.join(aside)} {text}"
        self.order = order  # an aside has no number of a program, so its place among them does not matter
        return f"{before}. {''.join(aside)} {last}"

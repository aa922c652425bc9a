"""Templates of word problems: a structure of calls in a scenario, told in several ways.

A wording is text with ``{a}`` for the number ``a``, ``{item}`` for a word of that list, and ``[this|that|]`` for
alternatives, which nest. A number occurs once in every wording that the program needs it for; the numbers ``x`` and
``y`` are in no program: they are there to distract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from envs.gsm_hard.arithmetic import KINDS
from envs.gsm_hard.problem import Step

CONSTANTS: tuple[int, ...] = (2, 3, 4, 7, 10, 12, 24, 60, 100, 365, 1000)
"""Numbers that programs use though texts only imply them (half, week, dozen, percent); texts never write them."""
RARE_KINDS = frozenset({"power", "factorial"})


@dataclass(frozen=True)
class Range:
    """Where a number is drawn from, evenly on a scale of ratios.

    Attributes:
        low: Smallest.
        high: Largest.
        decimals: One of these is the number of decimals.
    """

    low: float
    high: float
    decimals: tuple[int, ...] = (0,)


RANGES: Mapping[str, Range] = {
    "big": Range(10_000, 9_999_999),
    "mid": Range(110, 9_900),
    "small": Range(13, 99),
    "few": Range(5, 11),
    "deck": Range(5, 14),
    "price": Range(1.25, 95, (0, 2, 2)),
    "cost": Range(1_500, 900_000, (0, 0, 2)),
    "pct": Range(5, 95, (0, 0, 0, 1)),
    "dec": Range(1.1, 99, (0, 1, 1)),
    "growth": Range(1.02, 1.35, (2,)),
    "side": Range(5.5, 900, (0, 1)),
}
"""The kinds of numbers that templates name."""
DISTRACTORS: Mapping[str, str] = {"x": "small", "y": "big", "z": "small"}
"""The kinds of numbers that are in no program."""

Part = str | tuple[str] | list[list["Part"]]
"""Literal text, a placeholder in a tuple, or a list of alternatives, each a sequence of parts."""
_PIECE = re.compile(r"\{(\w+)\}|([\[\]|])|([^\[\]|{}]+)")


@dataclass(frozen=True)
class Template:
    """A structure of calls in a scenario.

    Attributes:
        name: Unique.
        numbers: ``name:range`` for each number of the program, for instance ``"a:big b:price"``.
        program: Steps such as ``"multiply a b; add #1 c"``; arguments are numbers by name, constants or references.
        wordings: Ways of telling it; the last is held out from training.
        held_out: Whether no wording of it is trained on.
    """

    name: str
    numbers: str
    program: str
    wordings: tuple[str, ...]
    held_out: bool = field(default=False)

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """The range of each number of the program."""
        pairs = (entry.split(":") for entry in self.numbers.split())
        return {name: RANGES[kind] for name, kind in pairs}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The program with numbers by name where they are not constants."""
        return tuple(self._step(step.split()) for step in self.program.split(";"))

    def _step(self, words: list[str]) -> Step:
        kind, *args = words
        assert kind in KINDS, f"{self.name}: {kind}"
        assert all(arg in self.ranges or arg[0] == "#" or int(arg) in CONSTANTS for arg in args), f"{self.name}: {args}"
        return Step(kind, tuple(float(arg) if arg.isdigit() else arg for arg in args))

    @property
    def rare(self) -> bool:
        """Whether it needs a power or a factorial."""
        return any(step.kind in RARE_KINDS for step in self.steps)

    @cached_property
    def parsed(self) -> tuple[list[Part], ...]:
        """The wordings as parts."""
        return tuple(map(parse, self.wordings))

    def choices(self, held_out: bool) -> tuple[int, ...]:
        """Indices of the wordings that are held out, or of those that are trained on."""
        last = len(self.wordings) - 1
        return (last,) if held_out else tuple(range(last))


def parse(wording: str) -> list[Part]:
    """Split a wording into its parts."""
    pieces = list(_PIECE.finditer(wording))
    assert sum(len(piece.group()) for piece in pieces) == len(wording), f"odd braces in {wording!r}"
    sequences: list[list[Part]] = [[]]
    open_choices: list[list[list[Part]]] = []
    for piece in pieces:
        name, mark, text = piece.groups()
        if name:
            sequences[-1].append((name,))
        elif text:
            sequences[-1].append(text)
        elif mark == "[":
            open_choices.append([])
            sequences.append([])
        else:
            assert open_choices, f"{mark!r} outside of brackets in {wording!r}"
            open_choices[-1].append(sequences.pop())
            if mark == "|":
                sequences.append([])
            else:
                sequences[-1].append(open_choices.pop())
    assert not open_choices, f"an open bracket in {wording!r}"
    return sequences[0]


def literals(parts: list[Part]) -> Iterator[str]:
    """All literal text of a wording, alternatives included."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            for alternative in part:
                yield from literals(alternative)

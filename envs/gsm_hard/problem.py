"""A word problem, its answer and, where it is our own, the calls that lead to it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramStep:
    """One call of a program.

    Attributes:
        kind: For instance ``multiply``.
        args: Numbers, or references: ``"#k"`` is the result of the k-th step, counted from 1.
    """

    kind: str
    args: tuple[float | str, ...]


@dataclass(frozen=True)
class Problem:
    """One word problem.

    Attributes:
        id: Unique within its set or file.
        text: What an agent reads.
        target: The answer.
        program: Steps of which the last gives the answer; None where they are unknown. For training, tests and
            budgets only: no agent is ever shown it.
        operations: How many calls it takes, which budgets are made from.
        template: What it was generated from, else empty.
        split: The generator's split that it belongs to, else empty.
    """

    id: str
    text: str
    target: float
    program: tuple[ProgramStep, ...] | None
    operations: int
    template: str = ""
    split: str = ""

    @property
    def digest(self) -> str:
        """Hash of text and target, 64 hexadecimal digits."""
        return hashlib.sha256(f"{self.text}\0{self.target!r}".encode()).hexdigest()

"""Which of several sampled programs do the same, and when enough of them have been sampled [ours].

Programs are of one class where their answers have the same value and they do the same for good. What the value is
counts, not how it is written; what cannot be evaluated yet is compared as it is written.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tape.plan.open import key_of
from tape.plan.program import called
from tape.plan.record import FollowedProgram
from tape.plan.vocabulary import ASK

FEWEST, USUAL, MOST = 3, 5, 8
"""Samples before what matters, in all, and where too few of them can be read before something is done for good."""
OPEN = "open"
"""The class of programs that only look first."""


@dataclass(frozen=True)
class Agreement:
    """The programs of one request.

    Attributes:
        runs: Each as far as it has been followed, in the order of sampling.
    """

    runs: Sequence[FollowedProgram]

    def classes(self) -> list[str]:
        """The class of each; empty for one that cannot be read, has failed, or lacks what was done for good."""
        calls = any(run.unfolded.made or run.unfolded.calls for run in self.runs)
        return [self._class(run, calls) for run in self.runs]

    @staticmethod
    def _class(run: FollowedProgram, calls: bool) -> str:
        idle = not run.unfolded.made and not run.unfolded.calls
        if run.failed or not run.compatible or not run.program.statements or (calls and idle):
            return ""
        if run.program.stopped is not None or run.unfolded.answer is None:
            return "" if run.ended else OPEN
        return f"{answer_key(run.unfolded.answer.value)} after {sorted(run.effects)}"

    def shares(self) -> dict[str, float]:
        """The share of each class among all samples, those that cannot be read included."""
        counts = Counter(name for name in self.classes() if name)
        return {name: count / len(self.runs) for name, count in counts.items()}

    def leader(self) -> FollowedProgram | None:
        """The first program of the largest class; of equals one that has found something, then the first."""
        classes = self.classes()
        counts = Counter(name for name in classes if name)
        if not counts:
            return None
        first = {name: self.runs[classes.index(name)] for name in counts}
        return first[max(counts, key=lambda name: (counts[name], not first[name].empty, -classes.index(name)))]

    def decided(self, most: int = USUAL) -> bool:
        """Whether the largest class stays the largest, whatever the samples say that are still to come."""
        counts = [count for _, count in Counter(name for name in self.classes() if name).most_common(2)]
        lead = counts[0] - (counts[1] if len(counts) > 1 else 0) if counts else 0
        return lead > most - len(self.runs)

    @property
    def readable(self) -> list[FollowedProgram]:
        """The programs that do something."""
        return [run for run in self.runs if run.program.statements]

    def supports(self, effect: str, times: int) -> bool:
        """Whether enough programs do something for good as often: half of them, and two of at least three."""
        readable = self.readable
        having = sum(run.effects.count(effect) >= times for run in readable)
        return having >= 2 and 2 * having >= len(readable) and len(readable) >= FEWEST

    def wants(self, tool: str) -> bool:
        """Whether half of the programs, and two at least, are still to call a tool, whatever they give it."""
        having = sum(any(call.name == tool for call in run.unfolded.calls) for run in self.readable)
        return having >= 2 and 2 * having >= len(self.readable)


def answer_key(value: Any) -> str:
    """Equal for answers of the same value."""
    if isinstance(value, str):
        return key_of(value.strip())
    return key_of(value)


def computes(run: FollowedProgram) -> bool:
    """Whether the answer of a program is computed or read, so that several may come to different values."""
    for statement in run.program.statements:
        for node in ast.walk(statement.value):
            if isinstance(node, ast.BinOp) and not _joins(node):
                return True
            if called(node) in ("sum", "round", ASK):
                return True
    return False


def _joins(node: ast.BinOp) -> bool:
    """Whether an operation joins texts."""
    texts = (ast.JoinedStr, ast.Constant)
    return any(isinstance(part, texts) and not _is_number(part) for part in (node.left, node.right))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)

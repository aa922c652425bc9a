"""Runs a program call by call, with results in the order of the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.plan.program import Program
from tape.plan.unfold import LineFailure, in_order, unfold
from tape.plan.vocabulary import Vocabulary


@dataclass(frozen=True)
class Called:
    """The next call."""

    name: str
    arguments: Mapping[str, Any]
    line: int


@dataclass(frozen=True)
class Answered:
    """The answer."""

    value: Any


@dataclass(frozen=True)
class Ended:
    """The end without an answer."""

    names: Mapping[str, Any]


Next = Called | Answered | LineFailure | Ended


def advance(
    program: Program, results: Sequence[Any], words: Vocabulary, names: Mapping[str, Any] | None = None
) -> Next:
    """What a program does after the calls that have been made."""
    run = unfold(program, words, in_order(results), names)
    if run.calls:
        first = run.calls[0]
        assert first.ready
        return Called(first.name, first.arguments, first.line)
    if run.failure is not None:
        return run.failure
    return Ended(run.names) if run.answer is None else Answered(run.answer.value)

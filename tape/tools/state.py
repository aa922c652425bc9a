"""The abstract state of a tool episode: what has been obtained, what has failed, and the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tape.tools.calls import Call

Exact = Literal["", "call", "value"]
UNSAID = "the result does not say"
"""The note on a call in whose result a model has not found what was looked for."""


@dataclass(frozen=True)
class Obtained:
    """The result of a successful call.

    Attributes:
        call: The call.
        value: The result as JSON; None where it is predicted.
        text: For a result that a model reads: the text it is read from; empty once it was read.
        exact: The call may be tried on a copy: then its result counts, ``value``, and not what was asked; or both,
            ``call``, where it changes nothing and so is not made again.
    """

    call: Call
    value: str | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)
    exact: Exact = field(default="", compare=False)

    @property
    def name(self) -> str:
        """What it is in a state's key."""
        if self.value is None or not self.exact:
            return self.call.symbol
        return self.value if self.exact == "value" else f"{self.call.symbol} = {self.value}"


@dataclass(frozen=True)
class Failure:
    """A call that gave nothing.

    Attributes:
        call: The call.
        after: How many results there were when it was made.
        why: What the tool said.
        hint: What may help.
        late: It gave no answer in time; what it did is unknown.
    """

    call: Call
    after: int = 0
    why: str = field(default="", compare=False)
    hint: str = field(default="", compare=False)
    late: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class ToolState:
    """What an episode has come to.

    Attributes:
        got: Successful calls, in order; ``#1`` is the first.
        failures: Calls that gave nothing, each where it failed last.
        answer: The answer as it was written, a JSON value or a placeholder; None before.
        note: The environment's last message where a call failed.
        refused: Calls that a person has refused; no part of the key, since nothing has changed.
        data: The key of what the tools share (:mod:`tape.tools.copies`), where copies are planned on.
    """

    got: tuple[Obtained, ...] = ()
    failures: tuple[Failure, ...] = ()
    answer: str | None = None
    note: str = field(default="", compare=False)
    refused: tuple[Call, ...] = field(default=(), compare=False)
    data: str = ""

    @property
    def failed(self) -> tuple[Call, ...]:
        """The calls that gave nothing."""
        return tuple(failure.call for failure in self.failures)

    def values(self) -> list[Any]:
        """The results; None for predicted ones."""
        return [None if obtained.value is None else json.loads(obtained.value) for obtained in self.got]

    def with_call(self, call: Call, value: str | None = None, text: str = "", *, exact: Exact = "") -> ToolState:
        """After a successful call."""
        return replace(self, got=(*self.got, Obtained(call, value, text, exact)), note="")

    def with_failure(self, call: Call, note: str, hint: str = "", *, late: bool = False) -> ToolState:
        """After a call that gave nothing."""
        others = tuple(failure for failure in self.failures if failure.call != call)
        return replace(self, failures=(*others, Failure(call, len(self.got), note, hint, late)), note=note)

    def unread(self) -> Obtained | None:
        """The last result, if a model still has to read it."""
        return self.got[-1] if self.got and self.got[-1].text else None

    def read(self, value: str | None) -> ToolState:
        """The last result as it was read; None where the text does not hold it, which makes the call a failed one."""
        last = self.got[-1]
        if value is None:
            before = replace(self, got=self.got[:-1])
            return before.with_failure(last.call, UNSAID)
        return replace(self, got=(*self.got[:-1], replace(last, value=value, text="")))

    def key(self) -> str:
        """What was asked for in order, what failed when, and the answer; not which variants did it.

        So states with one key have the same history of calls that change something, and no path of a plan graph, which
        merges by key, leaves one out, adds one or changes their order.

        Where plans are tried on copies, the key of what the tools share comes first, and of calls that change something
        the results stand in their place: then states are one whatever has led to them.
        """
        parts = [*([self.data] if self.data else []), "; ".join(obtained.name for obtained in self.got) or "nothing"]
        if self.failures:
            failed = sorted(f"{failure.call.text} after {failure.after}" for failure in self.failures)
            parts.append("failed " + "; ".join(failed))
        if self.answer is not None:
            parts.append(f"answered {self.answer}")
        return " | ".join(parts)

"""Calls of typed tools that run at once: each as soon as the calls have ended that make what it takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from envs.tool_chains.typed.domain import TypedDomain, TypedState
from tape.protocols import Action
from tape.tools.apart import Made, make
from tape.tools.at_once import PathCall, ResultsAtOnce, behind_barriers
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.errors import InvalidCallError
from tape.tools.tool import Tool


class _Taken(NamedTuple):
    """What a call takes."""

    value: Any
    place: int | None = None


class TypedPlay(Protocol):
    """What is needed of an environment with typed tools."""

    domain: TypedDomain

    def at_hand(self) -> tuple[TypedState, dict[str, list[Any]], int]:
        """The state, the values of each type, and how many calls have succeeded."""

    def value_of(self, name: str) -> Any:
        """What was there of a type from the start."""

    def filled(self, item: Tool, given: Sequence[Any]) -> dict[str, Any]:
        """The arguments of a call."""

    def drawn(self, item: Tool, made: int) -> dict[str, Any]:
        """What a call draws at random after so many successful ones."""


class TypedCallsAtOnce(ResultsAtOnce):
    """Runs calls of typed tools at once. A tool takes the value of a type that was made last, as in a chain."""

    def __init__(self, play: TypedPlay) -> None:
        super().__init__()
        self._play = play
        self._planned: list[list[_Taken]] = []

    def _find(self, call: Call) -> Tool:
        return self._play.domain.find(self._play.at_hand()[0], call)

    def _first(self) -> int:
        return self._play.at_hand()[2]

    def _make(self, item: Tool, arguments: dict[str, Any], call: PathCall) -> Awaitable[Made]:
        return make(item, arguments | self._play.drawn(item, call.number))

    def _taken(self, path: Sequence[Action]) -> list[list[_Taken]]:
        """For each call of a path what it takes; nothing from the first on that is no call of a tool."""
        _, values, _ = self._play.at_hand()
        stacks = {text: [_Taken(value) for value in kept] for text, kept in values.items()}
        result: list[list[_Taken]] = []
        for place, action in enumerate(path):
            try:
                item = self._find(parse(action))
            except InvalidCallError:
                return result
            given = [stacks[text][-1] if stacks.get(text) else _Taken(self._play.value_of(text)) for text in item.takes]
            for name in item.takes:
                if stacks.get(name):
                    stacks[name].pop()
            stacks.setdefault(item.gives, []).append(_Taken(None, place))
            result.append(given)
        return result

    def independent(self, path: Sequence[Action]) -> int:
        """The calls before the first that changes something, hands in, is not possible, or comes a second time."""
        state, domain = self._play.at_hand()[0], self._play.domain
        for count, action in enumerate(path):
            try:
                call = parse(action)
                if call.kind == ANSWER or action in path[:count]:
                    return count
                domain.require_possible(state, call)
                if not (item := domain.find(state, call)).pure:
                    return count
            except InvalidCallError:
                return count
            state = state.after(item.takes, item.gives, domain.have)
        return len(path)

    def waits(self, path: Sequence[Action]) -> Sequence[tuple[int, ...]]:
        """A call waits for those that make what it takes; one that is not pure for all, and all for it."""
        taken = self._taken(path)
        return behind_barriers(
            [
                None
                if place >= len(taken) or self._pure(action) is None
                else [item.place for item in taken[place] if item.place is not None]
                for place, action in enumerate(path)
            ]
        )

    def _ready(self) -> Iterator[tuple[PathCall, Callable[[], dict[str, Any]]]]:
        path = self._path
        for call, taken in zip(path, self._planned, strict=False):
            makers = [None if each.place is None else path[each.place].made for each in taken]
            if all(each.place is None or made is not None for each, made in zip(taken, makers, strict=True)):
                given = [each.value if made is None else made.plain for each, made in zip(taken, makers, strict=True)]
                yield call, partial(self._play.filled, self._find(call.call), given)

    def begin(
        self, path: Sequence[Action], most: int, begun: Callable[[Action], None], ended: Callable[[Action], None]
    ) -> None:
        """See :meth:`tape.protocols.parts.CallsAtOnce.begin`."""
        self._planned = self._taken(path)
        super().begin(path, most, begun, ended)

"""Calls of a path that run at once: those that change nothing, each as soon as the results that it names are there."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tape.budget.deadline import MOST
from tape.protocols import Action
from tape.protocols.parts import CallsAtOnce
from tape.tools.apart import Made
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.domain import ToolDomain
from tape.tools.errors import InvalidCallError
from tape.tools.results import as_asked
from tape.tools.state import ToolState
from tape.tools.tool import Tool

Make = Callable[[Tool, dict[str, Any], str], Awaitable[Made]]
"""Makes a call: its tool, its arguments, and the same as text."""


@dataclass
class PathCall:
    """A call of the path.

    Attributes:
        action: The action as the path has it.
        call: The same, read.
        number: The number that its result gets if all before it succeed.
        begun: It has begun.
        taken: Its turn has come.
        asked: What it was given, as text.
        task: What comes of it; None where it has not begun, or its result is lost.
    """

    action: Action
    call: Call
    number: int
    begun: bool = False
    taken: bool = False
    asked: str = ""
    task: asyncio.Task[Made] | None = field(default=None, repr=False)

    @property
    def made(self) -> Made | None:
        """What has come of it; None before, and where it was cancelled."""
        done = self.task is not None and self.task.done() and not self.task.cancelled()
        return self.task.result() if done and self.task is not None else None


class ResultsAtOnce(CallsAtOnce):
    """Runs calls of a path at once; which values a call is given, those who derive from this say."""

    def __init__(self) -> None:
        self._path: list[PathCall] = []
        self._numbers: dict[int, int] = {}
        """The number that a result has got, by the one that it was planned to get."""
        self._turn: PathCall | None = None
        self._most = 0
        self._tell: tuple[Callable[[Action], None], ...] = ()

    @abstractmethod
    def _find(self, call: Call) -> Tool:
        """The tool of a call."""

    @abstractmethod
    def _first(self) -> int:
        """The number that the result of the next call gets."""

    @abstractmethod
    def _ready(self) -> Iterator[tuple[PathCall, Callable[[], dict[str, Any]]]]:
        """The calls whose turn has not come of which all results are there that they take, with their arguments."""

    @abstractmethod
    def _make(self, item: Tool, arguments: dict[str, Any], call: PathCall) -> Awaitable[Made]:
        """Make a call."""

    def _pure(self, action: Action) -> Tool | None:
        """The tool of a call that changes nothing; None of any other action."""
        try:
            call = parse(action)
            tool = None if call.kind == ANSWER else self._find(call)
        except InvalidCallError:
            return None
        return tool if tool is not None and tool.pure else None

    def begin(
        self, path: Sequence[Action], most: int, begun: Callable[[Action], None], ended: Callable[[Action], None]
    ) -> None:
        """See :meth:`tape.protocols.parts.CallsAtOnce.begin`."""
        known = {call.action: call for call in self._path if call.begun and not call.taken}
        planned = (PathCall(a, parse(a), number) for number, a in enumerate(path, self._first()))
        self._path = [known.pop(call.action, call) for call in planned]
        self._path += known.values()
        self._numbers, self._most, self._tell = {}, most, (begun, ended)
        self._go_on()

    def _running(self) -> list[asyncio.Task[Made]]:
        return [call.task for call in self._path if call.task is not None and not call.task.done()]

    def _go_on(self) -> None:
        """Begin what can begin now."""
        if any(path_call.made is not None and path_call.made.failure is not None for path_call in self._path):
            return  # the path will be given up
        for call, arguments in self._ready():
            if len(self._running()) >= self._most:
                return
            if not (call.begun or call.taken):
                self._start(call, arguments)

    def _start(self, call: PathCall, arguments: Callable[[], dict[str, Any]]) -> None:
        item = self._find(call.call)
        if item.thread == "caller":
            return  # it has the thread to itself
        try:
            given = arguments()
            call.asked = as_asked(given)
        except Exception:  # also what a validator raises
            return  # in its turn it is refused, or ends the episode
        # With a time limit, however long, a plain function gets a thread of its own.
        apart = replace(item, timeout=item.timeout or MOST)
        call.begun, call.task = True, asyncio.ensure_future(self._make(apart, given, call))
        begun, ended = self._tell
        begun(call.action)
        call.task.add_done_callback(lambda _: ended(call.action))
        call.task.add_done_callback(lambda _: self._go_on())

    def note(self, action: Action) -> None:
        """Take a call as begun, without a result: in its turn it is made again."""
        for call in self._path:
            call.begun |= call.action == action

    def _open(self) -> Iterator[tuple[PathCall, Call]]:
        """The calls whose turn has not come, as they are written now."""
        for call in self._path:
            if not call.taken:
                yield call, call.call.renumbered(lambda number: self._numbers.get(number, number))

    def begun(self) -> tuple[Action, Action] | None:
        """The first of them that has begun; nothing else is begun from now on."""
        self._most = 0
        return next(((path_call.action, call.text) for path_call, call in self._open() if path_call.begun), None)

    async def take(self, call: Call, asked: str) -> Made | None:
        """What comes of a call whose turn it is, if it has begun; None where it is to be made now, and may be."""
        same = [(path_call, written) for path_call, written in self._open() if written.tool == call.tool]
        begun = (
            path_call
            for path_call, written in same
            if path_call.begun and (path_call.asked == asked or written == call)
        )
        self._turn = next(
            begun, next((path_call for path_call, written in same if not path_call.begun and written == call), None)
        )
        if self._turn is None:
            return None
        self._turn.taken = True
        if self._turn.task is not None:
            return await self._turn.task
        while self._most and len(running := self._running()) >= self._most:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        return None

    def observed(self, number: int) -> None:
        """Note which number the result of the call has got whose turn it was."""
        if self._turn is not None:
            self._numbers[self._turn.number], self._turn = number, None

    async def stop(self) -> None:
        """Cancel what still runs, and wait until it has ended."""
        self._most = 0
        tasks = self._running()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._path.clear()


class ToolCallsAtOnce(ResultsAtOnce):
    """Runs calls of one environment at once, which take the results that they name."""

    def __init__(self, domain: ToolDomain, state: Callable[[], ToolState], make: Make) -> None:
        super().__init__()
        self._domain, self._state, self._made = domain, state, make

    def _find(self, call: Call) -> Tool:
        return self._domain.toolbox.find(call)

    def _first(self) -> int:
        return len(self._state().got) + 1

    def _make(self, item: Tool, arguments: dict[str, Any], call: PathCall) -> Awaitable[Made]:
        return self._made(item, arguments, call.asked)

    def _ready(self) -> Iterator[tuple[PathCall, Callable[[], dict[str, Any]]]]:
        values = dict(enumerate(self._state().values(), 1))
        for call in self._path:
            if (made := call.made) is not None and not self._find(call.call).reads:
                values[call.number] = made.plain  # a result that a model has to read is none before
        results = [values.get(number) for number in range(1, max(values, default=0) + 1)]
        for call in self._path:
            if all(number in values for number in call.call.references):
                yield call, partial(self._filled, call, results)

    def _filled(self, call: PathCall, results: Sequence[Any]) -> dict[str, Any]:
        return self._find(call.call).filled(call.call, results)

    def independent(self, path: Sequence[Action]) -> int:
        """The calls before the first that changes something, answers or is not possible."""
        state = self._state()
        for count, action in enumerate(path):
            try:
                if self._pure(action) is None:
                    return count
                self._domain.require_possible(state, call := parse(action))
            except InvalidCallError:
                return count
            state = state.with_call(call)
        return len(path)

    def waits(self, path: Sequence[Action]) -> Sequence[tuple[int, ...]]:
        """A call waits for the results that it names; one that is not pure for all before it, and all after it for it.

        An answer waits for all.
        """
        first = self._first()
        return behind_barriers(
            [
                None if self._pure(action) is None else [number - first for number in parse(action).references]
                for action in path
            ]
        )


def behind_barriers(named: Sequence[Sequence[int] | None]) -> list[tuple[int, ...]]:
    """The places that each action of a path waits for.

    Args:
        named: Of each action the places whose results it takes, of which those outside the path do not count; None
            where it is a barrier: it waits for all before it, and all after it for it.
    """
    numbers: list[tuple[int, ...]] = []
    barrier = -1
    for place, takes in enumerate(named):
        waits = {*range(place)} if takes is None else {barrier, *takes}
        numbers.append(tuple(sorted(wait for wait in waits if 0 <= wait < place)))
        barrier = place if takes is None else barrier
    return numbers

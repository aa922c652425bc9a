"""Calls of a tool's function, made so that the episode goes on whatever the function does.

What it raises is data here, a ``CancelledError`` or ``SystemExit`` too: only then does a ``CancelledError`` in the
episode mean that the episode itself is to end. What does not end when it is cancelled, or in time, is left behind.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tape.budget.deadline import blocking, in_thread
from tape.errors import error_text, is_ctrl_c
from tape.tools.errors import ToolFailedError
from tape.tools.results import as_json
from tape.tools.tool import Tool
from tape.waiting import call_waiting, leave

SQLITE_THREAD = "SQLite objects created in a thread can only be used in that same thread"
"""What ``sqlite3`` says of a connection in a thread that has not made it, and what wraps its errors says too."""

GRACE = 0.2
"""Seconds that an asynchronous tool has to clean up when it is cancelled."""


@dataclass(frozen=True)
class Made:
    """What came of a call.

    Attributes:
        value: What the function returned; None where it failed.
        plain: The same as plain values, as JSON has them.
        written: The same as a JSON text.
        failure: Why there is none; None where there is one.
        error: What the function raised, if that is why.
        late: It took longer than the tool's timeout.
        hint: What may help after the failure.
    """

    value: Any = None
    plain: Any = None
    written: str = "null"
    failure: str | None = None
    error: BaseException | None = None
    late: bool = False
    hint: str = ""


async def make(item: Tool, arguments: Mapping[str, Any]) -> Made:
    """Call a tool's function, plain or asynchronous, and write its result as JSON.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        asyncio.CancelledError: The episode is to end. A note names what was left behind.
    """
    try:
        async with asyncio.timeout(item.timeout) as limit:
            return await _make(item, partial(item.function, **arguments))
    except TimeoutError as error:
        assert limit.expired(), "whatever the function raises is caught"
        left_behind = getattr(error.__cause__, "__notes__", ())
        why = f"it took longer than its timeout of {item.timeout:g} s"
        return Made(failure="; ".join((why, *left_behind)), error=error, late=True)


async def _make(item: Tool, call: Callable[[], Any]) -> Made:
    def begin() -> Made:
        value = call()
        return Made(value) if inspect.isawaitable(value) else _written(value)

    made = attempt(begin) if inspect.iscoroutinefunction(call) else await _called(begin, item)
    if made.failure is None and inspect.isawaitable(made.value):
        made = await _apart(made.value, f"the tool {item.name}")
        if made.failure is None:
            value = made.value
            made = await _called(lambda: _written(value), item)  # a value may compute while it is written
    return made


def attempt(call: Callable[[], Made]) -> Made:
    """Make a call; what it raises is its failure, but for Ctrl-C, which belongs to the main thread."""
    try:
        return call()
    except BaseException as error:
        return _failed(error)


def _failed(error: BaseException) -> Made:
    """The failure that an exception is."""
    if is_ctrl_c(error):
        raise error
    text = str(error) if isinstance(error, ToolFailedError) else error_text(error)
    if SQLITE_THREAD in text:  # what follows are numbers of threads, which differ each time
        text = f'{text.partition(SQLITE_THREAD)[0]}{SQLITE_THREAD}; declare the tool with @tool(thread="caller")'
    return Made(failure=text, error=error, hint=error.hint if isinstance(error, ToolFailedError) else "")


def _written(value: Any) -> Made:
    plain, text = as_json(value)
    return Made(value, plain, text)


async def _called(call: Callable[[], Made], item: Tool) -> Made:
    """Make a blocking call in the thread that the tool asks for; one of its own can be given up."""
    if item.thread == "caller":
        return await call_waiting(lambda: attempt(call))
    what = f"the tool {item.name}"
    try:
        if item.timeout is not None:
            return await in_thread(lambda: attempt(call), what)
        return await blocking(lambda: attempt(call), what, beside=True)
    except asyncio.CancelledError as stop:
        stop.add_note(f"{what} has not returned and was left behind in its thread")
        raise


async def _apart(awaitable: Awaitable[Any], what: str) -> Made:
    """Await in a task of its own, which cannot hold the one that runs here."""

    async def guarded() -> Made:
        try:
            return Made(await awaitable)
        except BaseException as error:
            return _failed(error)

    task = asyncio.get_running_loop().create_task(guarded(), name=what)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError as stop:
        task.cancel()
        try:
            await asyncio.wait([task], timeout=GRACE)
        finally:
            if not task.done():
                leave(task)
                stop.add_note(f"{what} does not end when it is cancelled and was left behind")
        raise
    return Made(failure="it was cancelled before it began") if task.cancelled() else task.result()

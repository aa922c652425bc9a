"""Calls of a tool's function, made so that the episode goes on whatever the function does.

What it raises is data here, a ``CancelledError`` or ``SystemExit`` too: only then does a ``CancelledError`` in the
episode mean that the episode itself is to end. What does not end when it is cancelled is left behind.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tape.budget.deadline import blocking
from tape.errors import error_text, is_ctrl_c
from tape.tools.errors import ToolFailedError
from tape.tools.results import as_json
from tape.waiting import leave

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
    """

    value: Any = None
    plain: Any = None
    written: str = "null"
    failure: str | None = None
    error: BaseException | None = None


async def make(call: Callable[[], Any], what: str) -> Made:
    """Call a function, plain or asynchronous, and write its result as JSON.

    Args:
        call: The call.
        what: Names the function, in its thread and in the note that it was left behind.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        asyncio.CancelledError: The episode is to end. A note names what was left behind.
    """

    def begin() -> Made:
        value = call()
        return Made(value) if inspect.isawaitable(value) else _written(value)

    made = attempt(begin) if inspect.iscoroutinefunction(call) else await _in_thread(begin, what)
    if made.failure is None and inspect.isawaitable(made.value):
        made = await _apart(made.value, what)
        if made.failure is None:
            value = made.value
            made = await _in_thread(lambda: _written(value), what)  # a value may compute while it is written
    return made


def attempt(call: Callable[[], Made]) -> Made:
    """Make a call; what it raises is its failure, but for Ctrl-C, which belongs to the main thread."""
    try:
        return call()
    except BaseException as error:
        return _failed(error)


def _failed(error: BaseException) -> Made:
    """The failure that an exception is.

    Raises:
        KeyboardInterrupt: It is Ctrl-C.
    """
    if is_ctrl_c(error):
        raise error
    return Made(failure=str(error) if isinstance(error, ToolFailedError) else error_text(error), error=error)


def _written(value: Any) -> Made:
    plain, text = as_json(value)
    return Made(value, plain, text)


async def _in_thread(call: Callable[[], Made], what: str) -> Made:
    try:
        return await blocking(lambda: attempt(call), what)
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

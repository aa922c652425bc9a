"""What a run's tools get: made of the request and its key by a function of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    """What a client asks.

    Attributes:
        agent: The name of the agent.
        task: In words.
        key: The name of the key that it comes with.
        metadata: What the client gave beside the task.
        traceparent: As it came with the request.
    """

    agent: str
    task: str
    key: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    traceparent: str = ""


class Deps:
    """Makes what tools get.

    Args:
        function: Takes :class:`Asked`; plain, asynchronous, or a context manager of either kind that is left when the
            run ends. None: tools get nothing.
    """

    def __init__(self, function: Callable[[Asked], Any] | None = None) -> None:
        self._function = function

    @asynccontextmanager
    async def of(self, asked: Asked) -> AsyncIterator[Any]:
        """What the tools of a run get, while it lasts."""
        if self._function is None:
            yield None
            return
        made = self._function(asked)
        if inspect.isawaitable(made):
            made = await made
        if isinstance(made, AbstractAsyncContextManager):
            async with made as deps:
                yield deps
        elif isinstance(made, AbstractContextManager):
            with made as deps:
                yield deps
        else:
            yield made

"""What goes along with the requests of a run to other services: the trace it belongs to, the key of an effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TRACEPARENT = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_traceparent: ContextVar[str] = ContextVar("_traceparent", default="")
_key: ContextVar[str] = ContextVar("_key", default="")


@contextmanager
def within_trace(traceparent: str) -> Iterator[None]:
    """Send a ``traceparent`` (W3C Trace Context) with what the block asks of models and MCP servers.

    Args:
        traceparent: As a request brought it; what is none is not sent.
    """
    token = _traceparent.set(traceparent if _TRACEPARENT.fullmatch(traceparent) else "")
    try:
        yield
    finally:
        _traceparent.reset(token)


@contextmanager
def with_key(key: str) -> Iterator[None]:
    """Send the key of an effect with the call in the block; empty for a call that has none."""
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)


def traceparent_now() -> str:
    """The trace that this belongs to; empty where none is known."""
    return _traceparent.get()


def key_now() -> str:
    """The key of the effect of this call; empty where it has none."""
    return _key.get()

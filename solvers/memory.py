"""The memory that one solve may take; what would take more is refused before it is allocated."""

from __future__ import annotations

from solvers.errors import TooLargeError

MEMORY_CAP = 2 * 2**30
"""Bytes. Tables of nodes by steps, arcs, and partial paths are counted; what Python itself needs is not."""


def require_memory(needed: float, what: str) -> None:
    """Raises TooLargeError if so many bytes are more than `MEMORY_CAP`; `what` takes them, with its size, in words."""
    if needed > MEMORY_CAP:
        raise too_large(needed, what)


def too_large(needed: float, what: str) -> TooLargeError:
    """The error that says so."""
    return TooLargeError(
        f"{what} would take at least {needed / 2**30:,.1f} GiB, and a solve may take {MEMORY_CAP / 2**30:,.1f} GiB "
        "(solvers.memory.MEMORY_CAP); set a shorter horizon, a budget that every edge takes something of, or leave out "
        "edges"
    )

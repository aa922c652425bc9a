"""Variants of a tool: the same thing done at another price and quality."""

from __future__ import annotations

from dataclasses import dataclass

from tape.budget import Resources


@dataclass(frozen=True)
class ToolVariant:
    """One way to do what a kind of tool does.

    Attributes:
        name: Unique within its kind, for instance ``exact``.
        worst: The most that one call uses, ``steps`` included.
        quality: Probability in (0, 1] that the result is what was asked for; None where it is unknown.
    """

    name: str
    worst: Resources
    quality: float | None = None

"""One piece of training text for the bundled tool model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A state, and independent questions about it: each sees the state and itself only.

    Attributes:
        prefix: The state in words.
        queries: Prompts, whose last word is ``->``, with their answers; an answer has no end marker.
    """

    prefix: list[str]
    queries: list[tuple[list[str], list[str]]]

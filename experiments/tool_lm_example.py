"""One training sequence of the bundled tool LM, before it is tokenised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A state and independent queries about it.

    Attributes:
        prefix: The words of the state.
        queries: Prompt and answer of each query; each sees the prefix and itself only. Prompts end in ``->``,
            answers have no end marker.
    """

    prefix: list[str]
    queries: list[tuple[list[str], list[str]]]

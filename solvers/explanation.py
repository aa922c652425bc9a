"""`Explanation`: why a problem has no walk, and the least changes that would give it one; as data and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from solvers.explanation_text import sentences
from solvers.findings import Cause, Findings, Joint, Need
from solvers.solution import PathSolution

__all__ = ["Cause", "Explanation", "Joint", "Need"]


@dataclass(frozen=True)
class Explanation(Findings):
    """The answer of `solvers.explain`: the findings, which can put themselves into words and into JSON.

    Attributes: see `solvers.findings.Findings`.
    """

    def text(self, amount: Callable[[str, float], str] | None = None, node: Callable[[int], str] = str) -> str:
        """The explanation in short sentences, one a line.

        Args:
            amount: Writes an amount, given the resource's name and the count, which is a float for a standard
                deviation; the count itself by default.
            node: Writes a node; its number by default.
        """
        return "\n".join(sentences(self, amount or _counted, node))

    def __str__(self) -> str:
        """`text()`."""
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON values, without the problem; a walk as its edges, nodes and consumption."""
        data: dict[str, Any] = _plain(self)
        del data["problem"]
        return {**data, "proven": self.proven, "text": self.text()}


def _counted(_: str, count: float) -> str:
    return str(count) if isinstance(count, int) else f"{count:.4g}"


def _plain(value: Any) -> Any:
    """What JSON can hold of a value."""
    if isinstance(value, PathSolution):
        return {name: list(getattr(value, name)) for name in ("edges", "nodes", "consumption")}
    if isinstance(value, Explanation | Need | Joint):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, StrEnum):
        return value.value
    return [_plain(item) for item in value] if isinstance(value, tuple) else value

"""Answers as JSON, for the way between a worker process and its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from solvers.solution import PathSolution, Status


def pack(solution: PathSolution) -> dict[str, Any]:
    """The fields of an answer, as JSON can hold them."""
    return {field.name: getattr(solution, field.name) for field in fields(solution)}


def unpack(data: Mapping[str, Any]) -> PathSolution:
    """What `pack` took apart; JSON turned its tuples into lists and its status into text."""
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    values["status"] = Status(data["status"])
    return PathSolution(**values)

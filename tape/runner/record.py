"""The schema of a record of ``episodes.jsonl``, for writing and reading."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from tape.reading import MOST_NUMBER

KEY = r"[a-z0-9_]{1,64}"
"""The pattern of an episode's key. It names a file: no separator, no dot, no upper case."""

Count = Annotated[int, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
Counts = dict[str, Count]
Spent = dict[str, Count | None]


class Result(BaseModel):
    """The fields of an episode's result that readers rely on; see :class:`tape.protocols.result.EpisodeResult`.

    Unknown fields are ignored.
    """

    end_state: str
    success: bool
    partial_walk: bool
    steps: Count
    replans: Count
    mismatches: Count
    malformed: Count
    lm_calls: Counts
    prompt_tokens: Counts
    completion_tokens: Counts
    used: Spent
    budget: Counts
    budget_violations: list[str]
    actions: list[str]
    detail: str
    solver_seconds: float
    wall_seconds: float
    paid: Spent
    unproven: Counts = {}
    broken_declarations: Counts
    plans: Count
    distinct_plans: Count
    shared_nodes: Count
    explanation: dict[str, Any] | None
    measures: dict[str, float | None]
    final_answer: str | None
    method: dict[str, bool | Count | Counts | list[str]]
    wall_overrun_seconds: float


class EpisodeRecord(BaseModel):
    """A line of ``episodes.jsonl``.

    ``trace_hash`` is the hash of the last line of the episode's trace (:mod:`tape.trace.links`).
    """

    key: Annotated[str, Field(pattern=f"^{KEY}$")]
    cell: str
    environment: str
    level_set: str
    task: str
    digest: str
    repeat: Annotated[int, Field(ge=0, lt=1 << 63)]
    agent: str
    model: str
    result: Result
    trace_hash: str

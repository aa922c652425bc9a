"""The gateway's own tools, as clients see them."""

from __future__ import annotations

from typing import Any

from tape.guard.planning import SCHEMA

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
_READS = {"readOnlyHint": True, "destructiveHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False}

OWN_LISTED: tuple[dict[str, Any], ...] = (
    {
        "name": "plan",
        "description": "Choose tools for the steps that you want to take, before you take any: says which of "
        "interchangeable tools to call so that the quality is highest and every call fits into what is left, what that "
        "costs at most, and the next best; or why nothing fits, and how much would do. Or say which sub-agents "
        "you want to start, with their models and sizes: what they take at most, whether that fits, and the best of "
        "them that does. Costs nothing.",
        "inputSchema": SCHEMA,
        "annotations": _READS,
    },
    {
        "name": "budget",
        "description": "What is left of each budget, and how many calls of each tool it pays for. Costs nothing.",
        "inputSchema": _NOTHING,
        "annotations": _READS,
    },
    {
        "name": "checkpoint",
        "description": "A handle by which this session's budget and calls can be resumed in another connection, or "
        "after a crash. Keep it to yourself. Costs nothing.",
        "inputSchema": _NOTHING,
        "annotations": _WRITES,
    },
    {
        "name": "resume",
        "description": "Go on with a session by the handle of a checkpoint: what it has spent counts, and its last "
        "calls are listed. Costs nothing.",
        "inputSchema": {
            "type": "object",
            "properties": {"handle": {"type": "string", "description": "From checkpoint."}},
            "required": ["handle"],
        },
        "annotations": _WRITES,
    },
)

"""Made-up records of ``episodes.jsonl``."""

from typing import Any

from tape.protocols.result import EpisodeResult


def record(key: str = "k", result: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A record with everything that one must have; ``result`` holds what differs in its result."""
    held = {"cell": "tape", "environment": "sokoban", "level_set": "set", "task": "task", "digest": "digest"}
    played = EpisodeResult(end_state="success", success=True, steps=3).model_dump(mode="json")
    line = {"key": key, **held, "repeat": 0, "agent": "tape", "model": "none", "result": played | (result or {})}
    line["trace_hash"] = ""
    return line | changes

"""What is written down, a line each."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

Record = dict[str, Any]
"""What is written down: ``do`` says what it is, ``at`` when."""

_TIMES = ("at", "expires")


def lines_of(*records: Record) -> list[str]:
    """Records as lines."""
    found = [json.dumps(record, default=datetime.isoformat) + "\n" for record in records]
    assert all(("do" in record) != ("schema" in record) for record in records), "a first line, or a change"
    assert len(found) == len(records)
    return found


def with_times(record: Record) -> Record:
    """A record whose moments are texts, with moments."""
    found = {name: datetime.fromisoformat(value) if name in _TIMES else value for name, value in record.items()}
    assert found.keys() == record.keys()
    assert "expires" not in found or "at" in found, "what expires has begun"
    return found

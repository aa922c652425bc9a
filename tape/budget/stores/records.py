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
    return [json.dumps(record, default=datetime.isoformat) + "\n" for record in records]


def with_times(record: Record) -> Record:
    """A record whose moments are texts, with moments."""
    return {name: datetime.fromisoformat(value) if name in _TIMES else value for name, value in record.items()}

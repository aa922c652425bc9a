"""Rows of a benchmark that resumes: one JSON object a line, appended as it comes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROWS = "rows.jsonl"


def read_rows(folder: Path, by: str) -> dict[str, dict[str, Any]]:
    """The finished rows by job key. A line that a crash cut short is left out, and its job done again.

    Args:
        folder: Where the rows are.
        by: The field that, after the instance, names the job.
    """
    path = folder / ROWS
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            print(f"{path}: a line that was cut short is left out: {line[:40]!r}", file=sys.stderr)
            continue
        rows[f"{row['instance']} {row[by]}"] = row
    return rows

"""Figures of sweeps, for the folder of ``make soak``."""

from __future__ import annotations

import json
import os
from pathlib import Path


def record(file: str, sweep: str, **counts: int) -> None:
    """Write what a sweep has counted beside what others have, where ``make soak`` asks for it."""
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        path = Path(folder, f"{file}.json")
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, sweep: counts}, indent=1, sort_keys=True) + "\n")

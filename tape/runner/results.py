"""``results.csv`` and ``results.parquet``: one row per episode, for other programs."""

from __future__ import annotations

import csv
import importlib.util
import io
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from tape.files import replace_file
from tape.runner.summary import VERIFICATION

Value: TypeAlias = str | int | float | bool | None
LINE = ("cell", "environment", "level_set", "task", "digest", "repeat", "key", "agent", "model")
RESULT = ("end_state", "success", "partial_walk", "steps", "replans", "mismatches", "malformed")
TIMES = ("wall_overrun_seconds", "solver_seconds", "wall_seconds")
"""The last columns. All others but ``paid_*``, which a cache changes, are the same whenever the run is repeated."""

logger = logging.getLogger("tape.runner")


def write_results(folder: Path, episodes: Sequence[Mapping[str, Any]]) -> None:
    """Write both files; Parquet only where pyarrow is installed."""
    table = rows(episodes)
    replace_file(folder / "results.csv", csv_text(table).encode("utf-8"))
    parquet = folder / "results.parquet"
    if importlib.util.find_spec("pyarrow") is None:
        parquet.unlink(missing_ok=True)  # one of an earlier state would contradict the rest
        _say_left_out()
        return
    replace_file(parquet, parquet_bytes(table))


@lru_cache(maxsize=1)
def _say_left_out() -> None:
    """Once per process."""
    logger.warning("results.parquet is left out: pyarrow is not installed; pip install 'tape-agents[parquet]'")


def rows(episodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Value]]:
    """One row per episode; all rows have the same columns in the same order.

    Usage per role is summed; what was used of each resource, what of it was paid, and its cap have a column each.
    """
    used = _kinds(line["result"]["used"] for line in episodes)
    caps = _kinds(line["result"]["budget"] for line in episodes)
    return [_row(line, used, caps) for line in episodes]


def _kinds(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({kind for one in found for kind in one})


def _row(line: Mapping[str, Any], used: Sequence[str], caps: Sequence[str]) -> dict[str, Value]:
    result = line["result"]
    row: dict[str, Value] = {name: line[name] for name in LINE} | {name: result[name] for name in RESULT}
    row |= {name: result.get(name, 0) for name in VERIFICATION}  # lines of earlier versions have none
    for name in ("lm_calls", "prompt_tokens", "completion_tokens"):
        row[name] = sum(result[name].values())
    row |= {f"used_{kind}": result["used"].get(kind) for kind in used}
    row |= {f"paid_{kind}": result.get("paid", result["used"]).get(kind) for kind in used}
    row |= {f"budget_{kind}": result["budget"].get(kind) for kind in caps}
    row["budget_violations"] = " ".join(result["budget_violations"])
    row["actions"] = " ".join(result["actions"])
    row["detail"] = result["detail"]
    row |= {name: result.get(name, 0.0) for name in TIMES}  # lines of earlier versions have no overruns
    # A model may write lone surrogates, which no file format takes.
    return {k: v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for k, v in row.items()}


def csv_text(table: Sequence[Mapping[str, Value]]) -> str:
    """The rows as CSV: ``true`` and ``false``, and nothing where a value is unknown."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if table:
        writer.writerow(table[0])
    for row in table:
        writer.writerow(str(v).lower() if isinstance(v, bool) else v for v in row.values())
    return out.getvalue()


def parquet_bytes(table: Sequence[Mapping[str, Value]]) -> bytes:
    """The rows as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    columns = {name: [row[name] for row in table] for name in (table[0] if table else ())}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())

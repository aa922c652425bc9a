"""Files that are derived from ``episodes.jsonl``; they do not depend on the order in which workers commit."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tape.errors import RunDirectoryError
from tape.files import replace_file
from tape.plugins import missing_extra
from tape.runner.commits import unwritten
from tape.runner.directory import SCHEMA, RunDirectory
from tape.runner.summary import counted, counters, escaped, summarise, table
from tape.screen import printable

if TYPE_CHECKING:
    import pyarrow

Value: TypeAlias = str | int | float | bool | None
# Files call a configuration a cell, as they always did.
LINE = ("cell", "environment", "level_set", "task", "digest", "repeat", "key", "agent", "model")
RESULT = ("end_state", "success", "partial_walk", "steps", "replans", "mismatches", "malformed")
TIMES = ("wall_overrun_seconds", "solver_seconds", "wall_seconds")
"""The last columns; all others but ``paid_*`` and ``unproven_*``, which a cache changes, are the same in a repeat."""

logger = logging.getLogger("tape.runner")


def write_results(folder: Path, episodes: Sequence[Mapping[str, Any]]) -> None:
    """Write both files; Parquet only if pyarrow is installed."""
    table = rows(episodes)
    replace_file(folder / "results.csv", csv_text(table).encode("utf-8"))
    parquet = folder / "results.parquet"
    if reason := missing_extra("parquet", "pyarrow"):
        parquet.unlink(missing_ok=True)  # that of an earlier writing would contradict the others
        _warn_left_out(reason)
        return
    replace_file(parquet, parquet_bytes(table))


@lru_cache(maxsize=1)
def _warn_left_out(reason: str) -> None:
    """Warn once per process."""
    logger.warning("results.parquet is left out: %s", reason)


def rows(episodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Value]]:
    """One row per episode; all rows have the same columns in the same order.

    Methods in use have a column for each counter. Usage per role is summed. Each resource has a column for its use, its
    paid part and its cap, and one for what was booked without proof where there is any.
    """
    used = _kinds(line["result"]["used"] for line in episodes)
    caps = _kinds(line["result"]["budget"] for line in episodes)
    names = counters(line["result"] for line in episodes)
    unproven = _kinds(line["result"].get("unproven", {}) for line in episodes)
    return [_row(line, names, used, caps, unproven) for line in episodes]


def _kinds(values: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({kind for mapping in values for kind in mapping})


def _row(
    line: Mapping[str, Any], names: Sequence[str], used: Sequence[str], caps: Sequence[str], unproven: Sequence[str]
) -> dict[str, Value]:
    result = line["result"]
    row: dict[str, Value] = {name: line[name] for name in LINE} | {name: result[name] for name in RESULT}
    own = counted(result)
    row |= {name: own.get(name) for name in names}
    for name in ("lm_calls", "prompt_tokens", "completion_tokens"):
        row[name] = sum(result[name].values())
    row |= {f"used_{kind}": result["used"].get(kind) for kind in used}
    row |= {f"paid_{kind}": result["paid"].get(kind) for kind in used}
    row |= {f"unproven_{kind}": result.get("unproven", {}).get(kind, 0) for kind in unproven}
    row |= {f"budget_{kind}": result["budget"].get(kind) for kind in caps}
    row["budget_violations"] = " ".join(result["budget_violations"])
    row["actions"] = " ".join(result["actions"])
    row["detail"] = result["detail"]
    row |= {name: result[name] for name in TIMES}
    # A model may write lone surrogates, which no file format takes, and terminal control characters.
    return {k: printable(v) if isinstance(v, str) else v for k, v in row.items()}


def csv_text(table: Sequence[Mapping[str, Value]]) -> str:
    """The rows as CSV: ``true`` and ``false``, an empty field for an unknown value, and no formulas."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if table:
        writer.writerow(map(printable, table[0]))
    for row in table:
        writer.writerow(map(_field, row.values()))
    return out.getvalue()


_LARGEST = 1 << 63
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _field(value: Value) -> Value:
    """A value for CSV; a text that a spreadsheet would read as a formula gets an apostrophe in front.

    See https://owasp.org/www-community/attacks/CSV_Injection; numbers are no formulas.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def parquet_bytes(table: Sequence[Mapping[str, Value]]) -> bytes:
    """The rows as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    columns = {name: _column([row[name] for row in table]) for name in (table[0] if table else ())}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())


def _column(values: Sequence[Value]) -> pyarrow.Array:
    """A column of Parquet: text, flags, or numbers; integers if all known numbers are.

    It is built from buffers in Arrow's layout (https://arrow.apache.org/docs/format/Columnar.html), because
    ``pyarrow.array`` imports pandas, which takes longer than an easy episode.
    """
    import numpy as np
    import pyarrow

    known = [value for value in values if value is not None]
    if not known:
        return pyarrow.nulls(len(values))
    if isinstance(known[0], str):
        texts = [str(value or "").encode("utf-8") for value in values]
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
        kind, parts = pyarrow.string(), [offsets.tobytes(), b"".join(texts)]
    elif isinstance(known[0], bool):
        kind, parts = pyarrow.bool_(), [_bits([bool(value) for value in values])]
    elif any(isinstance(value, float) or not -_LARGEST <= int(value) < _LARGEST for value in known):
        kind, parts = pyarrow.float64(), [np.array([value or 0.0 for value in values], np.float64).tobytes()]
    else:
        kind, parts = pyarrow.int64(), [np.array([value or 0 for value in values], np.int64).tobytes()]
    buffers = [pyarrow.py_buffer(part) for part in (_bits([value is not None for value in values]), *parts)]
    return pyarrow.Array.from_buffers(kind, len(values), buffers)


def _bits(flags: Sequence[bool]) -> bytes:
    """Flags as bits, eight a byte, the lowest first."""
    import numpy as np

    return np.packbits(np.array(flags, bool), bitorder="little").tobytes()


def write_derived(directory: RunDirectory) -> list[dict[str, Any]]:
    """Rebuild ``summary.json``, ``summary.md``, ``results.csv`` and ``results.parquet``.

    The last needs the extra ``parquet``; without it the file is left out, with a warning.

    Returns:
        The summary's groups.

    Raises:
        RunDirectoryError: There is no readable run, this process has lost its lock on it, or a file cannot be written.
    """
    directory.require_held()
    configurations, title = directory.configurations(), directory.title()
    episodes = in_order(directory.episodes(), list(configurations))
    groups = summarise(configurations, episodes)
    record = {"schema": SCHEMA, "title": title, "groups": groups}
    head = f"# {escaped(title)}\n\n" if title else ""
    try:
        replace_file(directory.path / "summary.json", json.dumps(record, indent=1) + "\n")
        replace_file(directory.path / "summary.md", (head + table(groups)).encode("utf-8", "backslashreplace"))
        write_results(directory.path, episodes)
    except OSError as error:
        raise unwritten(Path(error.filename or directory.path), error) from error
    return groups


def in_order(episodes: Sequence[Mapping[str, Any]], configurations: Sequence[str]) -> list[Mapping[str, Any]]:
    """Episodes by configuration, in the order of the run, then level set, task (2 before 10) and repeat."""
    places = {name: number for number, name in enumerate(configurations)}
    for line in episodes:
        if line.get("cell") not in places:
            raise RunDirectoryError(
                f"episode {line.get('key')} belongs to {line.get('cell')!r}, but config.json does not know it; "
                "restore the config.json of the run"
            )

    def place(line: Mapping[str, Any]) -> tuple[Any, ...]:
        names = (natural(line["level_set"]), natural(line["task"]))
        return places[line["cell"]], *names, line["digest"], line["repeat"], line["key"]

    return sorted(episodes, key=place)


def natural(text: str) -> tuple[str | tuple[int, str], ...]:
    """A sort key that puts ``level 2`` before ``level 10``."""
    parts = enumerate(re.split(r"([0-9]+)", text))
    return tuple(_whole(part) if i % 2 else part for i, part in parts)


def _whole(digits: str) -> tuple[int, str]:
    """A sort key like the number; titles may have more digits than ``int`` reads."""
    least = digits.lstrip("0")
    return len(least), least

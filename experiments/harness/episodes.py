"""Published episodes: one compact Parquet file a study, from which every number of its tables is computed again.

A row is an episode: its configuration in three parts, task, repeat, and what it came to; columns that hold nothing but
an episode's defaults are left out. ``budget.steps`` and ``used.steps`` are the cap and the use of a resource,
``measures.f1`` is a measure of the environment, ``note.NAME`` what a table takes from a trace or a task
(:meth:`experiments.harness.measured.Measured.note`). Calls and tokens are sums over the model's roles. Neither times
nor actions are kept. The file's metadata hold the settings of every configuration. Reading it takes pyarrow alone:
``pyarrow.parquet.read_table(FILE).to_pylist()``.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.matrix import SEPARATOR, split
from experiments.harness.measured import Measured, Notes, Record
from tape.engine.ablations import Ablations
from tape.engine.settings import TapeConfig
from tape.errors import RunDirectoryError
from tape.files import replace_file
from tape.plugins import require_extra
from tape.protocols.result import EpisodeResult
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.runner.summary import summarise

FILE = "episodes.parquet"
META = b"tape.episodes"
UNTOLD = ("actions", "detail", "explanation", "answer", "final_answer", "paid", "unproven")
TIMES = ("solver_seconds", "wall_seconds", "wall_overrun_seconds")
LEFT_OUT = frozenset((*UNTOLD, *TIMES))
"""Fields of a result that no table is made of, or that differ from machine to machine."""

SUMMED = ("lm_calls", "prompt_tokens", "completion_tokens")
PLAIN = EpisodeResult(end_state="", success=False).model_dump(mode="json")
NOTE, AS_JSON = "note.", ":json"
FEW = 100
"""Other rows up to here are in the metadata; more are a file beside."""

NAMED = ("setting", "model", "method", "level_set", "task", "digest", "repeat")

Row = dict[str, Any]


def write(file: Path, measured: Measured, about: Mapping[str, Any]) -> list[Path]:
    """Write the episodes of a run, and the other rows that its tables are made of.

    Args:
        file: Where to, in a folder of the study's own.
        measured: The run; its tables have been made, so that its notes are complete.
        about: What is needed to make the tables again, for :func:`read`.

    Returns:
        The files.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    specs = {name: _shown(spec) for name, spec in measured.specs.items()}
    table = [row for name in measured.specs for row in _rows(measured, measured.records[name])]
    shown = [name for name in PLAIN if any(row.get(name, PLAIN[name]) not in (PLAIN[name], 0) for row in table)]
    kept = [{name: value for name, value in row.items() if name not in PLAIN or name in shown} for row in table]
    few = {name: rows for name, rows in sorted(measured.others.items()) if len(rows) <= FEW}
    many = {file.parent / f"{name}.parquet": rows for name, rows in measured.others.items() if name not in few}
    write_rows(file, kept, {"about": dict(about), "specs": specs, "few": few, "many": sorted(p.stem for p in many)})
    for path, rows in many.items():
        write_rows(path, rows)
    return [file, *many]


def read(file: Path) -> tuple[Measured, dict[str, Any]]:
    """A run as it was published, without traces and times, and what describes it.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RunDirectoryError: The file is not there, or is none of ours.
    """
    table, meta = read_rows(file)
    if "specs" not in meta:
        raise RunDirectoryError(f"{file} holds no episodes; name one that --publish wrote")
    specs = {name: _spec(held) for name, held in meta["specs"].items()}
    records: dict[str, list[Record]] = {name: [] for name in specs}
    notes: Notes = {}
    for row in table:
        record = _record(row, specs)
        records[record["cell"]].append(record)
        mine = {name.removeprefix(NOTE): value for name, value in row.items() if name.startswith(NOTE)}
        notes[record["cell"], record["digest"], record["repeat"]] = mine
    groups = summarise(specs, [record for name in specs for record in records[name]])
    held = {group["cell"]: group for group in groups}
    others = meta["few"] | {name: read_rows(file.parent / f"{name}.parquet")[0] for name in meta["many"]}
    directory = RunDirectory(file.parent)
    return Measured(directory, specs, records, held, False, notes, others, published=True), meta["about"]


# --- rows -----------------------------------------------------------------------------------------


def _rows(measured: Measured, records: Sequence[Record]) -> Iterable[Row]:
    for record in records:
        setting, model, method = split(record["cell"])
        row: Row = {"setting": setting, "model": model, "method": method}
        row |= {name: record[name] for name in NAMED[3:]}
        for name, value in record["result"].items():
            if name in LEFT_OUT:
                continue
            if name in SUMMED:
                row[name] = sum(value.values())
            elif isinstance(value, Mapping):
                row |= {f"{name}.{key}": item for key, item in value.items()}
            else:
                row[name] = value
        held = measured.notes.get((record["cell"], record["digest"], record["repeat"]), {})
        yield row | {NOTE + name: value for name, value in held.items()}


def _record(row: Row, specs: Mapping[str, RunSpec]) -> Record:
    configuration = SEPARATOR.join(row[name] for name in NAMED[:3])
    spec = specs[configuration]
    result: dict[str, Any] = {name: dict(value) if isinstance(value, dict) else value for name, value in PLAIN.items()}
    for name, value in row.items():
        first, dot, key = name.partition(".")
        if name in NAMED or name.startswith(NOTE) or value is None:
            continue
        if dot:
            result[first][key] = value
        else:
            result[name] = {"all": value} if name in SUMMED else value
    own = {name: row[name] for name in NAMED[3:]}
    return {"cell": configuration, **own, "environment": spec.environment, "agent": spec.label(), "model": spec.model,
            "result": result}  # fmt: skip


def _shown(spec: RunSpec) -> dict[str, Any]:
    """The settings of a configuration; files are named without the folder that they lie in on this machine."""
    held = spec.model_dump(mode="json")
    options = {
        name: Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
        for name, value in held["options"].items()
    }
    return held | {"options": options}


def _spec(held: Mapping[str, Any]) -> RunSpec:
    """The settings as they were; unchecked, since a later version, which only shows them, may have other ones."""
    switches = Ablations.model_construct(**held["config"]["ablations"])
    config = TapeConfig.model_construct(**{**held["config"], "ablations": switches})
    return RunSpec.model_construct(**{**held, "config": config})


# --- files ----------------------------------------------------------------------------------------


def write_rows(file: Path, table: Sequence[Row], meta: Mapping[str, Any] | None = None) -> None:
    """Write rows as Parquet: zstd, dictionary-encoded. What JSON alone holds becomes a text in a column ``NAME:json``.

    Args:
        file: Where to.
        table: The rows; a key that one lacks is null there.
        meta: More, for :func:`read_rows`.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    require_extra("parquet", "pyarrow", what="publishing episodes")
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in table for name in row):
        values = [row.get(name) for row in table]
        known = [value for value in values if value is not None]
        if all(isinstance(value, str | int | float) for value in known) and _alike(known):
            columns[name] = values
        else:
            columns[name + AS_JSON] = [json.dumps(value, sort_keys=True) for value in values]
    made = pyarrow.table(columns)
    packed = base64.b85encode(zlib.compress(json.dumps(meta or {}).encode(), 9))
    sink = pyarrow.BufferOutputStream()
    options = {"compression": "zstd", "compression_level": 19, "store_schema": False}
    with pyarrow.parquet.ParquetWriter(sink, made.schema, **options) as writer:
        writer.write_table(made)
        writer.add_key_value_metadata({META: packed})
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, bytes(sink.getvalue().to_pybytes()))


def read_rows(file: Path) -> tuple[list[Row], dict[str, Any]]:
    """What :func:`write_rows` has written.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RunDirectoryError: The file is not there, or is none of ours.
    """
    require_extra("parquet", "pyarrow", what="reading published episodes")
    import pyarrow
    import pyarrow.parquet

    if not file.is_file():
        raise RunDirectoryError(f"{file} is missing; play the study anew with --publish")
    try:
        made = pyarrow.parquet.ParquetFile(file)
        held = (made.metadata.metadata or {})[META]
        meta: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(held)))
        columns = {name: column.to_pylist() for name, column in zip(made.schema_arrow.names, made.read(), strict=True)}
    except (pyarrow.ArrowException, KeyError, ValueError, zlib.error) as error:
        raise RunDirectoryError(f"{file} is no file that --publish wrote ({error}); play the study anew") from error
    plain = {
        name.removesuffix(AS_JSON): [json.loads(value) for value in values] if name.endswith(AS_JSON) else values
        for name, values in columns.items()
    }
    return [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)], meta


def _alike(known: Sequence[Any]) -> bool:
    """Whether a column of Parquet holds these: all texts, all flags, or all numbers."""
    kinds = {bool if isinstance(value, bool) else str if isinstance(value, str) else float for value in known}
    return len(kinds) <= 1 and all(abs(v) < 1 << 63 for v in known if isinstance(v, int))

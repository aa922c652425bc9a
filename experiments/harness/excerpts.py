"""Tables of the docs that a few lines declare: which rows of a committed result they show, and how.

``experiments/tables.toml`` has a section for each. A report is a source as a file of JSON is: a row of its table is a
record by the names of its columns, and ``--check`` says that the report follows from its episodes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from experiments.harness.document import table
from experiments.harness.places import RESULTS, ROOT
from tape.reading import read_json, read_text

FILE = ROOT / "experiments" / "tables.toml"
EACH = "*"
"""The column that stands for one column for each value of ``across``."""

Record = Mapping[str, Any]


class ExcerptError(ValueError):
    """A declared table cannot be made of its source."""


class _Cells(Formatter):
    """Format strings with more formats: ``figure`` (three digits), ``ms`` (of seconds), ``len``, ``first`` (word)."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "len":
            return str(len(value))
        if format_spec == "first":
            return str(value).split()[0]
        if format_spec in ("figure", "ms"):
            value *= 1000 if format_spec == "ms" else 1
            return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        shown: str = super().format_field(value, format_spec)
        return shown


def declared(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """What is declared, by the names of the tables."""
    return tomllib.loads(read_text(file))


def text(name: str, results: Path = RESULTS, file: Path = FILE) -> str:
    """A declared table in Markdown.

    Args:
        name: Its section.
        results: The folder of its sources.
        file: The declarations.

    Raises:
        ExcerptError: Its source has no rows for it, or no field that a cell shows.
    """
    spec = declared(file)[name]
    records = [record for record in _records(spec, results) if _wanted(record, spec.get("where", {}))]
    if not records:
        raise ExcerptError(f"table {name}: {spec['source']} has no rows for it")
    groups: dict[str, list[Record]] = {}
    for i, record in enumerate(records):
        groups.setdefault(_cell(spec.get("by", str(i)), record), []).append(record)
    across = list(dict.fromkeys(_cell(spec["across"], record) for record in records)) if "across" in spec else []
    added = spec.get("add", ())
    rows = []
    for members in groups.values():
        cells: dict[str, list[Record]] = {}
        for record in members if across else ():
            cells.setdefault(_cell(spec["across"], record), []).append(record)
        at = {place: _together(those, added) for place, those in cells.items()}
        rows.append(_together(members, added) | {"at": at})
    head, body = _lines(spec, rows, across)
    note = [_cell(spec["note"], _together(records, added)), ""] if "note" in spec else []
    return "\n".join([table(head, body), "", *note])


def _lines(spec: Mapping[str, Any], rows: Sequence[Record], across: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and cells: a row for each group of records, or the lines that are declared."""
    if "lines" in spec:
        [row] = rows
        return spec["head"], [[_cell(cell, row) for cell in line] for line in spec["lines"]]
    head, cells = [], []
    for column, cell in spec["columns"].items():
        places = across if column == EACH else [None]
        head += [place if place is not None else column for place in places]
        cells += [(cell, place) for place in places]
    return head, [[_cell(c, row if at is None else row["at"].get(at, {})) for c, at in cells] for row in rows]


def _cell(cell: str | Sequence[str], record: Record) -> str:
    """A cell: the first of its forms whose fields the record has."""
    forms = [cell] if isinstance(cell, str) else cell
    for form in forms:
        try:
            return _Cells().vformat(form, (), record)
        except (KeyError, IndexError, TypeError):
            continue
    raise ExcerptError(f"no field for {' or '.join(map(repr, forms))} in {dict(record)}")


def _wanted(record: Record, where: Mapping[str, Any]) -> bool:
    return all(record.get(key, "") in (value if isinstance(value, list) else [value]) for key, value in where.items())


def _together(records: Sequence[Record], added: Sequence[str]) -> dict[str, Any]:
    """Records that are shown as one: some numbers are added up, of the rest is kept what all have alike."""
    first, *rest = records
    alike = {key: value for key, value in first.items() if all(mapping.get(key) == value for mapping in rest)}
    some = [key for key in ("count", *added) if any(key in record for record in records)]
    return alike | {key: sum(record.get(key, 0) for record in records) for key in some}


def _records(spec: Mapping[str, Any], results: Path) -> Iterator[dict[str, Any]]:
    """The rows of the sources, ``rows`` of each; ``say`` gives values other words."""
    sources = [spec["source"]] if isinstance(spec["source"], str) else spec["source"]
    for source in sources:
        for path in [spec["rows"]] if isinstance(spec["rows"], str) else spec["rows"]:
            read = _of_report if source.endswith(".md") else _of_json
            for mapping in read(results / source, path):
                record = {"source": source, "count": 1} | mapping
                said = {key: names for key, names in spec.get("say", {}).items() if key in record}
                yield record | {key: names.get(record[key], record[key]) for key, names in said.items()}


def _of_json(file: Path, path: str) -> Iterator[dict[str, Any]]:
    """What is at a path of keys; ``*`` goes through a list or mapping. Rows have the plain fields of all above, too."""

    def walk(held: Any, keys: Sequence[str], above: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not keys:
            yield above | held
            return
        named = held if isinstance(held, dict) else dict(enumerate(held))
        for key in named if keys[0] == EACH else [keys[0]]:
            mapping = named[key]
            plain = (
                {k: v for k, v in mapping.items() if not isinstance(v, list | dict)}
                if isinstance(mapping, dict)
                else {}
            )
            yield from walk(mapping, keys[1:], above | {"key": key} | plain)

    yield from walk(read_json(file, dict[str, Any]), path.split(".") if path else [], {})


def _of_report(file: Path, heading: str) -> list[dict[str, Any]]:
    rows = rows_of(read_text(file), heading)
    if not rows:
        raise ExcerptError(f"{file} has no table under the heading {heading!r}")
    return rows


def rows_of(report: str, heading: str) -> list[dict[str, Any]]:
    """The rows of the first table under a heading, of another one by ``HEADING #2``; none where there is no such table.

    The second column of a name is ``NAME 2``.
    """
    heading, _, number = heading.partition(" #")
    _, _, rest = report.partition(f"# {heading}\n")
    blocks = [part for part in rest.partition("\n#")[0].strip().split("\n\n") if part.startswith("|")]
    if len(blocks) < int(number or 1):
        return []
    block = blocks[int(number or 1) - 1]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    head = [f"{name} {head[:i].count(name) + 1}" if name in head[:i] else name for i, name in enumerate(head)]
    return [{k: int(v) if v.isdecimal() else v for k, v in zip(head, row, strict=True)} for row in rows]

"""Anchors: digests of all that is published, in a chain that is only added to.

``--rewrite`` makes reports fit whatever the episodes say, so it cannot tell that somebody has edited them. An anchor
can: it holds, by file and configuration, how many episodes there are, how many of them succeeded, a digest of their
content and a letter for each, and the digest of the anchor before it. What is hashed is the rows, in no order, and not
the bytes of a file. Each entry of the register of test-set runs is anchored, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments.harness import earlier, episodes, register
from experiments.harness.differences import Difference
from experiments.harness.matrix import SEPARATOR
from tape.errors import UnknownNameError
from tape.files import replace_file
from tape.reading import read_json, read_text
from tape.runner.directory import git_commit

FILE = register.ANCHORS
REPORT = "report.md"
NOT_ANCHORED: Mapping[str, str] = {
    FILE: "the chain itself",
    REPORT: "follows from what is anchored; --check recomputes it",
    "xz": "replies of a model, from which `make evidence` plays the episodes that are anchored",
    "png": "figures are drawn from what is anchored, and never compared",
}
"""Files that no anchor holds, by name or ending, and why."""

COMMAND = "python -m experiments.report --anchor"
SHOWN = 3
"""Most rows of a configuration that are named."""

Group = list[Any]
"""Of a configuration: how many succeeded, of how many, the digest of all, and a letter of each row's own digest."""

Files = dict[str, dict[str, Group]]
Entry = dict[str, Any]


def read(results: Path) -> list[Entry]:
    """The anchors, the oldest first."""
    return read_json(results / FILE, list[Entry]) if (results / FILE).exists() else []


def add(results: Path, names: Collection[str], how: str) -> list[Entry]:
    """Anchor what is published under these names as it is now, and all new entries of the register.

    Args:
        results: The folder of results.
        names: Studies, which are folders in it, or files.
        how: Why, for readers.

    Returns:
        The new anchors; of what is anchored as it is there is none.

    Raises:
        UnknownNameError: Nothing of a name is published, or ever was.
    """
    entries, fresh = read(results), []
    last = {entry["what"]: entry["files"] for entry in entries}
    known = {*last, *_names(results)}
    for name in names:
        if name not in known:
            raise UnknownNameError("published study or file", name, sorted(known))
    runs = [digest for digest in _runs(results) if not any(digest in entry["runs"] for entry in entries)]
    for name in (register.COPY, *names):
        files = {} if name == register.COPY else _files(results, name)
        if runs or files != last.get(name, {}):
            previous = register.digest(entries[-1]) if entries else ""
            new = {"what": name, "how": how, "date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": git_commit()}
            fresh.append({**new, "files": files, "runs": runs, "previous": previous})
            entries.append(fresh[-1])
            runs = []
    if fresh:
        replace_file(results / FILE, "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")
    return fresh


def check(results: Path) -> list[Difference]:
    """What is not as it was anchored: episodes, the register, and the chain itself."""
    entries = read(results)
    differences, previous = [], ""
    for i, entry in enumerate(entries):
        if entry["previous"] != previous:
            differences.append(
                Difference(FILE, entry["what"], f"entry {i + 1}", "previous", entry["previous"], previous)
            )
        previous = register.digest(entry)
    last: dict[str, Files] = {entry["what"]: entry["files"] for entry in entries}
    present: Files = {}
    for name in sorted({*last, *_names(results)} - {register.COPY}):
        now, then = _files(results, name), last.get(name, {})
        present |= now
        for file in sorted({*now, *then}):
            differences += _differences(results, file, then.get(file, {}), now.get(file, {}))
    runs, anchored = _runs(results), {digest for entry in entries for digest in entry["runs"]}
    for digest in sorted({*anchored} ^ {*runs}):
        study = runs[digest]["study"] if digest in runs else ""
        which = f"entry {digest}"
        differences.append(Difference(register.COPY, study, which, "", *_either(digest in runs, digest in anchored)))
    return [*differences, *_miscounted(present, runs.values())]


def _names(results: Path) -> set[str]:
    """What is published: the studies and files in a folder of results."""
    return {path.relative_to(results).parts[0] for path in _data(results)}


def _data(place: Path) -> Iterator[Path]:
    """The files at a place that are anchored."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        once = path.name == REPORT and path.parent.name in earlier.STUDIES
        if path.is_file() and (once or not {path.name, path.suffix[1:]} & {*NOT_ANCHORED, register.COPY}):
            yield path


def _files(results: Path, name: str) -> Files:
    return {str(path.relative_to(results)): _groups(path) for path in _data(results / name)}


def _groups(file: Path) -> dict[str, Group]:
    """What a file holds, by configuration; a file that holds no episodes is one row."""
    if file.suffix != ".parquet":
        whole = read_json(file, Any) if file.suffix == ".json" else read_text(file)
        return {"": [0, 1, register.digest(whole), ""]}
    rows, meta = episodes.read_rows(file)
    groups: dict[str, Group] = {"settings": [0, 1, register.digest(meta), ""]}
    for name, mine in _grouped(rows).items():
        digests = [digest for digest, _ in mine]
        solved = sum(bool(row.get("success")) for _, row in mine)
        groups[name] = [solved, len(mine), register.digest(sorted(digests)), "".join(text[0] for text in digests)]
    return groups


def _grouped(rows: Sequence[episodes.Row]) -> dict[str, list[tuple[str, episodes.Row]]]:
    """Rows with their digests by configuration, in the order of tasks and repeats."""
    texts: dict[str, list[tuple[str, episodes.Row]]] = {}
    for row in rows:
        name = SEPARATOR.join(row[part] for part in episodes.NAMED[:3]) if "setting" in row else "rows"
        texts.setdefault(name, []).append((register.digest(row), row))
    for mine in texts.values():
        mine.sort(key=lambda held: (*(str(held[1].get(name)) for name in episodes.NAMED), held[0]))
    return texts


def _differences(results: Path, file: str, then: Mapping[str, Group], now: Mapping[str, Group]) -> Iterator[Difference]:
    """Where a file is not what was anchored, by configuration and row."""
    if not then or not now:
        yield Difference(file, "", "", "", *_either(bool(now), bool(then)))
        return
    for name in sorted(name for name in {*then, *now} if then.get(name) != now.get(name)):
        if name not in then or name not in now:
            yield Difference(file, name, "", "", *_either(name in now, name in then))
            continue
        (won, n, digest, letters), (won_now, n_now, digest_now, letters_now) = then[name], now[name]
        if (won, n) != (won_now, n_now):
            yield Difference(file, name, "", "solved", f"{won_now} of {n_now}", f"{won} of {n} when it was anchored")
        changed = [i for i, pair in enumerate(zip(letters, letters_now, strict=False)) if pair[0] != pair[1]]
        rows = _grouped(episodes.read_rows(results / file)[0])[name] if n == n_now and changed else []
        for i in changed[:SHOWN] if rows else []:
            which = ", ".join(f"{key} {rows[i][1][key]}" for key in episodes.NAMED[4:] if key in rows[i][1])
            yield Difference(file, name, which or f"row {i + 1}", "", rows[i][0], "another row when it was anchored")
        if not rows:
            yield Difference(file, name, "", "content", digest_now, f"{digest} when it was anchored")


def _either(here: bool, anchored: bool) -> tuple[str, str]:
    return "there" if here else "not there", "anchored" if anchored else f"not anchored; `{COMMAND} NAME` does it"


def _runs(results: Path) -> dict[str, dict[str, Any]]:
    """The entries of the register by their digests."""
    return {register.digest(entry): entry for entry in register.read(results / register.COPY)}


def _miscounted(present: Files, runs: Iterable[Mapping[str, Any]]) -> Iterator[Difference]:
    """Where no run of a study in the register has the counts of its published episodes: what differs in the nearest."""
    for file, groups in present.items():
        study = Path(file).parent.name
        wrong = [
            [(name, solved, groups.get(name, ["none", "none"])[:2]) for name, solved in run["solved"].items()]
            for run in runs
            if run["study"] == study and run["complete"] and run["solved"] and file.endswith(episodes.FILE)
        ]
        nearest = min(([pair for pair in run if pair[1] != pair[2]] for run in wrong), key=len, default=[])
        for name, listed, counted in nearest:
            said, here = (" of ".join(map(str, n)) for n in (listed, counted))
            yield Difference(register.COPY, study, name, "solved", said, here)

"""Commits what was played of a test part: ``python -m experiments.evidence.publish gsm_hard --out FOLDER``.

The episodes and the packed replies go to ``experiments/results/evidence``, and the use of the test part is listed in
the register of such runs (:mod:`experiments.harness.register`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.evidence.grounds import GROUNDS
from experiments.evidence.replies import IDENTITY, pack
from experiments.evidence.tables import FOLDER
from experiments.harness import register
from experiments.harness.matrix import named
from tape.runner.spec import source_digest


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and the entry."""
    parser = argparse.ArgumentParser(prog="python -m experiments.evidence.publish", description=__doc__)
    parser.add_argument("ground", choices=tuple(GROUNDS))
    parser.add_argument("--out", type=Path, required=True, help="the folder that was played into")
    parser.add_argument("--commit", required=True, help="the commit that was played")
    given = parser.parse_args(arguments)
    where = GROUNDS[given.ground]
    folder: Path = given.out / where.name
    first, last = where.test
    test = {trial.id for trial in where.trials()[first - 1 : last]}
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    if others := {row["task"] for row in rows} - test:
        parser.error(f"{folder} has tasks that are not of the test part: {', '.join(sorted(others))}")
    FOLDER.mkdir(exist_ok=True)
    lines = ",\n".join(" " + json.dumps(row) for row in rows)
    (FOLDER / f"{where.name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    count = pack(folder / "replies.sqlite", FOLDER / f"{where.name}.replies.xz")
    register.add(register.FILE, _entry(where.name, rows, given.commit))
    print(f"{len(rows)} episodes, {count} replies")
    return 0


def _entry(name: str, rows: Sequence[dict[str, Any]], commit: str) -> dict[str, Any]:
    solved: dict[str, list[int]] = {}
    for row in rows:
        counts = solved.setdefault(named(f"{name}, {row['caps']}", IDENTITY, row["row"]), [0, 0])
        counts[0] += row["right"]
        counts[1] += 1
    return {
        "study": "Evidence with a real general model", "sets": [f"{name}-test"], "engine": register.ENGINE,
        "source": source_digest(), "commit": commit, "models": {IDENTITY: IDENTITY}, "seed": 0,
        "seeds": 1 + max(row["draw"] for row in rows), "levels": len({row["task"] for row in rows}), "complete": True,
        "solved": solved,
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())

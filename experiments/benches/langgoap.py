"""LangGOAP beside TAPE: the same tools and caps, planned and played in one run.

``python -m experiments.benches.langgoap`` needs the package ``langgoap`` (0.1.2 was measured). Two parts:

- ``plan``: one planning call each. Tool chains (``envs.tool_chains``) at six levels, and two families of conditions and
  effects as LangGOAP has them (``experiments.benches.langgoap_tasks``), each with caps that fit, that rule out the
  cheapest plan, and that nothing fits. A plan is judged apart from both sides. Times are of the call alone: tools and
  actions are made before.
- ``play``: tool chains with and without a change on the way, played by TAPE's agent and by LangGOAP's graph on the same
  environment, which counts what is used.

Everything runs in a worker process. A call that takes longer than ``--limit`` is ended with its process and counts as
given up. Ratios are of two calls on the same task, one right after the other.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benches.langgoap_calls import ALL, DEFAULT, DOLLARS, GRAPH, METHODS, TAPE, TYPES, USED, Worker
from experiments.benches.langgoap_table import key, markdown
from experiments.benches.langgoap_tasks import SIZES
from experiments.harness.places import RESULTS
from experiments.studies.tools.chains import CELLS, LEVELS
from tape.files import replace_file
from tape.statistics import success_interval

FILE = RESULTS / "langgoap.json"
LIMIT = 10.0
"""Seconds of a planning call or an episode."""

FAMILIES = ("chains", "trees", "shared")
CAPS = ("fit", "tight", "short")


@dataclass(frozen=True)
class Planner:
    """Who plans, which families, and how many of each hundred tasks (what takes long gets fewer)."""

    name: str
    families: tuple[str, ...]
    share: float = 1.0
    caps: tuple[str, ...] = CAPS


PLANNERS = (
    Planner(TAPE, FAMILIES[:2]),
    Planner(TAPE, FAMILIES[2:], 0.03),
    Planner(GRAPH, FAMILIES[1:]),
    Planner(DEFAULT, FAMILIES),
    Planner(ALL, FAMILIES, 0.2),
    Planner(DOLLARS, FAMILIES, 0.2),
    Planner(USED, FAMILIES, 0.05),
    Planner(TYPES, ("chains",), 0.03, ("fit",)),
)
"""The first of a family is what the others' times are compared with, but for :data:`GRAPH` where tools are shared."""

FEW = 0.3
"""The share of problems that all but the first two methods play; they take long."""


def plans(worker: Worker, count: int, families: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each planner, family, kind of caps and size."""
    for family in families:
        sizes = [f"{level}/{tools}" for level, tools in LEVELS] if family == "chains" else list(SIZES)
        base = GRAPH if family == "shared" else TAPE
        for caps in CAPS:
            for size in sizes:
                mine = [one for one in PLANNERS if family in one.families and caps in one.caps]
                found: dict[str, list[dict[str, Any] | None]] = {one.name: [] for one in mine}
                for number in range(count):
                    for one in mine:
                        if number < max(1, round(one.share * count)):
                            found[one.name].append(worker.ask(("plan", one.name, family, caps, size, str(number))))
                print(family, caps, size, file=sys.stderr, flush=True)
                for name, answers in found.items():
                    yield plan_row(name, family, caps, size, answers, found[base])


def plan_row(
    planner: str,
    family: str,
    caps: str,
    size: str,
    answers: Sequence[dict[str, Any] | None],
    base: Sequence[dict[str, Any] | None],
) -> dict[str, Any]:
    """What planning calls came to; times are over the calls that ended."""
    verdicts = Counter("given up" if one is None else one["verdict"] for one in answers)
    right = [one is not None and one["verdict"] == "best" for one in answers]
    return {
        "part": "plan",
        "planner": planner,
        "family": family,
        "caps": caps,
        "size": size,
        "n": len(answers),
        "best": verdicts["best"],
        **_interval(right),
        "verdicts": dict(sorted(verdicts.items())),
        **_times(answers, base),
    }


def plays(worker: Worker, count: int, cells: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each method, cell and level."""
    for cell in cells:
        for level, tools in LEVELS:
            found: dict[str, list[dict[str, Any] | None]] = {name: [] for name in METHODS}
            for number in range(count):
                for rank, (name, answers) in enumerate(found.items()):
                    if rank > 1 and number >= max(1, round(FEW * count)):
                        continue
                    answers.append(worker.ask(("play", name, cell, str(level), str(tools), str(number))))
            print(cell, level, file=sys.stderr, flush=True)
            for name, answers in found.items():
                yield play_row(name, cell, level, tools, answers, found[TAPE])


def play_row(
    method: str,
    cell: str,
    level: int,
    tools: int,
    answers: Sequence[dict[str, Any] | None],
    base: Sequence[dict[str, Any] | None],
) -> dict[str, Any]:
    """What episodes came to."""
    ended = [one for one in answers if one is not None]
    ends = Counter("given up" if one is None else one["end"] for one in answers)
    return {
        "part": "play",
        "method": method,
        "cell": cell,
        "level": level,
        "tools": tools,
        "n": len(answers),
        "right": sum(one["right"] for one in ended),
        **_interval([one is not None and one["right"] for one in answers]),
        "success": sum(one["success"] for one in ended),
        "over_budget": sum(one["over"] for one in ended),
        "replans": sum(one["replans"] for one in ended),
        "ends": dict(sorted(ends.items())),
        **_times(answers, base),
    }


def _interval(right: Sequence[bool]) -> dict[str, Any]:
    low, high, _ = success_interval(list(right), list(range(len(right))))
    return {"ci95": [round(low, 3), round(high, 3)]}


def _times(answers: Sequence[dict[str, Any] | None], base: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    seconds = [one["seconds"] for one in answers if one is not None]
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(answers, base, strict=False) if a and b]
    return {
        "ms": round(1000 * median(seconds), 3) if seconds else None,
        "times": round(median(ratios), 2) if ratios else None,
    }


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog="python -m experiments.benches.langgoap",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--part", choices=["plan", "play"], help="only this one")
    found.add_argument("--plans", type=int, default=100, help="tasks of each kind (default: 100)")
    found.add_argument("--family", action="append", choices=FAMILIES, help="only this family; may be repeated")
    found.add_argument("--episodes", type=int, default=10, help="problems of each kind (default: 10)")
    found.add_argument("--cell", action="append", choices=CELLS, help="only this kind of change; may be repeated")
    found.add_argument("--limit", type=float, default=LIMIT, help="seconds of a call (default: 10)")
    found.add_argument("--out", type=Path, default=FILE)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, keep, print."""
    args = parser().parse_args(argv)
    held = json.loads(args.out.read_text(encoding="utf-8"))["rows"] if args.out.exists() else []
    rows = {key(row): row for row in held}
    worker = Worker(args.limit)
    try:
        if args.part != "play":
            rows |= {key(row): row for row in plans(worker, args.plans, args.family or FAMILIES)}
        if args.part != "plan":
            rows |= {key(row): row for row in plays(worker, args.episodes, args.cell or CELLS)}
    finally:
        worker.close()
    about = {"langgoap": version("langgoap"), "python": platform.python_version(), "limit_seconds": args.limit}
    lines = ",\n".join(json.dumps(row) for row in rows.values())
    replace_file(args.out, f'{{"about": {json.dumps(about)}, "rows": [\n{lines}\n]}}\n')
    print(markdown(list(rows.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures which solver is fastest on which kind of problem, and writes the table that `auto` picks from.

``python -m experiments.benches.solvers.crossovers`` takes about a quarter of an hour, resumes if run again, and writes
``solvers/crossovers.json``. Tightness of the budgets is varied within each row, as it cannot be known without solving.
Risk is no column: `auto` passes over the solvers that cannot keep one.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benches.solvers.backends import CBC
from experiments.benches.solvers.catalogue import DENSE, shape
from experiments.benches.solvers.instances import Spec
from experiments.benches.solvers.running import Settings, collect
from experiments.benches.solvers.summary import closed
from experiments.harness.cli import guarded
from solvers.auto import SCHEMA, TABLE

MODULE = "experiments.benches.solvers.crossovers"
CANDIDATES = ("labelling", "cp-sat", CBC, "pulp:highs", "mathopt:scip", "mathopt:highs", "networkx")

_MANY = 4  # resources; so many and more are one kind
_SIZES = (10_000,)  # E * L up to which, and from which, a problem is of another kind
_UNITS = (1_000,)  # the same for the amounts to tell apart


def training_grid() -> list[Spec]:
    """Small and large instances of three families for K = 0..5, with small and large costs, loose and tight."""
    shapes = {
        "folded": (shape(world="plane", M=8, L=20), shape(world="lane", M=64, L=40)),
        "grid": (shape(moves="loose", w=6, h=6, L=24), shape(moves="loose", w=12, h=12, L=50)),
        "layered": (shape(layers=10, width=8, degree=4), shape(layers=20, width=15, degree=6)),
    }
    grid = [
        (count, family, size, costs)
        for size in range(2)
        for costs in ("small", "hundreds")
        for count in range(6)
        for family in shapes
        if count or costs == "small"
    ]
    return [
        Spec(family, shapes[family][size], resources=count, rewards=DENSE[index % 2], costs=costs,
             budget=(0.5, 0.7)[index // 3 % 2] if count else None, seed=1000 + index)
        for index, (count, family, size, costs) in enumerate(grid)
    ]  # fmt: skip


def rules_of(rows: Sequence[Mapping[str, Any]], limit: float) -> list[dict[str, Any]]:
    """One row per kind of problem: the solvers in the order of how many they closed, then of their median time.

    A solve that was not closed counts as having taken the whole limit.

    Args:
        rows: What the workers measured.
        limit: Seconds that a solve got.
    """
    kinds: dict[tuple[Any, ...], dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        kinds[_kind(row["features"])][row["backend"]].append(row)
    found = []
    for kind in sorted(kinds, key=str):
        measured = {
            name: {
                "median_ms": round(1e3 * median(row["seconds"] if closed(row) else limit for row in some), 3),
                "n": len(some),
                "closed": sum(map(closed, some)),
            }
            for name, some in kinds[kind].items()
        }
        ranked = sorted(measured, key=lambda name: (-measured[name]["closed"], measured[name]["median_ms"], name))
        found.append({"when": dict(kind), "solvers": ranked, "measured": {name: measured[name] for name in ranked}})
    return found


def _kind(features: Mapping[str, int]) -> tuple[tuple[str, tuple[int | None, int | None]], ...]:
    """The limits of the kind that some features belong to."""
    count = features["resources"]
    kind = [("resources", (count, count) if count < _MANY else (_MANY, None))]
    kind.append(("edge_steps", _between(features["edge_steps"], _SIZES)))
    if count:
        kind.append(("units", _between(features["units"], _UNITS)))
    return tuple(kind)


def _between(value: int, limits: Sequence[int]) -> tuple[int | None, int | None]:
    """The interval, both ends included, that a value falls into."""
    below = max((limit + 1 for limit in limits if value > limit), default=None)
    above = min((limit for limit in limits if value <= limit), default=None)
    return below, above


def _competes(backend: str, spec: Spec, _size: int, _place: int) -> bool:
    return backend != "networkx" or spec.budget is None


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/crossovers"), help="where rows are kept")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="only the first N instances")
    parser.add_argument("--backends", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    parser.add_argument("--slow-limit", type=float, default=10.0, help="seconds that a solve gets")
    parser.add_argument("--table", type=Path, default=TABLE)
    given = list(sys.argv[1:] if argv is None else argv)
    args = parser.parse_args(given)
    command = shlex.join(["python", "-m", MODULE, *given])

    def run() -> int:
        settings = Settings(args.slow_limit, repeats=3)
        rows, _ = collect(args.out, training_grid()[: args.limit], args.backends, settings, _competes)
        rules = rules_of(rows, args.slow_limit)
        record = {"schema": SCHEMA, "command": command, "slow_limit": args.slow_limit, "rules": rules}
        args.table.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        for rule in rules:
            best = rule["solvers"][0]
            print(f"{rule['when']}: {best} {rule['measured'][best]}")
        print(f"written: {args.table}")
        return 0

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())

"""TAPE beside the open loop on the shipped levels with every bundled model.

``python -m experiments.end_to_end --out runs/end-to-end`` plays 10 levels x 10 repeats per cell (the
paper's size), resumes if run again, and writes ``experiments/results/end_to_end.json``, from which
``python -m experiments.readme_table`` makes the README's table.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.demo import AGENTS, run_one
from tape.lm.bundled import sizes
from tape.lm.registry import open_model

RESULTS = Path(__file__).parent / "results" / "end_to_end.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Run all cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/end-to-end"))
    parser.add_argument("--levels", nargs="+", default=["easy", "hard", "xhard"])
    parser.add_argument("--models", nargs="+", default=[f"bundled:{size}" for size in sizes()])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(argv)
    groups = []
    for name in args.models:
        model = open_model(name)
        for levels in args.levels:
            for agent in AGENTS:
                _, found = run_one(args, model, levels, agent)
                groups += [{**group, "model_identity": model.identity} for group in found]
    for group in groups:
        group.pop("solver_seconds")  # everything kept is the same on every machine of the same versions
    args.results.parent.mkdir(parents=True, exist_ok=True)
    given = sys.argv[1:] if argv is None else argv
    command = shlex.join(["python", "-m", "experiments.end_to_end", *given])
    record = {"schema": 1, "command": command, "repeats": args.repeats, "groups": groups}
    args.results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"written: {args.results}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

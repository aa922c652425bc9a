"""The headline: every agent and bundled model on ten shipped and 200 fresh hard levels.

``python -m experiments.studies.tape.headline`` resumes if run again. The fresh levels are the test set: they are for
this comparison alone, once per version of the engine, and every run on them is listed (``--register``). ``--publish
FOLDER`` writes ``headline.json``, of which ``experiments.tables`` makes the table in docs/results.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiments.harness import register
from experiments.harness.cli import main as run
from experiments.harness.experiment import OTHER_LM, Experiment
from experiments.harness.matrix import Options, split
from experiments.harness.measured import Measured
from experiments.harness.methods import EVERYTHING, TAPE
from experiments.harness.standard import PAIRED, SIMULATED, against, success_bars
from experiments.studies.tape.levels import LADDER, grid
from experiments.studies.tape.losses import losses_section
from experiments.studies.tape.reproduce import groups_without_times
from experiments.studies.tape.targets import WEAKER, verdicts
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table

SETTINGS = ("hard", register.TEST_SET)
RUNS = "test_set_runs.json"


def configurations(options: Options) -> list[Configuration]:
    return grid(EVERYTHING, SETTINGS, options)


def sections(measured: Measured) -> list[Section]:
    caption = f"Success on hard levels by model, 95 % intervals. {SIMULATED}"
    figures = [
        Figure(f"headline-{setting}", f"`{setting}`: {caption}", success_bars(_only(measured, setting), by_model=True))
        for setting in measured.settings()
    ]
    parts = [Section("Targets", (targets_table(measured),), level=3), Section("Figures", tuple(figures), level=3)]
    parts += losses_section(measured)
    entries = register.read(measured.directory.path / RUNS)
    if entries:
        parts.append(Section("Runs on the test set", (register.table(entries),), level=3))
    return parts


def targets_table(measured: Measured) -> Table:
    """Met or missed, with numbers."""
    word = {True: "met", False: "**missed**", None: "-"}
    rows = tuple((v.target, v.setting, f"`{v.model}`", word[v.met], v.found) for v in verdicts(measured))
    weaker = " and ".join(f"`{model}`" for model in WEAKER)
    note = (
        f"`{register.TEST_SET}` are fresh levels, `hard` the ten shipped ones; differences are paired. {PAIRED} "
        f"Weaker models are {weaker}: the two weakest of all, and two of the three "
        "finished ones."
    )
    return Table(("target", "levels", "model", "", "found"), rows, note)


def _only(measured: Measured, setting: str) -> Measured:
    """The part of what was measured that belongs to one level set."""
    return replace(measured, specs={name: spec for name, spec in measured.specs.items() if split(name)[0] == setting})


EXPERIMENT = Experiment(
    name="headline",
    module="experiments.studies.tape.headline",
    title="The headline: TAPE beside every baseline, with every bundled model",
    source="its claim as a whole; no single figure",
    about="Hard levels (T* = 10, at most 12 moves): ten shipped and 200 fresh ones, the same for all. Tokens and calls "
    "stand beside every success rate.",
    models=LADDER,
    configurations=configurations,
    sections=sections,
    pairs=against(TAPE.label),
    differs=(OTHER_LM,),
    seeds=3,
)


def record(measured: Measured) -> dict[str, Any]:
    """What the repository keeps: nothing that differs from machine to machine."""
    pairs = []
    for setting, model, ours, other in EXPERIMENT.pairs(measured):
        pair = measured.difference(setting, model, ours, other)
        if pair is not None:
            pairs.append({"setting": setting, "model": model, "method": ours, "minus": other, **asdict(pair)})
    first = next(iter(measured.specs.values()))
    return {
        "schema": 1,
        "made_by": EXPERIMENT.command,
        "seed": first.seed,
        "seeds": first.repeats,
        "num_plans": first.config.num_plans,
        "temperature": first.config.temperature,
        "complete": measured.missing() == 0,
        "groups": groups_without_times(measured.directory.path),
        "differences": pairs,
        "targets": [verdict.as_data() for verdict in verdicts(measured)],
    }


def write_record(measured: Measured, file: Path) -> None:
    """Write what the table in docs/results.md is made of."""
    found = record(measured)
    lists = {key: value for key, value in found.items() if isinstance(value, list)}
    head = json.dumps({key: value for key, value in found.items() if key not in lists}, indent=1)
    parts = [
        f' "{key}": [\n' + ",\n".join("  " + json.dumps(one) for one in value) + "\n ]" for key, value in lists.items()
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{head[:-2]},\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options that only this script has."""
    parser.add_argument("--engine", default=register.ENGINE, help="label of the engine (default: %(default)s)")
    parser.add_argument(
        "--register", type=Path, default=register.FILE, metavar="FILE", help="list of the runs on the test set"
    )


def after(args: argparse.Namespace, measured: Measured) -> None:
    """List the run, and write what docs/results.md needs."""
    new = register.entry(measured, args.engine)
    if new is not None:
        entries = register.add(args.register, new)
        (measured.directory.path / RUNS).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        print(f"listed in {args.register}: engine {args.engine}, {new['levels']} test levels x {new['seeds']}")
    if args.publish:
        write_record(measured, args.publish / "headline.json")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison."""
    return run(EXPERIMENT, argv, arguments=arguments, after=after)


if __name__ == "__main__":
    sys.exit(main())

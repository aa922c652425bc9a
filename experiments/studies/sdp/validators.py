"""How often validators are right: ``python -m experiments.studies.sdp.validators``.

Every environment has cases with known truth (:mod:`experiments.studies.sdp.cases`): what was really observed, right
words about the wrong object, negations, texts that are cut off, several predicates at once. No model is asked unless a
validator's name says so.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import pkgutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.harness.cli import guarded, positive
from experiments.harness.places import RESULTS
from experiments.studies.sdp import cases as all_cases
from experiments.studies.sdp.cases.case import Case
from tape.errors import MissingExtraError, TapeError
from tape.reading import read_json
from tape.sdp.operators import Validate
from tape.show.document import Table, table
from tape.statistics import wilson

MODULE = "experiments.studies.sdp.validators"
TITLE = "Precision and recall of the validators"
COUNT, QUICK = 2000, 200
PARTS = 10
NOTE = (
    "A predicate of the plan tail counts once per case: found true where it is among the k that the validator "
    "certifies, really true where it is among the k that hold. Precision is the share of the predicates found true "
    "that are, recall the share of the true ones that are found; both with 95 % intervals (Wilson; predicates of one "
    "tail depend on each other, so the true intervals are somewhat wider). n counts cases (predicates)."
)


@dataclass
class Count:
    """Predicates by verdict and truth."""

    cases: int = 0
    predicates: int = 0
    found: int = 0
    true: int = 0
    both: int = 0

    def add(self, case: Case, k: int) -> None:
        """Count a case that a validator gives ``k``."""
        self.cases += 1
        self.predicates += len(case.tail)
        self.found += k
        self.true += case.k
        self.both += min(k, case.k)


@dataclass
class Measured:
    """What was measured; ``families`` by environment, validator and family, ``skipped`` by environment."""

    seed: int
    families: dict[tuple[str, str, str], Count] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def measure(seed: int, n: int, names: Iterable[str] | None = None) -> Measured:
    """Measure every validator of every environment that can be played here."""
    measured = Measured(seed)
    for name in environments() if names is None else names:
        try:
            module: Any = importlib.import_module(f"{all_cases.__name__}.{name}")
            cases, validators = _cases(module, seed, n), module.validators()
        except MissingExtraError as error:
            measured.skipped[name] = str(error)
            continue
        for validator, validate in validators.items():
            asyncio.run(_measure(measured, name, validator, validate, cases))
    return measured


def _cases(module: Any, seed: int, n: int) -> list[Case]:
    """Cases of several seeds: some environments take one task for each."""
    parts = [n // PARTS + (part < n % PARTS) for part in range(PARTS)]
    return [case for i, part in enumerate(parts) if part for case in module.cases(seed * PARTS + i, part)]


def environments() -> list[str]:
    """The environments with cases."""
    return sorted(found.name for found in pkgutil.iter_modules(all_cases.__path__) if found.name != "case")


async def _measure(measured: Measured, name: str, validator: str, validate: Validate, cases: Sequence[Case]) -> None:
    for case in cases:
        verdict = await validate.validate(case.tail, case.outcome)
        for family in (case.family, "all"):
            measured.families.setdefault((name, validator, family), Count()).add(case, verdict.k)


def share(part: int, whole: int) -> str:
    """A proportion with its interval."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part / whole:.3f} ({low:.3f} to {high:.3f})"


def summary(measured: Measured) -> Table:
    """One row per environment, validator and family."""
    rows = []
    for (name, validator, family), found in measured.families.items():
        shares = (share(found.both, found.found), share(found.both, found.true))
        wrong = str(found.found - found.both)
        rows.append((name, validator, family, f"{found.cases} ({found.predicates})", *shares, wrong))
    rows.sort(key=lambda row: (row[0], row[1], row[2] != "all", row[2]))
    return Table(
        ("environment", "validator", "family", "n", "precision", "recall", "false positives"), tuple(rows), NOTE
    )


def as_json(measured: Measured) -> dict[str, Any]:
    """The counts behind the table."""
    rows: list[Mapping[str, Any]] = [
        {"environment": name, "validator": validator, "family": family, **asdict(found)}
        for (name, validator, family), found in sorted(measured.families.items())
    ]
    return {"seed": measured.seed, "rows": rows, "skipped": measured.skipped}


def kept(path: Path, measured: Measured, without: Collection[str]) -> None:
    """Keep what was measured before of other environments; the cases of another seed are not mixed in.

    Raises:
        TapeError: The file is none of ours.
    """
    if not path.exists():
        return
    try:
        before = read_json(path, dict[str, Any])
        for row in before["rows"] if before["seed"] == measured.seed else ():
            name, validator, family = (row.pop(key) for key in ("environment", "validator", "family"))
            if name not in without:
                measured.families[name, validator, family] = Count(**row)
    except (ValueError, KeyError, TypeError) as error:
        raise TapeError(f"{path} was not written by this program ({error}); move it away") from error


def as_markdown(measured: Measured) -> str:
    """The table as a page."""
    found = summary(measured)
    head = [f"# {TITLE}", "", f"Made by `python -m {MODULE} --seed {measured.seed}`.", ""]
    lines = [*head, table(found.head, found.rows), "", found.note]
    lines += [f"\nNot measured: {name}: {why}" for name, why in measured.skipped.items()]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and report; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--count", type=positive, default=COUNT, metavar="N", help="cases (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} cases of each environment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", choices=environments(), action="append", help="this environment alone, the others' rows are kept"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="(default: %(default)s)")
    args = parser.parse_args(given)

    def run() -> int:
        measured = measure(args.seed, QUICK if args.quick else args.count, args.only)
        args.out.mkdir(parents=True, exist_ok=True)
        kept(args.out / "sdp_validators.json", measured, args.only or environments())
        text = json.dumps(as_json(measured), indent=1) + "\n"
        (args.out / "sdp_validators.json").write_text(text, encoding="utf-8")
        (args.out / "sdp_validators.md").write_text(as_markdown(measured), encoding="utf-8")
        print(as_markdown(measured))
        return 0

    return guarded(run, MODULE, given)


if __name__ == "__main__":
    sys.exit(main())

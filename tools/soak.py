"""Runs the long sweeps and writes what came out to soak-results/: ``python -m tools.soak [pytest arguments]``.

They take less than an hour on two cores, and none of them more than ten minutes.

The sweeps are the tests marked ``soak``, those with a general language model (``lm``, skipped where none is installed),
and all property tests with all their examples (Hypothesis marks them ``hypothesis``; under ``make test`` they try a
quarter, see tests/profiles.py).

pytest's report lies in soak-results/pytest.xml.partial while the sweeps run; at the end soak-results/soak.json lists
every sweep with its outcome and its time. With arguments that select some of them, the results of the others stay, and
the fresh ones name the versions that differ from theirs.
Sweeps that have figures of their own write them to the folder that the variable TAPE_SOAK_RESULTS names, which is the
same.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "soak-results"
VERSIONS_OF = frozenset(
    {
        "numpy",
        "torch",
        "transformers",
        "outlines",
        "llguidance",
        "ortools",
        "pulp",
        "highspy",
        "networkx",
        "gym-sokoban",
    }
)


def outcome(case: ElementTree.Element) -> str:
    """The outcome of one testcase element of a JUnit report."""
    for tag, name in (("failure", "failed"), ("error", "error"), ("skipped", "skipped")):
        if case.find(tag) is not None:
            return name
    return "passed"


def sweeps(report: str) -> list[dict[str, Any]]:
    """The tests in a JUnit report, sorted by name: name, outcome, seconds and what the test recorded."""
    result = []
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314  (our own pytest wrote it)
        result.append(
            {
                "name": f"{case.get('classname', '')}.{case.get('name', '')}",
                "outcome": outcome(case),
                "seconds": round(float(case.get("time", "0")), 1),
                "recorded": {item.get("name", ""): item.get("value", "") for item in case.iter("property")},
            }
        )
    return sorted(result, key=lambda item: str(item["name"]))


def versions() -> dict[str, str]:
    """Python and the packages whose versions matter for the results."""
    versions_by_text = {item.name.lower(): item.version for item in distributions() if item.name.lower() in VERSIONS_OF}
    return {"python": platform.python_version(), **dict(sorted(versions_by_text.items()))}


def merged(held: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
    """Fresh results, and of the held ones those of sweeps that were not run now.

    A fresh sweep names the versions that are not those of the held ones.
    """
    different = {name: version for name, version in fresh["versions"].items() if held["versions"].get(name) != version}
    added = [{**item, "versions": different} if different else item for item in fresh["sweeps"]]
    by_name = {item["name"]: item for item in [*held["sweeps"], *added]}
    return {**held, "sweeps": [by_name[name] for name in sorted(by_name)]}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs pytest and returns its exit status; 5 (no sweep was collected) is an error like any other."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    RESULTS.mkdir(exist_ok=True)
    partial = RESULTS / "pytest.xml.partial"
    partial.unlink(missing_ok=True)
    print(f"The sweeps run for a long time; their results go to {RESULTS}", flush=True)
    report = ["-o", "junit_family=xunit1", f"--junitxml={partial}"]
    # A file's sweeps stay in one process: some add their figures to the same file of results.
    spread = ["-n", "2", "--dist", "loadfile"]
    chosen = ["-m", "soak or hypothesis or lm", "--hypothesis-profile=soak"]
    command = [sys.executable, "-m", "pytest", "-v", *spread, *chosen, *report, *arguments]
    environment = {**os.environ, "TAPE_SOAK_RESULTS": str(RESULTS)}
    try:
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode  # noqa: S603
    except KeyboardInterrupt:
        print(f"interrupted; {RESULTS / 'soak.json'} is as it was", file=sys.stderr)
        return 130
    if status not in {0, 1}:
        print(f"pytest ended with status {status}; {RESULTS / 'soak.json'} is as it was", file=sys.stderr)
        return status
    target = RESULTS / "soak.json"
    fresh = {"schema": 1, "versions": versions(), "sweeps": sweeps(partial.read_text())}
    held = json.loads(target.read_text()) if arguments and target.exists() else fresh
    target.write_text(json.dumps(merged(held, fresh), indent=2) + "\n")
    partial.unlink()
    print(f"Results: {target}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""Where the time of one whole call of `labelling` goes on plan graphs of about 200 edges, from Python's objects on.

``python -m experiments.benches.solvers.one_call`` takes half a minute and prints a table in microseconds: making and
checking the `PathProblem`, then `solve` as a whole and its parts. What is left of the call beside the search and the
checks of the answer is conversion and bookkeeping. Each figure is the tenth percentile of many repeats, which a busy
machine disturbs least. The last line gives medians over the instances, also in plain NumPy passes over the same graph,
which machines share better than microseconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from statistics import median

from experiments.benches.solvers.catalogue import catalogue
from experiments.benches.solvers.numpy_pass import pass_seconds
from solvers import PathProblem, PathSolution, check, solve

FEWEST, MOST = 150, 280
"""The edges of a plan graph of about 200."""


@dataclass(frozen=True)
class Split:
    """Microseconds of one instance.

    Attributes:
        making: Of `PathProblem(...)` from tuples, with all its checks.
        call: Of `solve`, as a whole.
        search: Of the compiled code in it, which reads the problem's tuples too.
        checking: Of re-verifying the answer.
        numpy_pass: Of one unbudgeted pass in NumPy.
    """

    making: float
    call: float
    search: float
    checking: float
    numpy_pass: float


def split(problem: PathProblem, repeats: int) -> Split:
    """Measures one instance; it has a path."""
    given = {field.name: getattr(problem, field.name) for field in fields(problem)}
    answer = solve(problem)
    searches: list[float] = []

    def call() -> PathSolution:
        found = solve(problem)
        searches.append(1e6 * (found.solve_seconds or 0.0))
        return found

    return Split(
        _low([_timed(lambda: PathProblem(**given)) for _ in range(repeats)]),
        _low([_timed(call) for _ in range(repeats)]),
        _low(searches),
        _low([_timed(lambda: check(problem, answer)) for _ in range(repeats)]),
        1e6 * pass_seconds(problem),
    )


def _timed(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return 1e6 * (time.perf_counter() - began)


def _low(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 10]


def table(splits: dict[str, Split]) -> str:
    """A markdown table: one row an instance, then the medians, then these in NumPy passes."""
    lines = [
        "| plan graph | edges and K | making | solve | of it: search | checking | the rest | NumPy pass |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, one in splits.items():
        rest = one.call - one.search - one.checking
        lines.append(
            f"| {name} | {one.making:.0f} | {one.call:.0f} | {one.search:.0f} | {one.checking:.0f} | {rest:.0f} "
            f"| {one.numpy_pass:.0f} |"
        )
    made, called = (median(getattr(one, part) for one in splits.values()) for part in ("making", "call"))
    within = sum(one.call < 100 for one in splits.values())
    ratio = median(one.call / one.numpy_pass for one in splits.values())
    lines.append(f"\nmedian: making {made:.0f}, solve {called:.0f} microseconds ({ratio:.2f} NumPy passes); ")
    lines[-1] += f"solve below 100 on {within} of {len(splits)}"
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.solvers.one_call",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=300, help="of each part")
    args = parser.parse_args(argv)
    found = {}
    for spec in catalogue():
        if spec.family != "folded":
            continue
        problem = spec.build().problem
        if FEWEST <= len(problem.edges) <= MOST:
            found[f"{spec.name} | {len(problem.edges)}, {spec.resources}"] = split(problem, args.repeats)
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())

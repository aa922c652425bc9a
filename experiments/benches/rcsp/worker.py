"""Competitors beside ours on one instance, in a process of their own: ``python -m experiments.benches.rcsp.worker``.

Reads a request as JSON from standard input and prints a row as JSON for each competitor, as soon as it is done. Both
sides take turns, so that a ratio is of times that were measured together; before every timed call garbage is collected,
and the process pauses.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benches.rcsp.catalogue import entry
from experiments.benches.rcsp.competitors import TIMEOUT, UNFIT, Answer, Competitor, Instance
from experiments.benches.rcsp.ours import PAUSE, PROBLEM, Ours, inside
from experiments.benches.rcsp.registry import COMPETITORS, OURS, ROAD
from experiments.benches.resident import forget_peak, peak, resident
from solvers import RcspProblem

MARK = "row: "
"""Begins the lines with rows; competitors print as well."""

_REPEATED_WITHIN = 2.0  # seconds; a competitor that needs longer is timed once
_QUICK = 0.5  # seconds; within so many, what is quick is timed more often than asked for
_MOST = 11
_FASTER = 0.01  # seconds that another variant may need beyond the fastest so far, before it is given up


@dataclass(frozen=True)
class Request:
    """What to measure.

    Attributes:
        instance: Its name.
        data: The folder of files; empty for none.
        competitors: Keys of `COMPETITORS`; `OURS`, for ours alone with memory, comes first.
        limit: Seconds that a call gets.
        repeats: How many timed calls of each side.
    """

    instance: str
    data: str
    competitors: Sequence[str]
    limit: float
    repeats: int

    def to_json(self) -> str:
        """As read by the worker."""
        return json.dumps(asdict(self))


def measure(request: Request) -> Iterator[dict[str, Any]]:
    """The rows: the medians of both sides, and what they say."""
    one = entry(request.instance, Path(request.data) if request.data else None)
    instance = one.instance()
    problem = instance.problem
    for competitor in request.competitors:
        row: dict[str, Any] = {
            "instance": one.name, "part": one.part, "competitor": competitor, "nodes": problem.n_nodes,
            "arcs": problem.n_edges, "resources": len(problem.resources),
        }  # fmt: skip
        if competitor == OURS:
            yield row | _alone(instance, request, graph_too=one.part != ROAD)
        else:
            yield row | _beside(instance, competitor, request)


def _warm_up() -> None:
    """The first call of a process imports."""
    tiny = RcspProblem(3, [0, 0, 1], [1, 2, 2], [1, 5, 1], [[1], [1], [3]], upper=[3])
    Ours(Instance("tiny", "", tiny), 10.0).measure()


def _alone(instance: Instance, request: Request, graph_too: bool) -> dict[str, Any]:
    _warm_up()
    ours = Ours(instance, request.limit, graph_too)
    gc.freeze()  # what is there before the calls need not be looked at before each of them
    before = resident()
    forget_peak()
    ours.measure()
    most = peak()
    spent = 0.0
    while len(ours.times[PROBLEM]) < (_MOST if spent < _QUICK else request.repeats):
        spent += ours.measure()
    growth = None if most is None or before is None else max(0.0, most - before)
    split = inside(instance, request.limit, request.repeats)
    return {"ours": _summary(ours), **split, "peak_mb": most, "growth_mb": growth}


def _beside(instance: Instance, competitor: str, request: Request) -> dict[str, Any]:
    variants = COMPETITORS[competitor]
    reason = variants[0].unfit(instance)
    if reason is not None:
        return {"status": UNFIT, "message": reason}
    tiny = Instance("tiny", "", RcspProblem(3, [0, 0, 1], [1, 2, 2], [1, 5, 1], [[1], [1], [3]], upper=[3]))
    variants[0].answer(variants[0].given(tiny), 10.0)
    chosen, given, answer, seconds = _fastest(variants, instance, request.limit)
    runs, wholes = [answer.run_seconds], [seconds]
    _warm_up()
    ours = Ours(instance, request.limit, graph_too=chosen.beside == "graph")
    gc.collect()
    gc.freeze()
    spent = 0.0
    for turn in range(_MOST):
        if turn >= request.repeats and spent + seconds > _QUICK:
            break
        spent += ours.measure() + seconds
        if seconds > _REPEATED_WITHIN or answer.status == TIMEOUT:
            continue
        if turn == 0:
            runs, wholes = [], []  # the first call chose the variant
        again, seconds = _timed(chosen, given, request.limit)
        if (again.status, again.cost) != (answer.status, answer.cost):
            raise ValueError(f"{chosen.name}: first {answer}, then {again}")
        runs.append(again.run_seconds)
        wholes.append(seconds)
    known = [value for value in runs if value is not None]
    return {
        "variant": chosen.variant,
        "status": answer.status,
        "cost": answer.cost,
        "run_seconds": median(known) if known else None,
        "seconds": median(wholes),
        "timed": len(wholes),
        "beside": chosen.beside,
        "ours": _summary(ours),
    }


def _fastest(
    variants: tuple[Competitor, ...], instance: Instance, limit: float
) -> tuple[Competitor, Any, Answer, float]:
    """The variant that answers soonest, what it is given, its answer and its seconds.

    A later one gets no more time than the best before it.
    """
    best: tuple[Competitor, Any, Answer, float] | None = None
    for one in variants:
        given = one.given(instance)
        gc.collect()
        gc.freeze()
        answer, seconds = _timed(one, given, limit if best is None else min(limit, best[3] + _FASTER))
        if best is not None and answer.status != TIMEOUT and best[2].status != TIMEOUT and answer.cost != best[2].cost:
            raise ValueError(f"{one.name} {one.variant}: {answer}; {best[0].variant}: {best[2]}")
        if best is None or (answer.status != TIMEOUT and (seconds < best[3] or best[2].status == TIMEOUT)):
            best = (one, given, answer, seconds)
    assert best is not None
    return best


def _timed(one: Competitor, given: Any, limit: float) -> tuple[Answer, float]:
    gc.collect()
    time.sleep(PAUSE)
    began = time.perf_counter()
    answer = one.answer(given, limit)
    return answer, time.perf_counter() - began


def _summary(ours: Ours) -> dict[str, Any]:
    times = {way: median(seconds) for way, seconds in ours.times.items()}
    return {"status": ours.status, "cost": ours.cost, "message": ours.message, **times}


def main() -> int:
    """Answer one request."""
    for row in measure(Request(**json.loads(sys.stdin.read()))):
        print("\n" + MARK + json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

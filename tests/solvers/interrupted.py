"""Solves that are interrupted at random moments: ``python -m tests.solvers.interrupted SOLVER SEED COUNT``.

Prints what came of them as JSON. After each of them no worker may be left that nobody has any use for, and an easy
problem must be solved.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from solvers import Status, check, explain, k_best, solve
from solvers.testing import CASES, endless, layered
from solvers.worker import _workers

LONGEST = 0.4
"""Seconds until an interrupt; a worker has started and searches by then."""

EASY = CASES[0].problem
HARD = layered(1)
TIGHT = HARD.with_valid(budgets=(1,) * len(HARD.budgets))


def called(name: str) -> list[Callable[[], Any]]:
    """What is interrupted."""
    calls: list[Callable[[], Any]] = [
        lambda: solve(HARD if name != "labelling" else endless(0), name),
        lambda: solve(HARD, name, time_limit=0.2),
        lambda: solve(EASY, name),
    ]
    if name == "labelling":
        calls += [lambda: k_best(endless(0), 1000), lambda: explain(TIGHT), lambda: solve(endless(1), time_limit=1.0)]
    return calls


def left_over() -> list[int]:
    """Workers that live, and are neither lent nor kept for the next solve."""
    idle = {worker.pid for lot in _workers._idle.values() for worker in lot}
    return [worker.pid for worker in _workers._all if worker.is_alive() and worker.pid not in idle]


def interrupted(call: Callable[[], Any], delay: float) -> str:
    """What a call comes to that is interrupted after so many seconds, or right after it."""
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    outcome = "ended first"
    try:
        timer.start()
        answer = call()
        outcome = f"ended first: {getattr(answer, 'status', answer)}"
        timer.join()
        while True:
            time.sleep(1)  # the interrupt is on its way
    except KeyboardInterrupt:
        return outcome if outcome.startswith("ended first:") else "interrupted"


def main(name: str, seed: str, count: str) -> None:
    rng = random.Random(f"{name} {seed}")
    calls = called(name)
    outcomes: Counter[str] = Counter()
    groups: set[int] = set()
    solve(EASY, name)  # numpy cannot be imported again where its import was interrupted
    for number in range(int(count)):
        outcomes[interrupted(rng.choice(calls), rng.uniform(0, LONGEST))] += 1
        groups |= {worker.pid for worker in _workers._all}
        assert not left_over(), (number, left_over())
        answer = solve(EASY, name)
        assert answer.status is Status.OPTIMAL, (number, answer)
        assert check(EASY, answer) == []
        groups |= {worker.pid for worker in _workers._all}
    print(json.dumps({"outcomes": outcomes, "workers": sorted(groups)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

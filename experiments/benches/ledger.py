"""A shared ledger at its cap, and its speed: ``python -m experiments.benches.ledger --url URL --out FILE``.

128 streams at once spend one cap. The worst case of a call is 5 % of the cap, its actual cost at most a third of that.
Calls, durations and costs are drawn from a seed and are the same for all ways; time is simulated, the ledger is real (a
file). The speed is measured on the database at URL, made by ``tape ledger init``, and on a file beside.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from tape.budget import Cap, HoldRequest, LedgerStore, Refused, open_store
from tape.budget.stores.file import FileStore

STREAMS, CALLS, CAP = 128, 5, 1_000_000
WORST = CAP // 20
PARTS = 10
"""Parts of a call's answer, as it streams."""
SEEDS = 20
PAIRS, THREADS = 300, 8


class Call(NamedTuple):
    """A call that a stream wants to make: its cost, and how long it takes."""

    cost: int
    seconds: float


class Outcome(NamedTuple):
    """What became of a cap.

    Attributes:
        overspend: Spent above the cap, as a share of it.
        used: Spent, as a share of the cap.
        refused: Calls that were refused, or cut off.
        falsely: Those that would have fitted into what was left in the end.
    """

    overspend: float
    used: float
    refused: int
    falsely: int


def drawn(seed: int) -> list[list[Call]]:
    """The calls of each stream."""
    rng = random.Random(seed)
    return [[Call(rng.randrange(1, WORST // 3 + 1), rng.uniform(1, 10)) for _ in range(CALLS)] for _ in range(STREAMS)]


class Play:
    """One way to keep a cap, on calls of one seed.

    Args:
        calls: The calls of each stream.
        store: A ledger with the cap.
        way: ``count afterwards``, ``reserve the maximum``, ``and wait``, ``and fit`` or ``and grow``.
    """

    def __init__(self, calls: Sequence[Sequence[Call]], store: LedgerStore, way: str) -> None:
        self._store, self._way, self._ids = store, way, itertools.count()
        self._order = itertools.count()
        self._queue: list[tuple[float, int, Iterator[float]]] = []
        self._waiting: list[Iterator[float]] = []
        self._stuck = False
        """Nothing is in flight that could give something back."""
        self.spent, self.refused = 0, list[int]()
        for stream in calls:
            self._push(0.0, self._stream(stream))

    def _push(self, at: float, stream: Iterator[float]) -> None:
        heapq.heappush(self._queue, (at, next(self._order), stream))

    def run(self) -> Outcome:
        """Play until no stream goes on."""
        now = 0.0
        while self._queue or self._waiting:
            if not self._queue:
                waiting, self._waiting = self._waiting, []
                for numbers in waiting:
                    self._push(now, numbers)
                self._stuck = True
            now, _, stream = heapq.heappop(self._queue)
            seconds = next(stream, None)
            if seconds is None:
                continue
            if seconds < 0:
                self._waiting.append(stream)
            else:
                self._push(now + seconds, stream)
        left = CAP - self.spent
        falsely = sum(cost <= left for cost in self.refused)
        return Outcome(max(0, -left) / CAP, min(self.spent, CAP) / CAP, len(self.refused), falsely)

    def _wake(self) -> None:
        for stream in self._waiting:
            self._push(0.0 if not self._queue else self._queue[0][0], stream)
        self._waiting, self._stuck = [], False

    def _stream(self, calls: Sequence[Call]) -> Iterator[float]:
        """The calls of a stream, one after the other; it gives up at its first refusal."""
        for call in calls:
            if self._way == "count afterwards":
                if self.spent >= CAP:
                    self.refused.append(call.cost)
                    return
                yield call.seconds
                self.spent += call.cost
                continue
            id = f"h{next(self._ids)}"
            held = yield from self._reserve(id, call)
            if not held:
                self.refused.append(call.cost)
                return
            used = yield from (self._grow(id, call, held) if self._way == "and grow" else self._answer(call, held))
            self._store.settle(id, {"usd": used})
            self.spent += used
            if used < call.cost:
                self.refused.append(call.cost - used)
            self._wake()

    def _reserve(self, id: str, call: Call) -> Iterator[float]:
        """The amount that is held; 0 where none is."""
        wanted = WORST // PARTS if self._way == "and grow" else WORST
        while True:
            held = self._store.reserve(HoldRequest(id, "org", {"usd": wanted}))
            if not isinstance(held, Refused):
                return wanted
            if self._way in ("and fit", "and grow") and held.left >= call.cost // 4 and self._stuck:
                wanted = held.left
                continue
            if self._way == "reserve the maximum" or self._stuck:
                return 0
            yield -1.0

    @staticmethod
    def _answer(call: Call, held: int) -> Iterator[float]:
        yield call.seconds
        return min(call.cost, held)

    def _grow(self, id: str, call: Call, held: int) -> Iterator[float]:
        """Stream an answer in parts, each held before it is asked for."""
        used = 0
        for part in range(1, PARTS + 1):
            due = call.cost * part // PARTS
            while due > held:
                refused = self._store.grow(id, {"usd": min(WORST, held + WORST // PARTS)})
                if not isinstance(refused, Refused):
                    held = min(WORST, held + WORST // PARTS)
                    continue
                if refused.left and due <= held + refused.left:
                    self._store.grow(id, {"usd": held + refused.left})
                    held += refused.left
                    continue
                if self._stuck:
                    return used
                yield -1.0
            yield call.seconds / PARTS
            used = due
        return used


WAYS = ("count afterwards", "reserve the maximum", "and wait", "and fit", "and grow")


def clock() -> Callable[[], datetime]:
    """A present that goes on a millisecond whenever it is asked for."""
    count, begun = itertools.count(), datetime(2026, 1, 1, tzinfo=UTC)
    return lambda: begun + timedelta(milliseconds=next(count))


def at_the_cap(folder: Path) -> list[dict[str, object]]:
    """The figures of each way, means over seeds."""
    rows: list[dict[str, object]] = []
    for way in WAYS:
        outcomes = []
        for seed in range(SEEDS):
            file = folder / "cap.ledger"
            file.unlink(missing_ok=True)
            store = FileStore(file, clock())
            store.set_cap(Cap("org", "usd", CAP), "bench", "")
            outcomes.append(Play(drawn(seed), store, way).run())
            store.close()
        rows.append(
            {
                "way": way,
                "overspend": f"{fmean(outcome.overspend for outcome in outcomes):.1%}",
                "most": f"{max(outcome.overspend for outcome in outcomes):.1%}",
                "used": f"{fmean(outcome.used for outcome in outcomes):.1%}",
                "least": f"{min(outcome.used for outcome in outcomes):.1%}",
                "refused": f"{fmean(outcome.refused for outcome in outcomes):.0f}",
                "falsely": f"{fmean(outcome.falsely for outcome in outcomes):.1f}",
            }
        )
        print(rows[-1], flush=True)
    return rows


def speed(make: Callable[[], LedgerStore], clients: int, pairs: int) -> dict[str, object]:
    """Pairs of reserve and settle a second of threads on one root, and how long one call takes."""
    store, root = make(), f"bench-{uuid.uuid4().hex[:8]}"
    store.set_cap(Cap(root, "usd", 10**12), "bench", "")
    times: list[float] = []

    def work(name: int) -> None:
        for number in range(pairs // clients):
            id = f"{root}-{name}-{number}"
            began = time.perf_counter()
            store.reserve(HoldRequest(id, f"{root}/team{name % 10}/agent{name}", {"usd": 10}))
            middle = time.perf_counter()
            store.settle(id, {"usd": 5})
            times.extend((middle - began, time.perf_counter() - middle))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    assert list(store.check()) == []
    store.close()
    times.sort()
    return {
        "clients": clients,
        "pairs a second": f"{len(times) / 2 / took:,.0f}",
        "median": f"{1000 * median(times):.1f} ms",
        "p99": f"{1000 * times[int(0.99 * len(times))]:.1f} ms",
    }


def of_size(make: Callable[[], LedgerStore], levels: int, labels: int) -> dict[str, object]:
    """What one pair of calls costs a single client, by the caps that it has to fit into."""
    store, root = make(), f"bench-{uuid.uuid4().hex[:8]}"
    path = [root, *(f"level{n}" for n in range(1, levels))]
    marked = {f"label{n}": "x" for n in range(labels)}
    accounts = ["/".join(path[: n + 1]) for n in range(levels)] + [f"{root}#{name}=x" for name in marked]
    for account in accounts:
        store.set_cap(Cap(account, "usd", 10**12), "bench", "")
    times = []
    for number in range(PAIRS):
        began = time.perf_counter()
        store.reserve(HoldRequest(f"{root}-{number}", "/".join(path), {"usd": 10}, marked))
        store.settle(f"{root}-{number}", {"usd": 5})
        times.append(time.perf_counter() - began)
    store.close()
    return {"levels": levels, "labels": labels, "median": f"{1000 * median(times):.2f} ms"}


def of_programs(url: str, programs: int) -> dict[str, object]:
    """Pairs a second of several programs with 8 threads each on one root."""
    store, root = open_store(url), f"bench-{uuid.uuid4().hex[:8]}"
    store.set_cap(Cap(root, "usd", 10**12), "bench", "")
    store.close()
    with ProcessPoolExecutor(programs, get_context("spawn")) as pool:
        list(pool.map(_program, [url] * programs, [root] * programs, range(programs), [1] * programs))  # all are there
        began = time.perf_counter()
        list(pool.map(_program, [url] * programs, [root] * programs, range(programs), [PAIRS] * programs))
        took = time.perf_counter() - began
    return {"programs": programs, "pairs a second": f"{programs * PAIRS * THREADS / took:,.0f}"}


def _program(url: str, root: str, name: int, pairs: int) -> None:
    store, run = open_store(url), uuid.uuid4().hex[:8]

    def work(thread: int) -> None:
        for number in range(pairs):
            id = f"{run}-{thread}-{number}"
            store.reserve(HoldRequest(id, f"{root}/host{name}", {"usd": 10}))
            store.settle(id, {"usd": 5})

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.ledger", description=__doc__)
    parser.add_argument("--url", help="a database with the tables of a ledger; without it the file alone is measured")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values: dict[str, list[dict[str, object]]] = {
            "cap": at_the_cap(folder),
            "speed": [],
            "size": [],
            "programs": [],
        }
        for clients in (1, 16, 64):
            stores: list[tuple[str, Callable[[], LedgerStore], int]] = [
                ("file", lambda: FileStore(folder / "speed.ledger"), 640)
            ]
            if args.url:
                stores.append(("PostgreSQL", lambda: open_store(args.url), 6400))
            for store, make, pairs in stores:
                values["speed"].append({"store": store, **speed(make, clients, pairs)})
                print(values["speed"][-1], flush=True)
        for levels, labels in ((1, 0), (2, 0), (4, 0), (8, 0), (4, 1), (4, 4)):
            for store, make, _ in stores:
                values["size"].append({"store": store, **of_size(make, levels, labels)})
                print(values["size"][-1], flush=True)
        for programs in (1, 2, 4, 8) if args.url else ():
            values["programs"].append(of_programs(args.url, programs))
            print(values["programs"][-1], flush=True)
    args.out.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

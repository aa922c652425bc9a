"""Worker processes that are killed amid their runs, and a receiver that counts what they have done."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

DONE, PARKED = 0, 3
"""Exit statuses of workers."""
KINDS = ("plain", "idempotent", "outcome")
AT_ONCE = 12
"""Most of their time runs wait for leases."""
LONGEST, FAILURES = 100, 5
"""Workers of a run, and of these such as end by an error one after the other; after that it counts as stuck."""
AMID = 0.03
"""Seconds after the receiver got a call, in which half of the kills fall; the others fall at any moment of a worker."""

Totals = dict[str, Any]


class Job(NamedTuple):
    """What a worker is given.

    Attributes:
        store: Its address.
        run: The name.
        plan: The effects: the kind of the receiver, and to whom.
        receiver: Its address.
        seed: Of what the worker draws.
        trace: The file of the run's trace; empty where it is played anew.
    """

    store: str
    run: str
    plan: tuple[tuple[str, str], ...]
    receiver: str
    seed: int
    trace: str


class EffectReceiver:
    """An HTTP server on the loopback that makes effects, and counts them by run, kind and name."""

    def __init__(self) -> None:
        self.made: Counter[tuple[str, str, str]] = Counter()
        self._keys: Counter[str] = Counter()
        self._fences: Counter[tuple[str, str, str]] = Counter()
        self._lock, self._rng = threading.Lock(), random.Random(0)
        self._awaited: dict[str, threading.Event] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = json.dumps(receiver.answer(self.path, asked)).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):  # the caller was killed
                    super().handle()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Make an effect, or say whether it was made."""
        what, kind, key = (asked["run"], asked["kind"], asked["to"]), asked["kind"], asked.get("key", "")
        with self._lock:
            before, after = (self._rng.random() * 0.01 for _ in range(2))
            if (awaited := self._awaited.pop(asked["run"], None)) is not None:
                awaited.set()
        time.sleep(before)
        with self._lock:
            if path == "/made":
                self._fences[what] = max(self._fences[what], asked.get("attempt", 0))
            elif kind == "outcome" and asked.get("attempt", 0) < self._fences[what]:
                return {"refused": True}
            elif not (kind == "idempotent" and self._keys[key]):
                self.made[what] += 1
                self._keys[key] += 1
            made = self.made[what] > 0
        time.sleep(after)
        return {"made": made, "refused": False}

    def next_request(self, run: str) -> threading.Event:
        """Is set when a worker of the run calls."""
        with self._lock:
            return self._awaited.setdefault(run, threading.Event())

    def made_by_key(self, key: str) -> bool:
        """Whether an effect of this key was made."""
        with self._lock:
            return self._keys[key] > 0

    def count(self) -> int:
        """How many effects were made."""
        return sum(self.made.values())

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


class Campaign:
    """Plays runs until so many workers are killed.

    Args:
        store: The address of what keeps the runs.
        kills: How many.
        seed: Of the moments.
        folder: For traces.
        at_once: Runs that are played at once.
    """

    system: ClassVar[str]
    packages: ClassVar[Sequence[str]] = ()
    player: ClassVar[Any]
    """Plays a job in a process of its own; its exit status."""
    preloaded: ClassVar[Sequence[str]] = ()
    """Modules that workers need, beside the one of the campaign."""
    traced = True
    """Every other run goes on from its trace."""
    twins = 0.2
    """The chance of two workers at once, where a run is played anew."""

    def __init__(self, store: str, kills: int, seed: int, folder: Path, at_once: int = AT_ONCE) -> None:
        self._store, self._kills, self._rng, self._folder = store, kills, random.Random(seed), folder
        self._at_once = at_once
        self.receiver = EffectReceiver()
        self._lock = threading.Lock()
        self._seconds = 1.0
        """That an undisturbed worker takes, as far as known."""
        self.counts: Counter[str] = Counter(kills=0, runs=0)
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload([type(self).__module__, *self.preloaded])

    def prepare(self) -> None:
        """Make what the runs need."""

    def begin(self, run: str, plan: Sequence[tuple[str, str]]) -> None:
        """Prepare a run."""

    def decide(self, run: str) -> None:
        """Decide as a person what a run is parked for."""

    def figures(self) -> dict[str, Any]:
        """What else is told of the end."""
        return {}

    def run(self) -> Totals:
        """Play; what came of it."""
        begun = time.monotonic()
        with ThreadPoolExecutor(self._at_once) as pool:
            for done in [pool.submit(self._runs) for _ in range(self._at_once)]:
                done.result()
        made, seconds = self.receiver.made, time.monotonic() - begun
        twice = Counter(kind for (_, kind, _), times in made.items() if times > 1)
        totals = {
            "system": self.system,
            "versions": versions(*self.packages),
            **self.counts,
            "made twice": twice.total(),
            "made twice by kind": dict(twice),
            "seconds": round(seconds, 1),
            **self.figures(),
        }
        self.receiver.close()
        return totals

    def _runs(self) -> None:
        while True:
            with self._lock:
                if self.counts["kills"] >= self._kills:
                    return
                self.counts["runs"] += 1
                number, seed = self.counts["runs"], self._rng.randrange(2**32)
            self._play(f"run-{number}", random.Random(seed), number)

    def _play(self, run: str, rng: random.Random, number: int) -> None:
        """Play a run to its end, by as many workers as it takes."""
        plan = tuple((kind, to) for kind in KINDS for to in ("ann", "bob"))
        plan = tuple(rng.sample(plan, len(plan)))
        trace = str(self._folder / f"{run}.jsonl") if self.traced and number % 2 else ""
        self.begin(run, plan)
        self._count("effects", len(plan))
        parked = failed = 0
        for _ in range(LONGEST):
            twins = 2 if not trace and rng.random() < self.twins else 1
            jobs = [Job(self._store, run, plan, self.receiver.url, rng.randrange(2**32), trace) for _ in range(twins)]
            ends = self._live(jobs, rng)
            failed = failed + 1 if 1 in ends else 0
            if PARKED in ends:
                parked += 1
                self.decide(run)
            if DONE in ends or failed == FAILURES:
                break
        if DONE in ends:
            self._count("lost", sum(not self.receiver.made[run, kind, to] for kind, to in plan))
        self._count("stuck runs", DONE not in ends)
        self._count("parked runs", parked > 0)
        self._count("decisions", parked)

    def _live(self, jobs: Sequence[Job], rng: random.Random) -> list[int]:
        """Let workers begin, and kill them after a while; their exit statuses."""
        begun, delay = time.monotonic(), rng.random() * 1.3 * self._seconds
        called = self.receiver.next_request(jobs[0].run) if rng.random() < 0.5 else None
        workers = [self._started(job) for job in jobs]
        self._count("workers", len(workers))
        calibrates = self.counts["workers"] <= self._at_once
        ends = []
        for worker in workers:
            if calibrates or self.counts["kills"] >= self._kills:
                worker.join()
            elif called is None:
                worker.join(max(0.0, begun + delay - time.monotonic()))
            else:  # soon after a call has come
                while worker.is_alive() and not called.wait(0.02):
                    pass
                worker.join(rng.random() * AMID)
            if worker.exitcode is None:
                worker.kill()
                self._count("kills")
                worker.join()
            elif worker.exitcode == DONE and len(jobs) == 1:
                taken = time.monotonic() - begun
                self._seconds += (1 if calibrates else 0.1) * (min(30.0, taken) - self._seconds)
            assert worker.exitcode is not None
            ends.append(worker.exitcode)
            worker.close()
        return ends

    def _started(self, job: Job) -> BaseProcess:
        worker = self._context.Process(target=_worked, args=(type(self).player, job))
        worker.start()
        return worker

    def _count(self, what: str, more: int = 1) -> None:
        with self._lock:
            self.counts[what] += more


def _worked(player: Callable[[Job], int], job: Job) -> None:
    sys.exit(player(job))


def versions(*packages: str) -> str:
    """Of Python and packages."""
    return ", ".join((f"Python {sys.version.split()[0]}", *(f"{name} {version(name)}" for name in packages if name)))


def tell(row: Totals, out: Path | None) -> None:
    """Print what came of it, and write it down."""
    text = json.dumps({"rows": [row]}, indent=2)
    print(text)
    if out is not None:
        out.write_text(text + "\n", encoding="utf-8")

"""Schedules of nested ledgers with faults, against what was really spent: step by step, tasks, threads, processes.

A schedule is a tree of ledgers and some actors that reserve, spend, give back, fail, use more than they declared, or
are cut off. It is interleaved by chance, by an event loop that cancels, by threads, or by processes that die; the crash
of a run is cut at any moment, in the middle of a line too. An overspend is explained if an actor used more
than it had declared, which the ledger must have counted; any other is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import connection
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Ledger, Payer, Resources
from tape.errors import BudgetExceededError
from tape.runner.run_ledger import RunLedger, payer_of, spent_in
from tape.runner.work import PaidFrom

KINDS = ("calls", "tokens", "usd")
Steps = Generator[None, None, None]


def plain(amounts: Mapping[str, int | None]) -> dict[str, int]:
    """The amounts that are above 0."""
    return {kind: count for kind, count in amounts.items() if count}


class Truth:
    """What the actors of a schedule really spent, counted without any ledger."""

    def __init__(self) -> None:
        self.spent: dict[int, Counter[str]] = {}  # by the ledger's number, those of ledgers inside included
        self.broken: set[int] = set()  # the numbers of ledgers in or below which more was used than declared
        self.total: Counter[str] = Counter()
        self.open: dict[object, Resources] = {}  # the worst cases that are set aside
        self.earmarks: dict[int, Budget] = {}  # that have begun and not ended
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock, and with what is open under names that another process can read."""
        return {**vars(self), "open": dict(enumerate(self.open.values())), "lock": None}

    def at_most(self) -> tuple[Counter[str], Counter[str]]:
        """What may have been spent if all ended now; and the same with all that is earmarked."""
        least, most = Counter(self.total), Counter(self.total)
        for worst in self.open.values():
            least.update(plain(worst))
            most.update(plain(worst))
        for budget in self.earmarks.values():
            most.update(budget)
        return least, most

    def add(self, chain: tuple[int, ...], amounts: Resources, broken: bool = False) -> None:
        known = plain(amounts)
        with self.lock:
            self.total.update(known)
            for number in chain:
                self.spent.setdefault(number, Counter()).update(known)
            if broken:
                self.broken.update(chain)


def spend(ledger: Ledger, chain: tuple[int, ...], rng: random.Random, truth: Truth, counts: Counter[str]) -> Steps:
    """Reserve and spend a few times; wherever it yields, others act, or it is cut off for ever."""
    for _ in range(rng.randint(1, 3)):
        worst = Resources({kind: rng.randint(0, 9) for kind in rng.sample(KINDS, rng.randint(1, 3))})
        try:
            reservation = ledger.reserve(worst)
        except BudgetExceededError:
            counts["refused"] += 1
            yield
            continue
        mine = object()
        truth.open[mine] = worst
        fate = rng.random()
        actual, broken = worst, False
        try:
            with reservation:
                yield
                if fate < 0.15:
                    counts["failed"] += 1
                    raise RuntimeError("the tool is down")
                if fate < 0.25:
                    actual = Resources()
                    reservation.release()
                elif fate < 0.35:
                    kind = rng.choice(list(worst) or KINDS)
                    actual = Resources({**worst, kind: (worst[kind] or 0) + rng.randint(1, 20)})
                    broken = True
                    counts["broken"] += 1
                    reservation.settle(actual)
                elif fate < 0.45:
                    reservation.settle(Resources(dict.fromkeys(worst)))
                else:
                    actual = Resources({kind: rng.randint(0, count or 0) for kind, count in worst.items()})
                    reservation.settle(actual)
        except RuntimeError:
            pass
        finally:  # also where the generator is closed: then the worst case was booked
            del truth.open[mine]
            truth.add(chain, actual, broken)
        yield


def spend_earmark(
    ledger: Ledger, chain: tuple[int, ...], rng: random.Random, truth: Truth, counts: Counter[str]
) -> Steps:
    """Set a part aside for two users of it."""
    budget = Budget({kind: rng.randint(0, 12) for kind in rng.sample(KINDS, rng.randint(1, 2))})
    number = -rng.getrandbits(40) - 1
    try:
        with ledger.earmark(budget) as part:
            counts["earmarks"] += 1
            truth.earmarks[number] = budget
            try:
                for _ in range(2):
                    yield from spend(part, (number, *chain), rng, truth, counts)
            finally:
                del truth.earmarks[number]
    except BudgetExceededError:
        counts["refused"] += 1
        yield
        return
    check(part, number, truth)


def check(ledger: Ledger, number: int, truth: Truth) -> None:
    """A ledger holds what was spent, and is above a cap only where an actor used more than it had declared."""
    spent = truth.spent.get(number, Counter())
    assert plain(ledger.used) == plain(spent)
    over = [kind for kind, cap in ledger.budget.items() if spent[kind] > cap]
    assert not over or number in truth.broken, f"an unexplained overspend of {over}"
    assert bool(ledger.violations) <= (number in truth.broken)
    assert set(over) <= set(ledger.violations), "an overspend that the ledger has not counted"


class Schedule:
    """A drawn tree of ledgers, and its actors."""

    def __init__(self, rng: random.Random, counts: Counter[str], payer: Payer | None = None) -> None:
        self.truth, self.rng = Truth(), rng
        self.ledgers: list[Ledger] = []
        chains: list[tuple[int, ...]] = []
        for number in range(rng.randint(1, 4)):
            caps = Budget({kind: rng.randint(0, 40) for kind in rng.sample(KINDS, rng.randint(0, 3))})
            above = rng.randrange(number) if number else None
            parent = None if above is None else self.ledgers[above]
            self.ledgers.append(Ledger(caps, parent, payer=payer if parent is None else None))
            chains.append((number,) if above is None else (number, *chains[above]))
        self.actors: list[Steps] = []
        for _ in range(rng.randint(2, 4)):
            at = rng.randrange(len(self.ledgers))
            what = spend_earmark if rng.random() < 0.2 else spend
            # A source of chance of its own, so that threads draw the same whatever their order.
            self.actors.append(what(self.ledgers[at], chains[at], random.Random(rng.random()), self.truth, counts))
        counts["schedules"] += 1

    def steps(self, cut: float = 0.1) -> Steps:
        """Let the actors act in a drawn order; some are cut off."""
        left = list(self.actors)
        while left:
            actor = self.rng.choice(left)
            if self.rng.random() < cut / 4:
                actor.close()
            if next(actor, self) is self:
                left.remove(actor)
            for ledger in self.ledgers:
                held, used = ledger.reserved, ledger.used
                for kind, cap in ledger.budget.items():
                    if (held[kind] or 0) + (used[kind] or 0) > cap:
                        assert kind in ledger.violations, "more is set aside than there is"
            yield

    def check(self) -> None:
        """All is over: the ledgers hold what was spent, and nothing is set aside."""
        assert not self.truth.open
        for number, ledger in enumerate(self.ledgers):
            assert not any(ledger.reserved.values()), "something stays set aside"
            check(ledger, number, self.truth)

    def play(self, steps: int | None = None) -> None:
        """Play to the end, or so many steps."""
        for _ in itertools.islice(self.steps(), steps):
            pass
        if steps is None:
            self.check()

    def close(self) -> None:
        """Cut all actors off."""
        for actor in self.actors:
            actor.close()


def one_by_one(seeds: range, counts: Counter[str]) -> None:
    """Interleaved by chance, the caps checked after every step."""
    for seed in seeds:
        schedule = Schedule(random.Random(seed), counts)
        schedule.play()


def as_tasks(seeds: range, counts: Counter[str]) -> None:
    """An event loop interleaves; tasks are cancelled while something is set aside."""

    async def act(steps: Steps) -> None:
        with contextlib.closing(steps):
            for _ in steps:
                await asyncio.sleep(0)

    async def play(seed: int) -> None:
        rng = random.Random(seed)
        schedule = Schedule(rng, counts)
        tasks = [asyncio.create_task(act(actor)) for actor in schedule.actors]
        for _ in range(rng.randint(0, 8)):
            await asyncio.sleep(0)
        for task in rng.sample(tasks, rng.randint(0, len(tasks))):
            counts["cancelled"] += not task.done()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled() and (failed := task.exception()) is not None:
                raise failed
        schedule.check()

    with asyncio.Runner() as runner:
        for seed in seeds:
            runner.run(play(seed))


def in_threads(seeds: range, counts: Counter[str]) -> None:
    """The actors of many schedules in three threads, all of whom pay from one run's ledger."""
    run, own = run_of(seeds), [Counter[str]() for _ in range(3)]
    schedules = [Schedule(random.Random(seed), own[seed % 3], payer=run) for seed in seeds]
    everything = [actor for schedule in schedules for actor in schedule.actors]

    def act(part: int) -> None:
        mine = everything[part::3]
        for first in range(0, len(mine), 7):
            left = mine[first : first + 7]
            while left:
                left = [actor for actor in left if next(actor, run) is not run]

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(act, range(3)))
    for schedule in schedules:
        schedule.check()
    truths = [schedule.truth for schedule in schedules]
    total = sum((truth.total for truth in truths), Counter[str]())
    assert plain(run.used) == plain(total), "a settlement was lost"
    check_run(run, any(truth.broken for truth in truths))
    for count in own:
        counts.update(count)


def run_of(seeds: range) -> Ledger:
    """The ledger of a run that has enough for some of its schedules."""
    return Ledger(Budget({"usd": len(seeds) * 3, "tokens": len(seeds) * 10**6}), name="run")


def check_run(run: Ledger, broken: bool) -> None:
    """The ledger of a run whose schedules are over; ``broken`` where one used more than it had declared."""
    assert not any(run.reserved.values())
    assert broken or not run.overspent(), "the run's cap was overspent"
    assert set(run.overspent()) <= set(run.violations)


def check_booked(resources: Resources, truths: list[Truth]) -> None:
    """After a crash everything is booked that may have been spent, and nothing beyond what was set aside."""
    bounds = [truth.at_most() for truth in truths]
    least, most = (sum((bound[i] for bound in bounds), Counter[str]()) for i in range(2))
    explained = any(truth.broken and truth.earmarks for truth in truths)  # an open earmark knows of its own size alone
    assert explained or all((resources[kind] or 0) >= count for kind, count in least.items()), "spending was forgotten"
    assert all(count <= most[kind] for kind, count in plain(resources).items())


def crashing(seeds: range, counts: Counter[str], folder: Path) -> None:
    """A run with a ledger is cut off at a drawn moment, perhaps within a line: what was open is booked in full."""
    for seed in seeds:
        rng = random.Random(seed)
        path = folder / "ledger"
        path.unlink(missing_ok=True)
        run = RunLedger(path, Budget(), Resources())
        schedule = Schedule(rng, counts, payer=run.payer)
        schedule.play(rng.randint(0, 12))
        torn = '{"do": "end", "at": '[: rng.randint(0, 20)]
        left = folder / "left"
        left.write_bytes(path.read_bytes() + torn.encode())
        check_booked(spent_in(left), [schedule.truth])
        schedule.close()
        schedule.check()
        run.payer.close()
        counts["crashes"] += 1


# Several processes


def worker(pipe: connection.Connection, seeds: range, paid_from: PaidFrom) -> None:
    """Play on the run's ledger, then die in the middle of the last schedule."""
    counts, truths, payer = Counter[str](), [], payer_of(paid_from)
    for seed in seeds[:-1]:
        schedule = Schedule(random.Random(seed), counts, payer=payer)
        schedule.play()
        truths.append(schedule.truth)
    rng = random.Random(seeds[-1])
    schedule = Schedule(rng, counts, payer=payer)
    schedule.play(rng.randint(1, 10))
    counts["crashes"] += 1
    done = sum((truth.total for truth in truths), Counter[str]())
    broken = any(truth.broken for truth in [*truths, schedule.truth])
    pipe.send((counts, done, broken, schedule.truth))
    os._exit(9)


def in_processes(seeds: range, deaths: int, counts: Counter[str], folder: Path) -> None:
    """Two processes at a time pay from one run's file; each dies and is followed by another one."""
    context = multiprocessing.get_context("spawn")
    budget = run_of(seeds).budget
    run = RunLedger(folder / "run", budget, Resources())
    size = len(seeds) // deaths
    waiting = [range(seeds.start + i * size, seeds.start + (i + 1) * size) for i in range(deaths)]
    done, lasts, broken = Counter[str](), list[Truth](), False
    while waiting:
        started = []
        for _ in range(min(2, len(waiting))):
            ours, theirs = context.Pipe()
            process = context.Process(target=worker, args=(theirs, waiting.pop(), run.paid_from), daemon=True)
            process.start()
            theirs.close()
            started.append((process, ours))
        for process, pipe in started:
            played, spent, broke, last = pipe.recv()
            process.join()
            assert process.exitcode == 9, "a worker failed"
            counts.update(played)
            done.update(spent)
            broken = broken or broke
            lasts.append(last)
    total = run.spent()
    assert broken or all((total[kind] or 0) <= cap for kind, cap in budget.items()), "the run's cap was overspent"
    check_booked(Resources({kind: (total[kind] or 0) - done[kind] for kind in KINDS}), lasts)
    run.payer.close()


def sweep(total: int, deaths: int, folder: Path) -> Counter[str]:
    """All kinds, in shares of what they cost to play."""
    counts = Counter[str]()
    cuts = [total * share // 100 for share in (0, 50, 70, 90, 95, 100)]
    parts = [range(*ends) for ends in itertools.pairwise(cuts)]
    for play, part in zip((one_by_one, as_tasks, in_threads), parts[:3], strict=True):
        for first in range(part.start, part.stop, 10_000):
            play(range(first, min(first + 10_000, part.stop)), counts)
    crashing(parts[3], counts, folder)
    in_processes(parts[4], deaths, counts, folder)
    return counts


@pytest.mark.parametrize(("total", "deaths"), [(1_000, 2), pytest.param(100_000, 10, marks=pytest.mark.soak)])
def test_no_schedule_overspends_without_an_explanation(
    tmp_path: Path, record_property: Callable[[str, object], None], total: int, deaths: int
) -> None:
    counts = sweep(total, deaths, tmp_path)
    assert counts["schedules"] == total
    assert (
        min(counts[what] for what in ("refused", "failed", "broken", "earmarks", "cancelled", "crashes")) > total // 25
    )
    for name, count in sorted(counts.items()):
        record_property(name, count)

"""Workers that play the same run in a schedule of a seed: the store's and the payer's code, the rest simulated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from unittest.mock import patch

from experiments.effects.world import Assumption, CrashError, Faults, Line, Receiver, Timeline, pause
from tape import tool
from tape.budget import Cap, Ledger, LedgerStore, Resources, StorePayer, unknown
from tape.budget.claims import Effect
from tape.budget.stores.memory import MemoryStore
from tape.engine import effects
from tape.engine.effects import ended, made_before, reserved
from tape.errors import BudgetExceededError, TapeError, UnfinishedCallError
from tape.tools import Happened, Tool, ToolContext
from tape.tools.context import effect_key
from tape.tools.happened import asked_outcome

LEASE, TIMEOUT, GRACE = 30, 10, 10
RUN, SCOPE = "order-1", "org/run"
TRIES, WORKERS = 4, 8
"""Tries of a call by one worker, and workers until the faults end."""


# Of these tools the declarations alone are real: the simulated network makes their calls, so no body is ever run.


@tool(key=("to",), usd="0.01")
def plain(to: str, text: str) -> str:
    """Send something to a receiver that knows no keys."""
    raise NotImplementedError(to, text)


@tool(key=("to",), usd="0.01", idempotent=True)
def idempotent(to: str, text: str) -> str:
    """Send something to a receiver that does what has a known key once."""
    raise NotImplementedError(to, text)


async def was_sent(ctx: ToolContext[Worker], to: str) -> Happened | bool:
    """Ask the receiver."""
    return await ctx.deps.asked(ctx.key, ctx.attempt, to)


@tool(key=("to",), usd="0.01", outcome=was_sent)
def outcome(to: str, text: str) -> str:
    """Send something to a receiver that can be asked whether it was done."""
    raise NotImplementedError(to, text)


TOOLS = (plain, idempotent, outcome)


class Planned(NamedTuple):
    """An effect of the plan: a call, its worst case and its real cost in micro-dollars."""

    item: Tool
    to: str
    worst: int
    cost: int

    @property
    def again(self) -> bool:
        """Whether the call may be made again, or somebody can be asked."""
        return self.item.idempotent or self.item.outcome is not None


class CancelledCallError(Exception):
    """The run was cancelled amid a call; its process goes on."""


class GaveUpError(Exception):
    """A call has failed too often."""


class Worker:
    """Plays the run once, from its beginning.

    Args:
        schedule: What it is part of.
        payer: Of its process.
        line: To the store.
        faults: How its calls are disturbed.
    """

    def __init__(self, schedule: Schedule, payer: StorePayer, line: Line, faults: Faults) -> None:
        self._schedule, self._line, self._faults, self.payer = schedule, line, faults, payer
        self._rng, self._times = schedule.rng, Counter[str]()
        self._ledger = Ledger(payer=payer)
        self._current: tuple[Planned, Effect] | None = None

    async def play(self) -> None:
        """Make all effects, in an order of its own."""
        plan = list(self._schedule.plan)
        if self._rng.random() < 0.5:
            self._rng.shuffle(plan)
        for planned in plan:
            await self._made(planned)

    async def _made(self, planned: Planned) -> None:
        """As :meth:`tape.engine.episode.Episode.step` does; what has failed is tried again."""
        item, to = planned.item, planned.to
        what = item.effect({"to": to, "text": self._rng.choice(("Dear Ann,", "Hello Ann!"))})
        worst = Resources({"usd": planned.worst})
        for _ in range(TRIES):
            effect = Effect(effect_key(RUN, what, self._times[what]), planned.again, TIMEOUT + GRACE)
            self._current = planned, effect
            reservation = await reserved(self._ledger, what, effect, worst)
            try:
                known = await made_before(cast("Any", self), what, effect)
                came = await self._called(planned, effect) if known is None else known
                ended(effect, came)
            except BaseException:
                reservation.settle(unknown(worst))
                raise
            used = {"usd": planned.cost if "result" in came else planned.worst}  # where it was asked, or decided
            reservation.settle(Resources(came.get("used", used)))
            if came.get("failure") is None:
                self._times[what] += 1
                return
            await pause(self._rng.choice((0, 1, 40)))
        raise GaveUpError

    def _may_end(self) -> None:
        """Perhaps die, or be cancelled."""
        if self._rng.random() < self._faults.rate / 2:
            self._line.die()
        if self._rng.random() < self._faults.rate / 8:
            raise CancelledCallError

    async def _called(self, planned: Planned, effect: Effect) -> Mapping[str, Any]:
        """Call the receiver. The call is under way by itself, whatever becomes of its caller."""
        assert effect.claimed is not None
        rng, attempt, key = self._rng, effect.claimed.attempt, effect.key
        may_be_slow = planned.item.outcome is None or self._faults.assumption != "kept"
        self._may_end()
        slow = may_be_slow and rng.random() < self._faults.slow
        await pause(rng.choice((35, 150)) if slow and rng.random() < 0.5 else rng.choice((0, 0.1, 2)))
        self._may_end()
        if rng.random() < self._faults.rate / 2:  # no connection, as the tool says
            return {"failure": "refused", "used": {}}
        way = rng.choice((15, 35, 150)) if slow else rng.choice((0, 0.1, 2))
        lost = rng.random() < self._faults.rate / 2
        taken = list[bool]()
        if not lost:
            cost, once = planned.cost, planned.item.idempotent
            self._schedule.time.at(way, lambda: taken.append(self._schedule.arrived(key, attempt, cost, once)))
        await pause(min(way, TIMEOUT))
        self._may_end()
        if lost or way >= TIMEOUT or rng.random() < self._faults.rate / 4:
            await pause(TIMEOUT - min(way, TIMEOUT))
            return {"failure": "no answer in time", "late": True, "used": {"usd": planned.worst}}
        await pause(rng.choice((0, 0.1, 2)))
        self._may_end()
        if not all(taken):
            return {"failure": "refused by the receiver's fence", "used": {}}
        return {"result": '"sent"', "failure": None, "used": {"usd": planned.cost}}

    async def happened(self, _: str) -> Mapping[str, Any] | None:
        """As :meth:`tape.tools.happened.Effects.happened`."""
        assert self._current is not None
        planned, effect = self._current
        assert effect.claimed is not None
        context = ToolContext(self, key=effect.key, attempt=effect.claimed.attempt)
        return await asked_outcome(planned.item, planned.item.name, context, {"to": planned.to})

    async def asked(self, key: str, attempt: int, to: str) -> Happened | bool:
        """Ask the receiver whether an effect was made."""
        self._may_end()
        if self._rng.random() < self._faults.rate / 4:
            raise OSError("the receiver cannot be reached")
        if self._faults.assumption == "fenced":
            self._schedule.receiver.fence(key, attempt)
        made = self._schedule.receiver.made[key] > 0
        await pause(self._rng.choice((0, 0.1, 2)))
        return Happened(f"sent to {to}") if made else False


class Schedule:
    """One schedule.

    Args:
        seed: Of all randomness.

    Attributes:
        counts: What became of it.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.time, self.receiver = Timeline(), Receiver()
        self.faults = Faults(
            rng.choice((0, 0.02, 0.1, 0.3)), rng.choice((0, 0, 0.1, 0.4)), rng.choice((0, 0, 20, 300)),
            rng.choice(cast("Sequence[Assumption]", ("kept", "kept", "fenced", "broken"))),
        )  # fmt: skip
        if self.faults.assumption == "kept" and self.faults.skew > 20:
            self.faults = self.faults._replace(skew=20)  # less than the lease has over a call
        self.store = MemoryStore(self.time.present)
        kinds = [Planned(item, to, 100, rng.choice((100, 100, 50))) for item in TOOLS for to in "ab"]
        self.plan = rng.choices(kinds, k=rng.randrange(1, 6))
        tight = rng.random() < 0.15
        self.cap = len(self.plan) * 100 * (1 if tight else 20)
        self.store.set_cap(Cap("org", "usd", self.cap), "simulation", "")
        self.counts = Counter[str](effects=len(self.plan), tight=tight)
        asked = sum(planned.item is outcome for planned in self.plan)
        self.counts[f"effects with outcome=, {self.faults.assumption}"] = asked
        self._started = 0
        self._seconds = rng.choice((3600, 3600, 50))
        self.keys, times = set[str](), Counter[str]()
        for planned in self.plan:
            what = planned.item.effect({"to": planned.to, "text": ""})
            self.keys.add(effect_key(RUN, what, times[what]))
            times[what] += 1

    def play(self) -> Counter[str]:
        """Play it, first with faults, then without and with a person who decides.

        Raises:
            AssertionError: Something is not as promised.
        """
        with patch.object(effects, "asyncio", SimpleNamespace(sleep=self.slept)):
            for _ in range(self.rng.choice((1, 1, 2, 3))):
                self._start(self.rng.choice((0, 0.1, 30)))
            self.time.run()
            before = Counter({"booked before": self._booked(), "spent before": self.receiver.spent})
            self.counts["parked runs"] += any(claim.state == "unknown" for claim in self.store.claims(most=10**6))
            for _ in range(2 * len(self.plan) + 3):
                if self._calm():
                    break
            self._check_end(before)
        return self.counts

    def arrived(self, key: str, attempt: int, cost: int, once: bool) -> bool:
        """A call arrives at the receiver."""
        self._check()
        taken = self.receiver.arrive(key, attempt, cost, once=once)
        assert self.receiver.spent <= self.cap or self.faults.assumption == "broken", "more was spent than is allowed"
        return taken

    def _start(self, delay: float, payer: StorePayer | None = None) -> None:
        """Let a worker begin, in a process of its own or, with a payer, in one that goes on."""
        self._started += 1
        self.counts["workers"] += 1
        skew = self.rng.uniform(0, self.faults.skew)
        line = Line(self.store, self.time, self.rng, self.faults, skew)
        if payer is None:
            payer = StorePayer(cast("LedgerStore", line), SCOPE, seconds=self._seconds, lease=LEASE)
        self.time.at(delay, lambda: self._go_on(payer, self.worker(payer, cast("Line", payer.store), self.faults)))

    def worker(self, *args: Any) -> Coroutine[float, None, None]:
        """A worker that begins."""
        return Worker(self, *args).play()

    async def slept(self, seconds: float) -> None:
        """A worker waits for a lease, by a clock of its own."""
        await pause(seconds * self.rng.choice((1, 4, 12)))

    def _go_on(self, payer: StorePayer, coroutine: Coroutine[float, None, None]) -> None:
        try:
            seconds = coroutine.send(None)
        except StopIteration:
            self.succeeded()
            return
        except CrashError:
            self._again("crashes", None)
        except UnfinishedCallError as error:
            asked = "could not be asked" if "outcome=" in str(error) else "unknown"
            self._again(f"parkings: {str(error.action).partition('(')[0]}, {asked}", payer)
        except CancelledCallError:
            self._again("cancellations", payer)
        except BudgetExceededError:
            self._again("refusals", payer)
        except (TapeError, GaveUpError) as error:
            self._again(type(error).__name__, payer)
        else:
            self.time.at(seconds, lambda: self._go_on(payer, coroutine))
            return
        self._check()

    def _again(self, why: str, payer: StorePayer | None) -> None:
        self.counts[why] += 1
        if payer is not None and self.rng.random() < 0.5:
            with suppress(CrashError):
                payer.close()
            payer = None
        if self._started < WORKERS:
            self._start(self.rng.choice((0, 1, 30, 100)), payer)

    def _calm(self) -> bool:
        """A person decides what is unknown, then a worker without faults plays the run; whether it succeeded."""
        for claim in self.store.claims(most=10**6):
            if claim.state == "unknown":
                self.counts["decided"] += 1
                self.store.decide(claim.key, "anna", "looked it up", done=self.receiver.made[claim.key] > 0)
        before = self.counts["successes"], self.counts["refusals"]
        self.faults, self._started = Faults(0, 0, 0, self.faults.assumption), WORKERS
        self._start(0)
        self.time.run()
        return before != (self.counts["successes"], self.counts["refusals"])

    def succeeded(self) -> None:
        """A worker says that the run is done."""
        self.counts["successes"] += 1
        assert all(self.receiver.made[key] for key in self.keys), "the run says success, and an effect is not made"

    def _booked(self) -> int:
        return sum(balance.spent + balance.held for balance in self.store.balances())

    def _check(self) -> None:
        (balance,) = self.store.balances()
        assert balance.spent + balance.held <= balance.amount, balance

    def _check_end(self, before: Counter[str]) -> None:
        self._check()
        assert not (wrong := self.store.check()), wrong
        assert set(+self.receiver.made) <= self.keys, "an effect was made that nobody planned"
        doubled = {key for key, times in self.receiver.made.items() if times > 1}
        outcomes = {claim.key for claim in self.store.claims(most=10**6) if claim.name.startswith("outcome")}
        self.counts["doubled against the assumption"] += len(doubled & outcomes)
        assert not doubled - (outcomes if self.faults.assumption == "broken" else set()), "an effect was made twice"
        assert self.counts["successes"] or self.counts["tight"], "the run does not come to its end"
        self.counts["schedules"] += 1
        if not doubled:
            (balance,) = self.store.balances()
            assert self.receiver.spent <= balance.spent, (self.receiver.spent, balance)
            self.counts += Counter({"booked": self._booked(), "spent": self.receiver.spent}) + before

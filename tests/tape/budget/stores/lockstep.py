"""Random requests, made of several stores in lock-step."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

from tape.budget import Balance, Cap, Held, HoldRequest, LedgerError, LedgerStore, Paused, Rule, Wanted
from tape.budget.periods import Period
from tape.errors import ConfigError

BEGIN, END = datetime(2024, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)
"""Schedules begin in these years."""
ZONES = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/")))

PERIODS = tuple(
    map(
        Period.parse,
        (
            *("total", "hour", "rolling:3600", "rolling:90"),
            *("day@Europe/Berlin", "week@America/New_York", "month@UTC#31", "month@Asia/Kolkata", "day@America/Havana"),
        ),
    )
)
SCOPES = (*("acme", "acme/search", "acme/search/a", "acme/search/b", "acme/ads", "acme/ads/x/y", "other", "other/z"),)
LABELS: tuple[dict[str, str], ...] = ({}, {}, {"customer": "42"}, {"customer": "7", "job": "night"})
ACCOUNTS = (*SCOPES, "acme#customer=42", "acme#customer=7", "acme#job=night", "other#customer=42")
KINDS = ("usd", "tokens")

Step = Callable[[LedgerStore], Any]


class Steps:
    """Draws requests that make sense after those before.

    Args:
        seed: Of the randomness.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.at = BEGIN + self._rng.random() * (END - BEGIN)
        self._ids = 0
        self._known: list[str] = []
        self._asked: dict[str, str] = {}
        self._parts: list[str] = []
        """Those that were given, by the ids of their holds, and all, the latest last."""
        zones = self._rng.sample(ZONES, 3)
        self._periods = (*PERIODS, Period("day", zones[0]), Period("week", zones[1]), Period("month", zones[2], 29))

    def draw(self) -> Step:
        """The next request; time has passed a little, now and then a lot."""
        rng = self._rng
        seconds = rng.choices((0, 1, 20, 400, 20_000, 2_000_000), (400, 200, 200, 50, 10, 1))[0]
        self.at += timedelta(seconds=seconds, microseconds=rng.randrange(10**6))
        what = rng.choices(
            ("reserve", "end", "void", "grow", "cap", "top_up", "reset", "read", "rule", "pause", "resume"),
            (44, 22, 5, 8, 6, 3, 2, 6, 2, 1, 5),
        )[0]
        return getattr(self, f"_{what}")()  # type: ignore[no-any-return]

    def answered(self, answer: Any) -> None:
        """Remember a hold that is there, and mostly forget a part that has ended."""
        if isinstance(answer, Paused) and answer.account in self._parts and self._rng.random() < 0.9:
            self._parts.remove(answer.account)
        if isinstance(answer, Held) and answer.id not in self._known[-12:]:
            self._known.append(answer.id)
            if (part := self._asked.get(answer.id)) is not None and part not in self._parts:
                self._parts.append(part)

    def _amounts(self, most: int) -> dict[str, Any]:
        return {
            kind: self._rng.choice((0, self._rng.randrange(most), self._rng.randrange(most)))
            for kind in KINDS[: self._rng.choice((1, 2))]
        }

    def _id(self) -> str:
        return self._rng.choice(self._known[-12:]) if self._known and self._rng.random() < 0.95 else "nobody"

    def _reserve(self) -> Step:
        rng = self._rng
        if rng.random() > 0.1:
            self._ids += 1
        worst: dict[str, Any] = self._amounts(200)
        if rng.random() < 0.03:
            worst["usd"] = None
        scope, labels = rng.choice(SCOPES), rng.choice(LABELS)
        if self._parts and rng.random() < 0.6:
            scope = rng.choice(self._parts[-4:]) + rng.choice(("", "", "/sub"))
        request = HoldRequest(
            f"hold-{self._ids}", scope, worst, labels, "a call", rng.choice((1, 60, 3600)), rng.random() < 0.3
        )
        if rng.random() < 0.2:
            given = {kind: rng.choice((1, 4)) * (n or 0) for kind, n in worst.items()}
            inner = [name for name in self._parts[-3:] if name.count("part:") < 3]
            scope = rng.choice(("acme/ads", "acme/search/a", "other", *inner * 3))
            part = f"{scope}/part:{rng.randrange(1, 4) if rng.random() < 0.1 else self._ids}"
            request = HoldRequest(
                request.id, scope, given, labels, "a part", rng.choice((300, 3600, 86_400)), part=part
            )
            self._asked[request.id] = part
        return lambda store: store.reserve(request)

    def _end(self) -> Step:
        id, used = self._id(), self._amounts(250)
        if self._rng.random() < 0.2:
            used["usd"] = None
        return lambda store: store.settle(id, used)

    def _void(self) -> Step:
        id = self._id()
        return lambda store: store.void(id)

    def _grow(self) -> Step:
        id, amounts = self._id(), self._amounts(300)
        return lambda store: store.grow(id, amounts)

    def _drawn_cap(self) -> Cap:
        rng = self._rng
        return Cap(
            rng.choice((*ACCOUNTS, *self._parts[-1:])),
            rng.choice(KINDS),
            rng.choice((100, 2000, 9000, 50_000)),
            rng.choice(self._periods),
        )

    def _cap(self) -> Step:
        cap = self._drawn_cap()
        return lambda store: store.set_cap(cap, "anna", "a test")

    def _top_up(self) -> Step:
        cap = self._drawn_cap()
        return lambda store: store.top_up(cap, "anna", "more")

    def _reset(self) -> Step:
        cap = self._drawn_cap()
        return lambda store: store.reset(cap.account, cap.resource, cap.period, "anna", "again")

    def _rule(self) -> Step:
        levels = self._rng.choice(((), (50, 80, 100), (1, 30, 100)))
        rule = Rule(self._rng.choice(ACCOUNTS), "ask", 60, levels, same=self._rng.randrange(3))
        return lambda store: store.set_rule(rule, "anna", "a test")

    def _pause(self) -> Step:
        rng = self._rng
        account, stopped, cap = rng.choice(ACCOUNTS), rng.random() < 0.3, self._drawn_cap()
        wanted = rng.choice((None, Wanted(*cap.key, rng.randrange(200))))
        return lambda store: store.pause(account, "anna", "a test", stopped=stopped, wanted=wanted)

    def _resume(self) -> Step:
        """Of an account that is paused, mostly."""
        place, once, nobody = self._rng.random(), self._rng.random() < 0.5, self._rng.random() < 0.1

        def resume(store: LedgerStore) -> Any:
            paused = [pause.account for pause in store.pauses()] or ["acme"]
            account = "nobody" if nobody else paused[int(place * len(paused))]
            return store.resume(account, "anna", "a test", once=once)

        return resume

    def _read(self) -> Step:
        scope, labels = self._rng.choice((*SCOPES, *self._parts[-2:])), self._rng.choice(LABELS)
        return lambda store: store.read(scope, labels)


def plain(value: Any) -> Any:
    """An answer as the model gives it: balances as counts, and errors without their words."""
    if isinstance(value, str):
        return "error"
    if not isinstance(value, list):
        return value
    return [
        (*balance.cap.key, balance.amount, balance.spent, balance.held, balance.debt)
        if isinstance(balance, Balance)
        else balance
        for balance in value
    ]


def answer(store: Any, step: Step) -> Any:
    """What a store answers, a refusal of the request included."""
    try:
        return step(store)
    except (LedgerError, ConfigError) as error:
        return f"{type(error).__name__}: {error}"


def state(store: LedgerStore) -> Sequence[Any]:
    """All that a store holds."""
    notes = [(note.at, note.who, note.why, note.what) for note in store.notes()]
    rules, pauses = list(store.rules()), list(store.pauses())
    return [list(store.balances()), list(store.history(most=50)), notes, rules, pauses, list(store.check())]

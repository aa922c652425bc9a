"""Random requests, made of several stores in lock-step."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tape.errors import ConfigError
from tape.ledger import Cap, Held, LedgerError, LedgerStore, Request, Rule, Wanted
from tape.ledger.periods import Period

BEGIN = datetime(2026, 3, 28, 20, 0, tzinfo=UTC)
"""A few hours before clocks change in Berlin."""

PERIODS = tuple(
    map(
        Period.parse,
        (
            *("total", "hour", "rolling:3600", "rolling:90"),
            *("day@Europe/Berlin", "week@America/New_York", "month@UTC#31", "month@Asia/Kolkata", "day@America/Havana"),
        ),
    )
)
SCOPES = (
    *("acme", "acme/search", "acme/search/a", "acme/search/b", "acme/ads", "acme/ads/x/y", "other", "other/z"),
    *("acme/ads/part:1", "acme/ads/part:1/sub", "acme/ads/part:2/part:1", "acme/ads/part:1/part:1/x"),
)
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
        self.at = BEGIN
        self._ids = 0
        self._known: list[str] = []

    def draw(self) -> Step:
        """The next request; time has passed a little, now and then a lot."""
        rng = self._rng
        seconds = rng.choices((0, 1, 20, 400, 20_000), (40, 20, 20, 5, 1))[0]
        self.at += timedelta(seconds=seconds, microseconds=rng.randrange(10**6))
        what = rng.choices(
            ("reserve", "end", "void", "grow", "cap", "top_up", "reset", "read", "rule", "pause", "resume"),
            (40, 25, 5, 8, 6, 3, 2, 6, 2, 1, 3),
        )[0]
        return getattr(self, f"_{what}")()  # type: ignore[no-any-return]

    def answered(self, answer: Any) -> None:
        """Remember a hold that is there."""
        if isinstance(answer, Held) and answer.id not in self._known[-12:]:
            self._known.append(answer.id)

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
        request = Request(
            f"hold-{self._ids}", rng.choice(SCOPES), worst, rng.choice(LABELS), "a call", rng.choice((1, 60, 3600)),
            rng.random() < 0.3,
        )  # fmt: skip
        if rng.random() < 0.05:
            given = {kind: n or 0 for kind, n in worst.items()} or {"usd": 100}
            scope = rng.choice(("acme/ads", "acme/ads/part:1", "other"))
            request = Request(
                request.id, scope, given, request.labels, "a part", 3600, part=f"{scope}/part:{rng.randrange(1, 4)}"
            )
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
        return Cap(rng.choice(ACCOUNTS), rng.choice(KINDS), rng.choice((100, 2000, 9000, 50_000)), rng.choice(PERIODS))

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
            paused = [one.account for one in store.pauses()] or ["acme"]
            account = "nobody" if nobody else paused[int(place * len(paused))]
            return store.resume(account, "anna", "a test", once=once)

        return resume

    def _read(self) -> Step:
        scope, labels = self._rng.choice(SCOPES), self._rng.choice(LABELS)
        return lambda store: store.read(scope, labels)


def answer(store: LedgerStore, step: Step) -> Any:
    """What a store answers, a refusal of the request included."""
    try:
        return step(store)
    except (LedgerError, ConfigError) as error:
        return f"{type(error).__name__}: {error}"


def state(store: LedgerStore) -> Sequence[Any]:
    """All that a store holds."""
    notes = [(one.at, one.who, one.why, one.what) for one in store.notes()]
    rules, pauses = list(store.rules()), list(store.pauses())
    return [list(store.balances()), list(store.history(most=50)), notes, rules, pauses, list(store.check())]

"""What a ledger takes and returns, and how it books amounts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tape.budget.resources import Resources, in_units
from tape.errors import ConfigError

COUNTED = ("calls", "steps")
"""Kinds that count what was begun: they need no proof, and keep what was booked."""


_trying: ContextVar[bool] = ContextVar("_trying", default=False)


@contextmanager
def trying() -> Iterator[None]:
    """Only see whether what is reserved in the block fits: who ends amid it has spent nothing."""
    token = _trying.set(True)
    try:
        yield
    finally:
        _trying.reset(token)


def is_tried() -> bool:
    """Whether what is reserved now is only to be seen to fit."""
    return _trying.get()


class Payer(Protocol):
    """What a ledger can ask before it reserves: another ledger, in this process or elsewhere, or a record on disk."""

    @property
    def rank(self) -> int:
        """Of the first lock that asking takes (:mod:`tape.budget.locks`); ``CLIENT`` where it takes none."""

    def reserve(self, worst_case: Resources) -> Any:
        """Set the worst case aside; returns what :meth:`settle` and :meth:`release` need.

        Raises:
            BudgetExceededError: It does not fit; nothing was set aside.
            UnknownCostError: A capped kind has an unknown worst case.
        """

    def settle(self, reservation: Any, actual: Resources) -> object:
        """Book what was really spent and free the rest."""

    def release(self, reservation: Any) -> None:
        """Give a reservation back: nothing was spent."""


@dataclass(frozen=True)
class Broken:
    """More was used than the declared bound.

    Attributes:
        kind: The resource.
        declared: The reservation, in counts.
        used: What was used, in counts.
    """

    kind: str
    declared: int
    used: int


class Limit(NamedTuple):
    """A cap on one kind, in counts.

    Attributes:
        ledger: Whose it is.
        kind: What is capped.
        cap: The cap.
        spent: What was settled.
        held: What is reserved.
    """

    ledger: str
    kind: str
    cap: int
    spent: int
    held: int

    @property
    def left(self) -> int:
        """What is left of it, reservations taken off; never below 0."""
        return max(0, self.cap - self.spent - self.held)


@dataclass(frozen=True)
class Taken:
    """What was taken of a reservation; see :meth:`tape.budget.Ledger.settle`."""

    actual: Resources
    paid: Resources | None = None
    parts: Sequence[tuple[Resources, Resources]] = ()
    unproven: Resources | None = None

    def booked(self, declared: Resources) -> tuple[dict[str, int | None], dict[str, int | None], dict[str, int]]:
        """What counts as used and as paid, and which part of that nobody has reported."""
        kinds = sorted({*self.actual, *declared, *(self.paid or ())})
        used = {kind: booked(self.actual[kind], declared[kind]) for kind in kinds}
        given = self.actual if self.paid is None else self.paid
        paid = {kind: booked(given[kind], declared[kind]) for kind in kinds}
        worst = {kind: paid[kind] for kind in kinds if self.actual[kind] is given[kind] is None}
        unproven = {**(self.unproven or {}), **worst}
        return used, paid, {kind: count for kind, count in unproven.items() if count and kind not in COUNTED}

    def broken(self, declared: Resources, capped: Collection[str]) -> Iterator[Broken]:
        """What was used beyond its declaration; kinds that are neither capped nor declared do not count."""
        for most, actual in self.parts or [(declared, self.actual)]:
            for kind in actual:
                used, bound = actual[kind], most[kind]
                named = kind in capped or (kind in most and bound is not None)
                if used is not None and used > (bound or 0) and named:
                    yield Broken(kind, bound or 0, used)


class Account:
    """What one ledger has booked, in counts; its fields are changed under the ledger's lock.

    Attributes:
        reserved: Set aside, by kind.
        used: Settled, the known amounts, by kind.
        unproven: The part of it that was booked without proof, by kind.
        violations: Uses above the declared bound, by kind.
    """

    def __init__(self) -> None:
        self.reserved: dict[str, int] = {}
        self.used: dict[str, int] = {}
        self.unproven: dict[str, int] = {}
        self.violations: dict[str, int] = {}
        self._paid: dict[str, int] = {}
        self._unknown_used: set[str] = set()
        self._unknown_paid: set[str] = set()

    def set_aside(self, kind: str, count: int) -> None:
        """Reserve more of a kind, or less."""
        self.reserved[kind] = self.reserved.get(kind, 0) + count
        assert self.reserved[kind] >= 0, "no more is given back than was set aside"

    def add(
        self,
        used: Mapping[str, int | None],
        paid: Mapping[str, int | None],
        unproven: Mapping[str, int] | None = None,
        broken: Sequence[Broken] = (),
    ) -> None:
        """Book what was used, what that really cost, which part of it nobody has reported, and what broke its bound."""
        for kind, n in (unproven or {}).items():
            assert n > 0, "a part that nobody has reported is something"
            self.unproven[kind] = self.unproven.get(kind, 0) + n
        for bound in broken:
            assert bound.used > bound.declared, bound
            self.violations[bound.kind] = self.violations.get(bound.kind, 0) + 1
        for kind, count in used.items():
            assert count is None or count >= 0, "what is used does not come back"
            self.used[kind] = self.used.get(kind, 0) + (count or 0)
        for kind, count in paid.items():
            self._paid[kind] = self._paid.get(kind, 0) + (count or 0)
        self._unknown_used |= {kind for kind, count in used.items() if count is None}
        self._unknown_paid |= {kind for kind, count in paid.items() if count is None}

    def correct(self, unproven: Resources, taken: Resources) -> None:
        """Book what was really taken in place of what was booked without proof."""
        for counts in (self.used, self._paid):
            correct(counts, unproven, taken)
        correct(self.unproven, unproven, Resources())
        for kind in unproven:
            assert self.unproven.get(kind, 0) >= 0, "what is corrected was booked without proof"
            assert self.used.get(kind, 0) >= 0, "more was used than is corrected"

    def taken(self, kind: str) -> int:
        """Settled or reserved of a kind."""
        return self.used.get(kind, 0) + self.reserved.get(kind, 0)

    def all_used(self) -> Resources:
        """What was settled; None for a kind of which an unknown amount was."""
        return Resources({**self.used, **dict.fromkeys(self._unknown_used)})

    def all_paid(self) -> Resources:
        """What that really cost."""
        return Resources({**self._paid, **dict.fromkeys(self._unknown_paid)})


def unknown(worst_case: Resources) -> Resources:
    """An unknown amount of each of the same kinds; settled, it books the worst case."""
    return Resources(dict.fromkeys(worst_case))


def booked(used: int | None, declared: int | None) -> int | None:
    """What is booked: an unknown usage as declared, and unknown only where that is unknown too."""
    return declared if used is None else used


def require_unproven(held: Mapping[str, int | None], unproven: Resources, taken: Resources, where: str) -> None:
    """See that amounts were booked without proof, and that it is known what was taken of them.

    Raises:
        ConfigError: They were not, perhaps since they are settled already.
    """
    for kind in sorted({*unproven, *taken}):
        most, count, actual = held.get(kind) or 0, unproven[kind], taken[kind]
        if count is None or actual is None or count > most or kind not in unproven:
            raise ConfigError(
                f"{kind}: {in_units(kind, count or actual or 0)} cannot be settled, since of {where} "
                f"{in_units(kind, most)} is booked without proof; what is settled once is proven"
            )


def correct(counts: MutableMapping[str, Any], unproven: Resources, taken: Resources) -> None:
    """Put what was really taken in the place of what was booked without proof; an unknown count stays unknown."""
    for kind in unproven:
        if counts.get(kind) is not None:
            counts[kind] += (taken[kind] or 0) - (unproven[kind] or 0)


def without(amounts: Resources, kinds: Collection[str]) -> Resources:
    """The amounts of the other kinds."""
    return Resources({kind: count for kind, count in amounts.items() if kind not in kinds})

"""What a store of budgets promises, whatever keeps it (docs/reference/ledger.md).

A hold is the truth: an amount that was set aside for one call, in the accounts of its scope and of its labels. It is
held once, and ends once. What an account has spent and holds is the sum over its holds.

**Parts.** The hold of a part keeps its labels. A call below it belongs to the accounts of these too, whatever labels it
names itself, also where parts are nested: their caps and pauses reach it. What the part has a cap on is held as a whole
in the accounts of its hold (its scope with all above, its labels, and those of parts around it), so a call within
counts that in the other ones of its accounts alone. All other resources count in all of them.

A part ends with its hold, however that ends: the hold takes what was spent in the part and what is still held there at
its worst case, or what its end says where that is more. Then no call begins in it, and none grows. What holds within
take later beyond their worst case is booked in the accounts of the hold too, and so on through parts that have ended;
what they take less stays booked there.

**Expiry** is a provisional end: the caller's end replaces it once, in the periods of the hold. What exceeds the amount
that was booked is spent where a cap has room, and debt for the rest, which is so for all that is booked after an end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from tape.budget.accounts import (
    Amounts,
    Labels,
    accounts_of,
    require_amounts,
    require_id,
    require_part,
    require_seconds,
    require_text,
)
from tape.budget.balances import Balance, Cap
from tape.budget.claims import Claimed, ClaimEnd, ClaimRecord, ClaimRequest
from tape.budget.periods import TOTAL, Period
from tape.budget.resources import in_units
from tape.budget.rules import Pause, Paused, Rule, Wanted, Warned, deliver
from tape.errors import BudgetExceededError, ConfigError

State = Literal["held", "settled", "voided", "booked"]
"""``held`` is open. A hold ends ``settled`` at what was used, ``voided`` where the call was not made, or ``booked`` at
its worst case where it expired. A part in which calls were made is settled also where it is voided."""


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """A hold that is asked for.

    Attributes:
        id: Made and kept by the caller, such as a UUID; asking again with it changes nothing.
        scope: The path of who pays, such as ``org/team/agent/run``.
        amounts: The worst case, in counts; None for an unknown amount.
        labels: What else it is for; a label may have caps of its own.
        name: What is called, for people.
        seconds: After how long an unanswered hold ends.
        free: An unanswered call costs nothing, so it ends voided; else it ends booked at its worst case.
        part: A scope below this one, named ``SCOPE/part:NAME``, that is made with caps of these amounts: what is held
            here is spent there.

    Raises:
        ConfigError: The id, the scope, an amount or another field is malformed; the message names it.

    Examples:
        >>> from tape.budget import HoldRequest, open_store
        >>> request = HoldRequest("call-1", "org/team", {"usd": 20_000}, labels={"customer": "42"}, seconds=60)
        >>> open_store("file://budget.ledger").reserve(request)
        Held(id='call-1', state='held')
    """

    id: str
    scope: str
    amounts: Mapping[str, int | None]
    labels: Labels = field(default_factory=dict)
    name: str = ""
    seconds: int = 3600
    free: bool = False
    part: str = ""

    def __post_init__(self) -> None:
        require_id(self.id)
        accounts_of(self.scope, self.labels)
        require_amounts(f"hold {self.id}", self.amounts, unknown=True)
        require_text(f"the name of hold {self.id}", self.name)
        require_seconds(f"hold {self.id} ends after", self.seconds)
        if self.part:
            require_part(self.part, self.scope)
            if self.free or not self.amounts or None in self.amounts.values():
                raise ConfigError("a part is of known amounts, and what is given to it is not free")


class Held(NamedTuple):
    """It is set aside, now or by an earlier request of the same id.

    Attributes:
        id: Of the hold, and of the request.
        state: ``held``, or how the hold of an earlier request has ended.

    Examples:
        >>> from tape.budget import HoldRequest, open_store
        >>> open_store("file://budget.ledger").reserve(HoldRequest("call-1", "org/team", {"usd": 20_000}))
        Held(id='call-1', state='held')
    """

    id: str
    state: State = "held"


class Refused(NamedTuple):
    """It is not set aside.

    Attributes:
        account: Whose cap it does not fit into.
        resource: Which one; empty where the worst case is unknown under a cap.
        period: Of the cap.
        amount: The cap in this period.
        left: What is left of it.
        cap_needed: The least cap under which it would have fitted; None where the worst case is unknown.

    Examples:
        >>> from tape.budget import Cap, HoldRequest, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        >>> store.reserve(HoldRequest("call-1", "org/team", {"usd": 80_000})).cap_needed
        80000
    """

    account: str
    resource: str
    period: str
    amount: int
    left: int
    cap_needed: int | None

    def wanted(self, amount: int) -> Wanted:
        """What a call asked that this refuses."""
        assert self.cap_needed is not None, "how much a call wants is known where it is asked for"
        assert amount > self.left, "what fits is not refused"
        assert amount <= self.cap_needed, "it needs a cap for itself, and for what is taken"
        return Wanted(self.account, self.resource, self.period, amount)

    def error(self, wanted: int) -> BudgetExceededError:
        """As what callers of a budget raise."""
        assert wanted >= 0, (self, wanted)
        assert self.left >= 0, self
        assert self.left <= self.amount, self
        assert self.cap_needed is None or wanted > self.left, "what fits is not refused"
        assert self.cap_needed is None or self.cap_needed > self.amount, "under this cap it does not fit"
        assert self.cap_needed is None or self.cap_needed >= wanted, "it needs a cap for itself, and for what is taken"
        during = "" if self.period == str(TOTAL) else f" {self.period}"
        message = (
            f"{in_units(self.resource, wanted)} do not fit into what {self.account} has left{during}: "
            f"{in_units(self.resource, self.left)} of {in_units(self.resource, self.amount)}"
        )
        if self.cap_needed is not None:
            message += f"; a cap of {in_units(self.resource, self.cap_needed)} would do"
        return BudgetExceededError(self.resource, self.amount, self.amount - self.left, wanted, self.account, message)


class Ended(NamedTuple):
    """How a hold has ended, now or before.

    Attributes:
        id: Its id.
        state: Its state.
        spent: What was booked for it.

    Examples:
        >>> from tape.budget import HoldRequest, open_store
        >>> store = open_store("file://budget.ledger")
        >>> _ = store.reserve(HoldRequest("call-1", "org/team", {"usd": 20_000}))
        >>> store.settle("call-1", {"usd": 5_000})
        Ended(id='call-1', state='settled', spent={'usd': 5000})
    """

    id: str
    state: State
    spent: Amounts


class HoldRecord(NamedTuple):
    """A hold as the store has it."""

    id: str
    scope: str
    labels: Labels
    name: str
    worst: Mapping[str, int | None]
    spent: Amounts
    state: State
    begun: datetime
    expires: datetime


class Note(NamedTuple):
    """A change by hand: a cap, a top-up, a reset or a correction, with who made it and why."""

    at: datetime
    who: str
    why: str
    what: str


class LedgerStore(ABC):
    """A store of holds, in counts. Every method may be called again after a fault: it does then what is left to do.

    Attributes:
        warned: Is called where a level of a rule is reached; by default it logs it, and tells the rule's webhook.

    Examples:
        >>> from tape.budget import Cap, HoldRequest, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        >>> _ = store.reserve(HoldRequest("call-1", "org/team", {"usd": 20_000}))
        >>> store.settle("call-1", {"usd": 5_000}).spent
        {'usd': 5000}
    """

    warned: Callable[[Warned], None] = staticmethod(deliver)

    @abstractmethod
    def reserve(self, request: HoldRequest) -> Held | Refused | Paused:
        """Set an amount aside in all accounts, or in none.

        Raises:
            LedgerError: The id belongs to another hold, or the store cannot be reached.
        """

    @abstractmethod
    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """Raise an open hold to these amounts, where they are more than it has.

        Raises:
            LedgerError: There is no such hold, it has ended, or the store cannot be reached.
        """

    @abstractmethod
    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """End a hold at what was used; an unknown amount is booked at its worst case.

        Raises:
            LedgerError: There is no such hold, or the store cannot be reached.
        """

    @abstractmethod
    def void(self, id: str) -> Ended:
        """End a hold of which nothing was spent.

        Raises:
            LedgerError: There is no such hold, or the store cannot be reached.
        """

    @abstractmethod
    def claim(self, request: HoldRequest, claim: ClaimRequest) -> Claimed | Refused | Paused:
        """ClaimRequest an effect and set its worst case aside, both or neither (:mod:`tape.budget.claims`).

        Nothing is set aside where the effect is done or unknown, or another worker is at it; what one has set aside
        whose lease is over stays set aside for who takes it.

        Raises:
            LedgerError: The key or the id belongs to another scope, or the store cannot be reached.
        """

    @abstractmethod
    def finish(
        self, key: str, attempt: int, end: ClaimEnd, amounts: Mapping[str, int | None], outcome: str = ""
    ) -> Claimed:
        """End a claim and its hold, both or neither, at what was used; an unknown end is booked at its worst case.

        What is done is done, whoever says so: also after another worker has taken it, or its end was unknown. That it
        was not made counts from the worker alone that has it now.

        Returns:
            The claim as it stands then.

        Raises:
            LedgerError: There is no such claim, or the store cannot be reached.
        """

    @abstractmethod
    def decide(self, key: str, who: str, why: str, *, done: bool, outcome: str = "") -> None:
        """Say by hand what became of an effect that is unknown, or whose lease is over.

        One that was not made costs nothing, and may be made.

        Raises:
            LedgerError: There is no such claim, or its end is known, or its lease is not over.
        """

    @abstractmethod
    def claims(self, scope: str = "", most: int = 100) -> Sequence[ClaimRecord]:
        """The latest claims of a scope and all below it, the latest first."""

    @abstractmethod
    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """The caps that a call of a scope has to fit into, and what is left of them."""

    @abstractmethod
    def balances(self) -> Sequence[Balance]:
        """All caps in their present periods."""

    @abstractmethod
    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """The latest holds of a scope and all below it, the latest first."""

    @abstractmethod
    def notes(self) -> Sequence[Note]:
        """The changes by hand, the latest first."""

    @abstractmethod
    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """Make or change a cap; it holds for the present period and all later ones.

        Raises:
            LedgerError: It would be below what is spent and held.
        """

    @abstractmethod
    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """Add the amount of ``cap`` to a cap, in its present period alone.

        Raises:
            LedgerError: There is no such cap.
        """

    @abstractmethod
    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """Forgive what was spent in the present period; what is held stays.

        Raises:
            LedgerError: There is no such cap, or it is a rolling one.
        """

    @abstractmethod
    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """Make or change the rule of an account."""

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """All rules, by account."""

    @abstractmethod
    def pause(self, account: str, who: str, why: str, *, stopped: bool = False, wanted: Wanted | None = None) -> None:
        """Let no new call of an account begin, until it is resumed; what is paused already may be stopped.

        Args:
            account: A scope with all below it, or a label.
            who: Who pauses it.
            why: For people.
            stopped: Calls are refused at once; else they wait for a person, as long as their rule says.
            wanted: What a call asked that was refused.
        """

    @abstractmethod
    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """Let calls begin again.

        Args:
            account: It is paused.
            who: Who resumes it.
            why: For people.
            once: The cap is topped up by what the refused call lacks now, and by no more.

        Raises:
            LedgerError: It is not paused, or ``once`` is said where no cap refused a call, or a rolling one did.
        """

    @abstractmethod
    def pauses(self) -> Sequence[Pause]:
        """What is paused, by account."""

    @abstractmethod
    def check(self) -> Sequence[str]:
        """Compute every sum again from the holds; what does not agree, a line each."""

    @abstractmethod
    def close(self) -> None:
        """Give up what is open; nothing is lost."""

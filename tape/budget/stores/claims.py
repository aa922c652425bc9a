"""Claims of effects as a function of a store's records; what may happen is decided here, and then applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tape.budget.claims import Claimed, ClaimEnd, ClaimRecord, ClaimRequest, ClaimState
from tape.budget.contract import HoldRequest, Note, Refused, State
from tape.budget.rules import LedgerError, Paused
from tape.budget.stores.books import Books
from tape.budget.stores.windows import Hold, Record


@dataclass(slots=True)
class OpenClaim:
    """A claim, and the hold that pays for it."""

    hold: str
    worker: str
    attempt: int
    until: datetime
    state: Literal["claimed", "done", "failed", "unknown"] = "claimed"
    outcome: str = ""
    taken: bool = False
    """Another worker may have made this attempt's call."""


class ClaimBooks(Books):
    """The state of a store with its claims."""

    def __init__(self) -> None:
        super().__init__()
        self.claimed: dict[str, OpenClaim] = {}
        """By the key of the effect."""

    def claim(self, request: HoldRequest, claim: ClaimRequest, at: datetime) -> Claimed | Refused | Paused | Record:
        """An answer where nothing is to be done, else what is to be written down.

        Raises:
            LedgerError: The key or the id belongs to another scope.
        """
        known, until = self.claimed.get(claim.key), at + timedelta(seconds=claim.lease)
        of_claim: Record = {"effect": claim.key, "worker": claim.worker, "until": until}
        if known is not None:
            scope = self.holds[known.hold].request.scope
            if scope != request.scope:
                raise LedgerError(another_claim(claim.key, scope))
            if known.state == "done" or (known.state == "unknown" and not claim.again):
                return self.told(claim.key)
        if known is not None and known.state != "failed":
            if known.worker == claim.worker:  # it asks again, since it had no answer
                return self.told(claim.key)
            if known.until > at:
                return self.told(claim.key, "busy")._replace(seconds=(known.until - at).total_seconds())
            if not claim.again:
                return self.finish(claim.key, known.attempt, "unknown", {}, "", at)
            return {"do": "claim", "at": at, **of_claim, "attempt": known.attempt + 1}
        decided = self.reserve(request, at)
        if isinstance(decided, Refused | Paused):
            return decided
        if not isinstance(decided, dict):
            raise LedgerError(f"the id {request.id} belongs to a hold without this claim; make ids anew")
        return {**decided, **of_claim, "attempt": 1 if known is None else known.attempt + 1}

    def finish(
        self, key: str, attempt: int, end: ClaimEnd, amounts: Mapping[str, int | None], outcome: str, at: datetime
    ) -> Claimed | Record:
        """The claim where it stays as it is, else what is to be written down.

        Raises:
            LedgerError: There is no such claim.
        """
        if (known := self.claimed.get(key)) is None:
            raise LedgerError(no_claim(key))
        late = attempt < known.attempt or known.state == "failed"
        open_ = known.state == "claimed" or (known.state == "unknown" and end != "unknown")
        if known.state == "done" or (end != "done" and (late or not open_)):
            return self.told(key)
        hold = self.holds[known.hold]
        if end == "unknown":
            unknown = {} if hold.request.part else dict.fromkeys(hold.worst)
            record = self._provisional(hold, "booked", unknown, at)
        elif end == "failed":
            record = self._provisional(hold, "settled", amounts, at)
        else:
            if known.state == "failed":  # an earlier attempt was made after all, and what the last one took stays
                used = {kind: hold.worst.get(kind) if n is None else n for kind, n in amounts.items()}
                amounts = {kind: (used.get(kind) or 0) + hold.spent.get(kind, 0) for kind in {**used, **hold.spent}}
            record = {**self._provisional(hold, "settled", amounts, at), "provisional": False}
        return {**record, "effect": key, "becomes": end, "outcome": outcome}

    def _provisional(self, hold: Hold, state: State, amounts: Mapping[str, int | None], at: datetime) -> Record:
        """The end of a hold that may be corrected once, where nobody has ended it by hand."""
        if hold.state != "held" and not hold.expired:
            return {"do": "finish", "at": at, "provisional": False}
        return {**self.ending(hold, state, amounts, at), "provisional": True}

    def decide(self, key: str, done: bool, outcome: str, at: datetime) -> Record:
        """What is to be written down for a decision by hand.

        Raises:
            LedgerError: There is no such claim, or its end is known, or its lease is not over.
        """
        if (known := self.claimed.get(key)) is None:
            raise LedgerError(no_claim(key))
        if known.state != "unknown" and (known.state != "claimed" or known.until > at):
            raise LedgerError(not_unknown(key, known.state))
        hold = self.holds[known.hold]
        record = self._provisional(hold, "voided", {}, at)
        if done:
            record = {**self._provisional(hold, "settled", dict.fromkeys(hold.worst), at), "provisional": False}
        return {**record, "effect": key, "becomes": "done" if done else "failed", "outcome": outcome}

    def told(self, key: str, state: ClaimState | None = None) -> Claimed:
        """A claim as its worker is told of it."""
        claim = self.claimed[key]
        mine: ClaimState = "taken" if claim.taken and claim.state == "claimed" else claim.state
        return Claimed(key, state or mine, claim.attempt, claim.outcome)

    def records(self, scope: str) -> Iterator[ClaimRecord]:
        """The claims of a scope and below it, the latest first."""
        for key, claim in reversed(self.claimed.items()):
            request = self.holds[claim.hold].request
            if not scope or f"{request.scope}/".startswith(f"{scope}/"):
                yield ClaimRecord(
                    key, request.scope, request.name, claim.state, claim.worker, claim.attempt, claim.until,
                    claim.outcome,
                )  # fmt: skip

    def apply(self, record: Record) -> None:
        """See :meth:`Books.apply`."""
        if record["do"] not in ("claim", "finish"):
            super().apply(record)
        elif self.last is None or record["at"] > self.last:
            self.last = record["at"]
        if (key := record.get("effect")) is None:
            return
        if "becomes" in record:
            claim = self.claimed[key]
            if claim.state == "done":
                raise ValueError(f"the effect {key} is done twice")
            claim.state, claim.outcome = record["becomes"], record["outcome"]
            if "who" in record:
                self.notes.appendleft(Note(record["at"], record["who"], record["why"], f"decide {key}"))
            if record["provisional"]:
                self.holds[claim.hold].expired = True
            return
        before = self.claimed.pop(key, None)  # so that the latest is the last
        if record["do"] == "claim" and before is None:
            raise ValueError(f"the effect {key} is taken before it was claimed")
        hold = record["id"] if before is None or record["do"] == "hold" else before.hold
        self.claimed[key] = OpenClaim(hold, record["worker"], record["attempt"], record["until"])
        self.claimed[key].taken = record["do"] == "claim"


def no_claim(key: str) -> str:
    """Why a claim is not ended."""
    return f"there is no claim of the effect {key}"


def not_unknown(key: str, state: str) -> str:
    """Why a claim is not decided by hand."""
    return f"the effect {key} is {state}; a person decides about one that is unknown, or whose lease is over"


def another_claim(key: str, scope: str) -> str:
    """Why an effect is not claimed."""
    return f"the effect {key} belongs to {scope}; pay for it from the same scope"

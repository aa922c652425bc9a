"""A scope of a store as what a ledger asks before it reserves: budgets of programs and agents are parts of it."""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tape.budget.amounts import Payer
from tape.budget.locks import CLIENT
from tape.budget.resources import Resources
from tape.errors import ConfigError, UnknownCostError
from tape.ledger.contract import (
    MOST,
    Labels,
    LedgerError,
    LedgerStore,
    Refused,
    Request,
    UnreachableLedgerError,
    accounts_of,
)

PAUSE = 0.05
"""Seconds between two tries of a call that waits."""

logger = logging.getLogger("tape.ledger")


@dataclass(frozen=True)
class StoreHold:
    """What a payer has set aside: the id of the hold."""

    id: str


class StorePayer(Payer):
    """Pays from a store: ``Ledger(budget, payer=StorePayer(store, "org/team/agent"))``.

    Args:
        store: The store; several payers may share it.
        scope: Who pays.
        labels: What else it is for.
        name: What is called, for people.
        seconds: After how long an unanswered hold ends.
        free: An unanswered call costs nothing.
        wait: For how many seconds a call that does not fit waits for others to end, before it is refused. Meanwhile
            the ledger that asks takes no other call.

    Raises:
        ConfigError: The scope or a label is malformed.
    """

    rank = CLIENT  # it takes no lock of the order: the store has its own

    def __init__(
        self,
        store: LedgerStore,
        scope: str,
        labels: Labels | None = None,
        *,
        name: str = "",
        seconds: int = 3600,
        free: bool = False,
        wait: float = 0.0,
    ) -> None:
        accounts_of(scope, labels or {})
        self.store, self.scope, self.labels = store, scope, dict(labels or {})
        self._name, self._seconds, self._free, self._wait = name, seconds, free, wait
        self._due: deque[tuple[str, dict[str, int | None] | None]] = deque()
        """Ends of holds that the store has not taken yet: amounts, or None for a call that was not made."""

    def reserve(self, worst_case: Resources) -> StoreHold:
        """Hold the worst case.

        Raises:
            BudgetExceededError: It does not fit into a cap of the scope or of a label.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: The store cannot be reached; nothing may be spent then.
        """
        self._end_due()
        amounts: Mapping[str, int | None] = {kind: worst_case[kind] for kind in worst_case}
        request = Request(uuid.uuid4().hex, self.scope, amounts, self.labels, self._name, self._seconds, self._free)
        begun = time.monotonic()
        try:
            found = self.store.reserve(request)
        except UnreachableLedgerError:  # it may be held all the same
            self._due.append((request.id, None))
            raise
        while isinstance(found, Refused) and found.cap_needed is not None and self._ends_soon(found, begun):
            time.sleep(PAUSE)
            found = self.store.reserve(request)
        if isinstance(found, Refused):
            if found.cap_needed is None:
                raise UnknownCostError(
                    f"the worst case of {found.resource} is unknown under the cap of {found.account}; declare it, or "
                    f"lift the cap on {found.resource}"
                )
            raise found.error(worst_case[found.resource] or 0)
        return StoreHold(found.id)

    def _ends_soon(self, refused: Refused, begun: float) -> bool:
        """Whether to wait on: there is time, and what others hold would make room."""
        if time.monotonic() - begun >= self._wait:
            return False
        balances = self.store.read(self.scope, self.labels)
        return any(one.held and one.cap.account == refused.account for one in balances)

    def settle(self, reservation: StoreHold, actual: Resources) -> None:
        """Book what was spent; where the store cannot be reached, as soon as it can be.

        The call has been made, so no error is raised. Until then the worst case stays held, and is booked when the hold
        expires.
        """
        counts = {kind: actual[kind] for kind in actual}
        self._due.append((reservation.id, {kind: n if n is None else min(n, MOST) for kind, n in counts.items()}))
        self._end_due()

    def release(self, reservation: StoreHold) -> None:
        """Give back what was not spent; see :meth:`settle`."""
        self._due.append((reservation.id, None))
        self._end_due()

    def _end_due(self) -> None:
        while self._due:
            id, amounts = self._due.popleft()
            try:
                if amounts is None:
                    self.store.void(id)
                else:
                    self.store.settle(id, amounts)
            except UnreachableLedgerError as error:
                self._due.appendleft((id, amounts))
                logger.warning("what the call of hold %s took is not booked yet: %s", id, error)
                return
            except (LedgerError, ConfigError) as error:
                logger.error("what the call of hold %s took cannot be booked: %s", id, error)

"""A store in PostgreSQL, which many hosts share. What may happen is decided in the database (``sql/functions.sql``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib import resources
from typing import Any

from tape.budget.accounts import (
    Amounts,
    Labels,
    accounts_of,
    concerns,
    require_account,
    require_amounts,
    require_by_hand,
    require_id,
)
from tape.budget.balances import Balance, Cap
from tape.budget.claims import Claimed, ClaimEnd, ClaimRecord, ClaimRequest, require_outcome
from tape.budget.contract import Ended, Held, HoldRecord, HoldRequest, LedgerStore, Note, Refused, State
from tape.budget.periods import Period
from tape.budget.resources import in_units
from tape.budget.rules import (
    LedgerError,
    Pause,
    Paused,
    Rule,
    Wanted,
    Warned,
    log_late,
    no_more,
    of_lacking,
    of_part,
)
from tape.budget.stores.addresses import Address, read_address
from tape.budget.stores.answers import asked_for, claimed, held_or_refused, note_of, require_known, reserved
from tape.budget.stores.batches import VERSION, Batches
from tape.budget.stores.claims import another_claim, no_claim, not_unknown
from tape.budget.stores.faults import READS, WRITES, answered, connect, raise_fault
from tape.reading import short

try:
    import psycopg
    from psycopg.types.json import Jsonb
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]


class PostgresStore(LedgerStore):
    """A database with the ledger's tables, see :meth:`create`.

    Args:
        url: ``postgresql://user@host/database``, or as it was read.
        at: A fixed present, for tests, which may be set anew; the database's own by default.

    Raises:
        MissingExtraError: psycopg is not installed.
        LedgerError: It cannot be reached, has no ledger, or one of another version.
    """

    def __init__(self, url: str | Address, at: datetime | None = None) -> None:
        self._address, self.at = read_address(url), at
        self._batches = Batches(self._address, self._warn, lambda: self.at)

    @classmethod
    def create(cls, url: str | Address, *, chain: bool = False) -> None:
        """Make the tables; what is there stays. With ``chain`` each change from now on is written as a linked line.

        Raises:
            LedgerError: The database cannot be reached, does not allow it, has another version, or has no encoding.
        """
        address = read_address(url)
        try:
            with connect(address) as connection, connection.transaction():
                answered(connection, WRITES, "select pg_advisory_xact_lock(7273041)")
                if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                    raise LedgerError(
                        f"the database {address} has the encoding SQL_ASCII, which names beyond ASCII do not fit into; "
                        "make one by: create database NAME encoding 'UTF8' template template0"
                    )
                there = connection.execute("select to_regclass('tape_ledger.meta') is not null").fetchone()
                row = (0,)
                assert there is not None
                if there[0]:
                    row = connection.execute("select version from tape_ledger.meta for update").fetchone() or row
                if row[0] not in (0, VERSION):
                    raise LedgerError(f"the ledger {address} has version {row[0]}; this program knows {VERSION}")
                if not row[0]:
                    for name in ("tables.sql", "functions.sql"):
                        connection.execute(resources.files(__package__).joinpath("sql", name).read_text("utf-8"))
                [[linked]] = connection.execute("select to_regclass('tape_ledger_chain.line') is not null").fetchall()
                [[holds]] = connection.execute("select count(*) from tape_ledger.hold").fetchall()
                if chain and not linked:
                    if holds:
                        raise LedgerError(f"the ledger {address} has holds already; lines are linked from the first on")
                    connection.execute(resources.files(__package__).joinpath("sql", "chain.sql").read_text("utf-8"))
                after = connection.execute("select version from tape_ledger.meta").fetchall()
                assert after == [(VERSION,)], "the tables of a version say so"
        except psycopg.Error as error:
            raise_fault(address, error, making=True)

    def chain(self) -> Sequence[str]:
        """The linked lines of all roots, each root's in order.

        Raises:
            LedgerError: This ledger writes none, or cannot be reached.
        """
        try:
            with connect(self._address) as connection:
                if answered(connection, READS, "select to_regclass('tape_ledger_chain.line') is null")[0][0]:
                    raise LedgerError(f"the ledger {self._address} links no lines; that begins with: init --chain")
                rows = answered(connection, READS, """select left(written, -1) || ', "hash": "' || hash || '"}'
                    from tape_ledger_chain.line order by root, n""")  # fmt: skip
        except psycopg.Error as error:
            raise_fault(self._address, error)
        return [row[0] for row in rows]

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: HoldRequest) -> Held | Refused | Paused:
        """See :class:`LedgerStore`."""
        return reserved(request, self._batches.ask(do="reserve", **asked_for(request)))

    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """See :class:`LedgerStore`."""
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts)
        answer = self._batches.ask(do="grow", id=id, worst=dict(amounts))
        if answer.get("error") == "ended":
            raise LedgerError(f"the hold {id} has ended ({answer['state']}); reserve anew")
        if answer.get("error") == "ended part":
            raise LedgerError(no_more(id, answer["part"]))
        held = held_or_refused(id, answer)
        assert held == Held(id) or isinstance(held, Refused), "whose answer it is"
        return held

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "settled", amounts)

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "voided", {})

    def _end(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        assert state == "settled" or (state == "voided" and not amounts), "what was not made costs nothing"
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        answer = self._batches.ask(do="end", id=id, state=state, amounts=dict(amounts))
        require_known(id, answer)
        ended = Ended(id, answer["ended"], answer["spent"])
        if late := answer.get("late"):
            scope, before, is_debt = late
            log_late(id, scope, before, ended.spent, is_debt)
        assert ended.state in ("settled", "voided", "booked"), ended
        assert ended.state != "voided" or not ended.spent, "what was not made costs nothing"
        assert min(ended.spent.values(), default=0) >= 0, ended
        return ended

    def claim(self, request: HoldRequest, claim: ClaimRequest) -> Claimed | Refused | Paused:
        """See :class:`LedgerStore`."""
        answer = self._batches.ask(
            do="claim", effect=claim.key, worker=claim.worker, lease=claim.lease, again=claim.again,
            **asked_for(request),
        )  # fmt: skip
        if answer.get("error") == "another claim":
            raise LedgerError(another_claim(claim.key, answer["scope"]))
        if answer.get("error") == "no claim of the hold":
            raise LedgerError(f"the id {request.id} belongs to a hold without this claim; make ids anew")
        if "claim" in answer:
            return claimed(claim.key, answer)
        refused = reserved(request, answer)
        assert not isinstance(refused, Held), "what is held is claimed"
        return refused

    def finish(
        self, key: str, attempt: int, end: ClaimEnd, amounts: Mapping[str, int | None], outcome: str = ""
    ) -> Claimed:
        """See :class:`LedgerStore`."""
        require_amounts(f"claim {short(key)}", amounts, unknown=True)
        require_outcome(outcome)
        asked = {"effect": key, "attempt": attempt, "becomes": end, "amounts": dict(amounts), "outcome": outcome}
        return claimed(key, self._batches.ask(do="finish", **asked))

    def decide(self, key: str, who: str, why: str, *, done: bool, outcome: str = "") -> None:
        """See :class:`LedgerStore`."""
        require_outcome(outcome)
        answer = self._change(who, why, do="decide", effect=key, done=done, outcome=outcome)
        if answer.get("error") == "not unknown":
            raise LedgerError(not_unknown(key, answer["state"]))
        if answer.get("error") == "no claim":
            raise LedgerError(no_claim(key))

    def claims(self, scope: str = "", most: int = 100) -> Sequence[ClaimRecord]:
        """See :class:`LedgerStore`."""
        rows = self._select(
            "select claim.key, hold.scope, hold.name, claim.state, worker, attempt, until, outcome from"
            " tape_ledger.claim join tape_ledger.hold on hold.id = claim.hold"
            " where %s = '' or starts_with(scope || '/', %s || '/') order by hold.number desc limit %s",
            scope, scope, max(0, most),
        )  # fmt: skip
        return [ClaimRecord(*row) for row in rows]

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        accounts_of(scope, labels or {})
        self._batches.ask(do="sweep", scope=scope)
        balances = self._balances(scope, labels)
        assert len(balances) == len({balance.cap.key for balance in balances}), "a call is asked once for a cap"
        assert all(concerns(balance.cap.account, scope) for balance in balances), "what it pays from"
        lengths = [len(balance.cap.account) for balance in balances if "#" not in balance.cap.account]
        assert lengths == sorted(lengths, reverse=True), "the leaf is asked before what is above it"
        return balances

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        self._sweep()
        balances = self._balances(None, None)
        keys = [balance.cap.key for balance in balances]
        assert keys == sorted({*keys}), "each cap comes once, by its key"
        return balances

    def _balances(self, scope: str | None, labels: Labels | None) -> list[Balance]:
        rows = self._select("select * from tape_ledger.balances(%s, %s, %s)", scope, Jsonb(dict(labels or {})), self.at)
        amounts = dict(self._select("select account || ' ' || resource || ' ' || period, amount from tape_ledger.cap"))
        balances = []
        for account, resource, period, begun, *counts in rows:
            cap = Cap(account, resource, amounts[f"{account} {resource} {period}"], Period.parse(period))
            balance = Balance(cap, begun, *counts)
            assert cap.key == (account, resource, period), (cap, period)
            assert (begun is None) == (cap.period.unit == "total"), balance
            assert balance.amount >= 0, balance
            assert balance.spent >= 0, balance
            assert balance.held >= 0, balance
            assert balance.debt >= 0, balance
            within = balance.spent + balance.held <= balance.amount + balance.debt
            assert within or cap.period.unit == "rolling", "a cap is exceeded by a debt alone"
            balances.append(balance)
        return balances

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        self._sweep()
        rows = self._select(
            "select id, scope, labels, name, worst, spent, state, begun, expires from tape_ledger.hold"
            " where %s = '' or starts_with(scope || '/', %s || '/') order by number desc limit %s",
            scope, scope, max(0, most),
        )  # fmt: skip
        records = [HoldRecord(*row) for row in rows]
        assert len(records) <= max(0, most), (len(records), most)
        assert all(record.state != "held" or not record.spent for record in records), "what is open has spent nothing"
        return records

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        rows = self._select("select at, who, why, what from tape_ledger.note order by number desc limit 1000")
        return [Note(at, who, why, note_of(what)) for at, who, why, what in rows]

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        period = cap.period
        answer = self._by_hand(
            "cap", cap.key, who, why, amount=cap.amount, unit=period.unit, zone=period.zone, day=period.day,
            bucket=period.bucket,
        )  # fmt: skip
        if answer.get("error") == "clash":
            assert answer["period"] != str(period), "a cap is changed where it is there"
            raise LedgerError(
                f"{cap.account} has a cap on {cap.resource} per {answer['period']} already, and would have two "
                f"beginnings of a {period.unit} with {period}; change that one"
            )
        if answer.get("error") == "part":
            raise LedgerError(of_part(cap.account))
        if answer.get("error") == "below":
            assert answer["taken"] > cap.amount, (answer, cap)
            raise LedgerError(
                f"a cap of {in_units(cap.resource, cap.amount)} on {cap.account} per {period} is below the "
                f"{in_units(cap.resource, answer['taken'])} that are spent and held; wait, reset it, or name a higher "
                "one"
            )
        assert "error" not in answer, "no error is passed over"

    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        self._require(cap.key, "topped up", self._by_hand("top_up", cap.key, who, why, amount=cap.amount))

    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        key = (account, resource, str(period))
        self._require(key, "reset", self._by_hand("reset", key, who, why))

    def _by_hand(self, do: str, key: tuple[str, str, str], who: str, why: str, **more: Any) -> Mapping[str, Any]:
        account, resource, period = key
        return self._change(who, why, do=do, account=account, resource=resource, period=period, **more)

    def _change(self, who: str, why: str, **more: Any) -> Mapping[str, Any]:
        require_by_hand(who, why)
        # Its id makes that it is made once, also where its answer was lost.
        return self._batches.ask(who=who, why=why, change=uuid.uuid4().hex, **more)

    def _require(self, key: Sequence[str], what: str, answer: Mapping[str, Any]) -> None:
        if answer.get("error") == "no cap":
            rows = self._select("select account, resource, period from tape_ledger.cap order by id limit 20")
            known = ", ".join(" ".join(row) for row in rows) or "none"
            raise LedgerError(f"there is no cap {' '.join(key)}; there is: {known[:500]}")
        if answer.get("error") == "rolling":
            raise LedgerError(f"a rolling cap is not {what}: what was spent leaves it by itself; change the cap")
        if answer.get("error") == "part":
            raise LedgerError(of_part(answer["account"]))
        assert "error" not in answer, "no error is passed over"

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        rows = self._select("select account, resource, period, begun, detail from tape_ledger.wrong()")
        wrong = [f"{' '.join(key)} {begun or ''}: {detail}" for *key, begun, detail in rows]
        lacking = self._select("select part, resource, amount from tape_ledger.lacking()")
        return wrong + [of_lacking(*row) for row in lacking]

    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        answer = self._change(who, why, do="rule", **asdict(rule))
        assert not answer, "a rule is never refused"

    def rules(self) -> Sequence[Rule]:
        """See :class:`LedgerStore`."""
        rows = self._select(
            "select account, at_limit, seconds, warn, webhook, same, tools from tape_ledger.rule order by account"
        )
        rules = [Rule(account, at, n, tuple(warn), *more) for account, at, n, warn, *more in rows]
        accounts = [rule.account for rule in rules]
        assert accounts == sorted({*accounts}), "an account has one rule, and they come by account"
        return rules

    def pause(self, account: str, who: str, why: str, *, stopped: bool = False, wanted: Wanted | None = None) -> None:
        """See :class:`LedgerStore`."""
        require_account(account)
        answer = self._change(who, why, do="pause", account=account, stopped=stopped, wanted=list(wanted or ()))
        assert answer.get("error") in (None, "unchanged"), "what is paused may be paused again, and stays so"

    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """See :class:`LedgerStore`."""
        answer = self._change(who, why, do="resume", account=account, once=once)
        if answer.get("error") == "not paused":
            paused = ", ".join(pause.account for pause in self.pauses()) or "none"
            raise LedgerError(f"{account} is not paused; there is: {paused}")
        if answer.get("error") == "nothing wanted":
            raise LedgerError(f"{account} was paused for another reason than a cap; resume it without --once")
        assert once or "error" not in answer, "what is topped up may be refused, and nothing else"
        self._require(tuple(answer.get("wanted", ()))[:3], "topped up", answer)

    def pauses(self) -> Sequence[Pause]:
        """See :class:`LedgerStore`."""
        rows = self._select("select account, stopped, at, who, why, wanted from tape_ledger.pause order by 1")
        pauses = [
            Pause(account, stopped, at, who, why, Wanted(*wanted) if wanted else None)
            for account, stopped, at, who, why, wanted in rows
        ]
        accounts = [pause.account for pause in pauses]
        assert accounts == sorted({*accounts}), "an account is paused once, and they come by account"
        return pauses

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        self._batches.close()

    # --- the database -------------------------------------------------------------------------

    def _sweep(self) -> None:
        for (root,) in self._select("select root from tape_ledger.root order by root"):
            answer = self._batches.ask(do="sweep", scope=root)
            assert not answer, "what has expired ends in any case"

    def _warn(self, warned: Warned) -> None:
        self.warned(warned)  # as it is set now

    def _select(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows, read by a connection of their own, so that the one of the batches is used by its thread alone."""
        assert statement.startswith("select "), "changes are made by batches"
        try:
            with connect(self._address) as connection:
                return answered(connection, READS, statement, *values)
        except psycopg.Error as error:
            raise_fault(self._address, error)

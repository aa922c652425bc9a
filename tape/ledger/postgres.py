"""A store in PostgreSQL, which many hosts share. What may happen is decided in the database (``sql/functions.sql``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from tape.budget.resources import in_units
from tape.errors import MissingExtraError
from tape.ledger.accounts import (
    Amounts,
    Labels,
    accounts_of,
    require_account,
    require_amounts,
    require_by_hand,
    require_id,
)
from tape.ledger.batches import VERSION, Batches
from tape.ledger.contract import Balance, Cap, Ended, Held, HoldRecord, LedgerStore, Note, Refused, Request, State
from tape.ledger.faults import raise_fault, shown
from tape.ledger.periods import Period
from tape.ledger.rules import LedgerError, Pause, Paused, Rule, UnknownHoldError, Wanted, Warned, of_part
from tape.reading import short

try:
    import psycopg
    from psycopg.types.json import Jsonb
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]


class PostgresStore(LedgerStore):
    """A database with the ledger's tables, see :meth:`create`.

    Args:
        url: ``postgresql://user@host/database``.
        at: A fixed present, for tests; the database's own by default.

    Raises:
        MissingExtraError: psycopg is not installed.
        LedgerError: It cannot be reached, has no ledger, or one of another version.
    """

    def __init__(self, url: str, at: datetime | None = None) -> None:
        _require_extra()
        self._url = url
        self._batches = Batches(url, self._warn)
        self._batches.at = at

    @property
    def at(self) -> datetime | None:
        """A fixed present, for tests."""
        return self._batches.at

    @at.setter
    def at(self, at: datetime | None) -> None:
        self._batches.at = at

    @classmethod
    def create(cls, url: str) -> None:
        """Make the tables, or upgrade those of an earlier version in place; what is there stays.

        Raises:
            LedgerError: The database cannot be reached, does not allow it, or has a newer version.
        """
        _require_extra()
        try:
            with psycopg.connect(url, connect_timeout=10) as connection:
                connection.execute("select pg_advisory_xact_lock(7273041)")
                there = connection.execute("select to_regclass('tape_ledger.meta') is not null").fetchone()
                row = (0,)
                if there and there[0]:
                    row = connection.execute("select version from tape_ledger.meta for update").fetchone() or row
                if row[0] > VERSION:
                    raise LedgerError(f"the ledger {shown(url)} has version {row[0]}; this program knows {VERSION}")
                if row[0] < VERSION:
                    for name in (*(f"{number}.sql" for number in range(row[0] + 1, VERSION + 1)), "functions.sql"):
                        connection.execute(resources.files(__package__).joinpath("sql", name).read_text("utf-8"))
        except psycopg.Error as error:
            raise_fault(url, error)

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: Request) -> Held | Refused | Paused:
        """See :class:`LedgerStore`."""
        answer = self._ask(
            do="reserve", id=request.id, scope=request.scope, labels=dict(request.labels), name=request.name,
            worst=dict(request.amounts), seconds=request.seconds, free=request.free, part=request.part,
        )  # fmt: skip
        if answer.get("error") == "another":
            raise LedgerError(f"the id {request.id} belongs to a hold of {answer['scope']}; make ids anew")
        if answer.get("error") == "given":
            raise LedgerError(f"the part {request.part} was given before; name another")
        return Paused(*answer["paused"]) if "paused" in answer else _held(request.id, answer)

    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """See :class:`LedgerStore`."""
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts)
        answer = self._ask(do="grow", id=id, worst=dict(amounts))
        if answer.get("error") == "ended":
            raise LedgerError(f"the hold {id} has ended ({answer['state']}); reserve anew")
        return _held(id, answer)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "settled", amounts)

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "voided", {})

    def _end(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        answer = self._ask(do="end", id=id, state=state, amounts=dict(amounts))
        _require_known(id, answer)
        return Ended(id, answer["ended"], answer["spent"])

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        accounts_of(scope, labels or {})
        self._ask(do="sweep", scope=scope)
        return self._balances(scope, labels)

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        self._sweep()
        return self._balances(None, None)

    def _balances(self, scope: str | None, labels: Labels | None) -> list[Balance]:
        rows = self._select("select * from tape_ledger.balances(%s, %s, %s)", scope, Jsonb(dict(labels or {})), self.at)
        amounts = dict(self._select("select account || ' ' || resource || ' ' || period, amount from tape_ledger.cap"))
        return [
            Balance(
                Cap(account, resource, amounts[f"{account} {resource} {period}"], Period.parse(period)),
                _time(begun),
                *counts,
            )
            for account, resource, period, begun, *counts in rows
        ]

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        self._sweep()
        rows = self._select(
            "select id, scope, labels, name, worst, spent, state, begun, expires from tape_ledger.hold"
            " where %s = '' or starts_with(scope || '/', %s || '/') order by number desc limit %s",
            scope, scope, max(0, most),
        )  # fmt: skip
        return [HoldRecord(*row[:7], *(at.astimezone(UTC) for at in row[7:])) for row in rows]

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        rows = self._select("select at, who, why, what from tape_ledger.note order by number desc limit 1000")
        return [Note(at.astimezone(UTC), who, why, _note(what)) for at, who, why, what in rows]

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        period = cap.period
        answer = self._by_hand(
            "cap", cap.key, who, why, amount=cap.amount, unit=period.unit, zone=period.zone, day=period.day,
            bucket=period.bucket,
        )  # fmt: skip
        if answer.get("error") == "clash":
            raise LedgerError(
                f"{cap.account} has a cap on {cap.resource} per {answer['period']} already, and would have two "
                f"beginnings of a {period.unit} with {period}; change that one"
            )
        if answer.get("error") == "part":
            raise LedgerError(of_part(cap.account))
        if answer.get("error") == "below":
            raise LedgerError(
                f"a cap of {in_units(cap.resource, cap.amount)} on {cap.account} per {period} is below the "
                f"{in_units(cap.resource, answer['taken'])} that are spent and held; wait, reset it, or name a higher "
                "one"
            )

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
        return self._ask(who=who, why=why, change=uuid.uuid4().hex, **more)

    def _require(self, key: Sequence[str], what: str, answer: Mapping[str, Any]) -> None:
        if answer.get("error") == "no cap":
            rows = self._select("select account, resource, period from tape_ledger.cap order by id limit 20")
            known = ", ".join(" ".join(row) for row in rows) or "none"
            raise LedgerError(f"there is no cap {' '.join(key)}; there is: {known[:500]}")
        if answer.get("error") == "rolling":
            raise LedgerError(f"a rolling cap is not {what}: what was spent leaves it by itself; change the cap")
        if answer.get("error") == "part":
            raise LedgerError(of_part(answer["account"]))

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        rows = self._select("select account, resource, period, begun, detail from tape_ledger.wrong()")
        return [
            f"{account} {kind} {period} {_time(begun) or ''}: {detail}" for account, kind, period, begun, detail in rows
        ]

    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        self._change(who, why, do="rule", **asdict(rule))

    def rules(self) -> Sequence[Rule]:
        """See :class:`LedgerStore`."""
        rows = self._select(
            "select account, at_limit, seconds, warn, webhook, same, tools from tape_ledger.rule order by account"
        )
        return [Rule(account, at, n, tuple(warn), *more) for account, at, n, warn, *more in rows]

    def pause(self, account: str, who: str, why: str, *, stopped: bool = False, wanted: Wanted | None = None) -> None:
        """See :class:`LedgerStore`."""
        require_account(account)
        self._change(who, why, do="pause", account=account, stopped=stopped, wanted=list(wanted or ()))

    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """See :class:`LedgerStore`."""
        answer = self._change(who, why, do="resume", account=account, once=once)
        if answer.get("error") == "not paused":
            paused = ", ".join(one.account for one in self.pauses()) or "none"
            raise LedgerError(f"{account} is not paused; there is: {paused}")
        if answer.get("error") == "nothing wanted":
            raise LedgerError(f"{account} was paused for another reason than a cap; resume it without --once")
        self._require(tuple(answer.get("wanted", ()))[:3], "topped up", answer)

    def pauses(self) -> Sequence[Pause]:
        """See :class:`LedgerStore`."""
        rows = self._select("select account, stopped, at, who, why, wanted from tape_ledger.pause order by 1")
        return [
            Pause(account, stopped, at.astimezone(UTC), who, why, Wanted(*wanted) if wanted else None)
            for account, stopped, at, who, why, wanted in rows
        ]

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        self._batches.close()

    # --- the database -------------------------------------------------------------------------

    def _sweep(self) -> None:
        for (root,) in self._select("select root from tape_ledger.root order by root"):
            self._ask(do="sweep", scope=root)

    def _warn(self, warned: Warned) -> None:
        self.warned(warned)  # as it is set now

    def _ask(self, **request: Any) -> Mapping[str, Any]:
        return self._batches.ask(request)

    def _select(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows, read by a connection of their own, so that the one of the batches is used by its thread alone."""
        try:
            with psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection:
                return list(connection.execute(statement, values).fetchall())
        except psycopg.Error as error:
            raise_fault(self._url, error)


def _held(id: str, answer: Mapping[str, Any]) -> Held | Refused:
    _require_known(id, answer)
    if "refused" in answer:
        return Refused(*answer["refused"])
    return Held(id, answer["held"])


def _require_known(id: str, answer: Mapping[str, Any]) -> None:
    if answer.get("error") == "none":
        raise UnknownHoldError(f"there is no hold {id}")


def _note(what: Mapping[str, Any]) -> str:
    if "resource" not in what:
        return f"{what['do']} {what['account']}"
    amount = [in_units(what["resource"], what["amount"])] if what.get("amount") else []
    return " ".join((what["do"], what["account"], what["resource"], what["period"], *amount))


def _require_extra() -> None:
    if psycopg is None:
        raise MissingExtraError("a ledger in PostgreSQL needs psycopg: pip install 'tape-planner[postgres]'")


def _time(at: datetime | None) -> datetime | None:
    """A moment in UTC; None for the beginning of what has none."""
    return None if at is None else at.astimezone(UTC)

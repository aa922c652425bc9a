"""What the page for people shows of a gateway, and what they can do there."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tape.budget import LedgerError, Resources, StorePayer, in_units
from tape.budget.accounts import accounts_of
from tape.budget.contract import State
from tape.budget.resources import kind_of, kinds
from tape.errors import ConfigError
from tape.gateway.approval import ApprovalQuestion, Desk
from tape.gateway.books import RUN, Day, GatewayBooks, name_of
from tape.gateway.gateway import Gateway
from tape.gateway.watching import WatchedCall
from tape.guard.left import ScopeReading

MOST_OF_CLIENT = 10
"""Calls, refusals and questions of a client that are shown, so that none takes the place of another's."""
MOST_SCOPES, MOST_ACTS, DAYS, LONGEST = 8, 20, 30, 400
LEDGER_SECONDS = 2.0
"""For the shared ledger to answer before the page is shown without it."""
WHO = "page"


class GatewayPage:
    """Watches a gateway."""

    def __init__(self, gateway: Gateway, desk: Desk) -> None:
        self._gateway, self._desk = gateway, desk
        self._live: dict[str, WatchedCall] = {}
        self._refused: dict[str, deque[dict[str, Any]]] = {}
        self._refusals: Counter[date] = Counter()
        self._acts: deque[dict[str, Any]] = deque(maxlen=MOST_ACTS)
        self._asking: asyncio.Task[dict[str, Any]] | None = None
        self._known = gateway.ledgers.read(_of_books)
        gateway.watchers.append(self)

    # --- as a watcher -------------------------------------------------------------------------

    def begun(self, call: WatchedCall) -> None:
        """See :class:`~tape.gateway.watching.CallWatcher`."""
        self._live[call.id] = call

    def ended(self, call: WatchedCall, state: State, spent: Resources) -> None:  # noqa: ARG002 - the journal counts it
        """See :class:`~tape.gateway.watching.CallWatcher`."""
        self._live.pop(call.id, None)

    def refused(self, call: WatchedCall, fields: Mapping[str, Any]) -> None:
        """See :class:`~tape.gateway.watching.CallWatcher`."""
        self._refusals[call.at.date()] += 1
        rows = self._refused.setdefault(call.client, deque(maxlen=MOST_OF_CLIENT))
        said = {"why": why_of(fields)[:LONGEST], "would_do": would_do(fields)[:LONGEST]}
        rows.append({**_about(call), "error": fields["error"], **said})

    # --- what is shown ------------------------------------------------------------------------

    async def state(self) -> dict[str, Any]:
        """All that is shown now; every amount is written here, and the page only draws."""
        self._desk.seen()
        problem = ""
        try:
            self._known = await self._gateway.ledgers.look(_of_books)
        except LedgerError as error:
            problem = str(error)
        caps, by_day = self._known
        refused = [row for rows in self._refused.values() for row in rows]
        return {
            "now": datetime.now(UTC).isoformat(),
            "name": self._gateway.config.limits.name,
            "problem": problem,
            "waiting": _first((question.who.client, _question(question)) for question in self._desk.waiting()),
            "live": _first((call.client, _about(call)) for call in list(self._live.values())),
            "caps": caps,
            "shared": await self._shared(),
            "refused": sorted(refused, key=lambda item: str(item["at"]), reverse=True),
            "days": days(by_day, self._refusals, datetime.now(UTC).date()),
            "acts": list(self._acts),
        }

    async def _shared(self) -> dict[str, Any] | None:
        """The shared ledger, asked in a thread, once at a time: it may be far away."""
        payer = self._gateway.ledgers.payer
        if payer is None:
            return None
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(asyncio.to_thread(accounts, payer))
        await asyncio.wait((self._asking,), timeout=LEDGER_SECONDS)
        return self._asking.result() if self._asking.done() else {"problem": "the shared ledger has not answered yet"}

    def question(self, id: str) -> dict[str, Any] | None:
        """A question with the arguments; None where it is not open any more."""
        asked = self._desk.find(id)
        return None if asked is None else {**_question(asked), "shown": asked.shown}

    # --- what people do -----------------------------------------------------------------------

    async def act(self, act: str, what: Mapping[str, str], why: str) -> str:
        """Do what a person asks for, and write down who and why.

        Args:
            act: ``approve`` or ``refuse`` a question, ``raise`` a cap, ``resume`` an account, let through ``once`` what
                was refused in it, or ``stop`` it.
            what: The ``id`` of the question; ``account``, ``resource``, ``period`` and ``amount`` of the cap; or the
                ``account``.
            why: Kept beside it.

        Returns:
            What was done.

        Raises:
            ConfigError, LedgerError: It cannot be done.
        """
        if act in ("approve", "refuse"):
            done = await self._answer(act, what.get("id", ""), why)
        elif act in ("raise", "resume", "once", "stop"):
            if (payer := self._gateway.ledgers.payer) is None:
                raise ConfigError("no shared ledger is configured ([ledger]); caps of the file are changed there")
            done = await asyncio.to_thread(change, payer, act, what, why)
        else:
            raise ConfigError("an act is one of approve, refuse, raise, resume, once, stop")
        self._acts.appendleft({"at": datetime.now(UTC).isoformat(), "what": done, "why": why})
        return done

    async def _answer(self, act: str, id: str, why: str) -> str:
        gone = "this call does not wait any more: it was answered elsewhere, ended, or waited for too long"
        if (asked := self._desk.find(id)) is None:
            raise ConfigError(gone)
        done = f"{'approved' if act == 'approve' else 'refused'} {asked.tool} for {asked.who.client}"
        scope = self._gateway.ledgers.current(asked.who.client, asked.who.session)
        await self._gateway.ledgers.note(scope, f"{WHO} {done}: {why}")  # first, so that no call goes before it
        no = "" if act == "approve" else f"it is destructive, and a person did not allow it{f': {why}' if why else ''}"
        if not self._desk.answer(asked, no):
            raise ConfigError(gone)
        return done


def change(payer: StorePayer, act: str, what: Mapping[str, str], why: str) -> str:
    """Change what a payer pays from: an account of its own, no other one.

    Raises:
        ConfigError, LedgerError: See :meth:`GatewayPage.act`.
    """
    account, store = what.get("account", ""), payer.store
    if account not in accounts_of(payer.scope, payer.labels):
        raise ConfigError("the gateway does not pay from this account")
    if act == "raise":
        key = account, what.get("resource", ""), what.get("period", "")
        cap = next((balance.cap for balance in store.read(payer.scope, payer.labels) if balance.cap.key == key), None)
        if cap is None:
            raise ConfigError("the account has no such cap any more")
        added = replace(cap, amount=kind_of(cap.resource).count(what.get("amount", "")))
        if not added.amount:
            raise ConfigError('how much is to be added? For instance "$5"')
        store.top_up(added, WHO, why)
        return f"raised {account} by {in_units(added.resource, added.amount)}"
    if act == "stop":
        store.pause(account, WHO, why, stopped=True)
        return f"stopped {account}"
    store.resume(account, WHO, why, once=act == "once")
    return f"resumed {account}" + (" for the call that was refused" if act == "once" else "")


def accounts(payer: StorePayer) -> dict[str, Any]:
    """The accounts that a payer pays from, and which of them are paused."""
    own = accounts_of(payer.scope, payer.labels)
    try:
        caps = payer.store.read(payer.scope, payer.labels)
        pauses = [pause for pause in payer.store.pauses() if pause.account in own]
    except LedgerError as error:
        return {"problem": str(error)}
    return {
        "caps": [
            {"account": cap.account, "period": str(cap.period), **_bar(cap.resource, amount, spent, held)}
            for cap, _, amount, spent, held, _ in caps
        ],
        "pauses": [
            pause._asdict() | {"at": pause.at.isoformat(), "wanted": want and in_units(want.resource, want.amount)}
            for pause in pauses
            for want in (pause.wanted,)
        ],
    }


def _bar(kind: str, cap: int, spent: int, held: int) -> dict[str, Any]:
    counts = {"cap": cap, "spent": spent, "held": held, "left": max(0, cap - spent - held)}
    return {"kind": kind, **counts, **{f"{name}_text": in_units(kind, count) for name, count in counts.items()}}


def _of_books(books: GatewayBooks) -> tuple[list[dict[str, Any]], dict[date, Day]]:
    """The caps of the run and of the clients and sessions that have taken most, and what each day took."""
    scopes = [RUN, *books.fullest(1, MOST_SCOPES), *books.fullest(2, MOST_SCOPES)]
    return [_scope(books.reading(scope, own=True)) for scope in scopes], dict(books.days)


def _scope(account: ScopeReading) -> dict[str, Any]:
    capped = {limit.kind for limit in account.limits}
    bars = [_bar(limit.kind, limit.cap, limit.spent, limit.held) for limit in account.limits]
    rest = [_text(kind, count) for kind, count in account.spent.items() if kind not in capped]
    name = name_of(account.scope)
    return {
        "of": name,
        "name": account.scope.removeprefix(f"{RUN}/") if name != "run" else name,
        "bars": bars,
        "spent": rest,
    }


def _text(kind: str, count: int | None) -> str:
    return f"unknown {kind}" if count is None else in_units(kind, count)


def _first(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The first rows of each client, and how many there are."""
    seen, shown = Counter[str](), []
    for client, row in rows:
        seen[client] += 1
        if seen[client] <= MOST_OF_CLIENT:
            shown.append(row)
    return {"rows": shown, "count": seen.total()}


def _about(call: WatchedCall) -> dict[str, Any]:
    worst = [_text(kind, call.worst[kind]) for kind in call.worst if kind != "steps"]
    of = {"client": call.client, "session": call.scope.rpartition("/")[2], "tool": call.tool}
    return {**of, "at": call.at.isoformat(), "worst": " · ".join(worst)}


def _question(asked: ApprovalQuestion) -> dict[str, Any]:
    until = asked.at + timedelta(seconds=asked.seconds)
    about = {"id": asked.id, "client": asked.who.client, "tool": asked.tool, "origin": asked.origin}
    worst = " · ".join(_units(kind, most) for kind, most in asked.worst.items() if kind != "steps")
    return {**about, "worst": worst, "at": asked.at.isoformat(), "until": until.isoformat()}


def why_of(fields: Mapping[str, Any]) -> str:
    """Why a call was refused, without what the page says beside it."""
    if fields["error"] == "budget_exceeded":
        kind = fields["resource"]
        asked, left, cap = (_units(kind, fields[name]) for name in ("requested", "left", "cap"))
        return f"{asked} asked for, {left} of {cap} left in the {fields['scope']}"
    message = str(fields["message"]).removeprefix(f"{fields.get('tool')} was not called")
    return message.removeprefix(", nothing was spent").removeprefix(": ")


def would_do(fields: Mapping[str, Any]) -> str:
    """What would let the call through, or do the same; empty where nobody knows."""
    ways = []
    if fields.get("cap_needed") is not None:
        ways.append(f"a cap of {_units(fields['resource'], fields['cap_needed'])} would do")
    if fields.get("in_flight"):
        ways.append(f"{_units(fields['resource'], fields['in_flight'])} are set aside by calls in flight")
    for said, names in (
        ("what fits", [field["tool"] for field in fields.get("would_fit", ())]),
        ("similar", fields.get("near", ())),
    ):
        ways += [f"{said}: {', '.join(names)}"] if names else []
    return "; ".join(ways)


def _units(kind: str, amount: float | None) -> str:
    if amount is None:
        return _text(kind, None)
    return in_units(kind, kind_of(kind).count(amount)) if kind in kinds() else f"{amount:,} {kind}"


def days(mapping: Mapping[date, Day], refusals: Mapping[date, int], last: date) -> list[dict[str, Any]]:
    """What was spent on each of the last days, and how many calls were refused since the gateway's start."""
    listed = [last - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]
    return [
        {
            "day": f"{day:%d %b}".lstrip("0"),
            "calls": of_day.calls,
            "refused": refusals.get(day, 0),
            "spent": {kind: [n, _text(kind, n)] for kind, n in of_day.spent.items() if kind != "steps"},
        }
        for day in listed
        for of_day in (mapping.get(day, Day()),)
    ]

"""Metrics of a gateway in the text format of Prometheus (version 0.0.4), for ``/metrics``.

The format is a dozen lines here, and half of what it says is read from the ledgers when it is asked for: a client
library would hold no more than five counters.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from tape.budget import Balance, LedgerError, Resources, StorePayer
from tape.budget.contract import State
from tape.gateway.books import RUN, GatewayBooks, scope_of
from tape.gateway.gateway import Gateway
from tape.gateway.page import LEDGER_SECONDS
from tape.gateway.watching import WatchedCall
from tape.guard.left import ScopeReading, amount

KIND = "text/plain; version=0.0.4; charset=utf-8"
METRICS = {
    "calls_begun_total": "Calls that were held and sent.",
    "calls_ended_total": "Calls that have ended, by state of the hold.",
    "refusals_total": "Refusals, by error and by whose cap.",
    "overspend_total": "What calls took beyond their worst case, in units.",
    "call_seconds": "From the hold of a call to its end.",
    "spent": "What was spent, in units.",
    "held": "What is set aside for open calls, in units.",
    "cap": "The cap, in units.",
    "left": "What is left of the cap, in units.",
    "used_share": "The share of the cap that was spent.",
    "oldest_hold_seconds": "Age of the oldest open hold, 0 for none.",
    "journal_readable": "1, or 0 where the journal cannot be read.",
}
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Seconds of a call, up to the usual ``call_seconds``."""
NO_TOOL = "(unknown)"
"""In the place of a tool that the gateway does not offer; no tool can be called that."""
SCOPES = ("session", "client", "run", "")
"""Whose caps refuse a call; the accounts of a shared ledger are ``ledger``, since there may be any number of them."""

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]
"""A name, perhaps with a suffix of histograms, the labels, and the value."""


def text_of(samples: Iterable[Sample]) -> str:
    """Samples as Prometheus reads them; an empty label is none."""
    lines: dict[str, list[str]] = {name: [] for name in METRICS}
    for name, labels, value in samples:
        held = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels if text)
        family = name if name in METRICS else name.rpartition("_")[0]
        lines[family].append(f"tape_gateway_{name}{f'{{{held}}}' if held else ''} {value}\n")
    return "".join(f"{_head(name)}{''.join(line)}" for name, line in lines.items())


def _head(name: str) -> str:
    kind = "counter" if name.endswith("_total") else "histogram" if name == "call_seconds" else "gauge"
    return f"# HELP tape_gateway_{name} {METRICS[name]}\n# TYPE tape_gateway_{name} {kind}\n"


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


class Metrics:
    """A watcher that counts calls, and a page of what it counted and of what the ledgers hold."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._in_flight: dict[str, float] = {}
        self._counts = Counter[tuple[str, Labels]]()
        self._overspend, self._seconds = Counter[str](), dict[str, list[float]]()
        self._asking: asyncio.Task[Sequence[Balance]] | None = None
        self._known, _ = gateway.ledgers.read(self._of_books)

    def begun(self, call: WatchedCall) -> None:
        """See :class:`Watcher`."""
        self._in_flight[call.id] = time.monotonic()
        self._count("calls_begun_total", call)

    def ended(self, call: WatchedCall, state: State, spent: Resources) -> None:
        """See :class:`Watcher`."""
        self._count("calls_ended_total", call, ("state", state))
        took = time.monotonic() - self._in_flight.pop(call.id)
        counts = self._seconds.setdefault(call.tool, [0.0] * (len(BUCKETS) + 2))  # the last one is their sum
        counts[sum(took > most for most in BUCKETS)] += 1
        counts[-1] += took
        for kind, count in spent.items():
            if count is not None and (worst := call.worst[kind]) is not None and count > worst:
                self._overspend[kind] += count - worst

    def refused(self, call: WatchedCall, fields: Mapping[str, Any]) -> None:
        """See :class:`Watcher`."""
        scope = fields.get("scope", "")
        self._count(
            "refusals_total", call, ("error", fields["error"]), ("scope", scope if scope in SCOPES else "ledger")
        )

    def _count(self, name: str, call: WatchedCall, *labels: tuple[str, str]) -> None:
        tool = call.tool if call.tool in self._gateway.catalog.tools else NO_TOOL
        self._counts[name, (("tool", tool), *labels)] += 1

    async def page(self) -> tuple[str, str]:
        """The media type and the text; where the journal cannot be read, of what was booked before."""
        readable = 1
        try:
            self._known, begun = await self._gateway.ledgers.look(self._of_books)
        except LedgerError:
            readable, begun = 0, []
        now, now_here = datetime.now(UTC), time.monotonic()
        ages = [now_here - at for at in self._in_flight.values()] + [(now - at).total_seconds() for at in begun]
        of_all = [("oldest_hold_seconds", (), max(ages, default=0)), ("journal_readable", (), readable)]
        return KIND, text_of([*self._of_calls(), *self._known, *_caps(await self._shared()), *of_all])

    def _of_books(self, books: GatewayBooks) -> tuple[list[Sample], list[datetime]]:
        """What was spent and is held, and when others have begun what they have open."""
        samples = list(_sums(books.reading(RUN, own=True), ("scope", "run")))
        for client in self._gateway.config.client:
            samples += _sums(books.reading(scope_of(client), own=True), ("scope", "client"), ("client", client))
        return samples, [record.begun for record in self._gateway.ledgers.others(books)]

    async def _shared(self) -> Sequence[Balance]:
        """The caps of the shared ledger, asked in a thread, once at a time; none where it does not answer in time."""
        payer = self._gateway.ledgers.payer
        if payer is None:
            return ()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(asyncio.to_thread(_read, payer))
        await asyncio.wait((self._asking,), timeout=LEDGER_SECONDS)
        return self._asking.result() if self._asking.done() else ()

    def _of_calls(self) -> Iterator[Sample]:
        for (name, labels), count in self._counts.items():
            yield name, labels, count
        for kind, count in self._overspend.items():
            yield "overspend_total", (("resource", kind),), amount(kind, count) or 0
        for tool, (*counts, total) in self._seconds.items():
            of: Labels = (("tool", tool),)
            for most, below in zip((*map(str, BUCKETS), "+Inf"), accumulate(counts), strict=True):
                yield "call_seconds_bucket", (*of, ("le", most)), below
            yield from (("call_seconds_sum", of, total), ("call_seconds_count", of, sum(counts)))


def _sums(account: ScopeReading, *whose: tuple[str, str]) -> Iterator[Sample]:
    caps = {limit.kind: limit for limit in account.limits}
    for kind in sorted({*account.spent, *account.held, *caps}):
        labels, counts = (*whose, ("resource", kind)), {"spent": account.spent[kind], "held": account.held[kind]}
        if (limit := caps.get(kind)) is not None:
            counts |= {"cap": limit.cap, "left": limit.left}
            yield "used_share", labels, limit.spent / limit.cap if limit.cap else 1
        yield from ((name, labels, amount(kind, count) or 0) for name, count in counts.items())


def _read(payer: StorePayer) -> Sequence[Balance]:
    try:
        return payer.store.read(payer.scope, payer.labels)
    except LedgerError:
        return ()


def _caps(balances: Iterable[Balance]) -> Iterator[Sample]:
    for balance in balances:
        cap, kind = balance.cap, balance.cap.resource
        labels = (("scope", "ledger"), ("account", cap.account), ("per", str(cap.period)), ("resource", kind))
        yield "cap", labels, amount(kind, balance.amount) or 0
        yield "left", labels, amount(kind, balance.left) or 0
        yield "used_share", labels, balance.spent / balance.amount if balance.amount else 1

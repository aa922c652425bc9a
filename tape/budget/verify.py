"""Replays the lines of a ledger: each hold fitted, each ended once, and no line was changed (docs/reference/ledger.md).

It decides each line anew from those before it, in :class:`~tape.budget.stores.claims.ClaimBooks`: what a database has
decided by its functions is so decided a second time. The lines of a root are linked by their hashes. That its last
lines are missing shows only beside a hash that was kept elsewhere, an anchor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tape.budget.accounts import require_amounts
from tape.budget.balances import Cap
from tape.budget.contract import HoldRequest, Refused
from tape.budget.periods import Period
from tape.budget.resources import in_units
from tape.budget.rules import LedgerError, of_lacking
from tape.budget.stores.chain import linked, unlinked
from tape.budget.stores.claims import ClaimBooks
from tape.budget.stores.file import HEADS
from tape.budget.stores.windows import Hold, Record
from tape.errors import ConfigError, DataError
from tape.reading import parse_json, short

_TIMES = ("at", "expires", "until")
_WRONG = (
    LedgerError,
    ConfigError,
    DataError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
    OverflowError,
)
"""What a line that cannot follow the ones before it raises."""


@dataclass
class Verified:
    """What the lines of a ledger show.

    Attributes:
        lines: How many were replayed.
        wrong: The first line of each root that cannot be, and why; what follows it is not replayed.
        debts: What was spent above a cap, with the hold that took it.
        ends: The last hash of each root: an anchor for a later check. A file has one root, without a name.
        holds: How many there are.
        open: How many have not ended.
        unlinked: Lines without a hash, of which a change is not found.
    """

    lines: int = 0
    wrong: list[str] = field(default_factory=list)
    debts: list[str] = field(default_factory=list)
    ends: dict[str, str] = field(default_factory=dict)
    holds: int = 0
    open: int = 0
    unlinked: int = 0


class _Root:
    """The lines of one root so far; a file has one without a name."""

    def __init__(self, name: str) -> None:
        self.name, self.books, self.hash, self.count = name, ClaimBooks(), "", 0
        self._ended: dict[str, datetime] = {}

    def take(self, record: Record) -> None:
        """Decide a line anew, and do it.

        Raises:
            ValueError: It is not what could be decided then.
        """
        books, do, at = self.books, record["do"], record["at"]
        hold = books.holds.get(record.get("id", ""))
        of = str(record.get("scope") or record.get("account") or (self.name if hold is None else hold.request.scope))
        if self.name and of.partition("/")[0].partition("#")[0] != self.name:
            raise ValueError(f"it is of {short(of)}, which has lines of its own")
        if do == "hold":
            seconds = max(1, int((record["expires"] - at).total_seconds()))
            asked = HoldRequest(
                record["id"], record["scope"], record["worst"], record["labels"], record["name"], seconds,
                record["free"], record.get("part", ""),
            )  # fmt: skip
            _require_allowed(books.reserve(asked, at))
        elif do == "grow":
            require_amounts("the hold", record["worst"], unknown=True)
            _require_allowed(books.grow(record["id"], record["worst"], at))
            _require_known(record["worst"], [] if hold is None else [key[1] for key, _ in hold.windows])
        elif do in ("cap", "top_up", "reset"):
            self._require_change(record)
        elif do in ("end", "book", "final"):
            self._require_end(record, hold)
        elif do == "finish" and record["provisional"]:
            raise ValueError("what has ended for good does not end again")
        if do == "book" and hold is not None:
            hold.state = record["state"]
            books.book(hold, record["spent"], at)
        elif do != "final":
            books.apply(record)
        if hold is not None and do in ("end", "final"):
            self._ended[record["id"]] = at
            if "effect" not in record and "provisional" in record:
                hold.state, hold.expired = record["state"], record["provisional"]

    def _require_change(self, record: Record) -> None:
        """A change of a cap is one that could be made."""
        books, at = self.books, record["at"]
        cap = Cap(record["account"], record["resource"], record.get("amount", 0), Period.parse(record["period"]))
        if record["do"] == "reset":
            books.reset(cap.key, "", "", at)
        else:
            (books.cap if record["do"] == "cap" else books.top_up)(cap, "", "", at)

    def _require_end(self, record: Record, hold: Hold | None) -> None:
        """A hold ends once, or is corrected once where its end was provisional; a part takes what was spent in it."""
        do, named = record["do"], short(record["id"])
        if hold is None:
            raise ValueError(f"there is no hold {named}")
        ended, part = hold.state != "held", hold.request.part
        if ended and not hold.expired and do == "book" and part:
            spent = record["spent"]
            if any(spent.get(kind, 0) < count for kind, count in hold.spent.items()):
                raise ValueError(f"the hold {named} of a part that has ended takes less than before")
            return
        # An effect whose end is provisional ends twice in its batch: for its caller, and until a person has decided.
        again = do == "final" and record["provisional"] and self._ended.get(record["id"]) == record["at"]
        if ended and not hold.expired and not again:
            raise ValueError(f"the hold {named} ends twice")
        if do == "final" and not ended:
            raise ValueError(f"the hold {named} has not ended")
        for cap in self.books.of_account(part) if part and do == "end" else ():
            if record["spent"].get(cap.resource, 0) < self.books.taken(cap, record["at"]):
                raise ValueError(f"the part {part} ends with less {cap.resource} than was spent in it")

    def debts(self) -> Iterable[str]:
        """What holds took above caps."""
        for hold in self.books.holds.values():
            for (account, resource, period), owed in hold.owed.items():
                if owed > 0:
                    named = f" ({hold.request.name})" if hold.request.name else ""
                    yield (
                        f"{account} {resource} {period}: {in_units(resource, owed)} by the hold "
                        f"{hold.request.id}{named}, which took more than its worst case"
                    )


def _require_known(worst: Mapping[str, Any], capped: Iterable[str]) -> None:
    if unknown := [kind for kind in capped if kind in worst and worst[kind] is None]:
        raise ValueError(f"how much {unknown[0]} it takes is unknown, and that is capped")


def _require_allowed(decided: Any) -> None:
    if isinstance(decided, Refused):
        raise ValueError(
            f"it did not fit: {decided.account} had {decided.left} {decided.resource} left of {decided.amount} "
            f"({decided.period})"
        )
    if not isinstance(decided, dict):
        raise ValueError(f"it could not begin: {str(decided)[:200]}")


def verify(lines: Iterable[str], anchors: Iterable[tuple[str, str]] = ()) -> Verified:
    """Replay the lines of a ledger in a file, or of an export.

    Args:
        lines: JSON lines, as ``tape ledger export --chain`` prints them; those of a root in order.
        anchors: Names of roots (empty for a file), each with a hash that was kept: it has to be among the root's lines.

    Examples:
        >>> from contextlib import closing
        >>> from pathlib import Path
        >>> from tape.budget import Cap, HoldRequest, open_store
        >>> from tape.budget.verify import verify
        >>> with closing(open_store("file://budget.ledger")) as store:
        ...     store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        ...     _ = store.reserve(HoldRequest("call-1", "org/team", {"usd": 20_000}))
        >>> found = verify(Path("budget.ledger").read_text().splitlines())
        >>> found.wrong, found.holds, found.open
        ([], 1, 1)
    """
    result, roots, ids = Verified(), dict[str, _Root](), dict[str, str]()
    missing, broken, head = {*anchors}, set[str](), None
    for number, text in enumerate(lines, 1):
        try:
            body, claimed = unlinked(text)
            record = parse_json(body.encode(), "line")
            if number == 1 and record in HEADS:
                head = record
                continue
            name = record["root"] if head is None else ""
            if "what" in record or (head is not None and "root" in record) or type(name) is not str:
                raise ValueError("it is a head, or names no root")
            root = roots.setdefault(name, _Root(name))
        except _WRONG as error:
            result.wrong.append(f"line {number}: no line of a ledger ({str(error)[:200]})")
            continue
        if name in broken:
            continue
        try:
            _check_link(root, body, claimed, linked_all=head is not None and "chain" in head)
            if record["do"] == "hold" and ids.setdefault(record["id"], name) != name:
                raise ValueError(f"the hold {short(record['id'])} is of {ids[record['id']]} already")
            times = {key: datetime.fromisoformat(record[key]) for key in _TIMES if key in record}
            root.take({**record, **times})
        except _WRONG as error:
            broken.add(name)
            of_root = f" of {name}" if name else ""
            result.wrong.append(f"line {number}{of_root}: {str(error)[:300] or 'it cannot follow the lines before it'}")
            continue
        root.hash, root.count = claimed, root.count + 1
        result.lines, result.unlinked = result.lines + 1, result.unlinked + (not claimed)
        missing.discard((name, claimed))
    for name, anchor in sorted(missing):
        result.wrong.append(f"the anchor {anchor[:16]} of {name or 'the file'} is in no line: lines are missing")
    for name, root in sorted(roots.items()):
        result.ends[name] = root.hash
        result.debts += root.debts()
        result.holds += len(root.books.holds)
        result.open += sum(hold.state == "held" for hold in root.books.holds.values())
        if name not in broken:
            result.wrong += root.books.wrong(root.books.holds.values())
            for hold, kind, amount in root.books.lacking():
                result.wrong.append(of_lacking(hold.request.part, kind, amount))
    return result


def _check_link(root: _Root, body: str, claimed: str, *, linked_all: bool) -> None:
    if not claimed and not root.hash and not linked_all:
        return
    if root.count and not root.hash:
        raise ValueError("the lines before it have no hash")
    if linked(body, root.hash)[1] != claimed:
        raise ValueError("a line was changed, removed or put elsewhere: its hash is not that of what stands before it")

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

from tape.budget.contract import HoldRequest, Refused
from tape.budget.resources import in_units
from tape.budget.rules import LedgerError
from tape.budget.stores.chain import linked, unlinked
from tape.budget.stores.claims import ClaimBooks
from tape.budget.stores.windows import Record
from tape.errors import ConfigError, DataError
from tape.reading import parse_json, short

_TIMES = ("at", "expires", "until")
_WRONG = (LedgerError, ConfigError, DataError, ValueError, KeyError, TypeError, AttributeError, AssertionError)
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
    """The lines of one root so far."""

    def __init__(self) -> None:
        self.books, self.hash, self.count = ClaimBooks(), "", 0

    def take(self, record: Record) -> None:
        """Decide a line anew, and do it.

        Raises:
            ValueError: It is not what could be decided then.
        """
        books, do, at = self.books, record["do"], record["at"]
        hold = books.holds.get(record.get("id", ""))
        if do == "hold":
            seconds = max(1, int((record["expires"] - at).total_seconds()))
            asked = HoldRequest(
                record["id"], record["scope"], record["worst"], record["labels"], record["name"], seconds,
                record["free"], record.get("part", ""),
            )  # fmt: skip
            _require_allowed(books.reserve(asked, at))
        elif do == "grow":
            _require_allowed(books.grow(record["id"], record["worst"], at))
        elif do in ("end", "book", "final"):
            if hold is None:
                raise ValueError(f"there is no hold {short(record['id'])}")
            above = do == "book" and hold.request.part and hold.state != "held"
            if hold.state != "held" and not hold.expired and not above and not record.get("provisional"):
                raise ValueError(f"the hold {short(record['id'])} ends twice")
        if do == "book" and hold is not None:
            hold.state = record["state"]
            books.book(hold, record["spent"], at)
        elif do != "final":
            books.apply(record)
        if hold is not None and do in ("end", "book", "final") and "effect" not in record and "provisional" in record:
            hold.state, hold.expired = record["state"], record["provisional"]

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


def _require_allowed(decided: Any) -> None:
    if isinstance(decided, Refused):
        raise ValueError(
            f"it did not fit: {decided.account} had {decided.left} {decided.resource} left of {decided.amount} "
            f"({decided.period})"
        )
    if not isinstance(decided, dict):
        raise ValueError(f"it could not begin: {str(decided)[:200]}")


def verify(lines: Iterable[str], anchors: Mapping[str, str] | None = None) -> Verified:
    """Replay the lines of a ledger in a file, or of an export.

    Args:
        lines: JSON lines, as ``tape ledger export --chain`` prints them; those of a root in order.
        anchors: Hashes that were kept, by the root's name (empty for a file): each has to be among the root's lines.

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
    result, roots = Verified(), dict[str, _Root]()
    missing, broken = dict(anchors or {}), set[str]()
    for number, text in enumerate(lines, 1):
        try:
            body, claimed = unlinked(text)
            record = parse_json(body.encode(), "line")
            if record.get("what") == "ledger":
                continue
            name = record.get("root", "")
            root = roots.setdefault(name, _Root())
        except _WRONG as error:
            result.wrong.append(f"line {number}: no line of a ledger ({str(error)[:200]})")
            continue
        if name in broken:
            continue
        try:
            _check_link(root, body, claimed, first=root.count == 0)
            times = {key: datetime.fromisoformat(record[key]) for key in _TIMES if key in record}
            root.take({**record, **times})
        except _WRONG as error:
            broken.add(name)
            of_root = f" of {name}" if name else ""
            result.wrong.append(f"line {number}{of_root}: {str(error)[:300] or 'it cannot follow the lines before it'}")
            continue
        root.hash, root.count = claimed, root.count + 1
        result.lines, result.unlinked = result.lines + 1, result.unlinked + (not claimed)
        if missing.get(name) == claimed:
            del missing[name]
    for name, anchor in missing.items():
        result.wrong.append(f"the anchor {anchor[:16]} of {name or 'the file'} is in no line: lines are missing")
    for name, root in sorted(roots.items()):
        result.ends[name] = root.hash
        result.debts += root.debts()
        result.holds += len(root.books.holds)
        result.open += sum(hold.state == "held" for hold in root.books.holds.values())
        if name not in broken:
            result.wrong += root.books.wrong(root.books.holds.values())
    return result


def _check_link(root: _Root, body: str, claimed: str, *, first: bool) -> None:
    if not claimed and (first or not root.hash):
        return
    if linked(body, root.hash)[1] != claimed:
        raise ValueError("a line was changed, removed or put elsewhere: its hash is not that of what stands before it")

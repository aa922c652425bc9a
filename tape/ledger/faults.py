"""Faults of a database in one sentence each, without a password."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from tape.errors import TapeError
from tape.ledger.rules import LedgerError, UnreachableLedgerError

_PASSWORD = re.compile(r"(://[^:/?#]*:).*(?=@)|(password=)(?:'(?:[^'\\]|\\.)*'|\S+)")
_GRANTS = "grant usage on schema tape_ledger, and select, insert, update, delete on all tables in it"


def shown(url: str) -> str:
    """An address without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}...", url)


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    lines = str(error).strip().splitlines()
    found = lines[0] if lines else type(error).__name__
    assert found, "something is said in any case"
    assert "\n" not in found, "it is one line"
    return found


def raise_fault(url: str, error: Any) -> NoReturn:
    """A fault of the database as one sentence."""
    assert not isinstance(error, TapeError), "what is a sentence already is not told as a fault of the database"
    where = f"the ledger {shown(url)}"
    said = shown(first_line(error))
    state = getattr(error, "sqlstate", None)
    if state in ("3F000", "42P01", "42883"):
        raise LedgerError(f"{where} has no tables of a ledger yet; make them by `tape ledger init --url ...`") from None
    if state == "42501":
        raise LedgerError(f"{where} does not give this user its rights ({said}); {_GRANTS}") from None
    if any(kind.__name__ == "OperationalError" for kind in type(error).__mro__):  # it has no connection, or a cut one
        raise UnreachableLedgerError(
            f"{where} cannot be reached ({said}); no call is made without it. See to the server, or name another"
        ) from None
    raise LedgerError(f"{where} has failed ({said}); no call is made without it") from None

"""Settling by hand what was in flight when a gateway ended; until then it counts as its worst case."""

from __future__ import annotations

from tape.budget import Budget, Resources
from tape.errors import ConfigError
from tape.gateway.journal import Journal
from tape.gateway.ledgers import amounts


def settle(journal: Journal, text: str) -> str:
    """Write down what a call has really taken.

    Args:
        journal: No gateway has it now.
        text: ``CALL:AMOUNTS``, for instance ``17:usd=0.01``; what is not named was not taken, but for the step.

    Returns:
        What was done, for people.

    Raises:
        ConfigError: There is no such call, or the amounts are malformed.
        JournalError: The journal cannot be written.
    """
    number, colon, written = text.partition(":")
    if not colon or not number.isdecimal():
        raise ConfigError(
            f"--settle {text!r}: expected CALL:AMOUNTS, for instance 17:usd=0.01, or 17: if it took nothing"
        )
    found = journal.open.get(int(number))
    if found is None:
        open_ = ", ".join(f"{key} ({one.tool})" for key, one in journal.open.items()) or "none"
        raise ConfigError(f"--settle {text!r}: no call {number} was in flight; there is: {open_}")
    caps = Budget.parse(written)
    spent = Resources({**caps, "steps": found.worst["steps"]})
    journal.settle(int(number), spent, "settled by hand")
    return f"call {number} of {found.tool} took {amounts(spent)}, not {amounts(found.worst)}"

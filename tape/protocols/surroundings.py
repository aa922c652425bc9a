"""What an environment learns of the run that plays it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal


async def nobody_is_asked(question: str) -> bool:
    """Refuse: there is no person."""
    del question
    return False


@dataclass(frozen=True)
class Surroundings:
    """The run around an environment.

    Attributes:
        run: The run's own name; the same after a resumption.
        left: What is left of every cap, in units.
        ask: Asks the run's approver a question in words; False where there is none.
    """

    run: str = ""
    left: Callable[[], Mapping[str, Decimal]] = dict
    ask: Callable[[str], Awaitable[bool]] = nobody_is_asked

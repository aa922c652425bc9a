"""Who watches the calls of a gateway is told of each: metrics, spans, the audit log, the page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from tape.budget import Resources
from tape.budget.contract import State


@dataclass(eq=False)
class WatchedCall:
    """A call of a tool; one object from its beginning to its end.

    Attributes:
        client: Who calls.
        scope: Its session in the journal.
        tool: What is called; at most 100 characters of it where there is no such tool.
        digest: SHA-256 of the arguments as JSON with sorted keys, empty where they were not looked at; the arguments
            themselves are told to nobody.
        at: When it was asked for.
        worst: Its worst case, in counts; nothing where it is not known yet.
        id: Of the hold in the journal; empty where nothing is held.
    """

    client: str
    scope: str
    tool: str
    digest: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    worst: Resources = field(default_factory=Resources)
    id: str = ""

    def held(self, id: str, worst: Resources) -> WatchedCall:
        """It, with a hold from now on."""
        self.id, self.worst = id, worst
        return self


class CallWatcher(Protocol):
    """Is told of calls, in the gateway's loop; it does not wait, and what it raises is the gateway's fault."""

    def begun(self, call: WatchedCall) -> None:
        """Its worst case is held, and it is sent now."""

    def ended(self, call: WatchedCall, state: State, spent: Resources) -> None:
        """It is over; ``booked`` where its effect is unknown, ``voided`` where it was not sent after all."""

    def refused(self, call: WatchedCall, fields: Mapping[str, Any]) -> None:
        """It was not made, or came to nothing; with the fields of the refusal, ``error`` and ``message`` among them.

        A call that has a hold was told as ended before: its result is not passed on.
        """


def digest_of(arguments: Any) -> str:
    """What stands for arguments where they are not to be kept."""
    text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

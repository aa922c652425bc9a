"""The event that says what a plan will change, as it was seen on a copy."""

from __future__ import annotations

from typing import ClassVar

from tape.trace.bases import DescribedEvent
from tape.trace.events import register_event


@register_event
class DryRunEvent(DescribedEvent):
    """What the path that is begun will change (``world_model="copy"``).

    Attributes:
        tried: How many actions were made on copies so far, and what that took.
        changes: What will be different at the end of the path, a line each.
    """

    type: ClassVar[str] = "dry_run"
    tried: str
    changes: list[str]

    def description(self) -> str:
        """The changes, and what it took to know them."""
        lines = self.changes or ["nothing"]
        return "\n".join([f"on a copy the plan changes ({self.tried}):", *(f"  {line}" for line in lines)])

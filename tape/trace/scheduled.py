"""The event of calls that run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tape.trace.bases import DescribedEvent
from tape.trace.events import register_event


class ScheduledCall(BaseModel):
    """A call among others that run at once.

    Attributes:
        name: What is called.
        start: Milliseconds from the beginning.
        end: The same when it has ended.
        critical: The last call would end later if it did.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: str
    start: int = Field(ge=0, le=1 << 53)
    end: int = Field(ge=0, le=1 << 53)
    critical: bool = False


def with_critical(calls: Sequence[ScheduledCall]) -> list[ScheduledCall]:
    """Calls in the order of their starts; critical is the chain back from the last end, each begun after one ended."""
    ordered = sorted(calls, key=lambda call: (call.start, call.end))
    chain = [max(ordered, key=lambda call: call.end)] if ordered else []
    while before := [call for call in ordered if call.end <= chain[-1].start and call.start < chain[-1].start]:
        chain.append(max(before, key=lambda call: call.end))
    return [call.model_copy(update={"critical": any(call is other for other in chain)}) for call in ordered]


@register_event
class ScheduledEvent(DescribedEvent):
    """Calls that run at once, as they were planned or as they have run.

    Attributes:
        done: They have run; else they are planned.
        calls: The calls.
    """

    type: ClassVar[str] = "scheduled"
    done: bool
    calls: list[ScheduledCall]

    def description(self) -> str:
        """A line for all of them, and one for each."""
        chain = " -> ".join(call.name for call in self.calls if call.critical)
        end = max((call.end for call in self.calls), default=0)
        first = f"{'calls made' if self.done else 'calls planned'} at once: {end / 1000:g} s"
        lines = [f"{first}, critical path {chain}" if chain else first]
        spans = [(f"{call.start / 1000:g} to {call.end / 1000:g} s", call) for call in self.calls]
        wide = max((len(span) for span, _ in spans), default=0)
        lines += [f"  {span:>{wide}}  {call.name}{'  critical' if call.critical else ''}" for span, call in spans]
        return "\n".join(lines)

"""The events about a plan: what it changes on a copy, whether its rest fits the budget, which calls run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tape.budget import in_units
from tape.trace.events import register_event
from tape.trace.shapes import Count, DescribedEvent


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


LEVEL = 0.8
"""The probability of the interval that is recorded."""


class Rest(BaseModel):
    """What the rest of a path takes of a resource, in counts.

    Attributes:
        mean: What it is expected to take.
        deviation: The standard deviation of that.
        low: The lower end of the interval that holds it with the probability :data:`LEVEL`.
        high: The upper end.
        least: The least that it can take, by declaration.
        most: The most.
        left: What is left of the cap.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    mean: float
    deviation: float
    low: float
    high: float
    least: Count
    most: Count
    left: Count


@register_event
class ForecastEvent(DescribedEvent):
    """Whether the rest of the best path fits what is left (``costs="expected"``).

    Attributes:
        step: Steps taken before it.
        probability: Of fitting all budgets, if the path is followed to its end and does not fail for another reason.
        verdict: ``fits``: it does even at its worst. ``open``. ``nothing_fits``: no path of the plan graph does, even
            if every step takes the least that is declared; this is proven.
        rest: By resource; empty with ``nothing_fits``.
    """

    type: ClassVar[str] = "forecast"
    step: int
    probability: float
    verdict: Literal["fits", "open", "nothing_fits"]
    rest: dict[str, Rest]

    def description(self) -> str:
        """One line, with the resources whose use is open."""
        if self.verdict == "nothing_fits":
            return f"known after {_steps(self.step)}: no plan fits any more, even if every step takes its least"
        uncertain = {kind: rest for kind, rest in self.rest.items() if rest.least < rest.most}
        needs = "; ".join(
            f"{in_units(kind, _short(rest.low))} to {in_units(kind, _short(rest.high))} of {in_units(kind, rest.left)}"
            for kind, rest in uncertain.items()
        )
        sure = "certain" if self.verdict == "fits" else f"{self.probability:.2f}"
        return f"{sure} that the rest fits" + (f"; it takes {needs} ({LEVEL:.0%})" if needs else "")


def _short(count: float) -> int:
    """Three digits are enough for an end of an interval."""
    return int(round(count, min(0, 3 - len(str(round(count))))))


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"

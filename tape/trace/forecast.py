"""The event that says, before each step, whether the task still fits the budget."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from tape.budget import in_units
from tape.trace.bases import DescribedEvent
from tape.trace.events import register_event
from tape.trace.shapes import Count

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

"""What a complete path would need where none fits: each budget alone, or several together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solvers import Cause, Explanation
from tape.budget import in_units

_CAUSES = {
    Cause.NO_TERMINAL: "No plan of this round ends in a state with a reward.",
    Cause.UNREACHABLE: "No end of a plan can be reached any more: what the plans rest on was observed to be otherwise.",
}


@dataclass(frozen=True)
class Needs:
    """Why no complete path fits, and what one would need.

    Attributes:
        found: The explanation of the problem that the rule poses; its resources have their names.
        message: What the agent reported, where it ended the episode.
    """

    found: Explanation
    message: str = ""

    @property
    def cause(self) -> str:
        """What stands in the way, if it is no budget; else empty."""
        causes, horizon = self.found.causes, self.found.horizon
        if causes == (Cause.HORIZON,):
            least = self.found.nearest if horizon is None else horizon.least
            return f"A complete path needs {least} steps, more than the horizon allows."
        return next((_CAUSES[cause] for cause in causes if cause in _CAUSES), "")

    @property
    def together(self) -> dict[str, int] | None:
        """Counts that would do together; None where one budget alone would do, or nothing is known."""
        if self.found.joint is None or any(need.least is not None for need in self.found.budgets):
            return None
        return self.found.together

    @property
    def text(self) -> str:
        """One or two plain sentences."""
        if self.message:
            return f"{self.message[0].upper()}{self.message[1:]}."
        if self.cause:
            return self.cause
        parts = [
            f"{'' if need.proven else 'at most '}{in_units(need.limit, need.least)} where "
            f"{in_units(need.limit, need.given)} is left"
            for need in self.found.budgets
            if need.least is not None
        ]
        if parts:
            return f"A complete path needs {', or '.join(parts)}."
        if self.together:
            listed = " and ".join(in_units(kind, count) for kind, count in self.together.items())
            return f"A complete path needs {listed} together; more of one of them alone would not do."
        return "What a complete path would need could not be worked out."

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "text": self.text,
            "cause": self.cause,
            "budgets": [
                {
                    "kind": need.limit,
                    "left": need.given,
                    "least": need.least,
                    "known": need.proven,
                    "left_text": in_units(need.limit, need.given),
                    "least_text": None if need.least is None else in_units(need.limit, need.least),
                }
                for need in self.found.budgets
            ],
            "together": self.together,
        }

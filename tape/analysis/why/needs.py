"""What a complete path would need where none fits: each budget alone, and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from solvers import Cause
from tape.analysis.why.relaxation import Selections
from tape.budget import in_units


@dataclass(frozen=True)
class Need:
    """What one budget would have to be, all others as they were.

    Attributes:
        kind: The resource.
        left: What was left, in counts.
        least: The least count that would do; None: no count alone would.
        known: Whether that is proven.
    """

    kind: str
    left: int
    least: int | None
    known: bool = True


@dataclass(frozen=True)
class Needs:
    """Why no complete path fits, and what one would need.

    Attributes:
        cause: What stands in the way, if it is no budget; else empty.
        budgets: For each budget the least that would do alone.
        together: Counts that would do together, of the budgets that would have to grow; none of them can be less while
            the others stay. Empty where one budget alone would do.
        said: What the agent itself said, where it ended the episode.
    """

    cause: str = ""
    budgets: tuple[Need, ...] = ()
    together: Mapping[str, int] | None = None
    said: str = ""

    @property
    def text(self) -> str:
        """One or two plain sentences."""
        if self.said:
            return f"{self.said[0].upper()}{self.said[1:]}."
        if self.cause:
            return self.cause
        alone = [need for need in self.budgets if need.least is not None]
        parts = [
            f"{'' if need.known else 'at most '}{in_units(need.kind, need.least)} where "
            f"{in_units(need.kind, need.left)} is left"
            for need in alone
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
                    "kind": need.kind,
                    "left": need.left,
                    "least": need.least,
                    "known": need.known,
                    "left_text": in_units(need.kind, need.left),
                    "least_text": None if need.least is None else in_units(need.kind, need.least),
                }
                for need in self.budgets
            ],
            "together": None if self.together is None else dict(self.together),
        }


_CAUSES = {
    Cause.NO_TERMINAL: "No plan of this round ends anywhere that is worth going to.",
    Cause.UNREACHABLE: "No end of a plan can be reached any more: what the plans rest on was observed to be otherwise.",
}


def needs_of(found: Selections, said: str = "") -> Needs:
    """What a complete path would need on a graph.

    Args:
        found: The graph and the budgets.
        said: What the agent itself said.

    Raises:
        SolverError: A path that the solver found does not survive its check.
    """
    explanation = found.explain()
    for cause in explanation.causes:
        if cause in _CAUSES:
            return Needs(_CAUSES[cause], said=said)
    budgets = tuple(Need(need.limit, need.given, need.least, need.proven) for need in explanation.budgets)
    together = None
    if explanation.joint is not None and all(need.least is None for need in budgets):
        joint = zip(found.kinds, explanation.joint.budgets, strict=True)
        together = {kind: count for kind, count in joint if count > found.rule.left[kind]}
    short = ""
    if Cause.HORIZON in explanation.causes and Cause.BUDGET not in explanation.causes:
        least = explanation.nearest if explanation.horizon is None else explanation.horizon.least
        short = f"A complete path needs {least} steps, more than the horizon allows."
    return Needs(short, budgets, together, said)

"""The methods that studies compare: an agent with the settings in which it differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tape.engine import ablations
from tape.engine.ablations import changed


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes:
        label: Its name in tables and plots.
        agent: Name of the agent.
        changes: Fields of ``TapeConfig`` that differ from the defaults; settings of a method are nested, as in
            ``{"sdp": {"chain": "sample"}}``.
    """

    label: str
    agent: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def on(self, shared: Mapping[str, Any], label: str | None = None) -> Method:
        """This method on top of settings that others have too; where both set something, the method's own counts.

        Args:
            shared: Fields of ``TapeConfig``.
            label: Another name.
        """
        return replace(self, label=label or self.label, changes=merged(shared, self.changes))


def merged(first: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """Both settings, the second ones over the first; mappings within them are merged, not replaced."""
    mapping = dict(first)
    for name, value in then.items():
        held = mapping.get(name)
        both = isinstance(held, Mapping) and isinstance(value, Mapping)
        mapping[name] = merged(held, value) if both else value
    return mapping


PAPER = Method("TAPE (paper)", "tape", {"ablations": changed(ablations.PAPER)})
TAPE = Method("TAPE+", "tape")
TAPE_PLUS = (
    f"**{PAPER.label}** is the paper's algorithm 1; **{TAPE.label}** is the same with this engine's additions, which "
    "docs/reference/engine.md names one by one."
)
"""Stands beside every table with both rows."""

Addition: TypeAlias = tuple[str, Mapping[str, Any]]

ADDITIONS: tuple[Addition, ...] = (
    ("distinct plans", {"sampling": "independent"}),
    ("plans from inside the graph", {"extend": 0}),
    ("second thoughts on invalid moves", {"requery_threshold": 0.0}),
    ("caution", {"cautious": False}),
    ("mean scores of open ends", {"score": "argmax"}),
    ("probes", {"probe": False}),
    ("selecting anew", {"reselect": False}),
    ("mismatches in what the path needs", {"mismatch": "exact"}),
)
"""What TAPE+ adds to the paper's algorithm: (label, the ablations that switch it off). Together they are
``tape.engine.ablations.PAPER``."""


def left_out(additions: Sequence[Addition] = ADDITIONS) -> tuple[Method, ...]:
    """TAPE+ without each of its additions."""
    return tuple(Method(f"{TAPE.label} without {label}", "tape", {"ablations": off}) for label, off in additions)


def added_in(additions: Sequence[Addition] = ADDITIONS) -> tuple[Method, ...]:
    """The paper's algorithm with each of the additions alone."""
    paper = changed(ablations.PAPER)
    return tuple(
        Method(f"{PAPER.label} with {label}", "tape", {"ablations": {n: v for n, v in paper.items() if n not in off}})
        for label, off in additions
    )


SIMULATOR = Method("TAPE+ (simulator): upper bound", "tape", {"world_model": "simulator"})
REACT = Method("ReAct", "react")
PLAN_AND_ACT = Method("Plan-and-Act", "plan_and_act")
REPLANNING = Method("Plan-and-Act, replanning", "plan_and_act_replan")
BEST_REACT = Method("Best-of-4 ReAct", "best_of_n_react")
BEST_PLAN_AND_ACT = Method("Best-of-4 Plan-and-Act", "best_of_n_plan_and_act")
BEST_PLAN_SELECTS = {"ablations": {"selector": "experiments.ablations.selectors:PlanSelector"}}
BEST_PLANS = Method("Best-of-4 plans", "tape", BEST_PLAN_SELECTS).on(PAPER.changes)
"""Best-of-N over plans: 4 plans are sampled, rolled out and scored, and the best one that fits is carried out as in the
paper's algorithm; none are recombined."""
OPEN_LOOP = Method("open-loop plan", "open_loop")
ALL_STEP = Method("TAPE+, replanning at every step", "tape_all_step")
BASELINES = (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, BEST_PLAN_AND_ACT, BEST_PLANS)
EVERYTHING = (*BASELINES, PAPER, TAPE, ALL_STEP, SIMULATOR)

GUARD = {"no_repeat": True}
"""Of every agent on ALFWorld: no free choice repeats a command in an identical state."""

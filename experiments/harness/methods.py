"""The methods that studies compare: an agent with the settings in which it differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


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
        """This method on top of settings that others have too; where both say something, the method's own counts.

        Args:
            shared: Fields of ``TapeConfig``.
            label: Another name.
        """
        return replace(self, label=label or self.label, changes=merged(shared, self.changes))


def merged(first: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """Both settings, the second ones over the first; mappings within them are merged, not replaced."""
    found = dict(first)
    for name, value in then.items():
        held = found.get(name)
        both = isinstance(held, Mapping) and isinstance(value, Mapping)
        found[name] = merged(held, value) if both else value
    return found


TAPE = Method("TAPE (LM world model)", "tape")
SIMULATOR = Method("TAPE (simulator): upper bound", "tape", {"world_model": "simulator"})
REACT = Method("ReAct", "react")
PLAN_AND_ACT = Method("Plan-and-Act", "plan_and_act")
REPLANNING = Method("Plan-and-Act, replanning", "plan_and_act_replan")
BEST_REACT = Method("Best-of-4 ReAct", "best_of_n_react")
BEST_PLAN_AND_ACT = Method("Best-of-4 Plan-and-Act", "best_of_n_plan_and_act")
OPEN_LOOP = Method("open-loop plan", "open_loop")
ALL_STEP = Method("TAPE, replanning at every step", "tape_all_step")
BASELINES = (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, BEST_PLAN_AND_ACT)
EVERYTHING = (*BASELINES, TAPE, ALL_STEP, SIMULATOR)

GUARD = {"no_repeat": True, "max_replans": 50}
"""Of every agent on ALFWorld: no free choice repeats a command in an identical state, and replanning lasts as the steps
do."""

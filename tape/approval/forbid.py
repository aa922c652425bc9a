"""Destructive actions that nobody approves: which of them an episode may do (setting ``destructive``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tape.approval import AFTER_READING, AGAIN, PERHAPS_AGAIN
from tape.plan.reader import read
from tape.plan.unfold import in_order, unfold
from tape.plan.vocabulary import ASK
from tape.protocols import Action, Domain
from tape.trace import ActedEvent, Event, PlansSampledEvent

Destructive = Literal["allow", "refuse", "planned"]

FORBIDDEN = (
    "destructive actions are refused",
    "in no plan of the first sampling",
    "done as often as a plan of the first sampling has it",
)
"""Why, by the rules ``refuse`` and ``planned``."""

REFUSED_BEFORE = "refused before"
"""Why an action is refused that was refused in this episode."""


def forbidden(
    rule: Destructive,
    domain: Domain,
    action: Action,
    events: Sequence[Event],
    notes: Mapping[Action, str] | None = None,
) -> str:
    """Why an action is refused; empty where it is not.

    ``planned`` admits what a plan of the first sampling has, as often as the one plan that has it most often: it was
    written before any result was read, so no text in a result can have asked for it. An argument that stands for a
    result, like ``#1``, is taken as it is written. Of programs the agent knows more (``notes``): what they do for good
    is compared after results have been filled in.

    Args:
        rule: The setting.
        domain: The task, which marks destructive actions.
        action: The action.
        events: Those of the episode so far.
        notes: What the agent knows of it (:mod:`tape.approval`).
    """
    if rule == "allow" or not domain.destructive(action):
        return ""
    if rule == "refuse":
        return FORBIDDEN[0]
    if notes and action in notes:
        return {AFTER_READING: FORBIDDEN[1], AGAIN: FORBIDDEN[2], PERHAPS_AGAIN: FORBIDDEN[2]}.get(notes[action], "")
    first = next((event for event in events if isinstance(event, PlansSampledEvent | ActedEvent)), None)
    plans = first.plans if isinstance(first, PlansSampledEvent) else ()
    planned = max((max(plan.count(action), _called(domain, plan).count(action)) for plan in plans), default=0)
    done = sum(isinstance(event, ActedEvent) and event.action == action for event in events)
    return "" if done < planned else FORBIDDEN[2 if planned else 1]


def _called(domain: Domain, plan: Sequence[str]) -> list[Action]:
    """The calls of a plan that is a program, by every variant, whose arguments are there before any result is."""
    if domain.programs is None:
        return []
    words = domain.programs.words(())
    run = unfold(read("\n".join(plan), words), words, in_order([]))
    return [
        option.action
        for call in run.calls
        if call.ready and call.name != ASK
        for option in domain.programs.options(call.name, call.arguments)
    ]

"""What a model's plans of a planning problem were worth, by the exact rules, from the trace of an episode."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from envs.pddl.domain import PddlDomain
from envs.pddl.state import PddlState


def legal(trace: Path, domain: PddlDomain) -> dict[str, int]:
    """Counts of an episode.

    Returns:
        ``calls`` up to the first of a plan that does not apply, and the ``legal`` ones; ``plans``, and those without a
        wrong call, ``whole``; selected ``walks``, and those that no sampled plan has, ``joined``.
    """
    counts = dict.fromkeys(("calls", "legal", "plans", "whole", "walks", "joined"), 0)
    known, plans = {domain.key(domain.task.start): domain.task.start}, list[Sequence[str]]()
    here = domain.task.start
    for line in trace.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["type"] == "plans_sampled" and event["start"] in known:
            for plan in event["plans"]:
                followed = _followed(domain, known[event["start"]], plan)
                known |= {domain.key(state): state for state in followed}
                whole = len(followed) == len(plan)
                counts["plans"] += 1
                counts["whole"] += whole
                counts["legal"] += len(followed)
                counts["calls"] += len(followed) + (not whole)
                plans.append(plan)
        elif event["type"] == "walk_selected" and event["actions"]:
            counts["walks"] += 1
            counts["joined"] += not any(_within(event["actions"], plan) for plan in plans)
        elif event["type"] == "acted":
            after = domain.step(here, event["action"]).state
            if not plans:  # it samples no plans
                counts["calls"] += 1
                counts["legal"] += after is not None
            here = after or here
            known[domain.key(here)] = here
    return counts


def _followed(domain: PddlDomain, state: PddlState, plan: Sequence[str]) -> list[PddlState]:
    """The states along a plan, up to the first call that does not apply."""
    states: list[PddlState] = []
    for action in plan:
        after = domain.step(state, action).state
        if after is None:
            break
        states.append(state := after)
    return states


def _within(walk: Sequence[str], plan: Sequence[str]) -> bool:
    return any(list(plan[at : at + len(walk)]) == list(walk) for at in range(len(plan) - len(walk) + 1))

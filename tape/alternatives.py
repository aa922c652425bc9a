"""Variants in the plan graph: every step of a plan by every tool that does the same (DESIGN section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from tape.graph import PlanGraph
from tape.protocols import Action, DeclaredDomain, State

MOST_STATES = 4000
"""No more states than about so many are added for one plan; what comes after keeps the plan's own variants."""


def possible(domain: DeclaredDomain, state: State, actions: Sequence[Action]) -> list[Action]:
    """A plan with each action that cannot be taken replaced by the first of its variants that can, as far as that goes.

    Which variant a plan names is no reason to drop the plan: the call may have failed by that one alone.

    Args:
        domain: Declares variants and outcomes.
        state: Where the plan starts.
        actions: The plan.
    """
    found: list[Action] = []
    for action in actions:
        tried = dict.fromkeys([action, *domain.variants(state, action)])
        options = [(option, domain.outcome(state, option).state) for option in tried]
        option, reached = next(((option, after) for option, after in options if after is not None), (action, None))
        found.append(option)
        if reached is None:
            break
        state = reached
    return found


def add_variants(graph: PlanGraph, domain: DeclaredDomain, state: State, actions: Sequence[Action]) -> None:
    """Add every walk that does what a folded plan does with any of the variants at each step.

    The plan supports all these walks alike: which variant it names is the model's guess, the choice is the solver's.
    Edges are added in the order in which the domain names the variants, and of walks of equal worth the solver takes
    the one whose edges came first; so this comes before the plan itself is folded.

    Args:
        graph: Gets the walks.
        domain: Declares variants and outcomes.
        state: Where the plan starts.
        actions: The plan, cut where it becomes invalid.
    """
    walk = {domain.key(state)}
    own, layer = state, {domain.key(state): state}
    added: list[str] = []
    for action in actions:
        after: dict[str, State] = {}
        for key, before in layer.items():
            # Past the limit only the plan itself is followed.
            options = domain.variants(before, action) if len(added) < MOST_STATES else [action]
            if len(added) >= MOST_STATES and key != domain.key(own):
                continue
            for option in options:
                reached = domain.outcome(before, option).state
                if reached is not None:
                    after.setdefault(graph.add_variant(before, option, reached), reached)
        following = domain.outcome(own, action).state
        assert following is not None, "the plan is cut before an action that cannot be taken"
        own, layer = following, after
        walk.add(domain.key(own))
        added += [key for key in after if key not in walk]
    graph.support(dict.fromkeys(added))

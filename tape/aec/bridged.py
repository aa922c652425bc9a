"""Bridging actions inserted into plans, where they are cheaper than asking (SQ-BCP; the smallest sound form is ours).

Only the plan is edited. What comes of it is judged like any other plan: predicted by the world model, verified on
grounded facts alone, and paid from the same budgets. The bridge is declared from the state that is observed now, so it
may not fit where the plan needs it; then verification says so, and the plan stays as it was. A bridge and a query
are compared by their numbers of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tape.aec.bridging import Unknown, Way, resolve
from tape.aec.verifier import Verdict
from tape.protocols import Action, State
from tape.protocols.parts import Predicates

MOST = 4
"""Bridges in one plan."""

Verify = Callable[[Sequence[Action]], Verdict]


def bridged(domain: Predicates, state: State, verify: Verify, actions: Sequence[Action]) -> tuple[Action, ...]:
    """A plan with bridges before the steps that lack something.

    A precondition that is violated or lost on the way is bridged wherever that can be done; one that is unknown only
    where :func:`tape.aec.bridging.resolve` prefers the bridge to a query, with even odds. Every bridge has to leave
    fewer objections to the plan than there were.

    Args:
        domain: Declares bridges and queries.
        state: What is observed now.
        verify: The verifier, on the facts of now.
        actions: The plan.
    """
    current = tuple(actions)
    for _ in range(MOST):
        verdict = verify(current)
        edited = _edited(domain, state, verdict, current)
        found = next((plan for plan in edited if len(verify(plan).witnesses) < len(verdict.witnesses)), None)
        if found is None:
            break
        current = found
    return current


def _edited(
    domain: Predicates, state: State, verdict: Verdict, actions: tuple[Action, ...]
) -> Iterator[tuple[Action, ...]]:
    """The plan with one bridge, for each objection to one of its steps."""
    for witness in verdict.witnesses:
        predicate = witness.predicate
        if predicate is None or witness.required is None or witness.step >= len(actions):
            continue
        bridge = domain.bridge(state, predicate, witness.required)
        if not bridge:
            continue
        if witness.kind == "uncovered":
            query = domain.query(state, predicate)
            asked = len(query.actions) if query is not None else None
            way = resolve(Unknown(0.5, witness.required, asked, len(bridge)))
            if way is None or way.way is not Way.BRIDGE:
                continue
        yield (*actions[: witness.step], *bridge, *actions[witness.step :])

"""Insert actions that establish a precondition, where they are cheaper than a query (SQ-BCP's bridging actions).

The smallest sound form is ours. Only the plan is edited; the result is predicted, verified and paid like any other
plan. The domain declares the actions for the state observed now, so they may not fit where the plan needs them:
verification then fails, and the plan stays as it was. Establishing actions and queries are compared by their length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tape.methods.aec.resolution import Unknown, Way, resolve
from tape.methods.aec.verifier import PlanVerdict
from tape.protocols import Action, State
from tape.protocols.parts import Predicates

MOST = 4
"""Most insertions in one plan."""

Verify = Callable[[Sequence[Action]], PlanVerdict]


def with_establishing_actions(
    domain: Predicates, state: State, verify: Verify, actions: Sequence[Action]
) -> tuple[Action, ...]:
    """A plan with establishing actions before the steps whose preconditions fail.

    A precondition that is violated or lost is established wherever the domain declares actions for it. An unknown one
    is established only where :func:`tape.methods.aec.resolution.resolve` prefers that to a query, with even odds. Every
    insertion has to leave the plan with fewer witnesses against it.

    Args:
        domain: Declares establishing actions and queries.
        state: What is observed now.
        verify: The verifier on the current facts.
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
    domain: Predicates, state: State, verdict: PlanVerdict, actions: tuple[Action, ...]
) -> Iterator[tuple[Action, ...]]:
    """The plan with one insertion, for each witness against one of its steps."""
    for witness in verdict.witnesses:
        predicate = witness.predicate
        if predicate is None or witness.required is None or witness.step >= len(actions):
            continue
        establishing = domain.establishing(state, predicate, witness.required)
        if not establishing:
            continue
        if witness.kind == "uncovered":
            query = domain.query(state, predicate)
            asked = len(query.actions) if query is not None else None
            way = resolve(Unknown(0.5, witness.required, asked, len(establishing)))
            if way is None or way.way is not Way.ESTABLISH:
                continue
        yield (*actions[: witness.step], *establishing, *actions[witness.step :])

"""What the rest of a path rests on: the mismatch test ``needed`` [ours; the paper compares whole states].

The test is AEC's pullback (:mod:`tape.engine.pullback`) at every interface of the rest of the path, begun in the state
that was observed: each action's declared preconditions hold where it comes, and at the end holds what the path is
followed for. So a difference counts wherever it comes to bear, in the next action or in the goal alone, and one that
bears on nothing is no mismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tape.engine.progression import progress
from tape.engine.pullback import pullback
from tape.protocols import Action, Domain, State
from tape.protocols.predicates import Assignment, Effects, OpenDomain, Predicate, PredicateDomain, SkippingDomain


def still_good(
    domain: Domain,
    predicted: Sequence[State],
    observed: State,
    actions: Sequence[Action],
    *,
    taken: tuple[State, Action] | None = None,
    goals: bool = True,
) -> bool:
    """Whether the rest of a path does from an observed state what it was to do from the predicted one.

    What a path is followed for is the goal where its predicted end has it, else everything that the end shows: of an
    end short of the goal nobody can say what of it the goal will need. What nobody has seen holds for nothing, so a
    path that rests on it is only followed while all is as predicted. In an open domain
    (:class:`tape.protocols.predicates.OpenDomain`) such an end is followed for its ``purpose`` instead, and what
    nothing is declared of is taken as predicted; what the last action is declared to do must not be seen undone.

    Args:
        domain: Declares predicates; of any other nothing is known but that states differ, so the answer is False.
        predicted: The state that was predicted where ``observed`` was seen, and that after each of the actions.
        observed: The state that was observed.
        actions: The rest of the path.
        taken: The state before the last action, and that action.
        goals: Whether the declared goal may be asked.

    Returns:
        False where something that is needed does not hold, is unknown, or cannot be told.
    """
    if not isinstance(domain, PredicateDomain):
        return False
    if isinstance(domain, SkippingDomain):
        predicted, actions = _required(domain, predicted, observed, actions)
    if isinstance(domain, OpenDomain) and domain.credit(observed) < domain.credit(predicted[0]):
        return False
    hoped = [domain.ground(state) for state in predicted]
    seen, aims = domain.ground(observed), _aims(domain, predicted[-1], hoped[-1], goals=goals)
    if isinstance(domain, OpenDomain) and taken is not None:
        declared = domain.effects(taken[1], domain.ground(taken[0]))
        if any(None not in (value, seen.get(p)) and seen[p] is not value for p, value in declared.items()):
            return False
    asked = {p for needs in (*map(domain.preconditions, actions), *aims) for p in needs}
    # In an open domain what was seen elsewhere may have changed since, so that the prediction goes before it.
    relevant = asked if isinstance(domain, OpenDomain) else {*seen, *asked}
    known = {p: value for p in relevant if (value := seen.get(p)) is not None}
    effects = _predicted(domain, hoped, actions, asked) if isinstance(domain, OpenDomain) else None
    run = progress(domain, known, actions, effects=effects, goals=aims)
    covered = all(predicate in known for predicate in run.pre)
    return covered and not any(pullback(interface, at) for at, interface in enumerate(run.interfaces))


def _required(
    domain: SkippingDomain, predicted: Sequence[State], observed: State, actions: Sequence[Action]
) -> tuple[Sequence[State], Sequence[Action]]:
    """A path without what is for cases that may not arise: it is left out where they have not, so it needs nothing.

    What was predicted to come of it is taken to come of the action before it. Where its case has arisen it stays.
    """
    states, kept = [predicted[0]], list[Action]()
    for action, state in zip(actions, predicted[1:], strict=True):
        arisen = len(states) == 1 and not domain.futile(observed, action)
        if domain.optional(action) and not arisen:
            states[-1] = state
        else:
            states.append(state)
            kept.append(action)
    return states, kept


def _aims(domain: PredicateDomain, end: State, shown: Assignment, *, goals: bool) -> Sequence[Assignment]:
    """What a path with a predicted end is followed for, as alternatives."""
    declared = [goal for goal in domain.goals() if goal] if goals else []
    if any(_holds(goal, shown) for goal in declared):
        return declared
    return [domain.purpose(end) if isinstance(domain, OpenDomain) else dict(shown)]


def _holds(goal: Assignment, known: Assignment) -> bool:
    return all(known.get(predicate) is value for predicate, value in goal.items())


def _predicted(
    domain: OpenDomain, hoped: Sequence[Assignment], actions: Sequence[Action], asked: set[Predicate]
) -> Callable[[int, Assignment], Effects]:
    """What is declared of a step, and what is predicted of it where nothing is declared, or not what comes of it."""

    def effects(step: int, known: Assignment) -> Mapping[Predicate, bool | None]:
        declared = dict(domain.effects(actions[step], known))
        before, after = hoped[step], hoped[step + 1]
        for predicate in asked:
            value = after.get(predicate)
            certain = declared.get(predicate) is not None
            if not certain and (predicate in declared or value != before.get(predicate)):
                declared[predicate] = value
        return declared

    return effects

"""Which differences from a prediction matter on ScienceWorld: those in what the rest of the path rests on [ours].

The paper compares whole states. The test is AEC's pullback (:mod:`tape.protocols.pullback`) at every interface of the
rest of the path, begun in the state that was observed: each action's declared preconditions hold where it comes, and at
the end holds what the path is followed for. So a difference counts wherever it comes to bear, in the next action or in
the goal alone, and one that bears on nothing is no mismatch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence

from tape.protocols import Action, State
from tape.protocols.hooks import EpisodeHooks
from tape.protocols.parts import Predicates, Progress
from tape.protocols.predicates import Assignment, Effects, Predicate
from tape.protocols.pullback import progress, pullback


class Experiment(Predicates, EpisodeHooks, Progress):
    """What the test asks of its domain."""

    @abstractmethod
    def purpose(self, state: State) -> Assignment:
        """What a path is followed for that ends in a state short of the goal: what the rest of the task may need."""

    @abstractmethod
    def optional(self, action: Action) -> bool:
        """Whether an action is for a case that may not arise, so that it is left out where it has not arisen."""


class PathNeeds:
    """The mismatch test of ScienceWorld."""

    def __init__(self, domain: Experiment) -> None:
        self._domain = domain

    def still_good(
        self,
        predicted: Sequence[State],
        observed: State,
        actions: Sequence[Action],
        *,
        taken: tuple[State, Action] | None = None,
        goals: bool = True,
    ) -> bool:
        """Whether the rest of a path does from an observed state what it was to do from the predicted one.

        What a path is followed for is the goal where its predicted end has it, else the ``purpose`` of that end. Facts
        that were not seen do not count as holding, so a path that rests on them goes on only while all is as predicted.
        Where nothing is declared, the prediction is taken. The declared effects of the last action must not be seen
        undone.
        """
        domain = self._domain
        predicted, actions = _required(domain, predicted, observed, actions)
        hoped = [domain.ground(state) for state in predicted]
        seen, aims = domain.ground(observed), _aims(domain, predicted[-1], hoped[-1], goals=goals)
        if taken is not None:
            declared = domain.effects(taken[1], domain.ground(taken[0]))
            if any(None not in (value, seen.get(p)) and seen[p] is not value for p, value in declared.items()):
                return False
        asked = {p for needs in (*map(domain.preconditions, actions), *aims) for p in needs}
        known = _values(seen, asked)
        run = progress(domain, known, actions, effects=_predicted(domain, hoped, actions, asked), goals=aims)
        covered = all(predicate in known for predicate in run.pre)
        return covered and not any(pullback(interface, at) for at, interface in enumerate(run.interfaces))

    def denies(self, state: State, action: Action, after: State | None) -> bool:
        """Whether an action whose needs are met is called invalid, or what it surely changes is predicted to stay."""
        domain = self._domain
        known = domain.ground(state)
        if after is None:
            needs = domain.preconditions(action)
            met = bool(needs) and all(known.get(p) is value for p, value in needs.items())
            return met and not domain.is_no_op(state, action)
        shown = domain.ground(after)
        changes = {p: v for p, v in domain.effects(action, known).items() if v is not None and known.get(p) is not v}
        return any(shown.get(p) is (not value) for p, value in changes.items())


def _required(
    domain: Experiment, predicted: Sequence[State], observed: State, actions: Sequence[Action]
) -> tuple[Sequence[State], Sequence[Action]]:
    """A path without what is for cases that may not arise: it is left out where they have not, so it needs nothing.

    What was predicted to come of it is taken to come of the action before it. Where its case has arisen it stays.
    """
    states, kept = [predicted[0]], list[Action]()
    for action, state in zip(actions, predicted[1:], strict=True):
        arisen = len(states) == 1 and not domain.is_no_op(observed, action)
        if domain.optional(action) and not arisen:
            states[-1] = state
        else:
            states.append(state)
            kept.append(action)
    return states, kept


def _aims(domain: Experiment, end: State, shown: Assignment, *, goals: bool) -> Sequence[Assignment]:
    """What a path with a predicted end is followed for, as alternatives."""
    declared = [goal for goal in domain.goals() if goal] if goals else []
    if any(_holds(goal, shown) for goal in declared):
        return declared
    return [domain.purpose(end)]


def _holds(goal: Assignment, known: Assignment) -> bool:
    return all(known.get(predicate) is value for predicate, value in goal.items())


def _predicted(
    domain: Experiment, hoped: Sequence[Assignment], actions: Sequence[Action], asked: set[Predicate]
) -> Callable[[int, Assignment], Effects]:
    """What is declared of a step, and what is predicted of it where nothing is declared, or not what comes of it.

    A prediction counts for nothing where what is declared of the predicted state and of what was seen differ: it rests
    on a cause that was not seen, or was seen to be absent.
    """

    def effects(step: int, known: Assignment) -> Mapping[Predicate, bool | None]:
        before, after, action = hoped[step], hoped[step + 1], actions[step]
        # What was seen elsewhere may have changed since, so that the prediction goes before it.
        certain = domain.effects(action, {p: value for p, value in known.items() if p in asked})
        declared, hope = dict(domain.effects(action, known)), domain.effects(action, _values(before, known))
        for predicate in {*asked, *after}:
            value, was = after.get(predicate), before.get(predicate)
            expected = hope.get(predicate, was)
            if certain.get(predicate) is not None:
                declared[predicate] = certain[predicate]
            elif predicate in certain or predicate in declared or predicate in hope:
                if expected is None or expected is declared.get(predicate, known.get(predicate)):
                    declared[predicate] = value
            elif value != was:
                declared[predicate] = value
        return declared

    return effects


def _values(shown: Assignment, more: Iterable[Predicate]) -> Assignment:
    """What is known of all that is listed, and of more."""
    return {p: value for p in {*shown, *more} if (value := shown.get(p)) is not None}

"""The mismatch test of ScienceWorld: what the rest of a path rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from envs.scienceworld.mismatch import Experiment, PathNeeds
from tape.protocols import Action, State
from tape.protocols.predicates import Assignment, Effects, Predicate
from tests.profiles import examples
from tests.tape.methods.aec.declared import Declared

FACTS = tuple(Predicate(name) for name in "abcd")
Facts = Mapping[Predicate, bool]


@dataclass(frozen=True)
class Move:
    """What an action needs, what it changes, and what it changes only where some fact holds."""

    needs: Facts
    changes: Facts
    given: Predicate | None = None
    then: Predicate | None = None


@dataclass(frozen=True)
class Toy(Declared, Experiment):
    """A domain of a few facts; a state is an assignment, partial where something was not seen."""

    moves: tuple[Move, ...]
    goal: Facts

    def ground(self, state: State) -> Assignment:
        flags: Facts = state
        return flags

    def preconditions(self, action: Action) -> Assignment:
        return self.moves[int(action)].needs

    def effects(self, action: Action, known: Assignment) -> Effects:
        move = self.moves[int(action)]
        if move.given is None or move.then is None:
            return move.changes
        holds = known.get(move.given)
        if holds is None:
            return {**move.changes, move.then: None}
        return {**move.changes, **({move.then: True} if holds else {})}

    def goals(self) -> Sequence[Assignment]:
        return (self.goal,)

    def purpose(self, state: State) -> Assignment:
        flags: Facts = state
        return flags

    def value(self, state: State) -> float:
        return 0.0

    def is_no_op(self, state: State, action: Action) -> bool:
        return False

    def optional(self, action: Action) -> bool:
        return False

    def run(self, state: Facts, actions: Sequence[Action]) -> list[Facts] | None:
        """The states along a path in a world where all is known; None where an action fails."""
        states = [dict(state)]
        for action in actions:
            if any(states[-1][p] is not value for p, value in self.preconditions(action).items()):
                return None
            changed = {p: value for p, value in self.effects(action, states[-1]).items() if value is not None}
            states.append({**states[-1], **changed})
        return list(states)

    def holds(self, state: Facts) -> bool:
        return all(state[p] is value for p, value in self.goal.items())


def worlds(state: Facts) -> list[Facts]:
    """All that a partial state leaves possible."""
    open_ = [p for p in FACTS if p not in state]
    return [{**state, **dict(zip(open_, values, strict=True))} for values in product([True, False], repeat=len(open_))]


facts = st.dictionaries(st.sampled_from(FACTS), st.booleans(), max_size=2)
maybe = st.sampled_from([None, *FACTS])
moves = st.builds(Move, facts, facts, maybe, maybe)
toys = st.builds(Toy, st.lists(moves, min_size=3, max_size=3).map(tuple), facts)
whole = st.tuples(*[st.booleans()] * len(FACTS)).map(lambda values: dict(zip(FACTS, values, strict=True)))
seen = st.dictionaries(st.sampled_from(FACTS), st.booleans(), min_size=2)
paths = st.lists(st.sampled_from("012"), min_size=1, max_size=4)


@given(toys, whole, seen, paths)
@examples(160)
def test_no_path_goes_on_whose_rest_would_fail(toy: Toy, start: Facts, observed: Facts, path: list[Action]) -> None:
    predicted = toy.run(start, path)
    if predicted is None or not PathNeeds(toy).still_good(predicted, observed, path):
        return
    for world in worlds(observed):
        after = toy.run(world, path)
        assert toy.holds(after[-1]) if toy.goal and toy.holds(predicted[-1]) else after[-1] == predicted[-1]


@given(toys, whole, whole, paths)
@examples(80)
def test_where_all_is_seen_every_path_that_would_succeed_goes_on(
    toy: Toy, start: Facts, observed: Facts, path: list[Action]
) -> None:
    predicted, after = toy.run(start, path), toy.run(observed, path)
    if predicted is None or after is None or not toy.goal or not toy.holds(predicted[-1]):
        return
    assert PathNeeds(toy).still_good(predicted, observed, path) == toy.holds(after[-1])


@given(toys, whole, whole, paths)
@examples(80)
def test_equals_the_exact_test_where_every_action_needs_everything(
    toy: Toy, start: Facts, observed: Facts, path: list[Action]
) -> None:
    predicted = toy.run(start, path)
    if predicted is None:
        return
    still = [start] * (len(path) + 1)
    everything = replace(toy, moves=(Move(start, {}),) * len(toy.moves))
    assert PathNeeds(everything).still_good(still, observed, path) == (observed == start)


def test_short_of_the_goal_everything_that_the_end_shows_counts() -> None:
    a, _, c, d = FACTS
    toy = Toy((Move({a: True}, {c: True}),), {d: True})
    before = dict.fromkeys(FACTS, False) | {a: True}
    after = {**before, c: True}
    assert PathNeeds(toy).still_good([before, after], {**before, c: True}, ["0"])
    assert not PathNeeds(toy).still_good([before, after], {**before, FACTS[1]: True}, ["0"])


def test_a_prediction_counts_for_nothing_whose_cause_was_not_seen() -> None:
    a, b, _, _ = FACTS
    toy = Toy((Move({}, {}, given=a, then=b),), {b: True})
    predicted = [{a: True, b: False}, {a: True, b: True}]
    assert PathNeeds(toy).still_good(predicted, {a: True, b: False}, ["0"])
    assert not PathNeeds(toy).still_good(predicted, {b: False}, ["0"])
    assert not PathNeeds(toy).still_good(predicted, {a: False, b: False}, ["0"])


class Opened(Toy):
    """Nothing is declared of what actions change; credit is how many facts hold."""

    def effects(self, action: Action, known: Assignment) -> Effects:
        return {}

    def value(self, state: State) -> float:
        return sum(state.values())


def test_an_open_domain_goes_by_what_is_predicted() -> None:
    a, b, c, d = FACTS
    toy = Opened((Move({a: True}, {}), Move({b: True}, {})), {c: True})
    now = {a: True, b: False, c: False, d: False}
    path = [now, {**now, b: True}, {**now, b: True, c: True}]
    assert PathNeeds(toy).still_good(path, {**now, d: True}, ["0", "1"])
    assert not PathNeeds(toy).still_good(path, {**now, a: False, d: True}, ["0", "1"])  # as much credit, but 0 needs a
    assert PathNeeds(toy).still_good([{**now, d: True}, *path[1:]], now, ["0", "1"])  # credit is value, no need
    assert not PathNeeds(toy).still_good([now, now, {**now, c: True}], now, ["0", "1"])  # nothing brings b about

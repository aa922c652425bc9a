"""The key of a state: what was asked for in order, what failed, the answer; not which variants did it."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import Call, call
from tape.tools.state import Failure, ToolState
from tests.tape.tools.helpers import CALLS, after

A_CALL = st.builds(
    lambda kind, variant, a: call(kind, variant, a=a),
    st.sampled_from(["f", "g"]),
    st.sampled_from(["", "v1", "v2"]),
    st.sampled_from([1, "; g(a=1)", "#1"]),
)
FEW = st.lists(A_CALL, max_size=4)
STATES = st.builds(
    lambda got, failed, answer: ToolState(after(*got).got, tuple(map(Failure, failed, failed.values())), answer),
    FEW | st.lists(CALLS, max_size=3),
    st.lists(st.tuples(A_CALL, st.integers(0, 2)), max_size=4).map(dict),
    st.none() | st.sampled_from(["#1", '"x"', "3"]),
)


def identity(state: ToolState) -> tuple[object, ...]:
    return (
        [found.call.symbol for found in state.got],
        {failure.call: failure.after for failure in state.failures},
        state.answer,
    )


@given(STATES, STATES)
def test_states_have_one_key_exactly_where_they_are_alike(one: ToolState, other: ToolState) -> None:
    assert (one.key() == other.key()) == (identity(one) == identity(other))


@given(FEW, st.randoms(use_true_random=False))
def test_which_variant_did_which_call_is_left_out(calls: list[Call], rng: object) -> None:
    names = {kind: [c.variant for c in calls if c.kind == kind] for kind in "fg"}
    for variants in names.values():
        rng.shuffle(variants)  # type: ignore[attr-defined]
    mixed = [Call(c.kind, names[c.kind].pop(), c.args) for c in calls]
    assert after(*mixed).key() == after(*calls).key()


@given(STATES)
def test_values_and_notes_are_no_part_of_the_key(state: ToolState) -> None:
    known = replace(state, got=tuple(replace(found, value="1", text="x") for found in state.got), note="odd")
    assert known.key() == state.key()
    assert known == state


def test_what_was_read_takes_the_place_of_the_text() -> None:
    state = ToolState().with_call(call("search", q="who"), json.dumps("a long text"), "a long text")
    assert state.unread() is not None
    read = state.read(json.dumps("Ann"))
    assert (read.unread(), read.values()) == (None, ["Ann"])


def test_a_text_without_the_answer_makes_the_call_a_failed_one() -> None:
    made = call("search", "cheap", q="who")
    state = after(call("f")).with_call(made, '"text"', "text").read(None)
    assert [found.call for found in state.got] == [call("f")]
    assert state.failed == (made,)
    assert "does not say" in state.note


def test_the_same_failure_counts_once_where_it_came_last() -> None:
    state = ToolState().with_failure(call("f"), "one").with_call(call("g")).with_failure(call("f"), "two")
    assert (state.failed, state.note) == ((call("f"),), "two")
    assert [failure.after for failure in state.failures] == [1]

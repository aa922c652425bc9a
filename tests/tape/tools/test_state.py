"""The key of a state: what was asked for in order, what failed, the answer; not which variants did it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import call
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
        [obtained.call.symbol for obtained in state.got],
        {failure.call: failure.after for failure in state.failures},
        state.answer,
    )


@given(STATES, STATES)
def test_states_have_one_key_exactly_where_they_are_alike(one: ToolState, other: ToolState) -> None:
    assert (one.key() == other.key()) == (identity(one) == identity(other))


@given(STATES)
def test_values_and_notes_are_no_part_of_the_key(state: ToolState) -> None:
    known = replace(state, got=tuple(replace(obtained, value="1", text="x") for obtained in state.got), note="odd")
    assert known.key() == state.key()
    assert known == state


def test_the_same_failure_counts_once_where_it_came_last() -> None:
    state = ToolState().with_failure(call("f"), "one").with_call(call("g")).with_failure(call("f"), "two")
    assert (state.failed, state.note) == ((call("f"),), "two")
    assert [failure.after for failure in state.failures] == [1]

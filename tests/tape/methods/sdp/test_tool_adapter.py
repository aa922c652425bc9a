"""SDP on tools: predicates of calls, states that come back from their fields, and the rules that steps keep."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.methods.sdp.events import TargetRecord
from tape.methods.sdp.operators import Outcome
from tape.methods.sdp.target import Target, predicate_of
from tape.methods.sdp.tool_adapter import GOAL, ToolAdapter, ToolValidate, facts_of
from tape.protocols import Observation
from tape.tools.calls import Call, call
from tape.tools.state import ToolState
from tests.profiles import examples
from tests.tape.tools.helpers import CALLS, after, domain


@given(made=CALLS, before=st.integers(0, 3))
@examples(40)
def test_every_call_has_a_predicate_that_can_be_read_again_and_holds_once_it_was_made(made: Call, before: int) -> None:
    adapter = ToolAdapter(domain())
    start = after(*(call("add", a=number, b=0) for number in range(before)))
    [target, goal] = adapter.along([start, start.with_call(made)], [made.text])
    assert (goal, target.kind) == (GOAL, made.kind)
    record = TargetRecord.model_validate_json(TargetRecord.of(target).model_dump_json())
    again = record.target()
    [(name, value)] = facts_of(again, start.with_call(made, "1"))
    assert (name, value) == (record.requires[0][0], True)
    assert facts_of(again, start) == ((name, False),)
    assert str(predicate_of(name)) == name


def test_who_made_a_call_is_no_part_of_its_predicate_and_its_number_is() -> None:
    adapter, start = ToolAdapter(domain()), ToolState()
    quick, exact = (call("multiply", name, a=2, b=3) for name in ("quick", "exact"))
    [target, _] = adapter.along([start, start.with_call(quick)], [quick.text])
    assert target.text == "#1 is the result of multiply(a=2, b=3)"
    assert dict(facts_of(target, start.with_call(exact, "6"))) == {"result(#1, multiply(a=2, b=3))": True}
    elsewhere = start.with_call(call("add", a=1, b=1), "2").with_call(exact, "6")
    assert dict(facts_of(target, elsewhere)) == {"result(#1, multiply(a=2, b=3))": False}


def test_an_answer_on_the_way_and_a_call_that_gives_nothing_have_targets_too() -> None:
    adapter, start = ToolAdapter(domain()), after(call("add", a=1, b=1))
    failed = start.with_failure(call("divide", a=1, b=0), "division by zero")
    [tried, given_, _] = adapter.along(
        [start, failed, ToolState(failed.got, failed.failures, "#1")], ["divide(a=1, b=0)", "answer(value=#1)"]
    )
    assert (tried.text, tried.kind, tried.requires) == ("divide(a=1, b=0) has been tried", "try", ())
    assert given_.text == "the answer #1 has been given"


@pytest.mark.parametrize(
    "name", ["result(#1)", "result(1, add(a=1, b=2))", "result(#0, add(a=1, b=2))", "result(#1, add(a=1,b=2))", "x()"]
)
def test_what_is_no_predicate_of_tools_is_not_so(name: str) -> None:
    target = Target("?", "add", ((predicate_of(name), True),))
    assert facts_of(target, after(call("add", a=1, b=2))) == ((name, False),)


def test_a_result_whose_number_is_taken_is_given_up() -> None:
    adapter, start = ToolAdapter(domain()), ToolState()
    wanted = call("multiply", "quick", a=2, b=3)
    [target, goal] = adapter.along([start, start.with_call(wanted)], [wanted.text])
    assert (adapter.lost(target, start), adapter.lost(goal, start)) == (None, None)
    assert adapter.ways(target, start) == ["multiply.quick(a=2, b=3)", "multiply.exact(a=2, b=3)"]
    assert adapter.ways(goal, start) is None
    other = start.with_call(call("add", a=1, b=1), "2")
    assert adapter.lost(target, other) == "#1 is the result of add(a=1, b=1)"
    once = start.with_failure(wanted, "no")
    assert (adapter.lost(target, once), adapter.ways(target, once)) == (None, ["multiply.exact(a=2, b=3)"])
    assert adapter.refused(wanted.text, once)
    assert not adapter.refused("answer(value=7)", once)


def test_validation_looks_at_no_words() -> None:
    """The state alone decides, whatever the observation says."""
    tool_domain = domain()
    start, made = ToolState(), call("add", a=1, b=2)
    chain = ToolAdapter(tool_domain).along([start, start.with_call(made)], [made.text])
    for state, k in ((start.with_call(made, "3"), 1), (start.with_failure(made, "no"), 0)):
        outcome = Outcome(start, made.text, Observation("#1 add(a=1, b=2) = 3"), state)
        verdict = asyncio.run(ToolValidate(tool_domain).validate(chain, outcome))
        assert (verdict.k, len(verdict.checks)) == (k, k + 1)

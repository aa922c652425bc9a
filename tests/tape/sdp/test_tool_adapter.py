"""SDP on tools: predicates of calls, states that come back from their fields, and the rules that steps keep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.protocols import Observation
from tape.sdp.adapter import ChecksSteps
from tape.sdp.adapters import adapter_of
from tape.sdp.events import TargetRecord, as_in_json
from tape.sdp.operators import Outcome
from tape.sdp.target import Target, predicate_of
from tape.sdp.tool_adapter import GOAL, ToolAdapter, ToolValidate
from tape.tools import ToolEnvironment, tool
from tape.tools.calls import Call, call
from tape.tools.domain import as_state
from tape.tools.state import ToolState
from tests.profiles import examples
from tests.tape.tools.helpers import CALLS, actions, after, computing, domain


@given(made=CALLS, before=st.integers(0, 3))
@examples(40)
def test_every_call_has_a_predicate_that_can_be_read_again_and_holds_once_it_was_made(made: Call, before: int) -> None:
    adapter = ToolAdapter(domain())
    start = after(*(call("add", a=number, b=0) for number in range(before)))
    [target, goal] = adapter.along([start, start.with_call(made)], [made.text])
    assert (goal, target.kind) == (GOAL, made.kind)
    record = TargetRecord.model_validate_json(TargetRecord.of(target).model_dump_json())
    again = record.target()
    restated = adapter.restated(again)
    assert restated is not None
    assert TargetRecord.of(restated) == record
    [(name, value)] = adapter.facts(again, start.with_call(made, "1"))
    assert (name, value) == (record.requires[0][0], True)
    assert adapter.facts(again, start) == ((name, False),)
    assert str(predicate_of(name)) == name


def test_who_made_a_call_is_no_part_of_its_predicate_and_its_number_is() -> None:
    adapter, start = ToolAdapter(domain()), ToolState()
    quick, exact = (call("multiply", name, a=2, b=3) for name in ("quick", "exact"))
    [target, _] = adapter.along([start, start.with_call(quick)], [quick.text])
    assert target.text == "#1 is the result of multiply(a=2, b=3)"
    assert dict(adapter.facts(target, start.with_call(exact, "6"))) == {"result(#1, multiply(a=2, b=3))": True}
    elsewhere = start.with_call(call("add", a=1, b=1), "2").with_call(exact, "6")
    assert dict(adapter.facts(target, elsewhere)) == {"result(#1, multiply(a=2, b=3))": False}


def test_an_answer_on_the_way_and_a_call_that_gives_nothing_have_targets_too() -> None:
    adapter, start = ToolAdapter(domain()), after(call("add", a=1, b=1))
    failed = start.with_failure(call("divide", a=1, b=0), "division by zero")
    [tried, given_, _] = adapter.along(
        [start, failed, ToolState(failed.got, failed.failures, "#1")], ["divide(a=1, b=0)", "answer(value=#1)"]
    )
    assert (tried.text, tried.kind, tried.requires) == ("divide(a=1, b=0) has been tried", "try", ())
    assert given_.text == "the answer #1 has been given"
    for target in (tried, given_):
        by = "divide(a=1, b=0)" if target is tried else None
        own = Target(target.text, target.kind, target.requires, by=by)
        assert adapter.restated(own) == own


@pytest.mark.parametrize(
    "name", ["result(#1)", "result(1, add(a=1, b=2))", "result(#0, add(a=1, b=2))", "result(#1, add(a=1,b=2))", "x()"]
)
def test_what_is_no_predicate_of_tools_is_not_so_and_is_named(name: str) -> None:
    adapter = ToolAdapter(domain())
    target = Target("?", "add", ((predicate_of(name), True),))
    assert adapter.facts(target, after(call("add", a=1, b=2))) == ((name, False),)
    with pytest.raises(ValueError, match=r"is not result\(#K, CALL\)|does not write its call|expected|is no call"):
        adapter.restated(target)


@given(st.lists(actions(), max_size=8), st.integers(0, 3))
@examples(40)
def test_states_come_back_from_their_fields_and_steps_keep_the_rules(made: list[str], seed: int) -> None:
    env = computing(steps=99)
    adapter: Any = adapter_of(env)
    assert isinstance(adapter, ChecksSteps)
    state = env.domain.project(env.reset(seed))
    assert not adapter.contradiction(None, None, state)
    for action in made:
        before, state = state, env.domain.project(env.step(action)[0])
        fields = json.loads(json.dumps(as_in_json(dict(adapter.fields(state)))))
        restored = adapter.restored(fields)
        assert as_in_json(dict(adapter.fields(restored))) == fields
        assert env.domain.key(restored) == env.domain.key(state)
        assert not adapter.contradiction(before, action, state)
        nothing = as_state(before).key() == state.key() and before.failures == state.failures
        assert adapter.refused(action, before) == nothing
        if state != before:
            assert adapter.contradiction(None, None, state)
            assert adapter.contradiction(state, action, before)
        if env.ended():
            break


def test_of_a_long_result_the_beginning_is_kept_and_what_uses_it_is_still_held_to_the_rules() -> None:
    @tool(pure=True)
    def long(n: int) -> str:
        """Say much."""
        return "x" * n

    @tool(pure=True)
    def double(text: str) -> str:
        """Say it twice."""
        return text + text

    env = ToolEnvironment("Say much.", [long, double])
    adapter: Any = adapter_of(env)
    states = [env.domain.project(env.reset(0))]
    for action in ("long(n=900)", "double(text=#1)", "answer(value=#2)"):
        states.append(env.domain.project(env.step(action)[0]))
        assert not adapter.contradiction(states[-2], action, states[-1])
    fields = dict(adapter.fields(states[-1]))
    assert len(fields["results"][0][1].encode()) <= 400
    restored = adapter.restored(as_in_json(fields))
    assert dict(adapter.fields(restored)) == fields
    before = adapter.restored(as_in_json(dict(adapter.fields(states[1]))))
    assert not adapter.contradiction(before, "double(text=#1)", states[2])


@pytest.mark.parametrize(
    "damage",
    [
        lambda fields: fields["results"].append(["power(a=1, b=2)", "1"]),  # an unknown tool
        lambda fields: fields["results"].append(["add", "1"]),  # no call
        lambda fields: fields["failed"].append(["add(a=1, c=2)", 0]),  # an unknown argument
        lambda fields: fields["results"].append(["add(a=#2, b=1)", "1"]),  # a missing result
        lambda fields: fields["failed"].append(["add(a=1, b=2)", 7]),  # a failure after more results
        lambda fields: fields.pop("results"),
    ],
)
def test_fields_of_no_state_are_refused(damage: Callable[[dict[str, Any]], object]) -> None:
    adapter = ToolAdapter(domain())
    fields = as_in_json(dict(adapter.fields(ToolState().with_call(call("add", a=1, b=2), "3"))))
    assert adapter.restored(fields)
    damage(fields)
    with pytest.raises((ValueError, KeyError)):
        adapter.restored(fields)


STEPS: Sequence[tuple[str, ToolState, str, ToolState]] = (
    ("a result of another call", ToolState(), "add(a=1, b=2)", ToolState().with_call(call("add", a=2, b=2), "4")),
    ("two results", ToolState(), "add(a=1, b=2)", after(call("add", a=1, b=2), call("add", a=2, b=2))),
    ("nothing came of it", ToolState(), "add(a=1, b=2)", ToolState()),
    ("a result is lost", after(call("add", a=1, b=2)), "add(a=2, b=2)", after(call("add", a=2, b=2))),
    ("an answer that was not given", ToolState(), "add(a=1, b=2)", ToolState(answer="3")),
    ("another answer", ToolState(), "answer(value=3)", ToolState(answer="4")),
    ("a call that is refused", ToolState(), "add(a=#1, b=2)", ToolState().with_call(call("add", a=1, b=2), "3")),
    ("refused without a word", ToolState(), "no call", ToolState()),
)


@pytest.mark.parametrize(("before", "action", "then"), [step[1:] for step in STEPS], ids=[step[0] for step in STEPS])
def test_steps_that_no_call_takes_are_found(before: ToolState, action: str, then: ToolState) -> None:
    assert "leads from the state before it to another" in ToolAdapter(domain()).contradiction(before, action, then)


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
    found = domain()
    start, made = ToolState(), call("add", a=1, b=2)
    chain = ToolAdapter(found).along([start, start.with_call(made)], [made.text])
    for state, k in ((start.with_call(made, "3"), 1), (start.with_failure(made, "no"), 0)):
        outcome = Outcome(start, made.text, Observation("#1 add(a=1, b=2) = 3"), state)
        verdict = asyncio.run(ToolValidate(found).validate(chain, outcome))
        assert (verdict.k, len(verdict.checks)) == (k, k + 1)

"""Calls in an episode: failed and refused ones, and the state that they lead to."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import TapeAgent
from tape.agents.react import ReactAgent
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolEnvironment, ToolFailedError, tool
from tape.tools.calls import call, parse
from tape.tools.domain import as_state
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.state import Failure, ToolState
from tests.tape.tools.helpers import CALLS, TOOLS, add, after, prompt
from tests.tape.tools.misbehaving import Mute, raising


@tool()
def draw(low: int, rng: random.Random) -> float:
    """Draw a number."""
    return low + rng.random()


def drawn(env: ToolEnvironment, seed: int, lows: list[int]) -> dict[int, float]:
    env.reset(seed)
    for low in lows:
        env.step(call("draw", low=low).text)
    return dict(zip(lows, env._state.values(), strict=True))


def test_the_same_call_gives_the_same_whatever_came_before() -> None:
    env = ToolEnvironment("draw", [draw, add])
    first = drawn(env, 1, [1, 2, 3])
    assert drawn(env, 1, [3, 1]) == {3: first[3], 1: first[1]}
    assert drawn(ToolEnvironment("draw", [draw]), 1, [2]) == {2: first[2]}
    assert drawn(env, 2, [1])[1] != first[1]


def seen(*tools: Tool, **values: Any) -> ToolEnvironment:
    env = ToolEnvironment("task", tools)
    env.reset(0)
    env.step(call(tools[0].kind, **values).text)
    return env


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ToolFailedError("no such city"), "no such city"), (ValueError("bad"), "ValueError: bad"),
        (StopIteration(), "StopIteration"), (SystemExit(3), "SystemExit: 3"),
        (Mute(), "Mute: its message cannot be read"), (OSError("no file \udcff"), "OSError: no file ?"),
        (TimeoutError("late"), "TimeoutError: late"), (ToolFailedError("x" * 10_000), "x" * 297 + "…"),
    ],
)  # fmt: skip
def test_what_a_tool_raises_is_a_failed_call_that_is_paid(error: BaseException, note: str) -> None:
    env = ToolEnvironment("task", [raising(error, later=False)])
    env.reset(0)
    observation, used = env.step("t()")
    assert observation.data.failed == (call("t"),)
    assert observation.data.note == note
    assert used["usd"] == 500_000


def test_an_empty_text_has_nothing_to_read() -> None:
    @tool(reads=True)
    def search(q: str) -> str:
        """Search."""
        return "  "

    assert "empty" in seen(search, q="x")._state.note


@pytest.mark.parametrize(
    ("result", "written"), [(20.0, "20.0"), (True, "true"), ([1, "a"], '[1, "a"]'), ("plain", "plain"), (None, "null")]
)
def test_any_result_can_be_given_where_a_text_is_asked_for(result: Any, written: str) -> None:
    @tool()
    def first() -> Any:
        """Make something."""
        return result

    @tool()
    def label(text: str, below: str | None = None) -> list[str | None]:
        """Write labels."""
        return [text, below]

    env = ToolEnvironment("task", [first, label])
    env.reset(0)
    for action in ("first()", "label(text=#1, below=#1)"):
        env.step(action)
    assert env._state.values()[1:] == [[written, None if result is None else written]]


@pytest.mark.parametrize(
    ("result", "written"),
    [
        ({"b", "a", "c"}, ["a", "b", "c"]),
        ({"in": [frozenset({10, 9, 100})]}, {"in": [[9, 10, 100]]}),
        ({"b", 2, None, ("a", 1)}, ["b", 2, ["a", 1], None]),
    ],
)
def test_sets_are_written_in_order(result: Any, written: Any) -> None:
    @tool()
    def names() -> Any:
        """Name them."""
        return result

    assert seen(names)._state.values() == [written]


PLAN = 'seen = look(place="home")\nanswer(seen)'


@tool(usd=0)
def look(place: str) -> str:
    """Look at a place."""
    raise ValueError(f"{place} is dark")


def test_a_call_that_failed_is_in_result_detail_log_and_the_next_prompt(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedLM([PLAN] * 40)
    with caplog.at_level(logging.DEBUG, logger="tape"):
        result = TapeAgent(model, ablations={"extend": 0}, scorer="declared").run(
            ToolEnvironment("Look.", [look], budget="3 steps")
        )
    [failed] = result.failed_calls
    assert (failed.call, dict(failed.arguments)) == ('look(place="home")', {"place": "home"})
    assert (failed.error, failed.traceback) == ("ValueError: home is dark", "")
    assert not result.success
    assert result.detail.endswith('1 call failed: look(place="home"): ValueError: home is dark')
    levels = {(record.name, record.levelname) for record in caplog.records}
    assert levels >= {("tape.tools", "WARNING"), ("tape.engine", "INFO"), ("tape.lm", "DEBUG")}
    assert "home is dark" in str(model.requests[-1].prompt)


def test_tracebacks_are_kept_where_they_are_asked_for_and_files_hold_them(tmp_path: Path) -> None:
    env = ToolEnvironment("Look.", [look], budget="2 steps", tracebacks=True)
    result = ReactAgent(ScriptedLM(['look(place="home")'] * 8)).run(env, trace=tmp_path / "t.jsonl")
    assert 'raise ValueError(f"{place} is dark")' in result.failed_calls[0].traceback
    assert EpisodeResult.model_validate_json(result.model_dump_json()).failed_calls == result.failed_calls
    assert not {"failed_calls", "unproven"} & EpisodeResult(end_state="success", success=True).model_dump().keys()


EXACT, QUICK = "multiply.exact(a=3, b=4)", "multiply.quick(a=3, b=4)"


def environment() -> ToolEnvironment:
    env = ToolEnvironment("What is 3 * 4?", TOOLS)
    env.reset(0)
    return env


def test_it_is_shown_and_no_longer_possible_and_changes_nothing_else() -> None:
    env = environment()
    assert env.domain.marks_destructive
    env.step("add(a=1, b=1)")
    before = as_state(env.refuse("divide(a=1, b=1)").data)
    state = as_state(env.refuse(EXACT).data)
    assert state.refused == (parse("divide(a=1, b=1)"), parse(EXACT))
    assert state == before  # the same state, to a plan graph
    assert (state.key(), state.got, state.note) == (before.key(), before.got, before.note)
    assert env.domain.outcome(state, EXACT).state is None
    assert env.domain.outcome(state, QUICK).state is not None
    with pytest.raises(InvalidCallError, match=r"multiply\.exact\(a=3, b=4\) was refused"):
        env.domain.require_possible(state, parse(EXACT))
    assert f"refused: {EXACT}" in env.domain.render(state)
    shown = "multiply_exact(a=3, b=4)\nWhy: it was refused; do without it\nTool: def multiply_exact("
    assert shown in prompt(ProgramFormat(env.domain).plan_request(state, {}))


def test_it_stays_refused_after_other_calls() -> None:
    env = environment()
    env.refuse(EXACT)
    env.refuse(EXACT)
    env.step(QUICK)
    env.step("add(a=1, b=1)")
    observation, _ = env.step("note(text=1)")  # one that fails
    assert as_state(observation.data).refused == (parse(EXACT),)
    assert as_state(env.reset(0).data).refused == ()


def test_an_answer_can_be_refused_too() -> None:
    env = environment()
    env.refuse("answer(value=7)")
    observation, _ = env.step("answer(value=7)")
    assert not env.ended()
    assert "was refused" in as_state(observation.data).note
    env.step("answer(value=8)")
    assert env.answered == 8


@pytest.mark.parametrize("action", ["", "?", "add(", "nothing of the kind", "power(a=1)", "add.quick(a=1, b=2)"])
def test_what_is_no_call_needs_no_note(action: str) -> None:
    env = environment()
    before = env.reset(0)
    assert env.refuse(action).data == before.data


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

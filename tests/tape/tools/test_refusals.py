"""What the state of a tool environment holds of calls that a person has refused."""

from __future__ import annotations

import pytest

from tape.tools import ToolEnvironment
from tape.tools.calls import parse
from tape.tools.domain import as_state
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.programs import ProgramFormat
from tests.tape.tools.helpers import TOOLS, prompt

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

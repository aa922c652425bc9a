"""The compact prompt format with a small lexicon: exact texts, and whatever its own constraints admit can be read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.errors import InvalidOutputError
from tape.lm.base import Choice, Regex
from tape.tools import ToolError
from tape.tools.calls import answer, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.prompts.common import JUDGED_WRONG
from tape.tools.prompts.compact import CompactToolFormat
from tape.tools.state import ToolState
from tape.tools.toolbox import Toolbox
from tests.tape.offers import offers
from tests.tape.tools.helpers import after
from tests.tape.tools.lexicon import FORMAT, SlotLexicon, tools

LEFT = {"usd": 9500, "steps": 30}


def state() -> ToolState:
    got = after(call("multiply", "grade2", a=3, b=4), call("add", "grade1", a="#1", b=5))
    return got.with_failure(call("search", "grade1", relation="founder", of="Acme"), "not found")


def test_texts_are_exactly_as_documented() -> None:
    prefix = "text: ann has n1 n2 n3 got: multiply n1 n2 ; add #1 n3 ; failed: search v1 founder e1 ;"
    here = state()
    plan = [call("add", "grade3", a="#2", b=4).text, answer("#3").text]
    assert FORMAT.plan_request(here, LEFT).prompt == f"{prefix} <plan> afford: 9 2 0 -> "
    assert FORMAT.act_request(here, LEFT, None, ()).prompt == f"{prefix} <act> afford: 9 2 0 -> "
    hinted = f"{prefix} <act> afford: 9 2 0 plan: add v3 #2 n2 ; answer #3 -> "
    assert FORMAT.act_request(here, LEFT, None, plan).prompt == hinted
    assert FORMAT.answer_request(here).prompt == f"{prefix} <act> afford: 9 9 9 -> "
    empty = "text: ann has n1 n2 n3 got: failed: <plan> afford: 9 2 0 -> "
    assert FORMAT.plan_request(ToolState(), LEFT).prompt == empty


def test_scores_and_results_are_exactly_as_documented() -> None:
    found = ToolState().with_call(call("search", "grade3", relation="founder", of="Acme"), '"Ann Ode"')
    request, values = FORMAT.score_request(ToolState(found.got, answer="#1"))
    assert request.prompt == "text: ann has n1 n2 n3 got: search founder e1 = e2 ; failed: <score> answer #1 -> "
    assert values == {"right ": 1.0, "wrong ": JUDGED_WRONG}
    poor = ToolState(after(call("add", "grade1", a=3, b=4)).got, answer="#1")
    assert FORMAT.score_request(poor)[1]["right "] == 0.5


@given(st.data(), st.integers(0, 12))
def test_plans_that_the_constraint_admits_are_read(data: st.DataObject, obtained: int) -> None:
    here = after(*(call("add", "grade1", a=3, b=k) for k in range(obtained)))
    request = FORMAT.plan_request(here, LEFT)
    assert isinstance(request.constraint, Regex)
    text = data.draw(st.from_regex(request.constraint.pattern, fullmatch=True))
    plan = FORMAT.read_plan(here, text)
    assert plan.valid
    assert re.fullmatch(r"(\S+ )+", str(request.prompt))
    assert re.fullmatch(r"(\S+ )+", text)
    written = text.split("; ")
    assert parse(plan.actions[-1]).kind == "answer"
    assert len(plan.actions) <= len(written) <= max(0, 9 - obtained) + 1
    assert len(text.split()) <= request.max_tokens


@given(st.data(), st.integers(0, 11))
def test_actions_that_the_constraint_admits_are_read_and_written_back(data: st.DataObject, obtained: int) -> None:
    here = after(*(call("add", "grade1", a=3, b=k) for k in range(obtained)))
    request = FORMAT.act_request(here, LEFT, None, ())
    assert isinstance(request.constraint, Regex)
    text = data.draw(st.from_regex(request.constraint.pattern, fullmatch=True))
    assert re.fullmatch(r"(\S+ )+", str(request.prompt))
    assert re.fullmatch(r"(\S+ )+", text)
    thought, action = FORMAT.read_act(here, text)
    assert thought == ""
    # References are limited to what is there.
    assert all(1 <= k <= min(obtained, 9) for k in parse(action).references)
    fixed = FORMAT.act_request(here, LEFT, action, [action])
    assert isinstance(fixed.constraint, Regex)
    assert re.fullmatch(fixed.constraint.pattern, text)
    assert len(text.split()) <= request.max_tokens


def test_a_planned_action_is_the_only_one_admitted() -> None:
    request = FORMAT.act_request(state(), LEFT, call("add", "grade3", a="#2", b=4).text, ())
    assert isinstance(request.constraint, Regex)
    assert re.fullmatch(request.constraint.pattern, "add v3 #2 n2 ")
    assert not re.fullmatch(request.constraint.pattern, "add v3 #1 n2 ")


def test_paths_are_the_only_admissible_answers_to_select() -> None:
    paths = [[call("add", "grade1", a=3, b=4).text, answer("#1").text], [answer("#1").text]]
    request = FORMAT.select_request(ToolState(), offers(paths), LEFT)
    assert request.constraint == Choice(("add v1 n1 n2 ; answer #1 ", "answer #1 "))
    assert all(len(option.split()) <= request.max_tokens for option in request.constraint.options)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("", ()),
        ("add v1 n1 n2 ; add v9 n1 n2 ; answer #1 ", ("add.grade1(a=3, b=4)",)),
        ("add v1 n1 n2 ; answer ", ("add.grade1(a=3, b=4)",)),
        ("add v1 n1 n2 ; answer #0 ", ("add.grade1(a=3, b=4)",)),
        ("power v1 n1 n2 ; answer #1 ", ()),
        ("add v1 n1 n2 ", ("add.grade1(a=3, b=4)",)),  # without an answer
    ],
)
def test_of_a_malformed_plan_the_beginning_is_kept(text: str, actions: tuple[str, ...]) -> None:
    plan = FORMAT.read_plan(ToolState(), text)
    assert (plan.actions, plan.valid) == (actions, False)


def test_results_are_read_by_a_choice_of_what_there_can_be() -> None:
    made = call("search", "grade1", relation="founder", of="Acme")
    here = ToolState().with_call(made, '"acme ."', "acme was founded by ann ode .")
    request = FORMAT.project_request(here)
    assert request is not None
    assert request.prompt == "text: acme was founded by ann ode . <read> founder e1 -> "
    assert request.constraint == Choice(("e1 ", "e2 ", "none "))
    assert FORMAT.read_project(here, "e2 ").values() == ["Ann Ode"]
    assert FORMAT.read_project(here, "none ").failed == (made,)
    with pytest.raises(InvalidOutputError):
        FORMAT.read_project(here, "e7 ")
    assert FORMAT.unread(here) == FORMAT.read_project(here, "none ")
    assert FORMAT.project_request(ToolState()) is None
    longest = FORMAT.longest_project_request(ToolState(), made.text)
    assert longest is not None
    assert len(longest.prompt) > len(request.prompt)
    assert longest.constraint == request.constraint
    for unread in ("add.grade1(a=3, b=4)", "answer(value=#1)"):
        assert FORMAT.longest_project_request(ToolState(), unread) is None


def test_final_answers_refer_to_what_is_there() -> None:
    request = FORMAT.answer_request(state())
    assert request.constraint == Choice(("answer #1 ", "answer #2 "))
    assert FORMAT.read_answer(state(), "answer #2 ") == answer("#2")
    for text in ("add v1 n1 n2 ", "answer ", ""):
        with pytest.raises(InvalidOutputError):
            FORMAT.read_answer(state(), text)


@given(st.integers(0, 9), st.integers(0, 9))
def test_no_request_for_an_answer_is_longer_than_the_longest(obtained: int, failed: int) -> None:
    here = ToolState()
    for k in range(obtained):
        here = here.with_call(call("search", "grade1", relation="founder", of=f"#{k}" if k else "Acme"), '"Ann Ode"')
    for k in range(failed):
        here = here.with_failure(call("search", f"grade{k % 3 + 1}", relation="founder", of=f"#{k // 3 + 1}"), "no")
    request, longest = FORMAT.answer_request(here), FORMAT.longest_answer_request()
    assert len(request.prompt) <= len(longest.prompt)
    assert len(str(request.constraint)) <= len(str(longest.constraint))


def without(*names: str) -> CompactToolFormat:
    """The prompt format of all tools but some."""
    return CompactToolFormat(ToolDomain("t", Toolbox([t for t in tools() if t.name not in names])), SlotLexicon())


def test_kinds_with_variants_have_one_table() -> None:
    with pytest.raises(ToolError, match="multiply has 2 variants, another kind 3"):
        without("multiply.grade2")
    without("add.grade2", "multiply.grade2", "search.grade2")


def test_a_kind_of_one_tool_stands_beside_kinds_with_variants() -> None:
    prompt_format = without("search.grade1", "search.grade3")
    request = prompt_format.act_request(ToolState(), LEFT, None, ())
    assert isinstance(request.prompt, str)
    # The prompt counts affordable calls of the tools that there is a choice of.
    assert request.prompt.endswith("<act> afford: 9 2 0 -> ")
    assert isinstance(request.constraint, Regex)
    admitted = [rank for rank in "123" if re.fullmatch(request.constraint.pattern, f"search v{rank} founder e1 ")]
    assert admitted == ["1"]
    assert all(re.fullmatch(request.constraint.pattern, f"add v{rank} n1 n2 ") for rank in "123")
    assert (
        prompt_format.read_act(ToolState(), "search v1 founder e1 ")[1]
        == 'search.grade2(relation="founder", of="Acme")'
    )

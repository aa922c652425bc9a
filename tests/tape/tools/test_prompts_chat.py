"""The chat prompt format: what general models are shown, what schema binds them, and how their answers are read."""

import json
import re
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Request
from tape.lm.scripted import ScriptedLM, obeys
from tape.tools import Tool, tool
from tape.tools.calls import call, parse
from tape.tools.making import make_tool
from tape.tools.prompts.chat import ChatToolFormat
from tape.tools.prompts.common import JUDGED_WRONG
from tape.tools.results import LONGEST_RESULT, LONGEST_TEXT, cut
from tape.tools.state import ToolState
from tests.tape.offers import offers
from tests.tape.tools.helpers import TOOLS, add, after, domain, fixed_action, note, plans, prompt


def prompt_format(*tools: Tool) -> ChatToolFormat:
    return ChatToolFormat(domain(tools or TOOLS))


class Size(Enum):
    SMALL = "small"


class Box(BaseModel):
    width: int
    label: str | None = None


@tool(usd=None, seconds=None)
def pack(
    box: Box,
    size: Size,
    when: date,
    how: Literal["flat", "tall"] = "flat",
    kind: str = "x",
    variant: int | None = None,
    extra: Any = None,
) -> str:
    """Pack a box."""
    return ""


def test_a_plan_is_asked_for_with_tools_prices_state_and_budget() -> None:
    state = ToolState().with_call(call("add", a=1, b=2), "3").with_failure(call("divide", a=1, b=0), "by zero")
    text = prompt(prompt_format().plan_request(state, {"usd": 12_000, "seconds": 500}))
    assert "- multiply.quick(a: number, b: number): Multiply two numbers, more or less." in text
    assert "Costs at most 0.1 s, 1 step, $0.001; right with probability 0.8." in text
    assert "#1 add(a=1, b=2) = 3" in text
    assert "failed: divide(a=1, b=0)" in text
    assert "Left of the budget: $0.012, 0.5 s" in text
    assert "The next result will be #2." in text


def test_variants_that_all_kinds_have_alike_are_listed_once() -> None:
    def kind_of(name: str, variant: str, usd: str) -> Tool:
        def function(a: float) -> float:
            return a

        function.__doc__ = f"{name} a number."
        return make_tool(function, kind=name, variant=variant, usd=usd)

    alike = [kind_of(name, *row) for name in ("halve", "double") for row in (("quick", "0.1"), ("exact", "0.2"))]
    text = prompt(prompt_format(*alike).plan_request(after(), {}))
    assert "- halve(a: number): halve a number.\n- double(a: number): double a number.\n" in text
    assert text.count("- quick: costs at most ") == text.count("- exact: costs at most ") == 1
    assert "as in halve.quick" in text
    other = prompt(prompt_format(*alike[:3], kind_of("double", "exact", "0.3")).plan_request(after(), {}))
    assert "- double.exact(a: number): double a number. Costs at most " in other


def test_the_schema_has_every_field_written_and_every_text_bounded() -> None:
    here, state = prompt_format(add, search), ToolState().with_call(call("search", query="x"), '"y"', "y")
    requests = [here.plan_request(after(), {}), here.act_request(after(), {}, None, ()), here.project_request(state)]
    for request in [*requests, here.answer_request(after())]:
        assert request is not None
        assert isinstance(request.constraint, JsonSchema)
        schema = request.constraint.model.model_json_schema()
        assert schema["required"] == list(schema["properties"])
        texts = re.findall(r'\{[^{}]*"type": "string"[^{}]*\}', json.dumps(schema))
        assert all(any(f'"{bound}"' in text for bound in ("maxLength", "pattern", "const", "enum")) for text in texts)


def test_read_only_and_destructive_tools_are_marked_where_tools_differ_in_that() -> None:
    @tool(usd=1, destructive=True)
    def drop(name: str) -> None:
        """Drop a table."""

    text = prompt(prompt_format(add, note, drop).plan_request(after(), {}))
    listed = {line.partition("(")[0]: line.rpartition(". ")[2] for line in text.splitlines() if line.startswith("- ")}
    assert (listed["- add"], listed["- drop"]) == ("Read-only.", "Destructive.")
    assert text.count("Read-only.") == text.count("Destructive.") == 1
    assert "each as often as you list it" in text
    for item, ordered in ((add, False), (note, True)):  # tools that are all alike
        text = prompt(prompt_format(item).plan_request(after(), {}))
        assert "Read-only." not in text
        assert ("as often as" in text) == ("in the order in which you list them" in text) == ordered


def test_an_unknown_price_is_not_shown_as_none_at_all() -> None:
    assert "nobody knows" in prompt(prompt_format(pack).plan_request(after(), {}))


@given(plans(most=6))
def test_plans_of_schema_form_are_read_back(calls: list[Any]) -> None:
    here = prompt_format()
    items = [
        {"tool": made.tool, "arguments": {k: v if v.startswith("#") else json.loads(v) for k, v in made.args}}
        for made in calls
    ]
    text = json.dumps({"thought": "so", "calls": items, "answer": f"#{max(1, len(calls))}" if calls else 1})
    assert obeys(here.plan_request(after(call("note", text="x")), {}), text)
    assert obeys(here.plan_request(after(), {}), text) == bool(calls), "before anything is obtained a call is made"
    plan = here.read_plan(after(), text)
    assert plan.valid
    assert {parse(action).symbol.partition("(")[0] for action in plan.actions[:-1]} == {made.kind for made in calls}
    assert parse(plan.actions[-1]).kind == "answer"


def test_every_kind_of_argument_goes_through_the_schema() -> None:
    here = prompt_format(pack)
    arguments = {"box": {"width": 2}, "size": "small", "when": "2026-01-02", "kind": "#1", "variant": 7}
    text = json.dumps({"calls": [{"tool": "pack", "arguments": arguments}], "answer": "#1"})
    plan = here.read_plan(ToolState().with_call(call("pack"), '"y"'), text)
    assert plan.valid
    read = parse(plan.actions[0])
    # What the model leaves out stays out.
    assert read.values(["y"]) == arguments | {"kind": "y"}
    assert pack.checked(read.values(["y"]))["when"] == date(2026, 1, 2)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", []),
        ("no JSON", []),
        ('{"calls": [{"tool": "add", "arguments": {"a": 1, "b": 2}}, {"tool": "mult', ["add"]),
        ('{"calls": [{"tool": "add", "arguments": {"a": 1, "b": 2}}], "answer": NaN}', ["add"]),
        ('{"calls": [{"tool": "power", "arguments": {"a": 1}}], "answer": 1}', ["power"]),
        ('{"calls": [{"tool": "add", "arguments": {"a": Infinity, "b": 2}}], "answer": 1}', []),
        ('{"calls": [{"tool": 3, "arguments": {}}], "answer": 1}', []),
        ('{"calls": [[[[', []),
        ('{"calls": [{"tool": "add", "arguments": []}]}', []),
    ],
)
def test_of_a_malformed_plan_the_beginning_is_kept(text: str, kinds: list[str]) -> None:
    plan = prompt_format().read_plan(after(), text)
    assert not plan.valid
    assert [action.partition("(")[0] for action in plan.actions] == kinds


def test_a_planned_action_is_the_only_one_admitted() -> None:
    here, action = prompt_format(), "add(a=1, b=2)"
    request = here.act_request(after(), {}, action, [action, "answer(value=#1)"])
    assert fixed_action(request) == action
    assert obeys(request, json.dumps({"thought": "", "action": action}))
    assert not obeys(request, json.dumps({"thought": "", "action": "add(a=1, b=3)"}))
    assert here.read_act(after(), json.dumps({"thought": "so", "action": action})) == ("so", action)


def test_a_free_action_is_a_call_or_the_answer() -> None:
    here = prompt_format()
    request = here.act_request(after(), {}, None, ["add(a=1, b=2)"])
    assert "A plan for what is left:\nadd(a=1, b=2)" in prompt(request)
    for name, arguments in (("add", {"a": 1, "b": "#1"}), ("answer", {"value": "#1"}), ("note", {"text": "x"})):
        text = json.dumps({"thought": "", "call": {"tool": name, "arguments": arguments}})
        assert obeys(request, text)
        assert parse(here.read_act(after(), text)[1]).kind == name
    for name, arguments in (("power", {}), ("add", {"a": 1}), ("add", {"a": "x", "b": 1}), ("answer", {})):
        assert not obeys(request, json.dumps({"thought": "", "call": {"tool": name, "arguments": arguments}}))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"action": 3}', '{"action": "add("}', '{"thought": "x"}', "[" * 9000])
def test_an_act_that_cannot_be_read_is_invalid_output(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        prompt_format().read_act(after(), text)


def test_a_right_answer_has_the_quality_it_rests_on() -> None:
    calls = (call("multiply", "quick", a=1, b=2), call("multiply", "quick", a=1, b=3))
    state = ToolState(after(*calls).got, answer="#2")
    request, values = prompt_format().score_request(state)
    assert request.constraint == Choice(("right", "wrong"))
    assert values == {"right": pytest.approx(0.64), "wrong": pytest.approx(0.64 * JUDGED_WRONG)}
    # Which variants did it is not asked about: states that differ in that alone share one request.
    exact = ToolState(after(*(call("multiply", "exact", a=1, b=k) for k in (2, 3))).got, answer="#2")
    assert prompt_format().score_request(exact)[0] == request


def test_paths_are_offered_by_number() -> None:
    plans = offers([["add(a=1, b=2)"], ["answer(value=1)"]], {"usd": 20_000})
    request = prompt_format().select_request(after(), plans, {"usd": 50_000})
    assert request.constraint == Choice(("1", "2"))
    assert "2: answer(value=1) -> s21 (0.25) | certainty 0.75; needs $0.02 of $0.05" in prompt(request)


@tool(reads=True)
def search(query: str) -> str:
    """Search."""
    return ""


def sizes(request: Request) -> tuple[int, int]:
    """What prompts are counted by: words, and bytes as an upper bound of tokens."""
    return ScriptedLM([]).prompt_tokens(request), len(prompt(request).encode())


@given(st.text(max_size=900), st.integers(1, 900))
def test_a_text_is_cut_to_bytes_and_marked(text: str, longest: int) -> None:
    shown = cut(text, longest + 3)
    assert len(shown.encode()) <= longest + 3
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))


@given(st.lists(st.text(max_size=700) | st.integers() | st.lists(st.integers(0, 9), max_size=400), max_size=3))
def test_no_state_that_is_reached_takes_a_longer_prompt_than_predicted(results: list[Any]) -> None:
    here = prompt_format()
    calls = [call("note", text=f"a{k}") for k in range(len(results))]
    state = ToolState()
    for made, result in zip(calls, results, strict=True):
        state = state.with_call(made, json.dumps(result, ensure_ascii=False))
    for ask in (here.plan_request, lambda s, left: here.act_request(s, left, None, ["answer(value=1)"])):
        seen, predicted = sizes(ask(state, {"usd": 1})), sizes(ask(after(*calls), {"usd": 1}))
        assert seen[0] <= predicted[0]
        assert seen[1] <= predicted[1]
    # What was returned is all there for later calls.
    assert state.values() == results


def test_of_a_long_result_the_beginning_is_shown() -> None:
    state = ToolState().with_call(call("note", text="a"), json.dumps("long " * 999))
    text = prompt(prompt_format().plan_request(state, {}))
    [shown] = [line for line in text.splitlines() if line.startswith("#1 ")]
    assert shown.startswith('#1 note(text="a") = "long long ')
    assert shown.endswith("…")
    assert len(shown.encode()) == len('#1 note(text="a") = ') + LONGEST_RESULT


@given(st.text(max_size=900), st.sampled_from(["漢字です", "слово ", "🂡", "a b c "]), st.integers(0, 3000))
def test_a_text_in_any_script_takes_no_longer_a_prompt_to_read_than_declared(head: str, word: str, times: int) -> None:
    here, made = prompt_format(search), call("search", query=word * 200)
    text = head + word * times
    request = here.project_request(ToolState().with_call(made, json.dumps(text), text or "x"))
    longest = here.longest_project_request(after(), made.text)
    assert request is not None
    assert longest is not None
    assert all(size <= most for size, most in zip(sizes(request), sizes(longest), strict=True))
    assert text in prompt(request) or len(text.encode()) > LONGEST_TEXT


def test_only_texts_are_read() -> None:
    here = prompt_format(search, *TOOLS)
    assert here.project_request(ToolState().with_call(call("add", a=1, b=1), "2")) is None
    assert here.project_request(after()) is None
    assert here.longest_project_request(after(), "add(a=1, b=1)") is None
    assert here.longest_project_request(after(), "answer(value=1)") is None


def test_what_was_read_is_the_result_and_nothing_found_a_failure() -> None:
    here = prompt_format(search)
    state = ToolState().with_call(call("search", query="who"), '"text"', "text")
    assert here.read_project(state, '{"answer": " Ann "}').values() == ["Ann"]
    for nothing in ('{"quote": "", "answer": ""}', '{"quote": "Ann is here.", "answer": "  "}'):
        assert here.read_project(state, nothing).failed == (call("search", query="who"),)
    with pytest.raises(InvalidOutputError):
        here.read_project(state, "Ann")


@pytest.mark.parametrize(
    ("text", "value"), [('{"answer": "#1"}', "#1"), ('{"answer": 3.0}', "3"), ('{"answer": ""}', '""')]
)
def test_final_answers_are_read(text: str, value: str) -> None:
    here = prompt_format()
    assert obeys(here.answer_request(after()), text)
    assert here.read_answer(after(), text).args == (("value", value),)


@pytest.mark.parametrize("text", ["", "3", '{"answer": null}', '{"answer": Infinity}', '{"answer": 1, "b": 2}'])
def test_final_answers_that_cannot_be_read_are_invalid_output(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        prompt_format().read_answer(after(), text)


def test_the_longest_request_for_an_answer_is_longer_than_usual_ones() -> None:
    here = prompt_format()
    state = ToolState()
    for k in range(12):
        state = state.with_call(call("note", text=f"a b c {k}"), json.dumps("word " * 50))
    lm = ScriptedLM([])
    assert lm.prompt_tokens(here.answer_request(state)) <= lm.prompt_tokens(here.longest_answer_request())


def test_no_model_predicts_what_is_declared() -> None:
    here = prompt_format()
    assert here.rollout_request(after(), ["add(a=1, b=1)"]) is None
    assert here.read_intention("I add") is None
    with pytest.raises(ConfigError, match="ChatToolFormat has no method next_request"):
        here.next_request(after(), "")

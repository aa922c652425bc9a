"""Prompts of tools for general models: what each request shows, and what is made of programs, lines and answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tape.errors import InvalidOutputError
from tape.lm.base import Grammar, OneOf
from tape.plan.grammar import gbnf
from tape.plan.prompt import UNTYPED
from tape.tools.calls import parse
from tape.tools.prompts.programs import ANSWER_TOKENS, LINE_TOKENS, PROGRAM_TOKENS, ProgramFormat
from tape.tools.state import ToolState
from tests.tape.tools.helpers import asked, domain, prompt

START = ToolState()
AFTER = (
    START.with_call(parse("add(a=1, b=2)"), "3")
    .with_failure(parse("divide(a=1, b=0)"), "division by zero", "give another b")
    .with_call(parse("multiply.exact(a=#1, b=4)"), "12")
)
"""Two results, ``r1`` and ``r3``, and a failure between them."""


@pytest.fixture
def form() -> ProgramFormat:
    return ProgramFormat(domain())


def test_a_plan_request_shows_rules_tools_by_variant_examples_task_results_and_budget(form: ProgramFormat) -> None:
    request = form.plan_request(AFTER, {"usd": 5_000, "steps": 3})
    assert (request.role, request.max_tokens) == ("plan", PROGRAM_TOKENS)
    assert request.constraint == Grammar(gbnf(form._each({"usd": 1, "steps": 1})), required=False)
    _, *examples, _ = request.prompt
    assert [getattr(example, "content", "") for example in examples] == [text for pair in UNTYPED for text in pair]
    stub = 'def multiply_exact(a: float, b: float) -> float: "Multiply two numbers."  # $0.02; right with probability 1'
    stubs, *parts = asked(request).split("\n\n")
    assert stub in stubs.splitlines()
    assert stubs.endswith("\nTask: compute\nEnd with answer(value: Any)")
    assert parts == [
        "So far:\nr1 = add(a=1, b=2)  # -> 3\nr3 = multiply_exact(a=3, b=4)  # -> 12",
        "This line failed:\ndivide(a=1, b=0)\nWhy: division by zero\n"
        'Tool: def divide(a: float, b: float) -> float: "Divide two numbers."  # $0.002\nHint: give another b',
        "Write the rest of the program.",
        "(Budget left for calls: $0.005, 3 steps)",
    ]


def test_a_program_request_names_kinds_and_may_hold_a_server_to_the_grammar() -> None:
    request = ProgramFormat(domain()).program_request((), {"usd": 9})
    assert "def multiply(a: float, b: float)" in prompt(request)
    assert "multiply_exact" not in prompt(request)
    assert isinstance(request.constraint, Grammar)
    assert not request.constraint.required
    last = asked(ProgramFormat(domain()).program_request((), {}, answer=True))
    assert last.endswith("No more calls can be made. Write the one line answer(...) from what is there.")


def test_an_act_request_asks_for_the_next_line_or_for_a_fixed_action(form: ProgramFormat) -> None:
    free = form.act_request(AFTER, {"usd": 5_000}, None, ["add(a=1, b=1)"])
    assert (free.role, free.max_tokens) == ("act", LINE_TOKENS)
    assert free.constraint == Grammar(gbnf(form._each({"usd": 1}), turn=True), required=False)
    turns = [getattr(message, "content", "") for message in free.prompt][-6:]
    assert turns[:5] == [
        "r1 = add(a=1, b=2)",
        "r1 = 3\nNext line, or answer(value: Any)",
        "divide(a=1, b=0)",
        'Why: division by zero\nTool: def divide(a: float, b: float) -> float: "Divide two numbers."  # $0.002\n'
        "Hint: give another b\nNext line, or answer(value: Any)",
        "r3 = multiply_exact(a=3, b=4)",
    ]
    assert turns[5].startswith("r3 = 12\nNext line, or answer(value: Any)\n\nA plan for what is left:\nadd(a=1, b=1)")
    fixed = form.act_request(AFTER, {}, "add(a=1, b=#1)", ())
    assert fixed.constraint == OneOf(("add(a=1, b=#1)",))
    for action in ("add(a=1, b=#1)", "multiply.exact(a=#1, b=3)", 'note(text="#1")', "answer(value=#2)"):
        assert form.read_act(AFTER, action) == ("", action)


def test_an_answer_request_shows_the_results_and_asks_for_the_answer_alone(form: ProgramFormat) -> None:
    request = form.answer_request(AFTER)
    assert (request.role, request.max_tokens) == ("answer", ANSWER_TOKENS)
    assert "r3 = multiply_exact(a=3, b=4)  # -> 12" in asked(request)
    assert asked(request).endswith("Write the one line answer(...) from what is there.")
    assert len(prompt(form.longest_answer_request())) > len(prompt(request))


def test_a_score_request_shows_the_calls_without_their_variants_and_the_answer(form: ProgramFormat) -> None:
    request, values = form.score_request(replace(AFTER, answer="#2"))
    assert "#1 = add(a=1, b=2)\n#2 = multiply(a=#1, b=4)\nand the answer #2." in prompt(request)
    assert request.constraint == OneOf(("right", "wrong"))
    assert values["right"] == 1 > values["wrong"] > 0
    tried, _ = form.score_request(replace(AFTER, answer="#2", data="copy"))
    assert "came to this:\nr1 = add(a=1, b=2)  # -> 3\n" in prompt(tried)


PLANS = {
    "variants by name": (START, "x = add(1, 2)\ny = multiply_quick(a=x, b=3)\nanswer(y)",
                         ("add(a=1, b=2)", "multiply.quick(a=#1, b=3)", "answer(value=#2)"), True),
    "no kind without a variant": (START, "x = multiply(1, 2)\nanswer(x)", (), False),
    "its readable beginning": (START, "x = add(1, 2)\nnonsense here\nanswer(x)", ("add(a=1, b=2)",), False),
    "no effect of what is not understood": (START, "x = note('a')\ny = power(1)\nanswer(y)", (), False),
    "a pure call once": (START, "x = add(1, 2)\ny = add(1, 2)\nanswer(x + y)",
                         ("add(a=1, b=2)", "answer(value=#1 + #1)"), True),
    "a pure call again after an effect": (
        START, "x = add(1, 2)\nnote('a')\ny = add(1, 2)\nanswer([x, y])",
        ("add(a=1, b=2)", 'note(text="a")', "add(a=1, b=2)", "answer(value=[#1, #3])"), True),
    "number signs stay": (START, "x = note('#1 # 2')\nanswer(f'{x} #2')",
                          ('note(text="#1 # 2")', "answer(value=f'{#1} \\x232')"), True),
    "a list that is not known cuts it": (
        START, "x = note('a')\ny = [add(a=row, b=1) for row in x['tags']]\nanswer(y)", ('note(text="a")',), True),
    "a list that is known does not": (
        START, "y = [add(a=k, b=1) for k in [1, 2]]\nanswer(sum(y))",
        ("add(a=1, b=1)", "add(a=2, b=1)", "answer(value=sum([#1, #2]))"), True),
    "results by name": (AFTER, "y = add(a=r1, b=r3)\nanswer(y)", ("add(a=3, b=12)", "answer(value=#3)"), True),
    "what is known is not called again": (AFTER, "x = add(a=1, b=2)\nz = add(x, 5)\nanswer(z)",
                                          ("add(a=3, b=5)", "answer(value=#3)"), True),
    "no name of a failed line": (AFTER, "answer(r2)", (), False),
    "reading by the model": (START, "x = note('a')\nq = ask('who?', x)\nanswer(q)",
                             ('note(text="a")', 'ask(question="who?", values=[#1])', "answer(value=#2)"), True),
    "a part of a result": (START, "x = note('a')['text']\nanswer(x)",
                           ('note(text="a")', "answer(value=#1['text'])"), True),
    "an object of results": (START, "x = add(1, 2)\nanswer({'a': x, 'b': [x, 1]})",
                             ("add(a=1, b=2)", "answer(value={'a': #1, 'b': [#1, 1]})"), True),
    "an answer by its name": (START, "answer(value=3 * 4)", ("answer(value=12)",), True),
    "no answer yet": (START, "x = add(1, 2)", ("add(a=1, b=2)",), True),
    "a missing argument": (START, "x = add(a=1)\nanswer(x)", (), False),
    "nothing": (START, "", (), False),
    "prose around it": (START, "Here it is:\n```python\nx = add(1, 2)\nanswer(x)\n```\nDone.",
                        ("add(a=1, b=2)", "answer(value=#1)"), True),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_what_is_made_of_a_program(form: ProgramFormat, name: str) -> None:
    state, text, actions, valid = PLANS[name]
    plan = form.read_plan(state, text)
    assert (plan.actions, plan.valid) == (actions, valid)
    for action in plan.actions:
        assert parse(action).text == action


@pytest.mark.parametrize(
    ("text", "comment", "action"),
    [
        ("add(r1, 5)", "", "add(a=3, b=5)"), ("# Add.\nadd(a=1, b=9)", "Add.", "add(a=1, b=9)"),
        ("r5 = note('#1')\nanswer(r5)", "", 'note(text="#1")'), ("answer(r1)", "", "answer(value=3)"),
        ("answer(value=#1)", "", "answer(value=#1)"), ("answer(value=r3 * 2)", "", "answer(value=24)"),
        ("add(a=1, b=2)", "", "add(a=1, b=2)"),  # it is there already: the environment says so
    ],
)  # fmt: skip
def test_what_is_made_of_a_line(form: ProgramFormat, text: str, comment: str, action: str) -> None:
    assert form.read_act(AFTER, text) == (comment, action)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("power(1)", "there is no tool power"), ("answer(r9)", "the name r9 is not defined"), ("", "no statement"),
        ("add(1, 2) + add(3, 4)", "a statement is"), ("add(r1 / 0, 1)", "zero"),
    ],
)  # fmt: skip
def test_a_line_without_a_call_is_an_error_that_says_why(form: ProgramFormat, text: str, why: str) -> None:
    with pytest.raises(InvalidOutputError, match=why):
        form.read_act(AFTER, text)


@pytest.mark.parametrize(
    ("text", "value"), [("answer(r1)", "3"), ("answer(f'{r1}!')", '"3!"'), ("answer(value=r3 * 2)", "24")]
)
def test_what_is_made_of_an_answer(form: ProgramFormat, text: str, value: str) -> None:
    assert form.read_answer(AFTER, text).args == (("value", value),)


@pytest.mark.parametrize("text", ["answer(add(1, 9))", "", "answer(r1 / 0)", "answer(r9)", "add(1, 9)"])
def test_what_is_no_answer_is_an_error(form: ProgramFormat, text: str) -> None:
    with pytest.raises(InvalidOutputError, match="no answer"):
        form.read_answer(AFTER, text)


def test_what_a_program_asks_is_read_from_the_results_that_it_names(form: ProgramFormat) -> None:
    text = "Ann Ode was born in Rome."
    state = START.with_call(parse('note(text="x")'), '"x"').with_call(
        parse('ask(question="Where?", values=[#1])'), '"x"', text
    )
    request = form.project_request(state)
    assert request is not None
    assert asked(request) == f"Text:\n{text}\n\nQuestion: Where?"
    assert form.read_project(state, " Rome ").values() == ["x", "Rome"]
    failed = form.read_project(state, "Unknown.")
    assert (failed.values(), failed.failed) == (["x"], (state.got[1].call,))
    longest = form.longest_project_request(START, 'ask(question="Where?", values=[#1])')
    assert longest is not None
    assert len(asked(longest)) > 6_000


def test_a_call_of_a_result_that_is_a_whole_number_with_a_point_is_not_made_again(form: ProgramFormat) -> None:
    state = START.with_call(parse("add(a=1, b=2)"), "3.0").with_call(parse("multiply.exact(a=3, b=4)"), "12.0")
    plan = form.read_plan(state, "n = add(a=1, b=2)\nanswer(multiply_exact(a=n, b=4))")
    assert plan.actions == ("answer(value=12)",)

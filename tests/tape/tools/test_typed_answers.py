"""Answers of a declared type: what decoders admit, what is refused once, and what stands in results and files."""

import json
import random
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tape.agents.open_loop import OpenLoopAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment, ToolError, tool
from tape.tools.calls import call
from tests.tape.tools.helpers import TOOLS, Code, Filled, add, asked, follow, obtained, script


class Line(BaseModel):
    name: str
    price: float = Field(gt=0)


class Invoice(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    number: str
    total: float
    lines: list[Line] = []
    currency: Literal["EUR", "USD"] = "EUR"
    due: date | None = None

    @field_validator("total")
    @classmethod
    def _cents(cls, total: float) -> float:
        if round(total, 2) != total:
            raise ValueError("an invoice has whole cents")
        return total


class Tree(BaseModel):
    kids: "list[Tree]" = []


@dataclass
class Point:
    x: int
    y: int = 0


@tool(pure=True)
def order(number: int) -> dict[str, Any]:
    """Look an order up."""
    return {"number": str(number), "total": 7.5, "lines": [{"name": "pear", "price": 2.5}]}


@tool(pure=True)
def say(text: str) -> str:
    """Say something."""
    return text


CALLS: list[tuple[str, dict[str, Any]]] = [("add", {"a": 3, "b": 4}), ("order", {"number": 12})]
"""Their results are #1 and #2."""

PARTS = {part: Code(f"#2['{part}']") for part in ("number", "total", "lines")}
LINES, PEAR = [{"name": "pear", "price": "#1"}], Line(name="pear", price=7)


def environment(answer: Any = Invoice, **options: Any) -> ToolEnvironment[Any]:
    return ToolEnvironment("What is to be paid?", [add, order, say], answer=answer, **options)


@pytest.mark.parametrize(
    ("written", "given"),
    [
        (PARTS, Invoice(number="12", total=7.5, lines=[Line(name="pear", price=2.5)])),
        ({"number": "#1", "total": "#1"}, Invoice(number="7.0", total=7)),
        ({"number": Filled("No. #1"), "total": 2, "lines": LINES}, Invoice(number="No. 7.0", total=2, lines=[PEAR])),
        ({"number": "a", "total": 1.25, "due": "2026-01-02"}, Invoice(number="a", total=1.25, due=date(2026, 1, 2))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_an_answer_has_its_type_and_its_values_may_be_results(agent: Any, written: Any, given: Invoice) -> None:
    seen: list[Any] = []
    env = environment(judge=lambda answer: seen.append(answer) is None)
    model = ScriptedLM(script(CALLS, answers=[written], act=follow(CALLS, final=written)))
    result = agent(model, horizon=9).run(env)
    assert (result.end_state, result.answer, seen) == ("success", given, [given])
    assert type(result.answer) is Invoice
    line = json.loads(json.dumps(result.model_dump(mode="json")))
    assert line["answer"] == result.model_dump()["answer"] == json.loads(given.model_dump_json())
    assert EpisodeResult.model_validate(line).answer == line["answer"]
    assert all("an invoice" not in asked(request) for request in model.requests)


@pytest.mark.parametrize(
    ("kind", "written", "given", "in_files"),
    [
        (list[int], "[1, 2]", [1, 2], [1, 2]),
        (Point, {"x": 1}, Point(1), {"x": 1, "y": 0}),
        (dict[str, Line], {"a": {"name": "pear", "price": 7}}, {"a": PEAR}, {"a": {"name": "pear", "price": 7.0}}),
        (Literal["yes", "no"], "no", "no", "no"),
        (str, "#1", "7.0", "7.0"),
        (date, "2026-01-02", date(2026, 1, 2), "2026-01-02"),
        (Tree, {"kids": [{"kids": []}]}, Tree(kids=[Tree()]), {"kids": [{"kids": []}]}),
        (int | None, Code("None"), None, None),
    ],
)  # fmt: skip
def test_any_type_that_pydantic_knows_may_be_asked_for(kind: Any, written: Any, given: Any, in_files: Any) -> None:
    written = json.loads(written) if kind == list[int] else written
    result = OpenLoopAgent(ScriptedLM(script(CALLS, answers=[written]))).run(environment(kind))
    assert (result.end_state, result.answer) == ("success", given)
    assert type(result.answer) is type(given)
    assert result.model_dump(mode="json")["answer"] == in_files


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_an_answer_of_another_type_is_refused_once(agent: Any) -> None:
    wrong, right = {"number": "a", "total": "#1"}, {"number": "a", "total": 1.25}
    calls: list[tuple[str, dict[str, Any]]] = [("say", {"text": "lots"})]
    answers = iter([wrong, right])

    def act(request: Any) -> str:
        return follow(calls, final=next(answers) if obtained(request) else None)(request)

    model = ScriptedLM(script(calls, [], answers=[wrong, right], act=act))
    env = environment(budget=Budget.of(steps=3))
    result = agent(model, horizon=9).run(env)
    assert (result.end_state, result.answer) == ("success", Invoice(number="a", total=1.25))
    assert result.used["steps"] == 3  # the refused answer takes one
    note = "the answer is no Invoice: total: Input should be a valid number"
    [refused], given = result.failed_calls, wrong | {"total": "lots"}
    assert (refused.call, refused.arguments) == (call("answer", value=given).text, {"value": given})
    assert refused.error == note
    assert note in "\n".join(map(asked, model.requests))


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_a_second_answer_of_another_type_ends_the_episode_with_a_sentence(agent: Any) -> None:
    wrong = {"number": "#1", "total": 0.001, "lines": [{}]}
    other = {"number": "b", "total": 0.001, "lines": [{}]}
    finals = iter([wrong, other])

    def act(request: Any) -> str:
        return follow(calls, final=next(finals) if obtained(request) else None)(request)

    calls: list[tuple[str, dict[str, Any]]] = [("say", {"text": "lots"})]
    model = ScriptedLM(script(calls, [], answers=[wrong, other], act=act))
    result = agent(model, horizon=9).run(environment())
    assert (result.end_state, result.success, result.answer, result.steps) == ("failure", False, None, 3)
    assert result.detail == (
        f"the environment has ended without success: after {call('answer', value=other).text}; 2 calls failed, the "
        f"last one: {call('answer', value=other).text}: the answer is no Invoice: total: Value error, an invoice has "
        "whole cents; lines.0.name: Field required; lines.0.price: Field required"
    )


def test_a_final_answer_is_of_the_type_or_none() -> None:
    for text, given in (('answer(number="a", total=2)', Invoice(number="a", total=2)), ("answer(5)", None)):
        final = iter([text])
        model = ScriptedLM(
            lambda request, i, final=final: next(final) if request.role == "answer" else follow(CALLS)(request)
        )
        result = ReactAgent(model, horizon=1, on_limit="final_answer").run(environment())
        assert (result.answer, result.success) == (given, given is not None)
    assert result.malformed == 1  # it lacks the fields of an invoice


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"answer": 42}, "answer=42 is no type of answers"),
        ({"answer": random.Random}, "answer=<class 'random.Random'> is no type of answers"),
        ({"answer": lambda answer: True}, "it is a function; give a pydantic model, or a type such as list[int]"),
        ({"longest_plan": 0}, "longest_plan is a whole number from 1 to 99, got 0"),
        ({"longest_plan": 100}, "longest_plan is a whole number from 1 to 99, got 100"),
        ({"longest_plan": "12"}, "longest_plan is a whole number from 1 to 99, got '12'"),
    ],
)
def test_what_is_no_type_and_no_length_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError) as caught:
        ToolEnvironment("task", [add], **options)
    assert says in str(caught.value)


@pytest.mark.parametrize("longest", [12, 13])
def test_thirteen_calls_need_a_longer_plan_and_the_end_says_so(longest: int) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("add", {"a": number, "b": 0}) for number in range(13)]
    model = ScriptedLM(script(calls, answers=[[f"#{number}" for number in range(1, 14)]]))
    agent = TapeAgent(model, ablations={"score": "ends"}, on_infeasible="stop")
    result = agent.run(ToolEnvironment("task", TOOLS, longest_plan=longest))
    if longest == 13:
        assert (result.end_state, result.answer, result.steps) == (
            "success",
            [float(number) for number in range(13)],
            14,
        )
    else:
        assert (result.end_state, result.steps) == ("infeasible", 0)
        assert result.detail.endswith(
            "comes to an end, and no budget would change that; of each plan the first 12 actions are read: raise the "
            "environment's longest_plan=12"
        )

"""Tasks in words: the context of tools, instructions, examples, checks of answers, and limits."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tape import Approval, ReactAgent, TapeAgent, ToolEnvironment, tool
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolContext, ToolError
from tests.tape.agents.office import PROGRAM, Office, Orders, agent, mail, orders


def test_a_tool_gets_what_the_run_was_given_and_no_model_and_no_trace_sees_it(tmp_path: Path) -> None:
    prompts: list[str] = []
    office = Office({"ann": 3, "planted-secret-name": 1})
    result = agent(prompts=prompts).run(
        "How many orders has Ann? Mail her.", deps=office, budget="$0.05, 8 steps", trace=tmp_path / "run.jsonl"
    )
    assert (result.success, result.answer) == (True, Orders(n=3))
    [(to, context)] = office.sent
    assert (to, context.step, context.attempt) == ("ann", 2, 1)
    assert {kind: str(left) for kind, left in context.budget.items()} == {"steps": "6", "usd": "0.04"}
    seen = "".join(prompts) + (tmp_path / "run.jsonl").read_text()
    assert "planted-secret-name" not in seen
    assert "ctx" not in prompts[0]


def test_the_key_of_an_effect_stays_where_it_is_tried_again_or_worded_otherwise() -> None:
    office = Office(failing=1)
    programs = [PROGRAM, *[PROGRAM.replace("You have orders.", "Look at your orders.")] * 9]
    result = agent(programs).run("Mail Ann.", deps=office)
    assert result.success
    contexts = [context for _, context in office.sent]
    assert [context.attempt for context in contexts] == [1, 2]
    assert len({context.key for context in contexts}) == 1
    assert contexts[0].run == contexts[1].run != ""


def test_runs_have_keys_of_their_own_and_so_have_effects() -> None:
    office = Office()
    for _ in range(2):
        agent("mail(to='ann', text='a')\nmail(to='bob', text='a')\nanswer(n=1)").run("Mail both.", deps=office)
    assert len({context.key for _, context in office.sent}) == 4


def test_a_resumed_run_keeps_its_name(tmp_path: Path) -> None:
    office, trace = Office(), tmp_path / "run.jsonl"
    played = agent("mail(to='ann', text='a')\nmail(to='bob', text='a')\nanswer(n=1)")
    assert played.run("Mail both.", deps=office, budget="2 steps", trace=trace).end_state == "infeasible"
    played = agent("mail(to='ann', text='a')\nmail(to='bob', text='a')\nanswer(n=1)", instructions="Be kind.")
    stopped = played.run("Mail both.", deps=office, budget="$0.01, 9 steps", trace=trace.with_name("more.jsonl"))
    assert not stopped.success
    again = played.resume(trace.with_name("more.jsonl"), deps=office, budget="$0.05")
    assert again.success, again.detail
    assert [to for to, _ in office.sent] == ["ann", "bob"] or len(office.sent) == 2
    assert len({context.run for _, context in office.sent}) == 1


def test_a_tool_asks_a_person_in_words() -> None:
    asked: list[str] = []

    def approve(request: Any) -> bool:
        asked.append(str(request).splitlines()[0])
        return request.reason == "destructive"

    played = agent("kept = close_account('ann')\nanswer(n=len(kept))")
    result = played.run("Close Ann's account.", deps=Office(), approve=approve)
    assert result.answer == Orders(n=len("kept"))
    assert asked == ['close_account(name="ann") (destructive)', "Really close ann? (asked)"]
    assert played.run("Close it.", deps=Office()).answer == Orders(n=len("kept")), "nobody is there who could agree"
    assert played.run("Close it.", deps=Office(), approve=lambda _: Approval.ALLOW).answer == Orders(n=len("closed"))


async def _spoken(ctx: ToolContext[Office]) -> str:
    await asyncio.sleep(0)
    return f"There are {len(ctx.deps.orders)} customers."


@pytest.mark.parametrize(
    "instructions", ["There are 2 customers.", lambda ctx: f"There are {len(ctx.deps.orders)} customers.", _spoken]
)
def test_instructions_follow_the_rules(instructions: Any) -> None:
    prompts: list[str] = []
    agent(prompts=prompts, instructions=instructions).run("Mail Ann.", deps=Office())
    system = prompts[0].partition("\nuser:")[0]
    assert system.endswith("\n\nThere are 2 customers.")


def test_examples_replace_those_of_another_subject() -> None:
    prompts: list[str] = []
    example = ("How many orders has Bob?", "n = orders(name='bob')\nanswer(n=n)")
    agent(prompts=prompts, examples=[example]).run("Mail Ann.", deps=Office())
    assert f"user: Task: {example[0]}\nassistant: {example[1]}" in prompts[0]
    assert "parcel" not in prompts[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"examples": [("a", "n = sale('bob')\nanswer(n=n)")]}, "examples=1: .*there is no tool sale"),
        ({"examples": [("a", "orders('bob')")]}, "examples=1: its program has no answer"),
        ({"examples": ["a"]}, "examples=1: a pair of a task and a program"),
        ({"instructions": 3}, "instructions= is a text or a function"),
        ({"answer_check": lambda: None}, "answer_check= is a function of the answer"),
        ({"answer_tries": 0}, "answer_tries= is a whole number above 0"),
        ({"deps_type": int}, "orders takes a context with deps of the type .*Office"),
        ({"tools": None}, "for tasks in words, which need tools="),
        ({"tools": []}, "at least one tool"),
    ],
)
def test_a_malformed_option_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        agent(**options)


def test_a_run_without_what_its_tools_need_is_refused() -> None:
    with pytest.raises(ToolError, match="orders takes a context with deps of the type Office, and no deps= are given"):
        agent().run("Mail Ann.")
    with pytest.raises(ConfigError, match="deps= is of the type int, and deps_type= is"):
        agent().run("Mail Ann.", deps=3)  # type: ignore[call-overload]
    with pytest.raises(ToolError, match="and deps= is of the type int"):
        ToolEnvironment("Mail Ann.", [orders], deps=3)
    with pytest.raises(ConfigError, match="a task in words needs tools: ReactAgent"):
        ReactAgent(ScriptedLM([""])).run("Mail Ann.")
    with pytest.raises(ConfigError, match="deps= and history= are for a task in words"):
        agent().run(ToolEnvironment("Mail Ann.", [mail], deps=Office()), deps=Office())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="there is no option hystory=; did you mean history="):
        agent().run("Mail Ann.", deps=Office(), hystory=None)  # type: ignore[call-overload]


def test_the_context_is_the_first_parameter_and_there_is_one() -> None:
    def late(name: str, ctx: ToolContext[Office]) -> str:
        """Late."""
        return name

    def twice(ctx: ToolContext[Office], other: ToolContext[Office]) -> str:
        """Twice."""
        return "twice"

    late.__annotations__ = {"name": str, "ctx": ToolContext[Office], "return": str}
    twice.__annotations__ = {"ctx": ToolContext[Office], "other": ToolContext, "return": str}
    with pytest.raises(ToolError, match="late: the context is the first parameter; put ctx before name"):
        tool(late)
    with pytest.raises(ToolError, match="twice: ctx and other both take the context; leave one out"):
        tool(twice)


@pytest.mark.parametrize("takes_context", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_a_check_sends_an_answer_back_with_a_reason(takes_context: bool, waits: bool) -> None:
    def why(answer: Orders) -> str | None:
        return None if answer.n > 3 else f"{answer.n} is too few"

    def of_both(ctx: ToolContext[Office], answer: Orders) -> str | None:
        assert ctx.deps.orders
        return why(answer)

    async def waiting(answer: Orders) -> str | None:
        await asyncio.sleep(0)
        return why(answer)

    async def waiting_of_both(ctx: ToolContext[Office], answer: Orders) -> str | None:
        return of_both(ctx, answer)

    check = {(0, 0): why, (1, 0): of_both, (0, 1): waiting, (1, 1): waiting_of_both}[takes_context, waits]
    prompts: list[str] = []

    def reply(request: Any, sample: int) -> str:
        return "answer(n=5)" if "too few" in request.prompt[-1].content else "answer(n=1)"

    played = agent(reply, prompts, answer_check=check)
    assert played.run("How many?", deps=Office()).answer == Orders(n=5)
    assert any("1 is too few" in prompt for prompt in prompts)
    hopeless = agent("answer(n=1)", answer_check=check, answer_tries=3).run("How many?", deps=Office())
    assert (hopeless.answer, hopeless.success) == (None, False)
    assert 1 <= len(hopeless.failed_calls) <= 3


def test_a_check_that_fails_or_says_something_else_ends_the_run_with_its_reason() -> None:
    for check, message in ((lambda _: 1 / 0, "ZeroDivisionError"), (lambda _: 3, "in words, or None; it returned 3")):
        result = agent("answer(n=1)", answer_check=check).run("How many?", deps=Office())
        assert result.end_state == "env_error"
        assert message in result.detail


def test_an_answer_may_be_of_several_types() -> None:
    class Nobody(Orders):
        """No such customer."""

        n: int = 0
        reason: str

    played: TapeAgent[Office, Any] = TapeAgent(
        ScriptedLM(["answer({'reason': 'unknown'})"]), tools=[orders], deps_type=Office, answer=Nobody | Orders  # type: ignore[arg-type]
    )  # fmt: skip
    assert played.run("How many orders has Eve?", deps=Office()).answer == Nobody(reason="unknown")


def test_turns_and_seconds_are_caps() -> None:
    result = agent(["orders('ann')", "orders('bob')", PROGRAM]).run("Mail Ann.", deps=Office(), max_turns=1)
    assert (result.end_state, result.budget["calls"]) == ("budget:calls", 1)

    @tool(usd=0)
    async def wait(name: str) -> str:
        """Wait."""
        await asyncio.sleep(60)
        return name

    slow: TapeAgent[Any, Any] = TapeAgent(ScriptedLM(["answer(wait('a'))"]), tools=[wait])
    assert slow.run("Wait.", max_seconds=0.2).end_state == "budget:wall_seconds"
    with pytest.raises(ConfigError, match="max_turns="):
        agent().run("Mail Ann.", deps=Office(), max_turns=-1)


def test_a_plan_is_shown_without_a_call() -> None:
    office = Office()
    planned = agent("mail(to='ann', text='a')\nanswer(n=1)").plan("Mail Ann.", deps=office, budget="$0.05")
    assert planned.path[0] == 'mail(to="ann", text="a")'
    assert office.sent == []


def test_a_hundred_runs_of_one_agent_beside_each_other_share_nothing() -> None:
    def reply(request: Any, sample: int) -> str:
        name = request.prompt[-1].content.partition("Task: Mail ")[2].split()[0]
        return f"n = orders({json.dumps(name)})\nmail(to={json.dumps(name)}, text='a')\nanswer(n=n)"

    played = agent(reply)
    offices = [Office({f"customer{number}": number}) for number in range(100)]

    async def all_of_them() -> list[Any]:
        runs = (
            played.arun(f"Mail customer{number}", deps=office, budget="$0.02, 4 steps")
            for number, office in enumerate(offices)
        )
        return await asyncio.gather(*runs)

    results = asyncio.run(all_of_them())
    assert [result.answer.n for result in results] == [*range(100)]
    assert [[to for to, _ in office.sent] for office in offices] == [[f"customer{n}"] for n in range(100)]
    assert len({office.sent[0][1].key for office in offices}) == 100
    assert all(not result.budget_violations for result in results)

"""Acting line by line: a model goes on from its own lines, and sees what came of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from experiments.harness.greedy import GreedyReactAgent
from tape import BestOfNReactAgent, PlanAndActAgent, ReactAgent, ToolEnvironment, tool
from tape.agents.base import Agent
from tape.engine.episode import Episode
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Acted, Action, Actor, State
from tape.protocols.result import EpisodeResult
from tape.tools import Tool
from tests.tape.agents.test_programs import Shop


class Writes:
    """A model that writes these lines in turn, and then the last over and over; it keeps what it was asked."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.asked = lines, list[Request]()
        self.model = ScriptedLM(self.reply)

    def reply(self, request: Request, sample: int) -> str:
        del sample
        if request.role != "act":
            return "right"
        self.asked.append(request)
        return self.lines[min(len(self.asked), len(self.lines)) - 1]

    def shown(self, number: int) -> list[str]:
        """What the messages of a request say after its examples and the task."""
        texts = [getattr(message, "content", "") for message in self.asked[number].prompt]
        return texts[1 + next(n for n, text in enumerate(texts) if "Thank Ann." in text or "2 * 3" in text) :]


def played(writes: Writes, shop: Shop, agent: Callable[..., Agent] = ReactAgent, **given: Any) -> EpisodeResult[Any]:
    return agent(writes.model, **given).run(ToolEnvironment("Thank Ann.", shop.tools(), budget="$1, 12 steps"))


def test_it_goes_on_from_its_own_names_and_sees_what_each_line_came_to() -> None:
    shop = Shop()
    writes = Writes("# Look.\nrow = find(name='Ann')", "n = row['n'] + 1", "mail(row['address'], f'{n}')", "answer(n)")
    result = played(writes, shop)
    assert (result.answer, result.success, shop.sent) == (4, True, [("ann@shop", "4")])
    assert result.lm_calls == {"act": 4}
    assert result.malformed == 0
    first, came, second, next_came, _, last = writes.shown(3)
    assert (first, second) == ("row = find(name='Ann')", "n = row['n'] + 1")
    assert came.startswith('row = {"address": "ann@shop", "n": 3}\nNext line, or answer(value: Any)')
    assert next_came.startswith("n = 4\n")
    assert last.startswith('"sent"\nNext line')
    assert last.endswith("(Budget left for calls: 10 steps, $0.989)")


def test_lines_that_only_compute_are_no_failures() -> None:
    shop = Shop()
    lines = [f"n{number} = {number} + 1" for number in range(7)]
    assert played(Writes(*lines, "answer(n6)"), shop).answer == 7
    again = Writes("n = 3 + 1")
    assert (played(again, shop).end_state, len(again.asked)) == ("invalid_output", 5)
    assert again.shown(2)[-1] == "this line was just run; write the next one. Again."
    endless = Writes(*(f"n = {number} + 1" for number in range(99)))
    assert (played(endless, shop).malformed, len(endless.asked)) == (0, 11)


@pytest.mark.parametrize(
    "lines",
    [
        ("mail(to=find(name='Ann')['address'], text='Hi')", "answer(1)"),  # the call inside first, then the other
        ("to = 'ann@shop'\nmail(to=to, text='Hi')\nmail(to=to, text='and a line that is not asked for')", "answer(1)"),
        ("mail(to='ann@shop', text='Hi')", "answer(find(name='Ann')['n'] - 2)"),
    ],
)
def test_all_calls_of_a_line_are_made_and_no_other_line(lines: Sequence[str]) -> None:
    shop = Shop()
    result = played(Writes(*lines), shop)
    assert (result.answer, shop.sent) == (1, [("ann@shop", "Hi")])
    assert result.lm_calls == {"act": 2}


def test_a_line_that_fails_is_shown_with_the_reason_and_what_is_no_line_is_asked_for_again() -> None:
    shop = Shop()
    writes = Writes("row = find(name='ann')", "hm", "row = find(name='Ann')", "answer(row['m'])", "answer(row['n'])")
    result = played(writes, shop)
    assert (result.answer, shop.asked, result.malformed) == (3, ["ann", "Ann"], 2)
    assert writes.shown(1)[-1].startswith("Why: there is no ann\nTool: def find(name: str)")
    assert "Hint: names begin with capitals\nNext line" in writes.shown(1)[-1]
    assert writes.shown(2)[-2:] == ["hm", "there is no statement. Again."]
    assert writes.shown(4)[-1].startswith('there is no key "m"')


def test_what_is_refused_or_no_answer_is_said() -> None:
    shop = Shop()
    writes = Writes("mail(to='ann@shop', text='Hi')", "answer('three')", "answer(3)")
    env = ToolEnvironment("Thank Ann.", shop.tools(), answer=int, budget="$1, 12 steps")
    result = ReactAgent(writes.model).run(
        env, approve=lambda request: False, approve_when=lambda request: "mail" in request.action
    )
    assert (result.answer, shop.sent) == (3, [])
    assert "it was refused" in writes.shown(1)[-1]
    assert "should be a valid integer" in writes.shown(2)[-1]


def multiply(name: str, usd: str, quality: float) -> Tool:
    @tool(kind="multiply", variant=name, operator="*", quality=quality, pure=True, usd=usd)
    def times(a: float, b: float) -> float:
        """Multiply."""
        return a * b

    return times


@pytest.mark.parametrize(
    ("agent", "taken", "named"), [(ReactAgent, "rough", "multiply_exact("), (GreedyReactAgent, "exact", "a * b")]
)
def test_an_operator_is_the_first_variant_or_the_best_that_fits(agent: Any, taken: str, named: str) -> None:
    tools = [multiply("rough", "0.001", 0.5), multiply("exact", "0.01", 1.0)]
    writes = Writes("a = 2 * 3", "b = a * 4", "answer(b)")
    result = agent(writes.model).run(ToolEnvironment("2 * 3 * 4?", tools, budget="$1, 9 steps"))
    assert result.answer == 24
    assert [action.partition("(")[0] for action in result.actions[:2]] == [f"multiply.{taken}"] * 2
    assert any(named in getattr(message, "content", "") for message in writes.asked[0].prompt)
    assert [text.partition("\n")[0] for text in writes.shown(2)] == ["a = 2 * 3", "a = 6.0", "b = a * 4", "b = 24.0"]


class Elsewhere(ReactAgent):
    """Makes another call than the one that was written, once."""

    def actor(self, episode: Episode) -> Actor:
        """Writes an action, which is changed."""
        inner = super().actor(episode)

        class Changed:
            async def act(
                self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action],
                seed: int,
            ) -> Acted:  # fmt: skip
                acted = await inner.act(state, remaining, action, plan, seed)
                return replace(acted, action=acted.action and acted.action.replace("Bob", "Ann"))

        return Changed()


def test_a_call_that_it_has_not_written_is_shown_by_a_number() -> None:
    shop = Shop()
    writes = Writes("row = find(name='Bob')", "answer(r1['n'])")
    assert played(writes, shop, Elsewhere).answer == 3
    assert writes.shown(1)[0] == 'r1 = find(name="Ann")'


@pytest.mark.parametrize("agent", [PlanAndActAgent, BestOfNReactAgent])
def test_all_agents_that_choose_freely_go_on_from_their_lines(agent: Any) -> None:
    shop = Shop()
    writes = Writes("row = find(name='Ann')", "answer(row['n'])")
    assert played(writes, shop, agent).answer == 3
    assert "row = find(name='Ann')" in writes.shown(len(writes.asked) - 1)


def sent_after(shop: Shop, *lines: str, agent: Callable[..., Agent] = ReactAgent, **given: Any) -> tuple[Writes, Any]:
    """The requests of an agent, and its result."""
    writes = Writes(*lines)
    return writes, played(writes, shop, agent, **given)


def test_a_later_call_of_a_line_that_is_refused_is_not_made_again_and_again() -> None:
    writes, result = sent_after(Shop(), "mail(to=find(name='Ann')['n'], text='Hi')", "answer(1)")
    assert (result.answer, result.lm_calls, result.steps) == (1, {"act": 2}, 3)
    assert writes.shown(1)[0] == 'r1 = find(name="Ann")'
    assert writes.shown(1)[2] == "mail(to=find(name='Ann')['n'], text='Hi')"
    assert writes.shown(1)[3].startswith("Why: ")


def test_what_a_line_had_done_before_it_failed_is_shown() -> None:
    shop = Shop()
    writes, result = sent_after(shop, "x = [mail('ann@shop', 'Hi'), find('Bob')]", "answer(r1)")
    assert (result.answer, shop.sent) == ("sent", [("ann@shop", "Hi")])
    made, came, line, why = writes.shown(1)
    assert (made, came.partition("\n")[0]) == ('r1 = mail(to="ann@shop", text="Hi")', 'r1 = "sent"')
    assert line.startswith("x = [mail(")
    assert why.startswith("Why: there is no Bob")


def test_best_of_n_follows_a_line_and_knows_the_one_that_was_chosen() -> None:
    shop = Shop()
    line = "x = [mail(to='ann@shop', text='Hi'), mail(to='bob@shop', text='Hi')]"
    writes, result = sent_after(shop, line, "answer(len(x))", agent=BestOfNReactAgent, num_plans=1)
    assert (result.answer, shop.sent) == (2, [("ann@shop", "Hi"), ("bob@shop", "Hi")])
    assert writes.shown(1)[0] == line
    lines = iter(["row = find(name='Ann')", "mail(to=row['address'], text='a')", "n = 1", "mail(to='b@shop', text='b')",
                  "mail(to='b@shop', text='b')"])  # fmt: skip
    shop = Shop()
    model = ScriptedLM(lambda request, sample: next(lines, "answer(n)") if request.role == "act" else "right")
    env = ToolEnvironment("Thank Ann.", shop.tools(), budget="$1, 3 steps")
    result = BestOfNReactAgent(model, num_plans=1).run(env)
    assert len(shop.sent) == 2


class Account:
    """A balance that changes."""

    def __init__(self) -> None:
        self.amount = 0

    def tools(self) -> list[Tool]:
        @tool(pure=True)
        def balance() -> int:
            """Read the balance."""
            return self.amount

        @tool
        def deposit(n: int) -> int:
            """Add to it."""
            self.amount += n
            return n

        return [balance, deposit]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("answer([balance(), deposit(n=5), balance()])", [0, 5, 5]),
        ("answer([balance(), balance(), deposit(n=5)])", [0, 0, 5]),
    ],
)
def test_what_a_line_has_changed_is_read_anew(line: str, answer: list[int]) -> None:
    result = ReactAgent(Writes(line).model).run(ToolEnvironment("2 * 3", Account().tools(), budget="9 steps"))
    assert result.answer == answer


def test_a_variant_goes_by_its_own_name_where_another_kind_is_called_so() -> None:
    def rate(kind: str, variant: str) -> Tool:
        @tool(kind=kind, variant=variant, pure=True)
        def tell(x: int) -> str:
            """Tell."""
            return f"{kind} {variant} {x}"

        return tell

    tools = [rate("rate", "cached"), rate("rate", "live"), rate("rate_live", "a"), rate("rate_live", "b")]
    result = ReactAgent(Writes("answer(rate_live(x=1))").model).run(ToolEnvironment("2 * 3", tools, budget="9 steps"))
    assert result.answer == "rate live 1"


def test_examples_of_the_user_are_shown_line_by_line() -> None:
    writes = Writes("answer(3)")
    program = "# Look.\nrow = find(\n    name='Bob',\n)\nfee = 2\ntotal = fee * 3\nanswer(total)"
    agent = ReactAgent(writes.model, tools=Shop().tools(), answer=int, examples=[("What does Bob pay?", program)])
    agent.run("Thank Ann.", budget="9 steps")
    texts = [getattr(message, "content", "") for message in writes.asked[0].prompt][1:-1]
    assert texts == [
        "Task: What does Bob pay?",
        "# Look.\nrow = find(\n    name='Bob',\n)",
        "row = ...\nNext line, or answer(value: Any)",
        "fee = 2\ntotal = fee * 3",
        "total = ...\nNext line, or answer(value: Any)",
        "answer(total)",
    ]

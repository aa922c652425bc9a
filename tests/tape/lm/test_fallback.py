"""Another model where one cannot answer, each at its own price; and requests and tokens a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tape import FallbackModel, TapeAgent, tool
from tape.budget import Cap
from tape.errors import ConfigError, UnknownCostError
from tape.lm.base import BatchError, Completion, EndpointError, Request, Usage, for_run, window_of
from tape.lm.price_table import token_price
from tape.lm.rate_limits import MINUTE, RateLimitedLM
from tape.lm.scripted import ScriptedLM


class Priced(ScriptedLM):
    """A scripted model at a price, whose first calls fail."""

    remote = True

    def __init__(self, name: str, texts: Any, dollars: str, failing: int = 0, *, passing: bool = True) -> None:
        super().__init__(texts, price=token_price((dollars, dollars)))
        self.name, self.failing, self._passing, self.asked = name, failing, passing, 0

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Fail, or answer."""
        self.asked += 1
        if self.failing:
            self.failing -= 1
            usage = Usage(1_000, 0, source="assumed")
            raise BatchError([EndpointError("503: no capacity", usage, passing=self._passing) for _ in requests])
        return await super().generate(requests)


@tool(pure=True, usd=0)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


PROGRAM = "answer(double(21))"


def run(model: Any, **options: Any) -> Any:
    """A task that one program does."""
    return TapeAgent(model, tools=[double]).run("Double 21.", **options)


def test_the_next_model_answers_where_the_first_is_down_and_each_is_paid_at_its_own_price() -> None:
    first, second = Priced("first", [PROGRAM], "1000", failing=1), Priced("second", [PROGRAM], "1")
    result = run(FallbackModel(first, second), budget="$5")
    assert result.answer == 42
    generated = [event for event in result.events if event.type == "generated"]
    assert [event.answered for event in generated] == [("second",)] * len(generated)
    tokens = sum(event.prompt_tokens + event.completion_tokens for event in generated) - 1_000
    assert result.used["usd"] == 1_000_000 + tokens, "a thousand tokens of the first, the others at a thousandth of it"
    assert first.asked == 1, "the run stays with the second"


def test_the_next_is_asked_only_where_its_worst_case_fits_too() -> None:
    first, second = Priced("first", [PROGRAM], "1", failing=9), Priced("second", [PROGRAM], "100000")
    result = run(FallbackModel(first, second), budget="$1")
    assert result.end_state == "model_error"
    assert second.asked == 0


def test_a_refused_request_is_not_passed_on() -> None:
    first, second = Priced("first", [PROGRAM], "1", failing=9, passing=False), Priced("second", [PROGRAM], "1")
    assert run(FallbackModel(first, second)).end_state == "model_error"
    assert second.asked == 0


def test_each_run_begins_with_the_first_which_two_answers_that_cannot_be_read_end_also_where_it_is_wrapped() -> None:
    first, second = Priced("first", ["?"], "1"), Priced("second", [PROGRAM], "1")
    model = RateLimitedLM(FallbackModel(first, second), "100 calls")
    for_each = [for_run(model) for _ in range(2)]
    assert all(isinstance(each, RateLimitedLM) for each in for_each)
    assert [(run(model).answer, first.asked) for _ in range(2)] == [(42, 2), (42, 4)]
    [balance] = model._store.balances()
    assert balance.spent == first.asked + second.asked
    plain = RateLimitedLM(first, "100 calls")
    assert for_run(plain) is plain


def test_capabilities_are_those_of_the_model_in_use() -> None:
    class Windowed(Priced):
        window = 100

    model = FallbackModel(Windowed("first", [""], "1"), Priced("second", [""], "2"))
    assert (window_of(model), model.price) == (100, token_price(("1", "1")))
    model.report(readable=False)
    model.report(readable=True)
    model.report(readable=False)
    assert window_of(model) == 100, "two in a row"
    model.report(readable=False)
    assert (window_of(model), model.price) == (None, token_price(("2", "2")))
    assert model.name == "first or second"
    model.report(readable=False)
    model.report(readable=False)


def test_malformed_fallbacks_are_refused() -> None:
    with pytest.raises(ConfigError, match="two models at least"):
        FallbackModel(ScriptedLM([""]))
    with pytest.raises(ConfigError, match="read the same prompts"):
        FallbackModel(ScriptedLM([""]), "bundled:nano")
    unpriced = Priced("second", [PROGRAM], "1")
    unpriced.price = None
    with pytest.raises(UnknownCostError):
        run(FallbackModel(Priced("first", [PROGRAM], "1"), unpriced), budget="$1")


def test_a_call_waits_until_the_minute_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RateLimitedLM(ScriptedLM(["one", "two", "three"]), "2 calls, 1000 tokens")
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:  # as if a minute had passed
            model._store.set_cap(Cap("model", "calls", 3, MINUTE), "test", "as if a call were a minute ago")

    monkeypatch.setattr("tape.lm.rate_limits.asyncio.sleep", sleep)

    async def three() -> list[str]:
        return [(await model.generate([Request("a", 5)]))[0].texts[0] for _ in range(3)]

    assert asyncio.run(three()) == ["one", "two", "three"]
    assert waited == [0.05, 0.1, 0.2]


def test_what_never_fits_and_what_is_no_rate_is_refused() -> None:
    model = RateLimitedLM(ScriptedLM(["one"]), "100 tokens")
    with pytest.raises(ConfigError, match="may take 100 tokens a minute, and a request takes up to"):
        asyncio.run(model.generate([Request("word " * 200, 50)]))
    for rate in ("$1", "3 steps", {}):
        with pytest.raises(ConfigError, match="a rate limit is of calls and tokens"):
            RateLimitedLM(ScriptedLM(["one"]), rate)
    failing = RateLimitedLM(Priced("first", [""], "1", failing=1), "2 calls")
    with pytest.raises(BatchError):
        asyncio.run(failing.generate([Request("a", 5)]))
    assert failing._store.check() == []

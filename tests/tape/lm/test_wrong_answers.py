"""A backend that answers what it was not asked is a model error, whose worst case is booked."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tape.agents.react import ReactAgent
from tape.budget import Budget, Ledger
from tape.errors import ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import (
    FREE,
    BatchError,
    Completion,
    EndpointError,
    OneOf,
    Request,
    TokenPrice,
    Usage,
    WrongAnswerError,
)
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.testing.line import Line
from tape.trace import LedgerEvent, TraceWriter

PRICED = TokenPrice(prompt=FREE.prompt + 1, completion=FREE.completion + 1)
REQUESTS = [Request("two words", max_tokens=3, n=2, role="plan"), Request("one", max_tokens=3, role="act")]
SCORED = [Request("two words", max_tokens=1, role="score", constraint=OneOf(("a", "b")))]

Change = Callable[[list[Any]], Any]


class Wrong(ScriptedLM):
    """A model whose answers are changed before they are handed over."""

    def __init__(self, change: Change, price: TokenPrice | None = FREE) -> None:
        super().__init__(["a"], price=price)
        self._change = change

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        changed: list[Completion] = self._change(list(await super().generate(requests)))
        return changed

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        changed: list[tuple[tuple[float, ...], Usage]] = self._change(list(await super().score_options(requests)))
        return changed


def each(**fields: Any) -> Change:
    return lambda answers: [replace(answer, **fields) for answer in answers]


def one_error(answers: list[Any]) -> Any:
    raise BatchError([EndpointError("down", Usage(1, 0))])


GENERATED: dict[str, tuple[Change, str]] = {
    "none": (lambda answers: [], "gave 0 answers to 2 requests"),
    "one too few": (lambda answers: answers[:1], "gave 1 answers to 2 requests"),
    "one too many": (lambda answers: [*answers, answers[0]], "gave 3 answers to 2 requests"),
    "nothing": (lambda answers: None, "gave NoneType, no list of answers"),
    "a text": (lambda answers: "ab", "gave str, no list of answers"),
    "a generator": (lambda answers: (item for item in answers), "gave generator"),
    "texts": (lambda answers: ["a", "b"], "gave str as an answer"),
    "scores": (lambda answers: [((1.0,), answer.usage) for answer in answers], "gave tuple as an answer"),
    "too few samples": (each(texts=()), "gave 0 of 2 samples"),
    "too many samples": (each(texts=("a", "b", "c")), "gave 3 of 2 samples"),
    "no samples": (each(texts=None), "gave none of 2 samples"),
    "a text for samples": (each(texts="ab"), "gave none of 2 samples"),
    "samples that are none": (
        lambda answers: [replace(answer, texts=(None,) * len(answer.texts)) for answer in answers],
        "samples of the wrong type",
    ),
    "no ends": (each(finish=()), "gave 0 ends"),
    "an error for all": (one_error, "gave 1 answers to 2 requests"),
    "no usage": (each(usage=None), "no usage in whole numbers"),
    "broken usage": (each(usage=Usage("many", 2.5)), "no usage in whole numbers"),  # type: ignore[arg-type]
}
SCORES: dict[str, tuple[Change, str]] = {
    "none": (lambda answers: [], "gave 0 answers to 1 requests"),
    "too few": (lambda answers: [((1.0,), answers[0][1])], "gave 1 of 2 scores"),
    "too many": (lambda answers: [((1.0, 0.0, 0.0), answers[0][1])], "gave 3 of 2 scores"),
    "texts": (lambda answers: [(("a", "b"), answers[0][1])], "scores of the wrong type"),
    "no usage": (lambda answers: [((0.5, 0.5), None)], "no usage in whole numbers"),
    "weights alone": (lambda answers: [answers[0][0]], "gave none of 2 scores"),
}


@pytest.mark.parametrize("price", [FREE, PRICED], ids=["free", "priced"])
@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [("generate", *item) for item in GENERATED.values()] + [("score_options", *item) for item in SCORES.values()],
    ids=[*GENERATED, *(f"scores: {name}" for name in SCORES)],
)
def test_answers_to_something_else_are_a_model_error_that_is_booked(
    kind: str, change: Change, message: str, price: TokenPrice
) -> None:
    requests = REQUESTS if kind == "generate" else SCORED
    for wrapped in (False, True):
        ledger, trace = Ledger(Budget.of(calls=10, tokens=100)), TraceWriter("e")
        model = Wrong(change, price)

        inner = EpisodeBatch(model, 1).slot(0) if wrapped else model
        accounted = AccountedLM(inner, ledger, trace)
        ask = accounted.generate if kind == "generate" else accounted.score_options
        with pytest.raises(WrongAnswerError, match=f"scripted .*{message}.*; mend the backend"):
            asyncio.run(ask(requests))
        worst = {"generate": {"calls": 2, "tokens": 12}, "score_options": {"calls": 1, "tokens": 3}}[kind]
        assert {name: ledger.used[name] for name in worst} == worst
        assert not any(dict(ledger.reserved).values())
        assert [event.what for event in trace.events if isinstance(event, LedgerEvent)] == ["reserve", "settle"]


def test_nothing_wrong_is_kept_in_a_cache(tmp_path: Path) -> None:
    cached = CachedLM(Wrong(GENERATED["too few samples"][0]), tmp_path / "cache.sqlite")
    with pytest.raises(ModelError, match="gave 0 of 2 samples"):
        asyncio.run(cached.generate(REQUESTS))
    assert cached._db.execute("SELECT count(*) FROM completions").fetchone() == (0,)
    cached.close()


def test_an_episode_ends_with_it() -> None:
    model = Wrong(GENERATED["none"][0])
    model.prompt_format = "compact"
    result = ReactAgent(model).run(Line(), budget=Budget.of(steps=3, tokens=10_000))
    assert result.end_state == "model_error"
    assert "gave 0 answers to 1 requests" in result.detail
    assert result.used["tokens"] > 0
    json.dumps(result.model_dump(mode="json"), allow_nan=False)

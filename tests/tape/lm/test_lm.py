"""Constrained decoding on a real (tiny, random) transformer: every trap of the design has a test."""

import asyncio
import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import torch
from pydantic import BaseModel

from tape.errors import ConstraintError, ModelError
from tape.lm.base import Forced, Grammar, JsonSchema, Message, OneOf, Regex, Request
from tape.lm.constraints import to_pattern
from tape.lm.outlines_engine import transformers_compiler
from tape.lm.transformers_lm import TransformersLM
from tests.tape.helpers import bundled_tokenizer, tiny_lm, tiny_model

PROMPT = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"


def ask(request: Request) -> tuple[str, ...]:
    [completion] = asyncio.run(tiny_lm().generate([request]))
    return completion.texts


def test_a_random_model_obeys_every_constraint() -> None:
    assert ask(Request(PROMPT, 8, Forced(" next: push L action: L"))) == (" next: push L action: L",)
    assert ask(Request(PROMPT, 8, OneOf((" U", " invalid"))))[0] in (" U", " invalid")
    for text in ask(Request(PROMPT, 8, Regex(r"(?: [UDLR]){2,3}"), n=5, temperature=1.0, seed=1)):
        assert 2 <= len(text.split()) <= 3
        assert set(text.split()) <= set("UDLR")


class Timed(BaseModel):
    after: timedelta


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (Request(PROMPT, 4, OneOf((" U", " banana"))), ConstraintError, "cannot write"),
        (Request(PROMPT, 4, OneOf((" U", "U"))), ConstraintError, "cannot write"),
        (Request(PROMPT, 4, Regex("xyzzy")), ConstraintError, "cannot meet the constraint"),
        (Request(PROMPT, 4, Regex(" U xyzzy")), ConstraintError, "cannot meet the constraint"),  # after a token
        (Request(PROMPT, 4, Grammar("start: 'a'")), ConstraintError, "context-free"),
        (Request(" hello", 4), ConstraintError, "cannot write"),
        (Request(" U" * 300, 4), ModelError, "at most 256 tokens"),
        (Request((Message("user", " U"),), 4), ModelError, "no chat template"),
    ],
)
def test_what_cannot_be_read_or_written_is_an_error(request_: Request, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask(request_)


def test_constraints_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ConstraintError, match="no duplicates"):
        OneOf((" U", " U"))
    with pytest.raises(ConstraintError, match="the JSON schema of Timed is no regular expression"):
        to_pattern(JsonSchema(Timed))


def test_temperature_zero_is_greedy_and_ignores_the_seed() -> None:
    request = Request(PROMPT, 12)
    assert ask(request) == ask(replace(request, seed=99))


def test_each_sample_has_its_own_seed() -> None:
    request = Request(PROMPT, 6, Regex(r"(?: [UDLR]){6}"), n=6, temperature=2.0, seed=3)
    assert len(set(ask(request))) > 1
    assert ask(replace(request, seed=4)) != ask(request)


def test_truncation_and_usage_are_reported() -> None:
    [completion] = asyncio.run(tiny_lm().generate([Request(PROMPT, 2, Regex(r"(?: [UDLR]){5}"), n=2)]))
    assert completion.finish == ("length", "length")
    assert completion.usage.completion_tokens == 4
    assert completion.usage.prompt_tokens == len(PROMPT.split())
    assert completion.usage.total == 4 + len(PROMPT.split())


def chained(option: str) -> float:
    """Log-probability of an option and its end after the prompt, without our own scoring code."""
    tokenizer, model = bundled_tokenizer(), tiny_model()
    prompt = tokenizer.encode(PROMPT, add_special_tokens=False)
    wanted = [*tokenizer.encode(option, add_special_tokens=False), tokenizer.eos_token_id]
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([prompt + wanted])).logits[0]
    logp = torch.log_softmax(logits, -1)
    return sum(float(logp[len(prompt) - 1 + i, token]) for i, token in enumerate(wanted))


def test_option_scores_are_the_probabilities_of_whole_options() -> None:
    options = (" U", " D", " L R", " L L L")
    request = Request(PROMPT, 6, OneOf(options))
    [(weights, _)] = asyncio.run(tiny_lm().score_options([request]))
    assert math.isclose(sum(weights), 1)
    # Alone, by the chain rule over a plain forward pass: every token of the option and its end.
    logs = [chained(option) for option in options]
    total = sum(map(math.exp, logs))
    assert all(math.isclose(w, math.exp(x) / total, rel_tol=1e-4) for w, x in zip(weights, logs, strict=True))
    singles = Request(PROMPT, 6, OneOf((" U", " D")))
    [(pair, _)] = asyncio.run(tiny_lm().score_options([singles]))
    draws = ask(replace(singles, temperature=1.0, n=400))
    assert abs(draws.count(" U") / 400 - pair[0]) < 0.12


def test_generation_stops_at_the_window() -> None:
    [completion] = asyncio.run(tiny_lm().generate([Request(" U" * 250, 50, Regex(r"(?: [UDLR]){60}"))]))
    assert completion.finish == ("length",)


def test_a_tokenizer_without_an_end_token_is_refused() -> None:
    tokenizer = bundled_tokenizer()
    tokenizer.eos_token = None
    model = tiny_model()
    with pytest.raises(ConstraintError, match="end-of-sequence"):
        transformers_compiler(model, tokenizer)
    with pytest.raises(ConstraintError, match="end-of-sequence"):
        TransformersLM(model, tokenizer, name="x", identity="x", prompt_format="compact")


def test_fingerprints_cover_everything_that_matters() -> None:
    base = Request(PROMPT, 8, Regex(" U"), temperature=0.5)
    changes: list[dict[str, Any]] = [
        *({"prompt": PROMPT + " U"}, {"max_tokens": 9}, {"constraint": Regex(" D")}, {"constraint": Forced(" U")}),
        *({"n": 2}, {"temperature": 0.6}, {"seed": 1}, {"n": 2, "distinct": True}),
    ]
    prints = {replace(base, **change).fingerprint("m") for change in changes}
    assert len(prints | {base.fingerprint("m"), base.fingerprint("other")}) == len(changes) + 2
    assert base.fingerprint("m") == replace(base, role="act").fingerprint("m")
    greedy = replace(base, temperature=0.0)
    assert greedy.fingerprint("m") == replace(greedy, seed=5).fingerprint("m")

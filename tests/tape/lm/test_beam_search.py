"""Distinct samples: sampling without replacement against brute force, and on a real (tiny, random) transformer."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tape.lm.base import Completion, OneOf, Regex, Request
from tape.lm.samples import BeamSearch
from tape.seeds import derive
from tests.tape.helpers import tiny_lm

EOS, WORDS = 0, 4
PROMPT = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
MOVES = Regex(r"(?: [UDLR]){1,4}")


def logits_after(tokens: tuple[int, ...], of: int = 7) -> torch.Tensor:
    """A tiny model's logits of the next token, (vocabulary,)."""
    return torch.tensor(np.random.default_rng(derive(of, *tokens)).normal(size=WORDS), dtype=torch.float32)


def searched(request: Request, of: int = 7, adjoin: Any = None, *, endless: bool = False) -> BeamSearch:
    search = BeamSearch([9], request, None, EOS, 100, *([adjoin] if adjoin else []))
    while live := search.live:
        logits = torch.stack([logits_after(tuple(beam.tokens), of) for beam in live])
        search.grow(logits.index_fill(1, torch.tensor([EOS]), -math.inf) if endless else logits)
    return search


def every_sequence(longest: int, temperature: float, tokens: tuple[int, ...] = ()) -> Iterator[tuple[str, float]]:
    """All sequences and their probabilities."""
    weights = np.exp(logits_after(tokens).double().numpy() / temperature)
    for token, weight in enumerate(weights / weights.sum()):
        longer = (*tokens, token)
        if token == EOS or len(longer) == longest:
            yield str(tokens if token == EOS else longer) + "." * (token == EOS), float(weight)
        else:
            yield from ((name, float(weight) * p) for name, p in every_sequence(longest, temperature, longer))


def names(search: BeamSearch) -> tuple[str, ...]:
    return tuple(str(tuple(beam.tokens)) + "." * (beam.finish == "stop") for beam in search.beams)


def test_pairs_are_as_likely_as_drawn_without_replacement() -> None:
    request, tried = Request("", max_tokens=2, n=2, temperature=0.7), 700
    likely = dict(every_sequence(2, 0.7))
    assert len(likely) == 13
    assert math.fsum(likely.values()) == pytest.approx(1)
    counts = Counter(names(searched(replace(request, seed=seed))) for seed in range(tried))
    chi_square, pairs, rest, rest_found = 0.0, 0, 1.0, tried
    for first, second in permutations(likely, 2):
        expected = likely[first] * likely[second] / (1 - likely[first])
        if expected * tried >= 6:
            chi_square += (counts[first, second] - expected * tried) ** 2 / (expected * tried)
            pairs, rest, rest_found = pairs + 1, rest - expected, rest_found - counts[first, second]
    chi_square += (rest_found - rest * tried) ** 2 / (rest * tried)
    # Of a chi-square variable with as many degrees of freedom, four standard deviations above its mean.
    assert pairs > 12
    assert chi_square < pairs + 4 * math.sqrt(2 * pairs)
    assert all(first != second for first, second in counts)


@given(
    seed=st.integers(0, 1000), n=st.integers(1, 12), temperature=st.sampled_from([0.05, 0.3, 1.0, 5.0]),
    longest=st.integers(1, 4), of=st.integers(0, 20),
)  # fmt: skip
def test_samples_are_distinct_in_order_paid_for_and_extend_shorter_lists(
    seed: int, n: int, temperature: float, longest: int, of: int
) -> None:
    request = Request("", max_tokens=longest, n=n, temperature=temperature, seed=seed)
    search = searched(request, of)
    texts = names(search)
    assert len(set(texts)) == len(texts) == min(n, sum(1 for _ in every_sequence(longest, 1.0)))
    assert search.computed <= n * longest
    values = [beam.perturbed for beam in search.beams]
    assert values == sorted(values, reverse=True)
    for beam in search.beams:
        tokens = [*beam.tokens, *([EOS] if beam.finish == "stop" else [])]
        before = [logits_after(tuple(tokens[:i]), of).double().log_softmax(-1) for i in range(len(tokens))]
        assert beam.logprob == pytest.approx(sum(logs[t].item() for logs, t in zip(before, tokens, strict=True)))
    assert names(searched(request, of)) == texts
    assert names(searched(replace(request, n=max(1, n - 1)), of)) == texts[: max(1, n - 1)]


@lru_cache(maxsize=1)
def usual() -> Request:
    return Request(PROMPT, 5, MOVES, n=6, temperature=0.3, seed=3, distinct=True)


def ask(*requests: Request) -> list[Completion]:
    return asyncio.run(tiny_lm().generate(requests))


def test_a_model_gives_distinct_samples_that_meet_the_constraint() -> None:
    [completion] = ask(usual())
    assert len(set(completion.texts)) == 6
    assert all(1 <= len(text.split()) <= 4 and set(text.split()) <= set("UDLR") for text in completion.texts)
    assert completion.finish == ("stop",) * 6
    kept = sum(len(text.split()) + 1 for text in completion.texts)
    assert kept <= completion.usage.completion_tokens <= 6 * 5
    [independent] = ask(replace(usual(), distinct=False))
    assert completion.usage.prompt_tokens == independent.usage.prompt_tokens


def test_their_probabilities_are_those_of_independent_samples() -> None:
    [completion] = ask(replace(usual(), n=40, temperature=3.0))
    [independent] = ask(replace(usual(), n=40, temperature=3.0, distinct=False))
    known = dict(zip(independent.texts, independent.logprobs, strict=True))
    both = [
        (logprob, known[text])
        for text, logprob in zip(completion.texts, completion.logprobs, strict=True)
        if text in known
    ]
    assert len(both) > 3
    assert [ours for ours, _ in both] == pytest.approx([theirs for _, theirs in both], abs=1e-4)


def test_where_there_are_too_few_they_repeat() -> None:
    [completion] = ask(Request(PROMPT, 3, OneOf((" U", " D")), n=5, temperature=1.0, distinct=True))
    assert set(completion.texts) == {" U", " D"}
    assert completion.texts == (*completion.texts[:2], *completion.texts[:2], completion.texts[0])


def test_one_sample_and_greedy_ones_are_drawn_as_usual() -> None:
    for request in (replace(usual(), n=1), replace(usual(), temperature=0.0)):
        assert ask(request) == ask(replace(request, distinct=False))


def test_pairs_that_may_not_adjoin_are_left_out_unless_nothing_else_is_left() -> None:
    request = Request("", max_tokens=2, n=20, temperature=1.0)
    every = {name for name, _ in every_sequence(2, 1.0)}
    assert set(names(searched(request, adjoin=lambda *pair: pair != (1, 2)))) == every - {"(1, 2)"}
    none = searched(replace(request, n=3), adjoin=lambda *pair: False, endless=True)
    assert all(len(beam.tokens) == 2 for beam in none.beams)

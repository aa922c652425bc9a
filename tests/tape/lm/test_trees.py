"""Decoding with trees: the same as without, over shared prompts, forced text and a bounded store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BloomConfig, BloomForCausalLM, GemmaConfig, LlamaConfig, LlamaForCausalLM, MistralConfig
from transformers.models.gemma import GemmaForCausalLM
from transformers.models.mistral import MistralForCausalLM

from tape.lm.base import Completion, Constraint, Forced, OneOf, Regex, Request
from tape.lm.transformers_lm import TransformersLM, read_trees, shape_of
from tape.lm.trees import BLOCK, Feed, PrefixStore, Shape, Tree
from tests.profiles import examples
from tests.tape.helpers import bundled_tokenizer, tiny_lm, tiny_model

START = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"


@lru_cache(maxsize=1)
def plain_lm() -> TransformersLM:
    """The same model without trees."""
    return TransformersLM(
        tiny_model(), bundled_tokenizer(), name="tiny", identity="tiny", prompt_format="compact", trees=False
    )


prompts = st.builds(
    lambda moves, steps: f"{START} <plan>{''.join(f' {move}' for move in moves)} steps: {steps} ->",
    st.lists(st.sampled_from("UDLR"), max_size=40),
    st.integers(1, 9),
)
constraints: st.SearchStrategy[Constraint | None] = st.one_of(
    st.none(),
    st.just(Forced(" next: push L action: L")),
    st.sampled_from(
        [Regex(r"(?: [UDLR]){1,4}"), Regex(r" next: (?:push )?[UDLR] action: L"), Regex(r" U(?: L){3} D?")]
    ),
    st.lists(st.sampled_from([" U", " D", " U L L", " U L", " invalid"]), min_size=1, unique=True).map(
        lambda options: OneOf(tuple(options))
    ),
)
requests = st.builds(
    Request, prompt=prompts, max_tokens=st.integers(1, 9), constraint=constraints, n=st.integers(1, 4),
    temperature=st.just(0.0), seed=st.integers(0, 99),
)  # fmt: skip


@given(asked=st.lists(requests, min_size=1, max_size=5))
@examples(25)
def test_greedy_answers_are_those_without_trees(asked: list[Request]) -> None:
    ours, theirs = (asyncio.run(lm.generate(asked)) for lm in (tiny_lm(), plain_lm()))
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.texts, mine.finish, mine.usage) == (other.texts, other.finish, other.usage)
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@given(prompt=prompts, options=st.lists(st.sampled_from([" U", " D L", " L R U", " invalid"]), min_size=1, unique=True))
@examples(15)
def test_scores_of_options_are_those_without_trees(prompt: str, options: list[str]) -> None:
    asked = [Request(prompt, 4, OneOf(tuple(options))), Request(START, 4, OneOf((" U", " D")))]
    ours, theirs = (asyncio.run(lm.score_options(asked)) for lm in (tiny_lm(), plain_lm()))
    for (mine, my_usage), (other, usage) in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, abs=1e-5)
        assert my_usage == usage


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every pass that the model makes from now on."""
    network: Any = tiny_lm()._network
    read, sizes = network.read, list[int]()

    def counting(feeds: Sequence[Feed]) -> torch.Tensor:
        sizes.append(sum(len(feed.tokens) for feed in feeds))
        return read(feeds)

    monkeypatch.setattr(network, "read", counting)
    monkeypatch.setattr(tiny_lm()._trees, "store", PrefixStore())
    return sizes


def ask(*asked: Request) -> list[Completion]:
    return asyncio.run(tiny_lm().generate(asked))


def test_what_prompts_share_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    long = START + " U" * 80
    length = tiny_lm().prompt_tokens(Request(long, 1))
    ask(Request(long + " D", 1), Request(long + " L", 1), Request(long + " R", 1, n=3, temperature=1.0))
    shared = length // BLOCK * BLOCK
    assert sizes == [length + 1, 2 * (length + 1 - shared)]
    sizes.clear()
    ask(Request(long + " D L", 1))
    assert sizes == [length + 2 - (length + 1) // BLOCK * BLOCK]


def test_forced_text_is_written_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    [whole] = ask(Request(START, 9, Forced(" next: push L action: L")))
    assert (whole.texts, whole.finish, whole.logprobs, sizes) == ((" next: push L action: L",), ("stop",), (0.0,), [])
    assert whole.usage.completion_tokens == 6
    [cut] = ask(Request(START, 3, Forced(" next: push L action: L")))
    assert (cut.texts, cut.finish, sizes) == ((" next: push L",), ("length",), [])
    [fixed] = ask(Request(START, 9, Regex(r" next: (?:push )?[UDLR] action: L")))
    assert fixed.texts[0].endswith(" action: L")
    # The prompt with its forced beginning, and a pass for each of what is open: whether it is a push, and the move.
    assert len(sizes) <= 3


def test_a_request_longer_than_all_that_is_kept_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape.lm.tree_decoding.LIVE_BYTES", 0)
    asked = [Request(START + " U" * k, 3, n=2, temperature=1.0, seed=k) for k in range(4)]
    one_by_one = ask(*asked)
    monkeypatch.undo()
    assert [completion.texts for completion in ask(*asked)] == [completion.texts for completion in one_by_one]


tokens = st.lists(st.integers(0, 2), min_size=1, max_size=6 * BLOCK)


@given(st.lists(tokens, min_size=1, max_size=12), st.integers(0, 6))
@examples(50)
def test_the_store_gives_back_what_was_read_and_no_more_than_fits(read: list[list[int]], room: int) -> None:
    shape = Shape(1, 1, 1)
    store = PrefixStore(room * BLOCK * shape.bytes)
    for prompt in read:
        longest = store.longest(prompt)
        assert len(longest) * BLOCK < len(prompt)
        tree = Tree(shape, torch.device("cpu"), len(prompt))
        tree.load(longest)
        # Here a token's key is the token, and its value the number of those before it.
        rest = range(tree.length, len(prompt))
        keys = torch.tensor([float(prompt[i]) for i in rest])[None, :, None]
        tree.write(0, keys, torch.tensor([float(i) for i in rest])[None, :, None])
        tree.length = len(prompt)
        for number in range(len(prompt) // BLOCK):
            key, value = tree.block(number).flatten(1)
            span = range(number * BLOCK, (number + 1) * BLOCK)
            assert key.tolist() == [prompt[i] for i in span]
            assert value.tolist() == list(span)
        store.keep(prompt, tree)
        assert store.held <= room * BLOCK * shape.bytes
        assert len(store.longest(prompt)) == min(room, (len(prompt) - 1) // BLOCK) or room < len(prompt) // BLOCK


SIZES: dict[str, Any] = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}


@pytest.mark.parametrize(
    "model",
    [
        lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
        lambda: GemmaForCausalLM(GemmaConfig(**SIZES)),
        lambda: MistralForCausalLM(MistralConfig(**SIZES, sliding_window=5)),
    ],
)
def test_logits_of_branches_are_those_of_whole_sequences(model: Any) -> None:
    torch.manual_seed(1)
    net = model().eval()
    sequences = [[1, 2, 3, 4, 5, 6, 7, *path] for path in ([8, 9], [10, 11], [12, 13])]
    with torch.inference_mode():
        usual = [net(input_ids=torch.tensor([sequence])).logits[0, -1] for sequence in sequences]
        assert shape_of(net) == Shape(2, 2, 4)
        again = [net(input_ids=torch.tensor([sequence])).logits[0, -1] for sequence in sequences]
    tree = Tree(Shape(2, 2, 4), torch.device("cpu"), 3)
    read_trees(net, [Feed(tree, [1, 2, 3, 4], [0, 1, 2, 3], [3])])
    read_trees(net, [Feed(tree, [5, 6, 7], [4, 5, 6], [2])])
    sees = torch.zeros((6, 13), dtype=torch.bool)
    sees[:, :7] = True
    for i in range(6):
        sees[i, 7 + i // 2 * 2 : 8 + i] = True
    ours = read_trees(net, [Feed(tree, [8, 9, 10, 11, 12, 13], [7, 8] * 3, [1, 3, 5], sees)])
    for mine, before, after in zip(ours, usual, again, strict=True):
        assert torch.allclose(mine, before, atol=1e-5)
        assert torch.allclose(after, before, atol=1e-6)


def test_a_model_whose_attention_is_another_is_left_as_it_is() -> None:
    eager = LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation="eager")).eval()
    assert shape_of(eager) is None
    # It adds to attention what depends on where keys stand in a row, not in a sequence.
    bloom = BloomForCausalLM(BloomConfig(vocab_size=50, hidden_size=16, n_layer=2, n_head=2)).eval()
    assert shape_of(bloom) is None
    assert bloom(input_ids=torch.tensor([[1, 2]])).logits.isfinite().all()


@pytest.mark.parametrize("distinct", [False, True])
def test_samples_depend_neither_on_other_requests_nor_on_more_samples(
    monkeypatch: pytest.MonkeyPatch, distinct: bool
) -> None:
    pattern = Regex(r"(?: [UDLR]){2,8}")
    request = Request(START + " <plan> steps: 8 ->", 9, pattern, n=4, temperature=1.0, seed=3, distinct=distinct)
    monkeypatch.setattr(tiny_lm()._trees, "store", PrefixStore())
    [fresh] = ask(request)
    [again] = ask(request)
    greedy, others = Request(START, 4), [replace(request, seed=9), Request(START, 5, n=2, temperature=1.0)]
    together = ask(*others, request, greedy)
    assert again.texts == together[2].texts == fresh.texts != together[0].texts
    assert together[3].texts == ask(greedy)[0].texts
    assert ask(replace(request, n=2))[0].texts == fresh.texts[:2]
    assert fresh.logprobs == pytest.approx(again.logprobs, abs=1e-4)

"""The bundled checkpoints' own forward pass, tokenizer and answers against those of transformers."""

import asyncio
import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DynamicCache, LlamaForCausalLM, PreTrainedTokenizerFast

from tape.errors import ModelError
from tape.lm.base import OneOf, Regex, Request
from tape.lm.bundled import checkpoint_folder, load_folder, sizes, weights_folder
from tape.lm.llama import Llama, WordTokenizer
from tape.lm.transformers_lm import TransformersLM, TransformersNetwork

FAMILIES = ("nano", "base", "household", "search")
"""A checkpoint of every tokenizer and every width."""


def tokenizer_file(size: str) -> Path:
    own = checkpoint_folder(size) / "tokenizer.json"
    return own if own.is_file() else weights_folder() / "tokenizer.json"


def reference(size: str) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The checkpoint as transformers has it."""
    torch.set_num_threads(1)
    words: Any = {"tokenizer_file": str(tokenizer_file(size)), "eos_token": "<eos>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(**words, clean_up_tokenization_spaces=False)
    folder = checkpoint_folder(size)
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True), tokenizer


def batch(lengths: list[int], vocabulary: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random token ids, padded on the left: ids, mask, positions."""
    rng = random.Random(len(lengths))
    longest = max(lengths)
    mask = torch.tensor([[0] * (longest - n) + [1] * n for n in lengths])
    ids = torch.tensor([[rng.randrange(2, vocabulary) for _ in range(longest)] for _ in lengths]) * mask + (1 - mask)
    return ids, mask, (mask.cumsum(1) - 1).clamp(min=0)


@torch.inference_mode()
@pytest.mark.parametrize(
    ("size", "lengths"),
    [*((size, [30, 11, 2, 30, 5]) for size in sizes()), ("nano", [40]), ("nano", [1]), ("household", [7, 7])],
)
def test_logits_are_those_of_transformers_to_the_last_bit(size: str, lengths: list[int]) -> None:
    model, _ = reference(size)
    theirs, ours = TransformersNetwork(model), Llama(checkpoint_folder(size))
    assert ours.window == theirs.window
    ids, mask, positions = batch(lengths, model.config.vocab_size)
    for keep in (1, min(lengths)):
        assert torch.equal(*(net.forward(ids, mask, positions, None, keep) for net in (ours, theirs)))
    cache, their_cache = ours.new_cache(), DynamicCache()
    for step in range(4):
        logits = ours.forward(ids, mask, positions, cache, 1)
        assert torch.equal(logits, theirs.forward(ids, mask, positions, their_cache, 1))
        if step == 1:
            # Rows that have ended leave the batch.
            keep_rows = torch.arange(0, len(lengths), 2)
            cache.batch_select_indices(keep_rows)
            their_cache.batch_select_indices(keep_rows)
            logits, mask, positions = logits[keep_rows], mask[keep_rows], positions[keep_rows]
        ids = logits[:, -1].argmax(-1, keepdim=True)
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
        positions = positions[:, -1:] + 1


@pytest.mark.parametrize("size", FAMILIES)
def test_the_tokenizer_is_that_of_transformers(size: str) -> None:
    _, theirs = reference(size)
    ours, vocabulary = WordTokenizer(tokenizer_file(size)), theirs.get_vocab()
    assert ours.eos_token_id == theirs.eos_token_id == 1
    assert ours.unk_token_id is theirs.unk_token_id is None
    assert ours.texts() == {theirs.decode([token]): token for token in vocabulary.values()}
    assert ours.texts() == {theirs.convert_tokens_to_string([text]): i for text, i in vocabulary.items()}
    for seed in range(20):
        text = "".join(random.Random(seed).choices(sorted(vocabulary), k=12))
        ids = theirs.encode(text, add_special_tokens=False)
        assert ours.encode(text, add_special_tokens=False) == ids
        assert ours.decode(ids) == theirs.decode(ids)


def test_answers_and_scores_are_those_of_the_transformers_model() -> None:
    model, tokenizer = reference("nano")
    theirs = TransformersLM(model, tokenizer, name="x", identity="x", prompt_format="compact", trees=False)
    ours = load_folder(weights_folder() / "nano", "x")
    prompt = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
    choice = Request(prompt, 8, OneOf((" U", " D L", " L R U")))
    solved = Regex(r"(?: [UDLR]){2,5}(?: solved)?")
    requests = [
        Request(prompt, 30, solved, n=20, temperature=3.0, seed=1),
        Request(prompt, 12, Regex(r"(?: [^ ]+)*"), n=20, temperature=3.0, seed=1),
        Request(prompt, 30, n=5, temperature=1.5, seed=7),
        Request(prompt + " <plan> steps: 8 ->", 12, Regex(r"(?: [UDLR]){2,9}"), n=4, temperature=1.0, seed=2),
        choice,
        Request(prompt, 5),
    ]
    assert asyncio.run(ours.generate(requests)) == asyncio.run(theirs.generate(requests))
    assert asyncio.run(ours.score_options([choice])) == asyncio.run(theirs.score_options([choice]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": "mistral"}, "model_type = 'mistral'"),
        ({"attention_bias": True}, "attention_bias = True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings = False"),
        ({"num_key_value_heads": 1}, "grouped keys"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 1000.0}}, "scaled RoPE"),
    ],
)
def test_another_architecture_is_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    config = json.loads((weights_folder() / "nano" / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | change), encoding="utf-8")
    with pytest.raises(ModelError, match="not a checkpoint of the bundled architecture") as caught:
        Llama(tmp_path)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        "", "{", "[" * 5000, '{"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}',
        '{"t": {"dtype": "F32", "shape": [1180591620717411303424], "data_offsets": [0, 4]}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("length", [None, 0, 2**60])
def test_weights_that_are_none_are_refused(tmp_path: Path, header: str, length: int | None) -> None:
    shutil.copy(weights_folder() / "nano" / "config.json", tmp_path)
    declared = len(header) if length is None else length
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", declared) + header.encode() + b"1234")
    with pytest.raises(ModelError, match=r"model\.safetensors: not the weights that .*config\.json describes"):
        Llama(tmp_path)

"""Training text for the bundled reader of requests: a request in our own words, and the type that it names."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

import torch

from envs.tool_chains.compact import goal_words, prompt, vocabulary
from envs.tool_chains.words import all_specs, request_text, type_name
from experiments.training.packing import EOS, PAD, Sequence, collate

WORDS = list(dict.fromkeys((PAD, EOS, *vocabulary())))
ID = {word: i for i, word in enumerate(WORDS)}
CHANGES_SHARE = 0.4
"""How often the text is a change of mind."""


def is_held_out(text: str) -> bool:
    """Whether a request is never trained on: a quarter of them all, by the hash of the text."""
    return hashlib.sha256(text.encode()).digest()[0] % 4 == 0


def draw(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """A request and the type that it names."""
    specs = all_specs()
    while True:
        spec = rng.choice(specs)
        text = request_text(spec, rng, "changes" if rng.random() < CHANGES_SHARE else "requests")
        if is_held_out(text) == held_out:
            return text, type_name(spec, 1, 1)


def batches(seed: int, size: str, batch: int, first: int = 0) -> Iterator[dict[str, torch.Tensor]]:
    """Endless batches; batch ``i`` depends on ``seed`` and ``i`` alone.

    See :func:`experiments.training.sokoban.data.batches`.
    """
    del size
    index = first
    while True:
        rng = random.Random(f"chains-lm-data:{seed}:{index}")
        rows: list[Sequence] = []
        for _ in range(batch):
            text, goal = draw(rng, held_out=False)
            row, shown = Sequence(ID), prompt(text)
            row.prefix(shown[:-2])
            row.query(shown[-2:], goal_words(goal))
            rows.append(row)
        yield collate(rows, ID[PAD])
        index += 1

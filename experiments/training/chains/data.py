"""Training text for the bundled reader of requests: a request in our own words, and the type that it names."""

from __future__ import annotations

import hashlib
import random

from envs.tool_chains.compact import goal_words, prompt, vocabulary
from envs.tool_chains.words import all_specs, request_text, type_name
from experiments.training.packing import EOS, PAD, Batch, Sequence, collate

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


def batch(seed: int, _size: str, count: int, index: int) -> Batch:
    """A batch of requests, see :class:`experiments.training.families.Family`."""
    rng = random.Random(f"chains-lm-data:{seed}:{index}")
    rows: list[Sequence] = []
    for _ in range(count):
        text, goal = draw(rng, held_out=False)
        row, shown = Sequence(ID), prompt(text)
        row.prefix(shown[:-2])
        row.query(shown[-2:], goal_words(goal))
        rows.append(row)
    return collate(rows, ID[PAD])

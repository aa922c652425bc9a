"""Training text for the bundled tool LM: arithmetic on word problems, and multi-hop questions with reading.

Every sequence is one state and several queries (``tape/tools/prompts/compact.py``); problems and questions that are
held out never occur (``is_held_out`` of either environment).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from experiments.training.packing import EOS, PAD, Batch, Sequence, collate
from experiments.training.tools import arithmetic as tool_lm_arithmetic
from experiments.training.tools import reading as tool_lm_reading

MARKERS = ("text:", "got:", "failed:", "afford:", "plan:", "<plan>", "<act>", "<score>", "<read>", "->", ";", "=")
MARKERS += ("answer", "right", "wrong", "none", "<unk>")
SLOTS = (
    *(f"v{i}" for i in range(1, 6)),
    *(f"#{i}" for i in range(1, 10)),
    *(str(i) for i in range(10)),
    *(f"n{i}" for i in range(1, 13)),
    *(f"e{i}" for i in range(1, 41)),
)
WORDS = list(
    dict.fromkeys((PAD, EOS, *MARKERS, *SLOTS, *tool_lm_arithmetic.vocabulary(), *tool_lm_reading.vocabulary()))
)
ID = {word: i for i, word in enumerate(WORDS)}


@dataclass(frozen=True)
class Mix:
    """What batches are made of from some step on.

    Attributes:
        start: The step.
        arithmetic: Share of word problems; the others are multi-hop questions and passages to read.
        reading: Share of the passages among these.
        queries: Least and most that is asked of the same passages.
    """

    start: int
    arithmetic: float
    reading: float
    queries: tuple[int, int] = (2, 4)


# A read answer is one word, a plan fifteen: with even shares reading was still at .57 when plans were at .96. The
# state is most of a sequence, so more questions to the same passages cost little; they brought reading to .90.
MIXES = (Mix(0, 0.5, 0.5), Mix(2200, 0.15, 0.8), Mix(2500, 0.12, 0.88, (8, 12)))
"""In the order of their starts."""


def batch(seed: int, _size: str, count: int, index: int) -> Batch:
    """A batch of problems and passages, see :class:`experiments.training.families.Family`."""
    rng = random.Random(f"tool-lm-data:{seed}:{index}")
    rows: list[Sequence] = []
    mix = [mix for mix in MIXES if mix.start <= index][-1]
    while len(rows) < count:
        arithmetic = rng.random() < mix.arithmetic
        example = (
            tool_lm_arithmetic.example(rng) if arithmetic else tool_lm_reading.example(rng, mix.reading, mix.queries)
        )
        row = Sequence(ID)
        row.prefix(example.prefix)
        for prompt, answer in example.queries:
            row.query(prompt, answer)
        if example.queries:
            rows.append(row)
    return collate(rows, ID[PAD])

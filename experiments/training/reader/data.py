"""Rows of training: paragraphs once, and several questions to them that do not see each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from envs.musique.question import Passage
from experiments.training.reader import made_up, public
from experiments.training.reader.example import Asked, Sheet
from experiments.training.reader.forms import Form, asked_and_answered, begun, draw_form

MADE_UP, HOPS = 0.5, 0.22
"""Shares of rows from our own worlds, and of hops of public questions; the others are gaps in public paragraphs."""
EXAMPLE_SHARE = 0.4
"""How often a worked example stands before the paragraphs."""
LATE, LATE_SHARE = 330, 0.65
"""From this row on so often; in half of them two, of which one has no answer, as in the prompts of HotpotQA."""
MOST_TOKENS = 900
QUESTIONS = 6


@dataclass(frozen=True)
class Row:
    """Tokens of one forward pass.

    Attributes:
        ids: All of them, (length,).
        positions: Of each in its own conversation, (length,).
        branch: 0 for what is shared, then the number of the question, (length,).
        target: What is to be written after each token, -1 where nothing is learned, (length,).
        weight: Of each target, (length,); every answer weighs the same.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    branch: torch.Tensor
    target: torch.Tensor
    weight: torch.Tensor

    def mask(self) -> torch.Tensor:
        """What each token sees, as what is added to attention: (1, 1, length, length)."""
        order = torch.arange(len(self.ids))
        sees = (order[:, None] >= order) & ((self.branch == 0) | (self.branch == self.branch[:, None]))
        return torch.zeros(sees.shape).masked_fill(~sees, float("-inf"))[None, None]


class Source:
    """Where rows come from.

    Args:
        tokenizer: Of the base model (``tokenizers`` interface of transformers).
        public_file: In the MuSiQue format; half of its questions are used. None: made-up worlds alone.
    """

    def __init__(self, tokenizer: Any, public_file: Path | None = None) -> None:
        self._tokenizer = tokenizer
        self._hops = public.load_hops(public_file)[0] if public_file else []
        found = {p.title: p for hop in self._hops for p in (hop.gold, *hop.others)}
        self._passages: list[Passage] = list(found.values())

    def row(self, seed: int, number: int) -> Row:
        """The row of that number: a function of seed and number alone."""
        rng = random.Random(f"reader:{seed}:{number}")
        while True:
            form = draw_form(rng)
            sheet = self._sheet(rng)
            if sheet is None or not sheet.asked:
                continue
            examples = _examples(rng, late=number >= LATE)
            made = pack(self._tokenizer, form, sheet, examples)
            if len(made.ids) <= MOST_TOKENS:
                return made

    def _sheet(self, rng: random.Random) -> Sheet | None:
        count, kind = rng.choice((1, 2, 3, 3)), rng.random()
        if kind < MADE_UP or not self._hops:
            return made_up.sheet(rng, count, QUESTIONS)
        if kind < MADE_UP + HOPS:
            return public.hop_sheet(rng, self._hops, count)
        return public.gap_sheet(rng, self._passages, min(count, 2), QUESTIONS)


def _examples(rng: random.Random, *, late: bool) -> list[Sheet]:
    if rng.random() >= (LATE_SHARE if late else EXAMPLE_SHARE):
        return []
    found = [made_up.sheet(rng, 1, 1)]
    if late and rng.random() < 0.5:
        question = found[0].asked[0].question
        found.append(Sheet(made_up.sheet(rng, 1, 1).passages, (Asked(question),)))
        rng.shuffle(found)
    return found


def pack(tokenizer: Any, form: Form, sheet: Sheet, examples: Sequence[Sheet] = ()) -> Row:
    """Write a sheet as one row."""

    def encode(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    ids = encode(begun(form, sheet, examples))
    shared = len(ids)
    positions, branch, target = list(range(shared)), [0] * shared, [-1] * shared
    weight = [0.0] * shared
    for number, asked in enumerate(sheet.asked, 1):
        question, answer = map(encode, asked_and_answered(form, asked))
        mine = [*question, *answer[:-1]]  # nothing is written after the end
        ids += mine
        positions += range(shared, shared + len(mine))
        branch += [number] * len(mine)
        target += [-1] * (len(question) - 1) + answer
        weight += [0.0] * (len(question) - 1) + [1 / len(answer)] * len(answer)
    return Row(*map(torch.tensor, (ids, positions, branch, target)), torch.tensor(weight))

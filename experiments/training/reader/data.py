"""Rows of training: paragraphs once, and several questions to them that do not see each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments.training.reader import made_up, public
from experiments.training.reader.engine_prompts import find_rows, tool_rows
from experiments.training.reader.example import Sheet
from experiments.training.reader.forms import draw_form, form_rows
from tape.protocols.search import Passage

MADE_UP, HOPS = 0.45, 0.25
"""Shares of rows from our own worlds, and of hops of public questions.

The others ask public paragraphs for what they state.
"""
FIND, TOOL = 0.4, 0.2
"""Shares of rows asked by the engine's own prompts, of HotpotQA and of tools; the others are worded at random."""
EXAMPLE_SHARE = 0.3
"""How often a worked example stands before the paragraphs, where the wording is random."""
MOST_TOKENS = 1100
QUESTIONS = 10


@dataclass(frozen=True)
class Row:
    """Tokens of one forward pass.

    Attributes:
        ids: All of them, (length,).
        positions: Of each in its own conversation, (length,).
        branch: 0 for what is shared, then the number of the question, (length,).
        target: What is to be written after each token, -1 where nothing is learned, (length,).
        weight: Of each target, (length,): one over the number of answers. All tokens of an answer weigh the same, so
            that the few at which something is decided count as much in a long answer as in a short one.
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
        self._hops = public.load_hops(public_file) if public_file else []
        found = {p.title: p for hop in self._hops for p in (hop.gold, *hop.others)}
        self._passages: list[Passage] = list(found.values())

    def row(self, seed: int, number: int) -> Row:
        """The row of that number: a function of seed and number alone."""
        rng = random.Random(f"reader:{seed}:{number}")
        while True:
            sheet = self._sheet(rng)
            if sheet is None or not sheet.asked:
                continue
            made = pack(self._tokenizer, *written(rng, sheet))
            if len(made.ids) <= MOST_TOKENS:
                return made

    def _sheet(self, rng: random.Random) -> Sheet | None:
        count, kind = rng.choice((1, 2, 3, 3, 3)), rng.random()
        if kind < MADE_UP or not self._hops:
            return made_up.sheet(rng, count, QUESTIONS)
        if kind < MADE_UP + HOPS:
            return public.hop_sheet(rng, self._hops, count)
        return public.stated_sheet(rng, self._passages, count, QUESTIONS)


def written(rng: random.Random, sheet: Sheet) -> tuple[str, list[tuple[str, str]]]:
    """A sheet as it is asked: what its questions share, and each of them with its answer."""
    how = rng.random()
    if how < FIND:
        return find_rows(sheet)
    if how < FIND + TOOL:
        return tool_rows(rng, sheet)
    examples = [made_up.sheet(rng, 1, 1)] if rng.random() < EXAMPLE_SHARE else []
    return form_rows(draw_form(rng), sheet, examples)


def pack(tokenizer: Any, begun: str, rows: Sequence[tuple[str, str]]) -> Row:
    """Write a sheet as one row.

    Args:
        tokenizer: Of the base model.
        begun: What all questions share.
        rows: The rest of each conversation, and its answer.
    """

    def encode(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    ids = encode(begun)
    shared = len(ids)
    positions, branch, target = list(range(shared)), [0] * shared, [-1] * shared
    weight = [0.0] * shared
    for number, (asked, answered) in enumerate(rows, 1):
        question, answer = encode(asked), encode(answered)
        mine = [*question, *answer[:-1]]  # nothing is written after the end
        ids += mine
        positions += range(shared, shared + len(mine))
        branch += [number] * len(mine)
        target += [-1] * (len(question) - 1) + answer
        weight += [0.0] * (len(question) - 1) + [1 / len(rows)] * len(answer)
    return Row(*map(torch.tensor, (ids, positions, branch, target)), torch.tensor(weight))

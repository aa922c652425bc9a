"""Training sequences: one state and several queries, packed into rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

PAD, EOS = "<pad>", "<eos>"
Words = list[str] | tuple[str, ...]
Batch = dict[str, torch.Tensor]
"""``ids, position, label, optimal`` of shape (batch, length) and ``mask`` (batch, 1, length, length)."""


@dataclass
class Sequence:
    """One packed sequence.

    Args:
        vocabulary: The id of every word.

    Attributes:
        ids: Token ids.
        segment: 0 for the state, i for the i-th query.
        position: Position of each token in its own prompt.
        label: Target id of the *next* token where it is trained on, else -100.
        optimal: Bit mask of all optimal actions where the target is a plan step, else 0.
    """

    vocabulary: Mapping[str, int]
    ids: list[int] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    optimal: list[int] = field(default_factory=list)

    def prefix(self, words: list[str]) -> None:
        """Append the state."""
        self.ids += [self.vocabulary[w] for w in words]
        self.segment += [0] * len(words)
        self.position += range(len(words))
        self.label += [-100] * len(words)
        self.optimal += [0] * len(words)

    def query(self, prompt: Words, answer: Words, optimal: list[int] | None = None) -> None:
        """Append a query and its answer, of which only the answer and its end are trained on.

        Args:
            prompt: The query.
            answer: Its answer.
            optimal: Masks of the optimal actions, of an answer that is a plan.
        """
        start = self.segment.count(0)
        number = self.segment[-1] + 1
        words = [*prompt, *answer]
        self.ids += [self.vocabulary[w] for w in words]
        self.segment += [number] * len(words)
        self.position += range(start, start + len(words))
        self.label += [-100] * (len(prompt) - 1) + [self.vocabulary[w] for w in answer] + [self.vocabulary[EOS]]
        masks = optimal or [0] * len(answer)
        self.optimal += [0] * (len(prompt) - 1) + masks + [0]


ROW = 96
"""Tokens in one row of a batch; short sequences share a row."""


def collate(sequences: list[Sequence], pad_id: int, size: int = ROW) -> Batch:
    """Fit sequences into rows of ``size`` tokens (first fit, longest first) and build the attention mask.

    A token sees the earlier tokens of its own query and of its own state, nothing else.
    """
    rows: list[list[Sequence]] = []
    left: list[int] = []
    for item in sorted(sequences, key=lambda s: -len(s.ids)):
        length = len(item.ids)
        slot = next((i for i, free in enumerate(left) if free >= length), None)
        if slot is None:
            slot = len(rows)
            rows.append([])
            left.append(max(size, length))
        rows[slot].append(item)
        left[slot] -= length
    width = max(sum(len(s.ids) for s in row) for row in rows)

    def pad(name: str, fill: int) -> torch.Tensor:
        flat = [[value for s in row for value in getattr(s, name)] for row in rows]
        return torch.tensor([row + [fill] * (width - len(row)) for row in flat])

    owner = [[i for i, s in enumerate(row) for _ in s.ids] for row in rows]
    document = torch.tensor([row + [-1] * (width - len(row)) for row in owner])
    segment = pad("segment", -1)
    same_document = document[:, :, None] == document[:, None, :]
    same_segment = segment[:, :, None] == segment[:, None, :]
    state = (segment == 0)[:, None, :]
    causal = torch.ones(width, width, dtype=torch.bool).tril()
    return {
        "ids": pad("ids", pad_id),
        "position": pad("position", 0),
        "label": pad("label", -100),
        "optimal": pad("optimal", 0),
        "mask": (same_document & (same_segment | state) & causal)[:, None],
    }

"""What decoding asks of a network: a causal language model's forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import torch

from tape.lm.trees import Feed, Shape


class Cache(Protocol):
    """Keys and values of the tokens that a network has read."""

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, (kept,) of int64; one that comes twice is copied."""


CacheT = TypeVar("CacheT", bound=Cache)


class Network(Protocol[CacheT]):
    """A causal language model's forward pass."""

    @property
    def device(self) -> torch.device:
        """Where its inputs must be."""

    @property
    def window(self) -> int:
        """Most tokens of a sequence."""

    def new_cache(self) -> CacheT:
        """An empty cache."""

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: CacheT | None, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions.

        Args:
            ids: New tokens, (rows, length).
            mask: 1 for a token, 0 for padding, over all tokens so far, (rows, cached + length).
            positions: Of the new tokens, from 0, (rows, length).
            cache: What was read before; it grows by the new tokens. None: nothing was, nothing is kept.
            keep: For how many positions, from the end.

        Returns:
            (rows, keep, vocabulary).

        Raises:
            RuntimeError: It failed, for instance for want of memory.
            IndexError: A token is outside the vocabulary.
        """


class TreeNetwork(Protocol):
    """A network that reads new tokens of several trees in one pass (:mod:`tape.lm.trees`)."""

    @property
    def device(self) -> torch.device:
        """Where its trees must be."""

    @property
    def window(self) -> int:
        """Most tokens of a sequence."""

    @property
    def shape(self) -> Shape | None:
        """Of its keys and values; None where its attention is of another kind, and it reads no trees."""

    def read(self, feeds: Sequence[Feed]) -> torch.Tensor:
        """Logits of the tokens that are asked for, of all feeds in their order, (asked, vocabulary).

        Every tree grows by its new tokens.

        Raises:
            RuntimeError: It failed, for instance for want of memory.
            IndexError: A token is outside the vocabulary.
        """

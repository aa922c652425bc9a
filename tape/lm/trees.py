"""Keys and values of a prompt and of all that is written after it, read once and shared.

The samples of a request go on from one prompt. Here they are one tree: the prompt's keys and values are there once, and
every token has a mask of the others of its tree that it may see. A forward pass reads the new tokens of all trees
together, without padding: matrices are multiplied for all of them at once, attention goes tree by tree. Nothing is
copied where a sample ends, a beam is dropped or a request joins. What prompts begin with is kept in blocks
(:class:`PrefixStore`), so that rules and examples are read once in a run.

Which tokens are read in one pass changes the last digits of what comes out, as padding does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch.nn.functional import scaled_dot_product_attention

BLOCK = 16
"""Tokens of a block that is kept."""

KEPT_BYTES = 1 << 30
"""Most bytes of the blocks that are kept of a model's prompts."""


@dataclass(frozen=True)
class Shape:
    """Of the keys of one token; values have the same.

    Attributes:
        layers: How many layers.
        heads: Of each, that have keys of their own.
        width: Of a head.
        dtype: Of the numbers.
    """

    layers: int
    heads: int
    width: int
    dtype: torch.dtype = torch.float32

    @property
    def bytes(self) -> int:
        """Of keys and values of one token."""
        return 2 * self.layers * self.heads * self.width * self.dtype.itemsize


class Tree:
    """Keys and values of tokens, each of which may see some of those before it."""

    def __init__(self, shape: Shape, device: torch.device, capacity: int) -> None:
        self.length = 0
        self._data = torch.empty(
            (2 * shape.layers, shape.heads, capacity, shape.width), dtype=shape.dtype, device=device
        )
        self._places = torch.zeros(capacity, dtype=torch.int64, device=device)

    def grow(self, count: int) -> None:
        """Grow so that so many more tokens fit."""
        needed, capacity = self.length + count, self._data.shape[2]
        if needed > capacity:
            more = max(needed, capacity + capacity // 4 + 64) - capacity
            empty = self._data.new_empty((*self._data.shape[:2], more, self._data.shape[3]))
            self._data = torch.cat([self._data, empty], 2)
            self._places = torch.cat([self._places, self._places.new_zeros(more)])

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self._data.device

    def place(self, places: torch.Tensor) -> None:
        """Set where in their sequences the new tokens stand, (new,), from 0."""
        self._places[self.length : self.length + len(places)] = places

    def places(self, count: int) -> torch.Tensor:
        """Where the first tokens stand, (count,)."""
        return self._places[:count]

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add a layer's keys and values of new tokens, (heads, new, width); all of that layer."""
        end = self.length + keys.shape[1]
        mine, theirs = self._data[2 * layer], self._data[2 * layer + 1]
        mine[:, self.length : end] = keys
        theirs[:, self.length : end] = values
        return mine[:, :end], theirs[:, :end]

    def load(self, blocks: Sequence[torch.Tensor]) -> None:
        """Begin with blocks of a prompt."""
        for block in blocks:
            self._data[:, :, self.length : self.length + BLOCK] = block
            self.length += BLOCK
        self._places[: self.length] = torch.arange(self.length, device=self._places.device)

    def block(self, number: int) -> torch.Tensor:
        """A copy of a block of its prompt, (2 layers, heads, BLOCK, width)."""
        return self._data[:, :, number * BLOCK : (number + 1) * BLOCK].clone()


@dataclass
class Feed:
    """New tokens of a tree.

    Attributes:
        tree: The tree.
        tokens: The new tokens.
        places: Where they stand in their sequences, from 0.
        wanted: Of which of them logits are asked for.
        sees: What each may see of the tree, the new tokens included, (new, all) of bool; None: what is before it,
            and itself.
    """

    tree: Tree
    tokens: list[int]
    places: list[int]
    wanted: list[int]
    sees: torch.Tensor | None = None
    _masks: dict[tuple[int | None, int], torch.Tensor | None] = field(default_factory=dict, repr=False)

    def mask(self, window: int | None, groups: int) -> torch.Tensor | None:
        """Which token may see which, (groups * new, all), the new tokens once for each group; None: each sees all.

        Args:
            window: Most tokens that one sees, itself included; None: any number.
            groups: Heads that share keys.
        """
        key = (window, groups)
        if key not in self._masks:
            self._masks[key] = self._mask(window, groups)
        return self._masks[key]

    def _mask(self, window: int | None, groups: int) -> torch.Tensor | None:
        new, count = len(self.tokens), self.tree.length + len(self.tokens)
        sees, places = self.sees, self.tree.places(count)
        if sees is None:
            if new == 1 and (window is None or count <= window):
                return None
            columns = torch.arange(count, device=places.device)
            sees = columns <= columns[count - new :, None]
        if window is not None:
            sees = sees & (places > places[count - new :, None] - window)
        return sees.repeat(groups, 1)


def attend(
    feeds: Sequence[Feed],
    layer: int,
    query: torch.Tensor,
    written: tuple[torch.Tensor, torch.Tensor],
    scale: float,
    window: int | None = None,
) -> torch.Tensor:
    """Attention of new tokens, tree by tree; the trees take over their keys and values.

    Args:
        feeds: The new tokens, in the order of the rows.
        layer: Which layer.
        query: (heads, new, width).
        written: Keys and values, each (heads with keys of their own, new, width).
        scale: Of the products.
        window: Most tokens that one sees.

    Returns:
        (new, heads, width).
    """
    heads, _, width = query.shape
    key, value = written
    own = key.shape[0]
    groups = heads // own
    parts, first = [], 0
    for feed in feeds:
        new = len(feed.tokens)
        rows = slice(first, first + new)
        first += new
        keys, values = feed.tree.write(layer, key[:, rows], value[:, rows])
        if feed.sees is None and feed.tree.length == 0 and window is None and new > 1:
            # As every library does it for a whole prompt: the upper half is not computed.
            mixed = scaled_dot_product_attention(
                query[None, :, rows], keys[None], values[None], is_causal=True, scale=scale, enable_gqa=groups > 1
            )
        else:
            # Heads that share keys stand below each other, as if they were tokens: keys need no copies.
            packed = query[:, rows].reshape(own, groups * new, width)
            mask = feed.mask(window, groups)
            mixed = scaled_dot_product_attention(packed[None], keys[None], values[None], attn_mask=mask, scale=scale)
        parts.append(mixed.reshape(heads, new, width).transpose(0, 1))
    return torch.cat(parts) if len(parts) > 1 else parts[0]


def gathered(feeds: Sequence[Feed], device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a forward pass begins with; every tree grows for its new tokens.

    Returns:
        Tokens, (new,); where they stand, (new,); of which logits are asked for, (asked,).
    """
    tokens: list[int] = []
    wanted: list[int] = []
    places = []
    for feed in feeds:
        wanted += [len(tokens) + index for index in feed.wanted]
        tokens += feed.tokens
        places.append(torch.tensor(feed.places, device=device))
        feed.tree.grow(len(feed.tokens))
        feed.tree.place(places[-1])
    return torch.tensor(tokens, device=device), torch.cat(places), torch.tensor(wanted, device=device)


def grown(feeds: Sequence[Feed]) -> None:
    """Count the new tokens to their trees, once every layer has written them."""
    for feed in feeds:
        feed.tree.length += len(feed.tokens)


class PrefixStore:
    """Keys and values of what prompts begin with, in blocks, as many as fit; what was least used goes first."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most, self.held = most, 0
        # By the block before it (0: none) and its tokens; with a number of its own, never given twice.
        self._blocks: OrderedDict[tuple[int, tuple[int, ...]], tuple[int, torch.Tensor]] = OrderedDict()
        self._numbers = 0

    def longest(self, tokens: Sequence[int]) -> list[torch.Tensor]:
        """The blocks that a prompt begins with; at least one of its tokens is left."""
        pairs = []
        for key, block in self._path(tokens[:-1]):
            if block is None:
                break
            pairs.append((key, block))
        # The first block is touched last: what goes on from a block never outlives it.
        for key, _ in reversed(pairs):
            self._blocks.move_to_end(key)
        return [block for _, (_, block) in pairs]

    def keep(self, tokens: Sequence[int], tree: Tree) -> None:
        """Keep the blocks of a prompt that a tree has read."""
        parent, keys = 0, []
        for number in range(len(tokens) // BLOCK):
            key = (parent, tuple(tokens[number * BLOCK : (number + 1) * BLOCK]))
            if key not in self._blocks:
                self._numbers += 1
                block = tree.block(number)
                self._blocks[key] = (self._numbers, block)
                self.held += block.nbytes
            parent = self._blocks[key][0]
            keys.append(key)
        for key in reversed(keys):
            self._blocks.move_to_end(key)
        while self.held > self._most:
            _, (_, dropped) = self._blocks.popitem(last=False)
            self.held -= dropped.nbytes

    def _path(self, tokens: Sequence[int]) -> list[tuple[tuple[int, tuple[int, ...]], tuple[int, torch.Tensor] | None]]:
        """Keys of a prompt's blocks and what is held for them, up to the first that is missing."""
        numbers: list[tuple[tuple[int, tuple[int, ...]], tuple[int, torch.Tensor] | None]] = []
        parent = 0
        for first in range(0, len(tokens) - BLOCK + 1, BLOCK):
            key = (parent, tuple(tokens[first : first + BLOCK]))
            block = self._blocks.get(key)
            numbers.append((key, block))
            if block is None:
                break
            parent = block[0]
        return numbers

    def missing(self, tokens: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
        """The first block of a prompt that is not held; None where all are."""
        path = self._path(tokens[:-1])
        return path[-1][0] if path and path[-1][1] is None else None

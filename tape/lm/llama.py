"""The forward pass of the bundled checkpoints: a plain Llama.

transformers has this model, and ``hf:`` models use it. Importing it takes four seconds of processor time,
ten times what an easy episode takes with a checkpoint of half a million parameters, hence these few lines for
the one architecture that ``experiments.training`` makes. Every operation is the one that transformers does, in
its order, so the logits are the same to the last bit; a test compares them.

Source: https://github.com/huggingface/transformers, ``models/llama/modeling_llama.py``,
``integrations/sdpa_attention.py`` and ``masking_utils.py`` of 5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import torch
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.nn.functional import embedding, linear, scaled_dot_product_attention, silu

from tape.errors import ModelError
from tape.lm.trees import Feed, Shape, attend, gathered, grown
from tape.lm.weight_files import check_safetensors
from tape.reading import read_json, shaped, short

FIXED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
}
"""What a checkpoint's configuration must contain; RoPE must have no scaling besides."""

Mixer: TypeAlias = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Attention of a layer by its queries, keys and values, each (rows, heads, length, head width), to the same."""

_Size = Annotated[int, Field(ge=1, le=1 << 31)]
_Few = Annotated[int, Field(ge=1, le=4096)]


@dataclass(frozen=True)
class _Rope:
    rope_theta: Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class _Config:
    max_position_embeddings: _Size
    rms_norm_eps: Annotated[float, Field(gt=0)]
    head_dim: Annotated[_Few, Field(multiple_of=2)]
    num_hidden_layers: _Few
    rope_parameters: _Rope


NEEDED = ("max_position_embeddings", "rms_norm_eps", "head_dim", "num_hidden_layers")
"""What it must hold besides."""


@dataclass
class LayerCache:
    """Keys and values of every layer, each (rows, heads, tokens, head width); the lists are empty at first."""

    keys: list[torch.Tensor] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Length of what was read."""
        return self.keys[0].shape[2] if self.keys else 0

    def update(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Append to a layer's keys and values; all of them."""
        if layer == len(self.keys):
            self.keys.append(key.contiguous())
            self.values.append(value.contiguous())
        else:
            self.keys[layer] = torch.cat([self.keys[layer], key], 2)
            self.values[layer] = torch.cat([self.values[layer], value], 2)
        return self.keys[layer], self.values[layer]

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, (kept,) of int64."""
        self.keys = [key[indices] for key in self.keys]
        self.values = [value[indices] for value in self.values]


class Llama:
    """Implements :class:`tape.lm.network.Network` and :class:`tape.lm.network.TreeNetwork`.

    Args:
        folder: ``config.json`` and ``model.safetensors``, whose numbers are used as float32.
        grouped: Whether several heads may share their keys; no bundled checkpoint's do.

    Raises:
        ModelError: It is another architecture.
    """

    def __init__(self, folder: Path, *, grouped: bool = False) -> None:
        file = folder / "config.json"
        record = read_json(file, dict[str, Any], error=ModelError)
        _check(file, record, grouped)
        config = shaped(record, _Config, str(file), error=ModelError)
        self.window, self.device = config.max_position_embeddings, torch.device("cpu")
        self._eps, self._width = config.rms_norm_eps, config.head_dim
        self._layers = range(config.num_hidden_layers)
        theta = config.rope_parameters.rope_theta
        self._frequencies = 1.0 / (theta ** (torch.arange(0, self._width, 2, dtype=torch.float) / self._width))
        weights = folder / "model.safetensors"
        check_safetensors(weights)
        try:
            loaded = load_file(weights)
            self._weights = {name.removeprefix("model."): tensor.float() for name, tensor in loaded.items()}
            item = torch.zeros((1, 1), dtype=torch.int64)
            self.forward(item, item + 1, item, None, 1)  # weights of another shape fail here, not in an episode
        except (SafetensorError, OSError, RuntimeError, KeyError, IndexError, ValueError) as error:
            raise ModelError(f"{weights}: not the weights that {file} describes: {error!r}") from error

    def new_cache(self) -> LayerCache:
        """An empty cache."""
        return LayerCache()

    @property
    def shape(self) -> Shape:
        """Of its keys and values."""
        key = self._weights["layers.0.self_attn.k_proj.weight"]
        return Shape(len(self._layers), key.shape[0] // self._width, self._width)

    @torch.inference_mode()
    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: LayerCache | None, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary); see :class:`tape.lm.network.Network`."""
        allowed = _attention_mask(ids.shape[1], mask)

        def mix(layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            if cache is not None:
                key, value = cache.update(layer, key, value)
            return self._mixed(query, key, value, allowed)

        # Contiguous, or torch multiplies row by row, which changes the last bit.
        return self._logits(self._norm("norm", self._hidden(ids, positions, mix))[:, -keep:].contiguous())

    @torch.inference_mode()
    def read(self, feeds: Sequence[Feed]) -> torch.Tensor:
        """Logits of new tokens of trees; see :class:`tape.lm.network.TreeNetwork`."""
        ids, places, wanted = gathered(feeds, self.device)

        def mix(layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
            return attend(feeds, layer, query[0], (key[0], value[0]), self._width**-0.5)[None].transpose(1, 2)

        hidden = self._hidden(ids[None], places[None], mix)
        grown(feeds)
        return self._logits(self._norm("norm", hidden[0, wanted]))

    def _hidden(self, ids: torch.Tensor, positions: torch.Tensor, mix: Mixer) -> torch.Tensor:
        """The last layer's output for new tokens, (rows, length, hidden)."""
        hidden = embedding(ids, self._weights["embed_tokens.weight"])
        angles = positions[..., None].float() * self._frequencies
        angles = torch.cat((angles, angles), -1)[:, None]
        rotation = angles.cos(), angles.sin()
        for layer in self._layers:
            name = f"layers.{layer}."
            hidden = hidden + self._attention(layer, self._norm(name + "input_layernorm", hidden), rotation, mix)
            normed = self._norm(name + "post_attention_layernorm", hidden)
            gated = silu(self._linear(name + "mlp.gate_proj", normed)) * self._linear(name + "mlp.up_proj", normed)
            hidden = hidden + self._linear(name + "mlp.down_proj", gated)
        return hidden

    def _logits(self, normed: torch.Tensor) -> torch.Tensor:
        return linear(normed, self._weights["embed_tokens.weight"])

    def _attention(
        self, layer: int, hidden: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor], mix: Mixer
    ) -> torch.Tensor:
        """Self-attention, (rows, length, hidden) to the same."""
        name, rows, length = f"layers.{layer}.self_attn.", hidden.shape[0], hidden.shape[1]
        query, key, value = (
            self._linear(f"{name}{part}_proj", hidden).view(rows, length, -1, self._width).transpose(1, 2)
            for part in "qkv"
        )
        mixed = mix(layer, _rotate(query, *rotation), _rotate(key, *rotation), value)
        return self._linear(name + "o_proj", mixed.transpose(1, 2).reshape(rows, length, -1))

    def _mixed(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor | None
    ) -> torch.Tensor:
        """Values by attention, (rows, heads, length, head width)."""
        rows, heads, length, _ = query.shape
        if key.shape[1] < heads and length == 1:
            query = query.reshape(rows, key.shape[1], -1, self._width)  # one token: heads as if they were tokens
        elif key.shape[1] < heads:
            key, value = (part.repeat_interleave(heads // key.shape[1], 1) for part in (key, value))
        return scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, is_causal=allowed is None and length > 1, scale=self._width**-0.5
        ).reshape(rows, heads, length, self._width)

    def _linear(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        return linear(hidden, self._weights[name + ".weight"])

    def _norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        """RMSNorm over the last axis."""
        variance = hidden.pow(2).mean(-1, keepdim=True)
        normed: torch.Tensor = self._weights[name + ".weight"] * (hidden * torch.rsqrt(variance + self._eps))
        return normed


def _check(file: Path, config: dict[str, Any], grouped: bool) -> None:
    """Refuse a checkpoint that this file would read wrongly."""
    wrong = [f"{name} = {short(config.get(name))}" for name, value in FIXED.items() if config.get(name) != value]
    if not grouped and config.get("num_key_value_heads") != config.get("num_attention_heads"):
        wrong.append("grouped keys")
    rope = config.get("rope_parameters")
    if not isinstance(rope, dict) or rope.get("rope_type") != "default" or "rope_theta" not in rope:
        wrong.append("scaled RoPE")
    wrong += [f"no {name}" for name in NEEDED if name not in config]
    if wrong:
        raise ModelError(f"{file} is not a checkpoint of the bundled architecture: {', '.join(wrong)}")


def _attention_mask(length: int, mask: torch.Tensor) -> torch.Tensor | None:
    """Which token may see which, (rows, 1, length, tokens) of bool; None where that is plainly causal.

    Args:
        length: New tokens.
        mask: 1 for a token, 0 for padding, (rows, tokens).
    """
    tokens = mask.shape[1]
    if length in (1, tokens) and bool(mask.all()):
        return None
    positions = torch.arange(tokens)
    causal = positions <= positions[tokens - length :, None]
    return causal & mask.bool()[:, None, None, :]


def _rotate(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of (rows, heads, length, head width)."""
    half = states.shape[-1] // 2
    turned = torch.cat((-states[..., half:], states[..., :half]), -1)
    return states * cos + turned * sin

"""The bundled checkpoints' forward pass, a plain Llama, and their tokenizer.

transformers has both, and ``hf:`` models use them. Importing it takes four seconds of processor time,
ten times what an easy episode takes with a checkpoint of half a million parameters, hence these few lines for
the one architecture that ``experiments.training`` makes. Every operation is the one that transformers does, in
its order, so the logits are the same to the last bit; a test compares them.

Source: https://github.com/huggingface/transformers, ``models/llama/modeling_llama.py``,
``integrations/sdpa_attention.py`` and ``masking_utils.py`` of 5.23.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tokenizers
import torch
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.nn.functional import embedding, linear, scaled_dot_product_attention, silu

from tape.errors import ModelError
from tape.reading import read_json, shaped, short

FIXED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
}
"""What a checkpoint's configuration must contain; RoPE must have no scaling besides."""

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
    """Implements :class:`tape.lm.decoding.Network`; its heads share no keys."""

    def __init__(self, folder: Path) -> None:
        file = folder / "config.json"
        record = read_json(file, dict[str, Any], error=ModelError)
        _check(file, record)
        config = shaped(record, _Config, str(file), error=ModelError)
        self.window, self.device = config.max_position_embeddings, torch.device("cpu")
        self._eps, self._width = config.rms_norm_eps, config.head_dim
        self._layers = range(config.num_hidden_layers)
        theta = config.rope_parameters.rope_theta
        self._frequencies = 1.0 / (theta ** (torch.arange(0, self._width, 2, dtype=torch.float) / self._width))
        weights = folder / "model.safetensors"
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

    @torch.inference_mode()
    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: LayerCache | None, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary); see :class:`tape.lm.decoding.Network`."""
        # Contiguous, or torch multiplies row by row, which changes the last bit.
        hidden = self._hidden(ids, positions, _attention_mask(ids.shape[1], mask), cache)
        return linear(self._norm("norm", hidden)[:, -keep:].contiguous(), self._weights["embed_tokens.weight"])

    def _hidden(
        self, ids: torch.Tensor, positions: torch.Tensor, allowed: torch.Tensor | None, cache: LayerCache | None
    ) -> torch.Tensor:
        """The last layer's output for new tokens, (rows, length, hidden)."""
        hidden = embedding(ids, self._weights["embed_tokens.weight"])
        angles = positions[..., None].float() * self._frequencies
        angles = torch.cat((angles, angles), -1)[:, None]
        rotation = angles.cos(), angles.sin()
        for layer in self._layers:
            name = f"layers.{layer}."
            normed = self._norm(name + "input_layernorm", hidden)
            hidden = hidden + self._attention(layer, normed, rotation, allowed, cache)
            normed = self._norm(name + "post_attention_layernorm", hidden)
            gated = silu(self._linear(name + "mlp.gate_proj", normed)) * self._linear(name + "mlp.up_proj", normed)
            hidden = hidden + self._linear(name + "mlp.down_proj", gated)
        return hidden

    def _attention(
        self,
        layer: int,
        hidden: torch.Tensor,
        rotation: tuple[torch.Tensor, torch.Tensor],
        allowed: torch.Tensor | None,
        cache: LayerCache | None,
    ) -> torch.Tensor:
        """Self-attention, (rows, length, hidden) to the same."""
        name, rows, length = f"layers.{layer}.self_attn.", hidden.shape[0], hidden.shape[1]
        query, key, value = (
            self._linear(f"{name}{part}_proj", hidden).view(rows, length, -1, self._width).transpose(1, 2)
            for part in "qkv"
        )
        query, key = _rotate(query, *rotation), _rotate(key, *rotation)
        if cache is not None:
            key, value = cache.update(layer, key, value)
        causal, scale = allowed is None and length > 1, self._width**-0.5
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=allowed, is_causal=causal, scale=scale)
        return self._linear(name + "o_proj", mixed.transpose(1, 2).reshape(rows, length, -1))

    def _linear(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        return linear(hidden, self._weights[name + ".weight"])

    def _norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        """RMSNorm over the last axis."""
        variance = hidden.pow(2).mean(-1, keepdim=True)
        normed: torch.Tensor = self._weights[name + ".weight"] * (hidden * torch.rsqrt(variance + self._eps))
        return normed


def _check(file: Path, config: dict[str, Any]) -> None:
    """Refuse a checkpoint that this file would read wrongly."""
    wrong = [f"{name} = {short(config.get(name))}" for name, value in FIXED.items() if config.get(name) != value]
    if config.get("num_key_value_heads") != config.get("num_attention_heads"):
        wrong.append("grouped keys")
    rope = config.get("rope_parameters")
    if not isinstance(rope, dict) or rope.get("rope_type") != "default" or "rope_theta" not in rope:
        wrong.append("scaled RoPE")
    wrong += [f"no {name}" for name in NEEDED if name not in config]
    if wrong:
        raise ModelError(f"{file} is not a checkpoint of the bundled architecture: {', '.join(wrong)}")


def _attention_mask(length: int, mask: torch.Tensor) -> torch.Tensor | None:
    """Which token may see which, (rows, 1, length, tokens) of bool; None where that is plainly causal."""
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


class WordTokenizer:
    """Implements :class:`tape.lm.outlines_engine.Tokenizer` on a ``tokenizer.json``.

    Args:
        file: The file; its vocabulary has ``<eos>``, and no token for unknown words.
    """

    unk_token_id = None

    def __init__(self, file: Path) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self.eos_token_id: int | None = self._tokenizer.token_to_id("<eos>")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of a text."""
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids; special tokens are written out."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def texts(self) -> dict[str, int]:
        """The text of every token, and its id."""
        return {self.decode([token]): token for token in self._tokenizer.get_vocab().values()}

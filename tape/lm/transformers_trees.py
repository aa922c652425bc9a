"""Trees on the models of transformers: its attention, gone through tree by tree.

transformers lets attention be exchanged by name, and hands it what a call of the model was given besides. So the
models' own code runs, over the new tokens of all trees in one row. Whether a model's attention is of this kind is not
guessed by its architecture but tried, on a small tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from tape.lm.trees import Feed, Shape, Tree, attend, gathered, grown

NAME = "tape_trees"

CLOSE = 0.05
"""Most that logits of the trial may differ, in standard deviations of the logits; bfloat16 rounds this much."""


_OTHER = (TypeError, ValueError, RuntimeError, AttributeError, IndexError)
"""What a model's code raises that is not of this kind."""


@dataclass
class _Pass:
    """What one call of the model reads.

    Attributes:
        feeds: The new tokens.
        windows: How many tokens each layer sees by the call of its attention; None: all.
    """

    feeds: Sequence[Feed]
    windows: dict[int, int | None] = field(default_factory=dict)


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    tape_trees: _Pass | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers asks for it; without trees it is the usual one."""
    if tape_trees is None:
        mixed, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return mixed, None
    if options.get("softcap") is not None or options.get("position_bias") is not None:
        raise ValueError("attention with a cap or a bias is not done by trees")
    layer, window, scale = module.layer_idx, options.get("sliding_window"), options.get("scaling")
    tape_trees.windows[layer] = window
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return attend(tape_trees.feeds, layer, query[0], (key[0], value[0]), scale, window)[None], None


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


@torch.inference_mode()
def read_trees(model: Any, feeds: Sequence[Feed]) -> torch.Tensor:
    """Logits of new tokens of trees, (asked, vocabulary); see :class:`tape.lm.network.TreeNetwork`."""
    return _read(model, _Pass(feeds))


def _read(model: Any, item: _Pass) -> torch.Tensor:
    tokens, places, wanted = gathered(item.feeds, model.device)
    # A mask that is complete is left as it is; attention makes its own.
    mask = torch.ones((1, 1, 1, 1), dtype=torch.bool, device=model.device)
    out = model(
        input_ids=tokens[None],
        attention_mask=mask,
        position_ids=places[None],
        use_cache=False,
        logits_to_keep=wanted,
        tape_trees=item,
    )
    grown(item.feeds)
    logits: torch.Tensor = out.logits
    return logits[0]


@torch.inference_mode()
def shape_of(model: Any) -> Shape | None:
    """Exchange a model's attention and try it; the shape of its keys, or None where trees do not fit it."""
    config = model.config.get_text_config()
    if config._attn_implementation != "sdpa":
        return None
    ids = [(7 * i + 3) % config.vocab_size for i in range(10)]
    prompt, first, second = ids[:6], ids[6:8], ids[8:]
    usual, layers = [], []
    try:
        for path in (first, second):
            cache = DynamicCache()
            row = torch.tensor([prompt + path], device=model.device)
            usual.append(model(input_ids=row, past_key_values=cache, use_cache=True).logits[0, -1].float())
            layers = [(tuple(layer.keys.shape), tuple(layer.values.shape)) for layer in cache.layers]
    except _OTHER:
        return None  # it keeps something else than keys and values
    if len({size for both in layers for size in both}) != 1:
        return None
    _, heads, _, width = layers[0][0]
    shape = Shape(len(layers), heads, width, model.dtype)
    model.set_attn_implementation(NAME)
    tree = Tree(shape, model.device, 4)
    sees = torch.zeros((4, 10), dtype=torch.bool)
    sees[:, :6] = True
    for row_of, columns in enumerate(((6,), (6, 7), (8,), (8, 9))):
        sees[row_of, list(columns)] = True
    try:
        begin = _Pass([Feed(tree, prompt, [*range(6)], [5])])
        _read(model, begin)
        logits = _read(model, _Pass([Feed(tree, first + second, [6, 7, 6, 7], [1, 3], sees.to(model.device))])).float()
    except _OTHER:
        matches = False  # its code is not of this kind
    else:
        matches = begin.windows == dict(enumerate(_windows(config, len(layers)))) and all(
            float((ours - theirs).abs().max()) <= CLOSE * float(theirs.std())
            for ours, theirs in zip(logits, usual, strict=True)
        )
    if not matches:
        model.set_attn_implementation("sdpa")
    return shape if matches else None


def _windows(config: Any, layers: int) -> list[int | None]:
    """How many tokens each layer sees by the configuration; None: all."""
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    if kinds is None:
        return [window if getattr(config, "use_sliding_window", True) else None] * layers
    return [window if kind == "sliding_attention" else None for kind in kinds]

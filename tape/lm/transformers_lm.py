"""A local transformers model with batched, constrained decoding, by trees where its attention can be exchanged.

transformers lets attention be exchanged by name, and hands it what a call of the model was given besides. So the
models' own code runs, over the new tokens of all trees in one row. Whether a model's attention is of this kind is not
guessed by its architecture but tried, on a small tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from tape.lm.base import Request
from tape.lm.chat_template import ChatTemplate, Turn, control_texts, exact
from tape.lm.decoding import LocalLM
from tape.lm.outlines_engine import transformers_compiler
from tape.lm.trees import Feed, Shape, Tree, attend, gathered, grown

READ = 256
"""Prompts whose tokens are kept: each is counted before it is paid for, and read after."""


class TransformersNetwork:
    """The forward pass of a transformers model.

    Args:
        model: A causal LM.
        ends: Tokens that end an answer; the first one stands for all of them.
    """

    def __init__(self, model: Any, ends: Iterable[int] = ()) -> None:
        self._model = model.eval()
        self._ends = tuple(ends)
        self.window = int(model.config.get_text_config().max_position_embeddings)
        self.shape = shape_of(model)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        device: torch.device = self._model.device
        return device

    def new_cache(self) -> DynamicCache:
        """An empty cache."""
        return DynamicCache()

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: DynamicCache | None, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary); see :class:`tape.lm.decoding.Network`."""
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=keep,
        )
        logits: torch.Tensor = out.logits
        return joined_ends(logits, self._ends)

    def read(self, feeds: Sequence[Feed]) -> torch.Tensor:
        """Logits of new tokens of trees; see :class:`tape.lm.tree_decoding.TreeNetwork`."""
        return joined_ends(read_trees(self._model, feeds), self._ends)


class TransformersLM(LocalLM):
    """Implements :class:`tape.lm.base.LanguageModel` on a transformers model and tokenizer.

    Args:
        model: A causal LM.
        tokenizer: Its tokenizer; it must have an end-of-sequence token.
        name: The string it was opened with.
        identity: Changes whenever its answers may.
        prompt_format: ``compact`` or ``chat``.
        trees: As of :class:`tape.lm.decoding.LocalLM`.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, name: str, identity: str, prompt_format: str, trees: bool = True
    ) -> None:
        # What an answer is written and read by; prompts are read as the model has learnt it.
        writing = exact(tokenizer)

        def render(turns: list[Turn], switches: Mapping[str, Any]) -> str:
            return str(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False, **switches))

        added = ((token.content, token.special) for token in tokenizer.added_tokens_decoder.values())
        control = [*tokenizer.all_special_tokens, *control_texts(added)]
        super().__init__(
            TransformersNetwork(model, _ends(model, tokenizer)),
            writing,
            transformers_compiler(model, writing),
            name=name,
            identity=identity,
            prompt_format=prompt_format,
            trees=trees,
        )
        self._template = ChatTemplate(render, name, control) if tokenizer.chat_template else None
        self._read = lru_cache(maxsize=READ)(lambda text: tuple(tokenizer.encode(text, add_special_tokens=False)))

    @property
    def usual_batch(self) -> int:
        """See :func:`tape.lm.base.usual_batch`; no measured speed decides, since a run's results depend on it."""
        return 1 if self._network.device.type == "cpu" else 8  # an episode alone takes minutes on a processor

    def _encode(self, request: Request) -> list[int]:
        if isinstance(request.prompt, str) or self._template is None:
            return super()._encode(request)
        return list(self._read(self._template.text(request.prompt)))


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end an answer: the tokenizer's, and those of the generation configuration, often a list."""
    listed = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    result = listed if isinstance(listed, list) else [listed]
    return list(dict.fromkeys(int(end) for end in (tokenizer.eos_token_id, *result) if end is not None))


def joined_ends(logits: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
    """Logits in which the first end has the probability of all ends together, and the others have none.

    Models often know more than one: the end of a turn, of a tool call, of the text. Decoding, constraints and scores
    then need to know one alone.

    Args:
        logits: (..., vocabulary).
        ends: Token ids, different from each other; those outside the vocabulary are passed over.
    """
    known = [end for end in ends if end < logits.shape[-1]]
    if len(known) < 2:
        return logits
    joined = logits.clone()
    joined[..., known[0]] = logits[..., known].logsumexp(-1)
    joined[..., known[1:]] = float("-inf")
    return joined


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
    """Logits of new tokens of trees, (asked, vocabulary); see :class:`tape.lm.tree_decoding.TreeNetwork`."""
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

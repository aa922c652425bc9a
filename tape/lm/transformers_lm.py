"""A local transformers model with batched, constrained decoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import DynamicCache

from tape.lm.chat import ChatLM
from tape.lm.chat_template import ChatTemplate, Turn, control_texts
from tape.lm.exact_tokenizer import exact
from tape.lm.outlines_engine import transformers_compiler
from tape.lm.transformers_trees import read_trees, shape_of
from tape.lm.trees import Feed


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
        """Logits of the last positions, (rows, keep, vocabulary); see :class:`tape.lm.network.Network`."""
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
        """Logits of new tokens of trees; see :class:`tape.lm.network.TreeNetwork`."""
        return joined_ends(read_trees(self._model, feeds), self._ends)


class TransformersLM(ChatLM):
    """Implements :class:`tape.lm.base.LanguageModel` on a transformers model and tokenizer.

    Args:
        model: A causal LM.
        tokenizer: Its tokenizer; it must have an end-of-sequence token.
        name: The string it was opened with.
        identity: Changes whenever its answers may.
        prompt_format: ``compact`` or ``chat``.
        trees: As of :class:`tape.lm.decoding.LocalLM`.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
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
            template=ChatTemplate(render, name, control) if tokenizer.chat_template else None,
            read=lambda text: tokenizer.encode(text, add_special_tokens=False),
        )


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

    Returns:
        The same shape; the same logits where there is but one end.
    """
    known = [end for end in ends if end < logits.shape[-1]]
    if len(known) < 2:
        return logits
    joined = logits.clone()
    joined[..., known[0]] = logits[..., known].logsumexp(-1)
    joined[..., known[1:]] = float("-inf")
    return joined

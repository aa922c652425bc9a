"""A local transformers model with batched, constrained decoding."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache

from tape.lm.base import FREE, Price, Request
from tape.lm.decoding import LocalLM
from tape.lm.outlines_engine import transformers_compiler


class TransformersNetwork:
    """The forward pass of a transformers model.

    Args:
        model: A causal LM.
    """

    def __init__(self, model: Any) -> None:
        self._model = model.eval()
        self.window = int(model.config.max_position_embeddings)

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
        return logits


class TransformersLM(LocalLM):
    """Implements :class:`tape.lm.base.LanguageModel` on a transformers model and tokenizer.

    Args:
        model: A causal LM.
        tokenizer: Its tokenizer; it must have an end-of-sequence token.
        name: The string it was opened with.
        identity: Changes whenever its answers may.
        prompt_format: ``compact`` or ``chat``.
        price: Zero for a local model.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        identity: str,
        prompt_format: str,
        price: Price | None = FREE,
    ) -> None:
        super().__init__(
            TransformersNetwork(model),
            tokenizer,
            transformers_compiler(model, tokenizer),
            name=name,
            identity=identity,
            prompt_format=prompt_format,
            price=price,
        )
        self._chat = tokenizer

    def _encode(self, request: Request) -> list[int]:
        if isinstance(request.prompt, str) or not self._chat.chat_template:
            return super()._encode(request)
        messages = [{"role": m.role, "content": m.content} for m in request.prompt]
        encoded = self._chat.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
        return list(encoded["input_ids"])

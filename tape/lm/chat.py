"""A local model that is asked by chat messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tape.lm.base import Request
from tape.lm.chat_template import ChatTemplate
from tape.lm.decoding import LocalLM

READ = 256
"""Prompts whose tokens are kept: each is counted before it is paid for, and read after."""


class ChatLM(LocalLM):
    """A local model with a chat template.

    Args:
        options: Of :class:`tape.lm.decoding.LocalLM`; its tokenizer is what answers are written by.
        template: Makes a prompt of messages; None: only plain prompts are read.
        read: Tokens of such a prompt, its special tokens as such.
    """

    def __init__(
        self, *options: Any, template: ChatTemplate | None, read: Callable[[str], Sequence[int]], **named: Any
    ) -> None:
        super().__init__(*options, **{"trees": True, **named})
        self._template = template
        self._read = lru_cache(maxsize=READ)(lambda text: tuple(read(text)))

    @property
    def usual_batch(self) -> int:
        """See :func:`tape.lm.base.usual_batch`; no measured speed decides, since a run's results depend on it."""
        return 1 if self._network.device.type == "cpu" else 8  # an episode alone takes minutes on a processor

    def _encode(self, request: Request) -> list[int]:
        if isinstance(request.prompt, str) or self._template is None:
            return super()._encode(request)
        return list(self._read(self._template.text(request.prompt)))

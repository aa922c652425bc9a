"""The bundled checkpoints' tokenizers, read by the tokenizers library alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tokenizers


class WordTokenizer:
    """Implements :class:`tape.lm.outlines_engine.Tokenizer` on a ``tokenizer.json``.

    transformers' class for it does the same and takes a second of processor time to import.

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

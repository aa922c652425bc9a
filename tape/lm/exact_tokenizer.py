"""Tokenizers that write the very text they are given, wherever it stands.

A tokenizer in the style of Llama 2 (SentencePiece) puts a space before a text and takes one away from what it decodes.
That is right for whole documents. An answer goes on after a prompt: the space that it adds makes every option another
text than the constraint admits, and the one that it takes away makes ``" U"`` into ``"U"``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import tokenizers

from tape.errors import ModelError
from tape.lm.chat_template import control_texts
from tape.reading import read_json, read_text


def without_prefix(definition: str) -> str:
    """The same tokenizer, neither adding a space before a text nor taking one away.

    Args:
        definition: A ``tokenizer.json``.
    """
    content = json.loads(definition)
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        if content.get(part) is not None:
            content[part] = _without(content[part])
    return json.dumps(content, ensure_ascii=False)


def exact(tokenizer: Any) -> Any:
    """A tokenizer of transformers that writes the very text; itself where it does that already.

    Args:
        tokenizer: A fast one, by the tokenizers library; any other is left as it is.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return tokenizer
    given = backend.to_str()
    changed = without_prefix(given)
    same = json.loads(changed) == json.loads(given) and not tokenizer.clean_up_tokenization_spaces
    if same and not tokenizer.chat_template:
        return tokenizer
    result = deepcopy(tokenizer)
    result.split_special_tokens = True  # an answer's "<filename>" is text
    result.clean_up_tokenization_spaces = False  # it takes the space before a full stop away, for one
    result._tokenizer = type(backend).from_str(changed)  # there is no public way to replace it
    return result


class FileTokenizer:
    """Implements :class:`tape.lm.outlines_engine.Tokenizer` on a folder that transformers has saved, without it.

    transformers' class for it takes a second of processor time to import.

    Args:
        folder: ``tokenizer.json`` and ``tokenizer_config.json``.

    Attributes:
        definition: The ``tokenizer.json`` that answers are written by.
        special: Texts of its special tokens by name, as ``eos_token``.
        control: What may begin or end a turn; see :func:`tape.lm.chat_template.control_texts`.

    Raises:
        ModelError: They cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        config = read_json(folder / "tokenizer_config.json", dict[str, Any], error=ModelError)
        self.special = {
            name: str(text["content"] if isinstance(text, dict) else text)
            for name, text in config.items()
            if name in ("bos_token", "eos_token", "unk_token", "pad_token") and text is not None
        }
        definition = read_text(folder / "tokenizer.json", error=ModelError)
        try:
            self._reading = tokenizers.Tokenizer.from_str(definition)
        except Exception as error:  # the library raises nothing more special
            raise ModelError(f"{folder / 'tokenizer.json'} is not a tokenizer: {error}") from error
        self.definition = without_prefix(definition)
        self._writing = tokenizers.Tokenizer.from_str(self.definition)
        self._writing.encode_special_tokens = True  # an answer's "<filename>" is text
        added = self._reading.get_added_tokens_decoder().values()
        self.control = tuple(control_texts((token.content, token.special) for token in added))
        self.eos_token_id = self._id("eos_token")
        self.unk_token_id = self._id("unk_token")

    def _id(self, name: str) -> int | None:
        return self._reading.token_to_id(self.special[name]) if name in self.special else None

    def read(self, prompt: str) -> list[int]:
        """Token ids of a prompt, as the model has learnt to read it."""
        return list(self._reading.encode(prompt, add_special_tokens=False).ids)

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of an answer."""
        return list(self._writing.encode(text, add_special_tokens=add_special_tokens).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of an answer's token ids; special tokens are written out."""
        return str(self._writing.decode(list(ids), skip_special_tokens=False))


def _without(part: dict[str, Any]) -> dict[str, Any] | None:
    """A normalizer, pre-tokenizer or decoder without what concerns the beginning of a text; None: nothing is left."""
    for inner in ("normalizers", "pretokenizers", "decoders"):
        if inner in part:
            kept = [piece for piece in map(_without, part[inner]) if piece is not None]
            return {**part, inner: kept} if kept else None
    match part:
        case {"type": "Prepend"} | {"type": "Strip", "content": " "}:
            return None
        case {"type": "Metaspace"}:
            return {**part, "prepend_scheme": "never"}
        case {"type": "ByteLevel", "add_prefix_space": True}:
            return {**part, "add_prefix_space": False}
        case _:
            return part

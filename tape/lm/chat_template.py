"""From chat messages to the text of a prompt, by the template that a model brings; and tokenizers of its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from tape.errors import ModelError
from tape.lm.base import Message

Turn: TypeAlias = "dict[str, str]"
Render: TypeAlias = "Callable[[list[Turn], Mapping[str, Any]], str]"
"""Renders turns, the answer's beginning included; its second argument are more variables of the template."""

NO_THOUGHT: Mapping[str, Any] = {"enable_thinking": False, "thinking": False}
"""What switches thinking off in the templates that offer it, as Qwen3's, Granite's and DeepSeek's name it; others do
not look. An answer begins with what its constraint asks for; the prompts have a field of their own for thoughts."""

MARK = "mark-of-the-system"


def control_texts(added: Iterable[tuple[str, bool]]) -> list[str]:
    """The texts of a tokenizer that begin or end a turn, or may: those that it takes for one token wherever they stand.

    Some models do not declare the tokens of their turns as special (DeepSeek's), so every added token is taken that is
    no plain word.
    """
    return [text for text, special in added if special or not text.replace(" ", "").isalnum()]


class ChatTemplate:
    """How one model's chat messages become a prompt.

    A system message goes into the user's turn where the template refuses or drops it. A thought that the template has
    begun is closed. The text of a message cannot end it: where it holds the text of a control token, a space breaks
    that text, since a tokenizer would read it as the token.

    Args:
        render: Renders turns by the model's template.
        name: The model, for errors.
        control: Texts of the model's control tokens.

    Raises:
        ModelError: The template fails on a plain question.
    """

    def __init__(self, render: Render, name: str, control: Iterable[str] = ()) -> None:
        self._render, self._name = render, name
        texts = sorted({text for text in control if text[1:].lstrip() == text[1:] != ""}, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, texts))) if texts else None
        self.merges = False
        system, user = {"role": "system", "content": MARK}, {"role": "user", "content": "question"}
        try:
            self.merges = MARK not in render([system, user], NO_THOUGHT)
        except Exception:  # a template may raise what it likes
            self.merges = True
        self.text([Message("user", "question")])

    def text(self, messages: Sequence[Message]) -> str:
        """The prompt that messages come to."""
        turns = [{"role": message.role, "content": self._harmless(message.content)} for message in messages]
        try:
            text = self._render(_merged(turns) if self.merges else turns, NO_THOUGHT)
        except Exception as error:  # a template may raise what it likes
            raise ModelError(
                f"the chat template of {self._name} fails on turns of {', '.join(t['role'] for t in turns)}: {error}; "
                "put one that takes them into the tokenizer's folder as chat_template.jinja"
            ) from error
        thought = text.rstrip()
        return f"{thought}\n\n</think>\n\n" if thought.endswith("<think>") else text

    def _harmless(self, text: str) -> str:
        text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text that can be read
        while self._control is not None and self._control.search(text):
            text = self._control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text


def _merged(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with the system's messages at the beginning of the user's first."""
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    others = [dict(turn) for turn in turns if turn["role"] != "system"]
    if not system:
        return others
    first = next((i for i, turn in enumerate(others) if turn["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *others]
    others[first]["content"] = "\n\n".join([*system, others[first]["content"]])
    return others


def without_prefix(definition: str) -> str:
    """The same tokenizer, neither adding a space before a text nor taking one away."""
    content = json.loads(definition)
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        if content.get(part) is not None:
            content[part] = _without(content[part])
    return json.dumps(content, ensure_ascii=False)


def exact(tokenizer: Any) -> Any:
    """A tokenizer of transformers that writes the very text that it is given, wherever it stands.

    One in the style of Llama 2 (SentencePiece) puts a space before a text and takes one away from what it decodes. That
    is right for whole documents. An answer goes on after a prompt: the space that it adds makes every option another
    text than the constraint admits, and the one that it takes away makes ``" U"`` into ``"U"``.

    Args:
        tokenizer: Itself where it does so already, and where it is no fast one, by the tokenizers library.
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

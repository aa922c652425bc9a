"""From chat messages to the text of a prompt, by the template that a model brings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
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

    Args:
        added: Text of each added token, and whether it is special.
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
        """The prompt that messages come to.

        Raises:
            ModelError: The template fails on them.
        """
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


def jinja_render(source: str, tokens: Mapping[str, str]) -> Render:
    """What renders a template as transformers does.

    Args:
        source: The template.
        tokens: Texts of special tokens by name, as ``bos_token``.

    Raises:
        ModelError: It is no template.
    """
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """``{% generation %}``, by which training finds the answers: its body, as it is."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.Scope(body, lineno=line)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(value: object, **options: Any) -> str:
        return json.dumps(value, **{"ensure_ascii": False, **options})

    def now(form: str) -> str:
        return datetime.now().strftime(form)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals.update(raise_exception=refuse, strftime_now=now)
    try:
        template = environment.from_string(source)
    except jinja2.TemplateError as error:
        raise ModelError(f"the chat template cannot be read: {error}") from error

    def render(turns: list[Turn], switches: Mapping[str, Any]) -> str:
        given = {"messages": turns, "tools": None, "documents": None, "add_generation_prompt": True}
        return template.render(**given, **tokens, **switches)

    return render

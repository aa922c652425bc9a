"""How many tokens a prompt has at most, by the tokenizers of OpenAI's models, which LiteLLM brings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

OF_MESSAGE, OF_CALL = 8, 16
"""More than the format of a message takes (3, and 1 for a name), and that of a call (3)."""
LONGEST = 400_000
"""Bytes of the longest text that is counted: a longer one would hold up other calls."""


class PromptTokens:
    """Counts the text of messages; all else of a request is bounded by its bytes.

    Args:
        request: What is sent. It is counted where it holds text alone, in messages or to be embedded.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._counts: dict[str, int | None] = {}

    def __call__(self, model: str) -> int | None:
        """The most tokens for a deployment; None where its tokenizer is not known, or the request has other parts."""
        encoding = _encoding(model)
        if encoding is None:
            return None
        if encoding.name not in self._counts:
            self._counts[encoding.name] = self._count(encoding)
        return self._counts[encoding.name]

    def _count(self, encoding: Any) -> int | None:
        rest = {name: value for name, value in self._request.items() if name not in ("messages", "input")}
        try:
            texts = list(_texts(self._request))
        except (TypeError, KeyError):
            return None
        if not texts or sum(map(len, texts)) > LONGEST:
            return None
        counted = sum(len(encoding.encode(text, disallowed_special=())) + OF_MESSAGE for text in texts)
        return counted + OF_CALL + len(json.dumps(rest, default=str).encode())


def _texts(request: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a request; TypeError where there is something else."""
    for message in request.get("messages") or ():
        if set(message) - {"role", "content", "name"}:
            raise TypeError("a message with other parts")
        for text in (message["role"], message.get("name") or ""):
            yield _text(text)
        content = message["content"]
        for part in content if isinstance(content, list) else ({"type": "text", "text": content},):
            if set(part) != {"type", "text"} or part["type"] != "text":
                raise TypeError("a part that is no text")
            yield _text(part["text"])
    given = request.get("input")
    for text in given if isinstance(given, list) else [given] * (given is not None):
        yield _text(text)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError("no text")
    return given


@lru_cache(maxsize=256)
def _encoding(model: str) -> Any:
    """The tokenizer of a deployment of OpenAI's; None for others, whose tokenizers are not published."""
    import tiktoken

    provider, slash, name = model.partition("/")
    if slash and provider != "openai":
        return None
    try:
        return tiktoken.encoding_for_model(name if slash else model)
    except (KeyError, OSError):  # it is not known, or not here
        return None

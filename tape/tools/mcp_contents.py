"""What a server's result holds: texts, structured values, and what is no text, which is named and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tape.reading import short
from tape.tools.errors import ToolFailedError
from tape.tools.json_schemas import described
from tape.tools.results import cut

_NAME = 200
"""Bytes of what is said of one content that is no text."""


class Contents(str):
    """The text of a result that names what is no text; ``contents`` are all as the server gave them, data too."""

    contents: Sequence[Mapping[str, Any]] = ()


class StructuredContents(dict[str, Any]):
    """``{"result": ..., "contents": [texts and names]}``: a structured result and what it does not hold, as above."""

    contents: Sequence[Mapping[str, Any]] = ()


def value_of(result: Mapping[str, Any], *, wrapped: bool) -> Any:
    """The structured result, where there is one, else its text.

    Args:
        result: The server's; nothing in it is checked yet.
        wrapped: The server puts what is no object into one, as ``{"result": ...}``.

    Raises:
        ToolFailedError: The server reports an error, asks for something, or gave nothing to work with.
    """
    content, entry = result.get("content") or [], result.get("structuredContent")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise ToolFailedError(f"the server answers {short(content)}, no list of contents")
    if result.get("resultType") == "input_required":
        raise ToolFailedError("the server asks for something before it answers, and nobody is there to give it")
    if not all(isinstance(block.get("text"), str) for block in content if block.get("type") == "text"):
        raise ToolFailedError("the server answers a text that is none")
    text = text_of(content)
    if result.get("isError") not in (None, False):
        raise ToolFailedError(text or "the server reports an error and does not say which")
    others = [block for block in content if block.get("type") != "text"]
    value = entry["result"] if wrapped and isinstance(entry, dict) and entry.keys() == {"result"} else entry
    if not others:
        return text if entry is None else value
    named: Contents | StructuredContents = Contents(text)
    if entry is not None:
        named = StructuredContents(result=value, contents=[text_of([block]) for block in others])
    named.contents = content
    return named


def text_of(content: Any) -> str:
    """All texts among the contents of a result, those of embedded resources too; what is no text is named."""
    blocks = content if isinstance(content, list) else []
    return "\n".join(_text(block) for block in blocks if isinstance(block, Mapping))


def _text(block: Mapping[str, Any]) -> str:
    inner = block.get("resource")
    held = inner if isinstance(inner, Mapping) else block
    if isinstance(held.get("text"), str):
        return str(held["text"])
    data = held.get("blob", held.get("data"))
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else held.get("size")
    parts = [block.get("type"), *(held.get(key) for key in ("name", "uri", "mimeType"))]
    parts.append(f"{size:,} bytes" if type(size) is int else "")
    return f"[{cut(', '.join(filter(None, map(described, parts))), _NAME)}]"

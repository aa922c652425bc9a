"""What a request to a model holds beside text: parts whose tokens and price its bytes do not bound.

An address of an image has 50 bytes and may cost 1,600 tokens; a file's id costs what the file holds; a conversation
that the provider keeps costs all of it again. A request is read by its structure, as it is sent: the forms of the
interfaces of OpenAI, Anthropic, Google and Amazon, and of the frameworks that the adapters are for. A part of a message
that is not known is unbounded too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from tape.budget.price_reading import read_price
from tape.errors import ChargeError, FieldError, UnknownCostError
from tape.lm.price import Marks, TokenPrice
from tape.reading import short

KINDS = ("image", "audio", "video", "file", "conversation", "cache")
"""What a guard can be given a worst case of. ``cache``: what a mark to write to the provider's cache adds."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEDIA = ("image", "audio", "video")
_SOUND = ("audio", "video")
"""Where the table has no price of these, they are not as cheap as text."""
_TEXT = _words(
    "text input_text output_text text_content summary_text reasoning_text refusal thinking redacted_thinking reasoning "
    "summary citation json structured_content content_reference system_prompt instruction instruction_delta "
    "instruction_digest instruction_baseline tool_availability_delta capability_load_delta model_settings_delta"
)
"""Parts that are text: nothing in them costs more than its bytes."""
_CALLS = _words(
    "tool_call tool_use function_call function custom custom_tool_call invalid_tool_call tool_call_chunk computer_call "
    "shell_call shell_call_output local_shell_call local_shell_call_output apply_patch_call apply_patch_call_output "
    "tool_search_call tool_reference"
)
"""Calls of the program's own tools: their arguments are data."""
_HOLDERS = _words(
    "message human ai user assistant developer system tool chat function_message request response user_prompt content "
    "tool_result function_call_output custom_tool_call_output computer_call_output search_result non_standard "
    "humanmessagechunk aimessagechunk systemmessagechunk toolmessagechunk retry_feedback"
)
"""What holds further parts."""
_RESULTS = frozenset(("tool_return", "retry_prompt"))
"""Results of tools as pydantic-ai has them: data, in which only ``kind`` names a part."""
_HOSTED = {
    **dict.fromkeys(("image_url", "input_image", "image_file", "image", "computer_screenshot"), "image"),
    **dict.fromkeys(("image_generation_call", "generated_image"), "image"),
    **dict.fromkeys(("input_audio", "audio_url", "audio", "speech", "output_audio"), "audio"),
    **dict.fromkeys(("video_url", "video", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document", "document_url", "uploaded_file", "container_upload"), "file"),
    **dict.fromkeys(("binary", "media", "text_plain"), "file"),
    **dict.fromkeys(("item_reference", "compaction"), "conversation"),
    "cache_point": "cache",
}
_KEYS = {
    **dict.fromkeys(("image_url", "input_image"), "image"),
    **dict.fromkeys(("input_audio", "audio_url"), "audio"),
    "video_url": "video",
    **dict.fromkeys(("file_id", "file_ids", "file_url", "file_data", "file_uri", "fileData", "fileUri"), "file"),
    **dict.fromkeys(("inlineData", "inline_data"), "file"),
}
"""Keys that make an object a part, whatever else it holds."""
_BARE = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
"""The same for the parts of a message that have no type, as Amazon's."""
_BARE_TEXT = _words(
    "text json toolUse toolResult functionCall functionResponse function_call function_response thought cachePoint "
    "reasoningContent thoughtSignature thought_signature guardContent"
)
_KEPT = re.compile(
    r"(?:.*_)?(?:previous_response_id|previous_interaction_id|conversation_id|conversation|cached_content|container"
    r"|thread_id|assistant_id)|cachedContent"
)
_PROVIDER_TOOLS = re.compile(r"mcp_servers|web_search_options|plugins|native_tools|builtin_tools")
_CACHE = re.compile(
    r"cache_control(?:_injection_points)?|cachePoint|cache_point|cache_prompt|(?:anthropic|bedrock)_cache(?:_.*)?"
)
_OWN_TOOLS = ("name", "function", "toolSpec", "functionDeclarations", "function_declarations", "cachePoint")
_SCHEMAS = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_SCHEMA_KEYS = ("$defs", "properties", "anyOf", "oneOf", "allOf", "$ref", "enum", "const")
_DATA = _words(
    "args arguments artifact schema json_schema input_schema response_schema parameters_json_schema return_schema "
    "response_metadata usage_metadata usage provider_details metadata logprobs annotations citations"
)
"""Keys of data, of schemas, and of what is not sent."""
_PAYLOADS = _words("image_url url data base64 source file file_data input_audio image audio video document video_url")
"""Keys of what a part holds beside words about it; its declared worst case stands for their bytes."""
_CONTENT, _MESSAGES = ("content", "parts", "output"), ("messages", "input", "contents")
_SORTS = ("part_kind", "type", "kind")
_RESULT_SORTS = _words("image_url audio_url video_url document_url binary uploaded_file cache_point")


class _Listed(IntEnum):
    """Whether a value is an item of a list of which every item has to be known: of messages, if it has a type."""

    NO = 0
    MESSAGES = 1
    CONTENT = 2


@dataclass(frozen=True)
class ContentPart:
    """A part of a request that its bytes do not bound.

    Attributes:
        kind: One of :data:`KINDS`; else ``tool``, which the provider runs, or ``part``, which is not known.
        name: What the request calls it.
        place: Where it stands.
        value: The part.
    """

    kind: str
    name: str
    place: str
    value: Any


@dataclass(frozen=True)
class Worst:
    """The declared worst case of a part of one kind.

    Attributes:
        tokens: Of the prompt, at most; None where it is not declared.
        usd: What it costs, in millionths of a dollar, where that is not its tokens at the prompt's price. It is booked
            beside the tokens that the provider reports.
    """

    tokens: int | None = None
    usd: int | None = None


class Unbounded(NamedTuple):
    """What the parts of a request add to it, together.

    Attributes:
        tokens: Of the prompt, at most.
        usd: Money that no report of tokens holds, in millionths of a dollar.
        unknown: The resources of which no worst case is declared; they have no cap.
        size: Their bytes, for which the tokens stand.
    """

    tokens: int
    usd: int
    unknown: frozenset[str]
    size: int


def read_worst(declared: Mapping[str, Any]) -> dict[str, Worst]:
    """Worst cases by kind: tokens, or ``{"tokens": 1600, "usd": "$0.01"}``.

    Raises:
        FieldError: There is no such kind, or the amount is malformed.
    """
    mapping = {}
    for kind, given in declared.items():
        path = ("content", kind)
        if kind not in KINDS:
            raise FieldError(path, f"there is no such kind of content; there is {', '.join(KINDS)}")
        amounts = {"tokens": given} if isinstance(given, int) and not isinstance(given, bool) else given
        if not isinstance(amounts, Mapping) or not amounts or amounts.keys() - {"tokens", "usd"}:
            raise FieldError(
                path, f'expected tokens, as in 1600, or {{"tokens": 1600, "usd": "$0.01"}}; got {short(given)}'
            )
        worst = read_price(amounts, path).worst()
        mapping[kind] = Worst(*(worst[name] if name in amounts else None for name in ("tokens", "usd")))
    return mapping


def parts_of(request: Any) -> list[ContentPart]:
    """The parts of a request that its bytes do not bound.

    Args:
        request: Text, or what JSON can hold; models of pydantic, data classes and JSON in bytes too.

    Raises:
        ChargeError: It is nested too deep, or holds itself.
    """
    try:
        return list(_Finder(_SORTS).parts(_body(request), "", _Listed.MESSAGES))
    except RecursionError:
        raise ChargeError("the request holds itself, or is too deep") from None


def worst_of(
    parts: Sequence[ContentPart],
    declared: Mapping[str, Worst],
    price: TokenPrice | None,
    capped: Collection[str],
    model: str,
) -> Unbounded:
    """What parts add to a call of a model at most: the worst case declared by kind, at the price of its tokens.

    Raises:
        UnknownCostError: A part has no worst case in what is capped; the message names it and what to declare.
    """
    tokens = usd = size = 0
    unknown = set[str]()
    for part in parts:
        worst, is_mark = declared.get(part.kind, Worst()), part.kind == "cache"
        has_tokens, is_priced = is_mark or worst.tokens is not None, price is not None
        if price is not None and (is_mark or part.kind in _SOUND):
            is_priced = (price.written if is_mark else price.media) is not None
        is_known = {"usd": worst.usd is not None or (has_tokens and is_priced), "tokens": has_tokens}
        lacking = [kind for kind, known in is_known.items() if not known]
        if refused := [kind for kind in lacking if kind in capped]:
            raise UnknownCostError(_refusal(part, refused, model, priced=price is not None))
        unknown.update(lacking)
        tokens, usd = tokens + (worst.tokens or 0), usd + (worst.usd or 0)
        if worst.tokens is not None and not is_mark:
            payload = [part.value]
            if isinstance(part.value, Mapping):
                payload = [held for key, held in part.value.items() if key in _PAYLOADS]
            size += sum(map(size_of, payload))
    return Unbounded(tokens, usd, frozenset(unknown), size)


def marks_of(parts: Sequence[ContentPart]) -> Marks:
    """How long the marks among the parts of a request keep a prompt in a provider's cache."""
    marks = [str(part.value) for part in parts if part.kind == "cache"]
    if not marks:
        return ""
    return "1h" if any(re.search(r"\d", mark.replace("5m", "")) for mark in marks) else "5m"


def _refusal(part: ContentPart, lacking: Sequence[str], model: str, *, priced: bool) -> str:
    caps = f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} capped"
    where = f"the request to {model} holds {part.name} ({part.place}), "
    if part.kind == "tool":
        return f"{where}which the provider runs itself, and {caps}: take a tool of your own, or leave it out"
    if part.kind == "part":
        return f"{where}a part that is not known, so its bytes do not bound what it costs, and {caps}: leave it out"
    amount = '{"tokens": 1600}' if lacking == ["tokens"] else "1600"
    if part.kind == "cache" or (lacking == ["usd"] and (not priced or part.kind in _SOUND)):
        amount = '{"usd": "$0.01"}' if part.kind == "cache" else '{"tokens": 1600, "usd": "$0.01"}'
    line = f'Guard(..., content={{"{part.kind}": {amount}}})'
    return f"{where}whose bytes do not bound what it costs, and {caps}: declare the most that one takes, {line}"


def bytes_of(request: Any) -> bytes:
    """A request as it is sent."""
    if isinstance(request, bytes):
        return request
    text = request if isinstance(request, str) else json.dumps(request, ensure_ascii=False, default=_plain)
    return text.encode("utf-8", "surrogatepass")  # half of a pair is sent as three bytes, not as a question mark


def size_of(request: Any) -> int:
    """How many bytes that are."""
    return len(bytes_of(request))


def _plain(value: Any) -> Any:
    """A value that JSON cannot hold. A class that describes an answer is sent as its schema, which is long."""
    for name, of_class in (("model_json_schema", True), ("model_dump", False)):
        method = getattr(value, name, None)
        if isinstance(value, type) is of_class and callable(method):
            return method()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)


def _body(request: Any) -> Any:
    """A body that is JSON already is read again; other bytes are text."""
    if not isinstance(request, bytes) or request.lstrip()[:1] not in (b"{", b"["):
        return request
    try:
        return json.loads(request)
    except ValueError:
        return request


class _Finder:
    """Finds the parts in a value.

    Args:
        sorts: The keys that name what an object is; the first one that is there counts.
    """

    def __init__(self, sorts: Sequence[str]) -> None:
        self._sorts, self._is_data = sorts, sorts != _SORTS

    def parts(self, value: Any, place: str, listed: _Listed) -> Iterator[ContentPart]:
        """The parts, in their order."""
        if value is None or isinstance(value, str | int | float | type):
            return
        if isinstance(value, list | tuple | set | frozenset):
            for at, item in enumerate(value):
                yield from self.parts(item, f"{place}[{at}]", listed)
            return
        if not isinstance(value, Mapping):
            plain = _plain(value)
            if not isinstance(plain, str):
                yield from self.parts(plain, place, listed)
            elif listed is _Listed.CONTENT:
                yield ContentPart("part", type(value).__name__, place, plain)
            return
        yield from self._object(value, place, listed)

    def _object(self, value: Mapping[str, Any], place: str, listed: _Listed) -> Iterator[ContentPart]:
        named = next((value[key] for key in self._sorts if isinstance(value.get(key), str)), "")
        sort = named.lower().replace("-", "_")
        if not self._is_data:
            yield from _cache_marks(value, place)
        if sort in _SCHEMAS or (not sort and any(key in value for key in _SCHEMA_KEYS)):
            return
        if sort in (_RESULT_SORTS if self._is_data else _HOSTED):
            if not _is_text(sort, value):
                yield ContentPart(_of_type(value, _HOSTED[sort]), named, place or "at the top", value)
            return
        keys = {} if self._is_data else _KEYS | (_BARE if listed is _Listed.CONTENT and not sort else {})
        matching_keys = [key for key in keys if value.get(key)]
        for key in matching_keys:
            yield ContentPart(_of_type(value[key], keys[key]), key, _in(place, key), value[key])
        if sort in _TEXT | _CALLS or (sort == "data" and "value" in value):
            return
        if not matching_keys and _is_unknown(sort, value, listed):
            yield ContentPart("part", named or ", ".join(map(str, value))[:40], place, value)
            return
        finder = _Finder(("kind",)) if sort in _RESULTS else self
        for key, held in value.items():
            is_there = held or (held == {} and _PROVIDER_TOOLS.fullmatch(str(key)))  # all its settings may be left out
            if is_there and isinstance(key, str) and key not in _DATA and key not in matching_keys:
                yield from finder._member(key, held, _in(place, key), sort)

    def _member(self, key: str, held: Any, place: str, sort: str) -> Iterator[ContentPart]:
        if self._is_data:
            yield from self.parts(held, place, _Listed.NO)
        elif not sort and (_KEPT.fullmatch(key) or (key == "prompt" and isinstance(held, Mapping) and "id" in held)):
            yield ContentPart("conversation", key, place, held)
        elif _PROVIDER_TOOLS.fullmatch(key):
            yield ContentPart("tool", key, place, held)
        elif key == "modalities" and held != "text" and any(item != "text" for item in held):
            yield ContentPart("part", "an answer that is no text", place, held)
        elif key == "tools" and isinstance(held, list | tuple):
            yield from _tools(held, place)
        elif isinstance(held, list | tuple):
            listed = _Listed.CONTENT if key in _CONTENT else _Listed.MESSAGES if key in _MESSAGES else _Listed.NO
            yield from self.parts(held, place, listed)
        else:
            yield from self.parts(held, place, _Listed.NO)


def _cache_marks(value: Mapping[str, Any], place: str) -> Iterator[ContentPart]:
    for key, held in value.items():
        if not held or not isinstance(key, str):
            continue
        own = key == "cache" and isinstance(held, Mapping) and held.get("mode") != "off"  # DSPy's
        if own or _CACHE.fullmatch(key):
            yield ContentPart("cache", key, _in(place, key), held)


def _is_unknown(sort: str, value: Mapping[str, Any], listed: _Listed) -> bool:
    if sort:
        return listed is not _Listed.NO and sort not in _HOLDERS | _RESULTS
    return listed is _Listed.CONTENT and "role" not in value and not value.keys() <= _BARE_TEXT


def _tools(tools: Sequence[Any], place: str) -> Iterator[ContentPart]:
    for at, tool in enumerate(tools):
        if isinstance(tool, Mapping):
            sort = tool.get("type")
            own = sort in (None, "function", "custom") and any(key in tool for key in _OWN_TOOLS)
            if not own:
                yield ContentPart("tool", str(sort or ", ".join(map(str, tool))[:40]), f"{place}[{at}]", tool)
            elif tool.get("cache_control"):
                yield ContentPart("cache", "cache_control", f"{place}[{at}]", tool["cache_control"])


def _is_text(sort: str, value: Mapping[str, Any]) -> bool:
    """Whether a document holds its text in the request."""
    source = value.get("source")
    if sort == "document" and isinstance(source, Mapping):
        return source.get("type") == "text"
    return (
        sort == "text_plain" and isinstance(value.get("text"), str) and not value.keys() & {"url", "file_id", "base64"}
    )


def _of_type(value: Any, kind: str) -> str:
    """The kind of a file, by its media type where it has one."""
    if kind == "file" and isinstance(value, Mapping):
        media = next((value[key] for key in ("media_type", "mime_type", "mimeType") if value.get(key)), "")
        top = str(media).partition("/")[0].lower()
        return top if top in _MEDIA else kind
    return kind


def _in(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)

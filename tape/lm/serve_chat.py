"""What a chat completion asks for, read within bounds: anybody may have written it.

What a word-level model like the bundled ones cannot write, JSON for instance, is written around its answer: of the
schema ``{"answer": one of these texts}`` only the text is the model's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tape.errors import ConfigError, ConstraintError
from tape.lm.base import Choice, Constraint, LanguageModel, Message, Regex, Request
from tape.lm.hosted.forms import ANSWER
from tape.lm.schemas import schema_pattern
from tape.waiting import run_sync

MOST_SAMPLES = 128
MOST_TOKENS = 16_384
"""Completion tokens of all samples of a request."""
MOST_MESSAGES = 1_000
MOST_CHARACTERS = 1_000_000
"""Of all messages together."""
HOTTEST = 100.0
LARGEST_SEED = 2**63
MOST_OPTIONS = 1_000
LONGEST_PATTERN = 4_000
"""Characters of a regular expression; `\\w` four thousand times takes two seconds to compile."""
LONGEST_FORM = 20_000
"""Characters of the options of a choice together, and of a schema."""
LARGEST_SCHEMA = 20_000
"""Parts of a schema once each is written out wherever it is used, as a regular expression must."""
MOST_RECURSION = 3
"""How often the compiler of schemas writes a part out inside itself."""

_TOOLS = (
    "no tools are called here; describe them in a message, ask for the call by a json_schema in response_format, and "
    "leave this out"
)
_WHOLE = "answers are drawn from the model's whole distribution, by temperature and seed alone; leave this out"
UNSERVED = {
    "tools": _TOOLS,
    "tool_choice": _TOOLS,
    "functions": _TOOLS,
    "function_call": _TOOLS,
    "logprobs": "only whole answers have a probability here, tokens have none that is told; leave this out",
    "top_logprobs": "only whole answers have a probability here, tokens have none that is told; leave this out",
    "stop": "an answer ends where the model, its schema or max_tokens ends it; leave this out",
    "logit_bias": _WHOLE,
    "top_p": _WHOLE,
    "presence_penalty": _WHOLE,
    "frequency_penalty": _WHOLE,
}
"""Fields that would change the answer, and what is said of them: to pass them over in silence would be to lie."""

_SERVED = (
    *("model", "messages", "n", "max_tokens", "max_completion_tokens", "seed", "temperature"),
    *("response_format", "structured_outputs", "regex", "stream", "stream_options"),
)
_HARMLESS = (
    *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
    "parallel_tool_calls",
)
"""Fields that say nothing of the answer where no tools are."""

_NEUTRAL: dict[str, Any] = {"tool_choice": "none", "function_call": "none", "top_p": 1}
"""Values of such fields that ask for nothing, beside what is false."""


def complete(model: LanguageModel, body: dict[str, Any]) -> dict[str, Any]:
    """Answer the body of a chat completion.

    Raises:
        ConfigError: The body is malformed, or asks for too much.
        ConstraintError: The model cannot meet the schema.
        ModelError: The model failed.
    """
    request, wrapped = request_of(model, body)
    [completion] = run_sync(model.generate([request]))
    choices = []
    for index, (text, finish) in enumerate(zip(completion.texts, completion.finish, strict=True)):
        content = json.dumps({ANSWER: text}) if wrapped else text
        message = {"role": "assistant", "content": content, "refusal": None}
        choices.append({"index": index, "message": message, "finish_reason": finish, "logprobs": None})
    usage = completion.usage
    return {
        "id": "chatcmpl-" + request.fingerprint(model.identity)[:16],
        "object": "chat.completion",
        "created": 0,
        "model": model.name,
        "choices": choices,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total,
        },
    }


def events(answer: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    """A chat completion as the stream of events that a client with ``stream`` reads, each sample in one piece.

    Args:
        answer: Of :func:`complete`.
        body: What was asked.
    """
    shared = {**{name: answer[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    with_usage = bool(_object(body, "stream_options").get("include_usage"))
    if with_usage:
        shared["usage"] = None
    chunks: list[dict[str, Any]] = []
    for choice in answer["choices"]:
        for delta, finish in ((choice["message"], None), ({}, choice["finish_reason"])):
            part = {"index": choice["index"], "delta": delta, "finish_reason": finish, "logprobs": None}
            chunks.append({**shared, "choices": [part]})
    if with_usage:
        chunks.append({**shared, "choices": [], "usage": answer["usage"]})
    yield from (f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    yield "data: [DONE]\n\n"


def request_of(model: LanguageModel, body: dict[str, Any]) -> tuple[Request, bool]:
    """What a body asks of a model, and whether the answer is to be wrapped in ``{"answer": ...}``.

    Raises:
        ConfigError: The body is malformed, or asks for too much.
        ConstraintError: The schema cannot be enforced.
    """
    for name, said in UNSERVED.items():
        given = body.get(name)
        asks = given is not None if name == "top_p" else bool(given)  # a top_p of 0 is the narrowest there is
        if asks and given != _NEUTRAL.get(name):
            raise ConfigError(f"{name} is not served: {said}")
    _known(body, (*_SERVED, *_HARMLESS, *UNSERVED), "")
    if not isinstance(body.get("stream", False), bool | None):
        raise ConfigError(f"stream has the wrong type: it is true or false, got {str(body['stream'])[:100]!r}")
    _object(body, "stream_options")
    prompt = _prompt(model, body.get("messages"))
    samples = _number(body, "n", 1, MOST_SAMPLES)
    tokens = _number(body, "max_completion_tokens", _number(body, "max_tokens", 256, MOST_TOKENS), MOST_TOKENS)
    if samples * tokens > MOST_TOKENS:
        raise ConfigError(f"n x max_tokens is {samples * tokens}; the most that is served is {MOST_TOKENS}")
    seed = _number(body, "seed", 0, LARGEST_SEED, -LARGEST_SEED)
    heat = body.get("temperature")
    heat = 1.0 if heat is None else heat
    if isinstance(heat, bool) or not isinstance(heat, int | float):
        raise ConfigError(f"temperature has the wrong type: it is a number, got {str(heat)[:100]!r}")
    if not 0 <= heat <= HOTTEST:
        raise ConfigError(f"temperature is from 0 to {HOTTEST:g}, got {str(heat)[:100]}")
    constraint, wrapped = constraint_of(body)
    return Request(prompt, tokens, constraint, samples, float(heat), seed, "serve"), wrapped


def constraint_of(body: dict[str, Any]) -> tuple[Constraint | None, bool]:
    """The constraint that a body asks for, and whether the answer is to be wrapped in ``{"answer": ...}``.

    Raises:
        ConfigError: It asks for something unknown, or for too much.
        ConstraintError: The schema cannot be enforced.
    """
    native = _object(body, "structured_outputs")
    _known(native, ("choice", "regex", "json"), "structured_outputs.")
    if native.get("choice") is not None:
        return _choice(native["choice"]), False
    pattern = body.get("regex") if native.get("regex") is None else native["regex"]
    if pattern is not None:
        return _regex(pattern), False
    asked = _object(body, "response_format")
    schema = _object(asked, "json_schema").get("schema") if native.get("json") is None else native["json"]
    if schema is None:
        if asked.get("type", "text") != "text":
            raise ConfigError(f"the response_format {str(asked['type'])[:100]!r} is not served; use json_schema")
        return None, False
    if not isinstance(schema, dict):
        raise ConfigError("a json_schema has the wrong type: it is an object")
    if len(json.dumps(schema)) > LONGEST_FORM:
        raise ConfigError(f"the JSON schema is longer than {LONGEST_FORM} characters, which is the most served")
    properties = _object(schema, "properties")
    inner = _object(properties, ANSWER) if len(properties) == 1 else {}
    if inner.get("type") == "string" and schema.get("required", [ANSWER]) == [ANSWER]:
        asks = inner.keys() - {"type", "title", "description", "default", "examples"}
        if asks == {"enum"}:
            return _choice(inner["enum"]), True
        if asks == {"pattern"}:
            return _regex(inner["pattern"]), True
    return Regex(_pattern_of(schema)), False


def _known(body: dict[str, Any], names: tuple[str, ...], where: str) -> None:
    for name, value in body.items():
        if name not in names and value not in (None, False):
            raise ConfigError(
                f"{where}{name[:100]} is not served: it is not known here, and passed over it might change the answer; "
                "leave this out, or ask for the form of the answer by a json_schema in response_format"
            )


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{name} has the wrong type: it is an object, got {str(value)[:100]!r}")
    return value


def _choice(options: object) -> Choice:
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise ConfigError("a choice has the wrong type: it is a list of texts")
    if len(options) > MOST_OPTIONS or sum(map(len, options)) > LONGEST_FORM:
        raise ConfigError(f"a choice has at most {MOST_OPTIONS} options, {LONGEST_FORM} characters together")
    return Choice(tuple(options))


def _regex(pattern: object) -> Regex:
    if not isinstance(pattern, str):
        raise ConfigError("a regex has the wrong type: it is a text")
    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(f"a regex has at most {LONGEST_PATTERN} characters, got {len(pattern)}")
    return Regex(pattern)


def _pattern_of(schema: dict[str, Any]) -> str:
    size = _Size(schema).of(schema, ())
    if size > LARGEST_SCHEMA:
        raise ConfigError(f"the JSON schema comes to more than {LARGEST_SCHEMA} parts; simplify it")
    try:
        return schema_pattern(schema, spaced=False, strict=True)
    except ConstraintError as error:
        raise ConstraintError(f"the JSON schema cannot be enforced: {error}") from error


class _Size:
    """Estimates how many parts the regular expression of a schema has, without writing it.

    Args:
        root: The whole schema.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._looked_at = 0

    def of(self, schema: Any, inside: tuple[str, ...]) -> int:
        """The parts of a schema; more than :data:`LARGEST_SCHEMA` once it is too large.

        Args:
            schema: A part of the whole.
            inside: The references that led here.
        """
        self._looked_at += 1
        if self._looked_at > LARGEST_SCHEMA:
            return LARGEST_SCHEMA + 1
        if isinstance(schema, list):
            return sum(self.of(item, inside) for item in schema)
        if not isinstance(schema, dict):
            return 1
        size = 1
        for name, value in schema.items():
            if name in ("$defs", "definitions"):
                continue
            if name == "$ref":
                size += self._referred(value, inside)
            elif name == "properties" and isinstance(value, dict):
                # What may be missing is written once for each that may come first.
                needed = schema.get("required")
                free = len(value) if not isinstance(needed, list) else len(value.keys() - set(map(str, needed)))
                size += (1 + free) * self.of(list(value.values()), inside)
            elif name in ("items", "additionalProperties", "prefixItems"):
                size += 2 * self.of(value, inside)
            else:
                size += self.of(value, inside)
        return min(size, LARGEST_SCHEMA + 1)

    def _referred(self, path: Any, inside: tuple[str, ...]) -> int:
        if not isinstance(path, str) or not path.startswith("#") or inside.count(path) > MOST_RECURSION:
            return 1
        found: Any = self._root
        for part in path.removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return self.of(found, (*inside, path))


def _prompt(model: LanguageModel, messages: object) -> str | tuple[Message, ...]:
    """The messages; for a model without chat, the text of the only one."""
    if not isinstance(messages, list) or not messages:
        raise ConfigError("messages must be a non-empty list")
    if len(messages) > MOST_MESSAGES:
        raise ConfigError(f"there are {len(messages)} messages; the most that is served is {MOST_MESSAGES}")
    read = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            raise ConfigError("a message has a role and a content, which is a text")
        role = message.get("role", "user")
        if not isinstance(role, str) or len(role) > 50:
            raise ConfigError("the role of a message is a short text")
        read.append(Message(role, message["content"]))
    if sum(len(message.content) for message in read) > MOST_CHARACTERS:
        raise ConfigError(f"the messages have more than {MOST_CHARACTERS} characters, which is the most that is served")
    if model.prompt_format == "chat":
        return tuple(read)
    if len(read) > 1:
        raise ConfigError(f"{model.name} reads single prompts in its own prompt format, no conversations")
    return read[0].content


def _number(body: dict[str, Any], name: str, default: int, most: int, least: int = 1) -> int:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{name} must be a whole number, got {str(value)[:100]!r}")
    if not least <= value <= most:
        raise ConfigError(f"{name} is from {least} to {most}, got {str(value)[:100]}")
    return value

"""A small OpenAI-compatible server for any model of TAPE, with enforced choices, patterns and JSON schemas.

It answers one request after the other. What a word-level model like the bundled ones cannot write, JSON for instance,
is written around its answer: of the schema ``{"answer": one of these texts}`` only the text is the model's.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tape.errors import ConfigError, ConstraintError, TapeError
from tape.lm.base import Choice, Constraint, LanguageModel, Message, Regex, Request
from tape.lm.hosted.forms import ANSWER
from tape.plugins import require_extra
from tape.waiting import run_sync

MOST_BYTES = 8_000_000
"""Longest request body that is read."""


def make_server(model: LanguageModel, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server that listens but does not serve yet; port 0 takes a free one (``server.server_port``).

    Raises:
        OSError: The port is taken.
    """
    lock = threading.Lock()  # a model decodes one batch at a time

    class Bound(Handler):
        def answer(self, body: dict[str, Any]) -> dict[str, Any]:
            with lock:
                return complete(model, body)

        def models(self) -> list[str]:
            return [model.name]

    server = ThreadingHTTPServer((host, port), Bound)
    server.daemon_threads = True
    return server


class Handler(BaseHTTPRequestHandler, ABC):
    """HTTP around :func:`complete`; subclasses say which model answers."""

    protocol_version = "HTTP/1.1"

    @abstractmethod
    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a chat completion."""

    @abstractmethod
    def models(self) -> list[str]:
        """Names of the models served."""

    def do_GET(self) -> None:
        """List the models."""
        if self.path.rstrip("/") == "/v1/models":
            self.reply(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models()]})
        else:
            self.reply(404, _error(f"{self.path} is not served; there is /v1/models and /v1/chat/completions"))

    def do_POST(self) -> None:
        """Complete a chat."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MOST_BYTES:
            self.close_connection = True
            self.reply(413, _error(f"a request needs a Content-Length of at most {MOST_BYTES} bytes"))
            return
        raw = self.rfile.read(int(length))
        if self.path.rstrip("/") != "/v1/chat/completions":
            self.reply(404, _error(f"{self.path} is not served; there is /v1/chat/completions"))
            return
        try:
            try:
                body = json.loads(raw)
            except ValueError as error:
                raise ConfigError(f"the body is no JSON: {error}") from error
            if not isinstance(body, dict):
                raise ConfigError("the body is no JSON object")
            self.reply(200, self.answer(body))
        except (TapeError, ValueError, RecursionError) as error:
            self.reply(400, _error(str(error)))
        except (AttributeError, KeyError, TypeError) as error:
            self.reply(400, _error(f"a field of the body has the wrong type: {error}"))

    def reply(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a JSON object."""
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: prompts and keys do not belong on a terminal."""


def complete(model: LanguageModel, body: dict[str, Any]) -> dict[str, Any]:
    """Answer the body of a chat completion.

    Raises:
        ConfigError: The body is malformed.
        ConstraintError: The model cannot meet the schema.
        ModelError: The model failed.
    """
    constraint, wrapped = constraint_of(body)
    request = Request(
        _prompt(model, body.get("messages")),
        max_tokens=_number(body, "max_completion_tokens", _number(body, "max_tokens", 256)),
        constraint=constraint,
        n=_number(body, "n", 1),
        temperature=float(body.get("temperature", 1.0)),
        seed=_number(body, "seed", 0),
        role="serve",
    )
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


def constraint_of(body: dict[str, Any]) -> tuple[Constraint | None, bool]:
    """The constraint that a body asks for, and whether the answer is to be wrapped in ``{"answer": ...}``.

    Raises:
        ConfigError: It asks for something unknown.
        ConstraintError: The schema cannot be enforced.
    """
    native = body.get("structured_outputs") or {}
    if "choice" in native:
        return Choice(tuple(native["choice"])), False
    if "regex" in native or "regex" in body:
        return Regex(native.get("regex") or body["regex"]), False
    asked = body.get("response_format") or {}
    schema = native.get("json") or (asked.get("json_schema") or {}).get("schema")
    if schema is None:
        if asked.get("type", "text") != "text":
            raise ConfigError(f"the response_format {asked['type']!r} is not served; use json_schema")
        return None, False
    if not isinstance(schema, dict):
        raise ConfigError("a json_schema is an object")
    inner = schema.get("properties", {}).get(ANSWER, {}) if len(schema.get("properties", {})) == 1 else {}
    if inner.get("type") == "string" and "enum" in inner:
        return Choice(tuple(inner["enum"])), True
    if inner.get("type") == "string" and "pattern" in inner:
        return Regex(str(inner["pattern"]).removeprefix("^").removesuffix("$")), True
    return Regex(_pattern_of(schema)), False


def _pattern_of(schema: dict[str, Any]) -> str:
    require_extra("local", "outlines_core", what="a constraint by a JSON schema")
    from outlines_core.json_schema import build_regex_from_schema

    try:
        return str(build_regex_from_schema(json.dumps(schema), ""))
    except (ValueError, TypeError) as error:
        raise ConstraintError(f"the JSON schema cannot be enforced: {error}") from error


def _prompt(model: LanguageModel, messages: object) -> str | tuple[Message, ...]:
    """The messages; for a model without chat, the text of the only one."""
    if not isinstance(messages, list) or not messages:
        raise ConfigError("messages must be a non-empty list")
    read = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            raise ConfigError("a message has a role and a content, which is a text")
        read.append(Message(str(message.get("role", "user")), message["content"]))
    if model.prompt_format == "chat":
        return tuple(read)
    if len(read) > 1:
        raise ConfigError(f"{model.name} reads single prompts in its own prompt format, no conversations")
    return read[0].content


def _number(body: dict[str, Any], name: str, default: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{name} must be a whole number, got {value!r}")
    return value


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

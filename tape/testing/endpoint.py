"""A model of TAPE behind OpenAI's chat completions on loopback, for tests over HTTP.

It accepts the fields of TAPE's own clients (:mod:`tape.lm.hosted`): messages, samples, a seed, a temperature, a length,
and a choice, a regular expression or a JSON schema. It is for tests only: it has no authentication, and ignores all
other fields.

    with ModelEndpoint(open_model("smollm2")) as endpoint:
        agent = TapeAgent(f"openai:any@{endpoint.url}")
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import RootModel

from tape.errors import ConfigError, TapeError
from tape.lm.base import Constraint, JsonSchema, LanguageModel, Message, OneOf, Regex, Request
from tape.lm.hosted.forms import ANSWER
from tape.waiting import run_sync

_POLL_SECONDS = 0.01


class ModelEndpoint:
    """A context in which a model is served on a free port of 127.0.0.1, one request at a time.

    A client of OpenAI's protocol gets `url` as its base URL, for instance ``open_model(f"openai:any@{endpoint.url}")``.

    Args:
        model: The model that answers; the name that a request has plays no part.

    Examples:
        >>> import json
        >>> from urllib.request import urlopen
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.testing.endpoint import ModelEndpoint
        >>> asked = {"model": "any", "messages": [{"role": "user", "content": "Where to?"}]}
        >>> with ModelEndpoint(ScriptedLM(["to the left"])) as endpoint:
        ...     answer = json.load(urlopen(f"{endpoint.url}/chat/completions", json.dumps(asked).encode()))
        >>> answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"]
        ('to the left', 3)
    """

    def __init__(self, model: LanguageModel) -> None:
        lock = threading.Lock()

        class Bound(JsonHandler):
            def do_POST(self) -> None:
                try:
                    with lock:
                        answer = complete(model, self.body())
                except TapeError as error:
                    self.reply(400, {"error": {"message": str(error)}})
                else:
                    self.reply(200, answer)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ModelEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class JsonHandler(BaseHTTPRequestHandler):
    """Reads and sends JSON, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def body(self) -> dict[str, Any]:
        """The request's body."""
        read: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return read

    def reply(self, status: int, body: dict[str, Any], headers: Mapping[str, str] | None = None) -> None:
        """Send a JSON object."""
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(raw), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def complete(model: LanguageModel, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the body of a chat completion.

    A word-level model, such as the bundled ones, cannot write JSON: of the schema ``{"answer": one of these texts}`` it
    writes the text only, and the rest is added.

    Raises:
        ConfigError: A model with a prompt format of its own is sent a conversation.
        ConstraintError: The model cannot meet the constraint.
        ModelError: The model failed.
    """
    constraint, wrapped = constraint_of(body)
    most = body.get("max_completion_tokens") or body.get("max_tokens") or 256
    heat = body.get("temperature")
    request = Request(
        _prompt(model, body["messages"]),
        most,
        constraint,
        n=body.get("n") or 1,
        temperature=1.0 if heat is None else float(heat),
        seed=body.get("seed") or 0,
    )
    [completion] = run_sync(model.generate([request]))
    choices = []
    for index, (text, finish) in enumerate(zip(completion.texts, completion.finish, strict=True)):
        content = json.dumps({ANSWER: text}) if wrapped else text
        message = {"role": "assistant", "content": content, "refusal": None}
        choices.append({"index": index, "message": message, "finish_reason": finish, "logprobs": None})
    used = completion.usage
    return {
        "id": f"chatcmpl-{request.fingerprint(model.identity)[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": model.name,
        "choices": choices,
        "usage": {
            "prompt_tokens": used.prompt_tokens,
            "completion_tokens": used.completion_tokens,
            "total_tokens": used.total,
        },
    }


def constraint_of(body: Mapping[str, Any]) -> tuple[Constraint | None, bool]:
    """The constraint of a body, and whether the answer must be wrapped in ``{"answer": ...}``."""
    native = body.get("structured_outputs") or {}
    if options := native.get("choice"):
        return OneOf(tuple(options)), False
    if pattern := native.get("regex") or body.get("regex"):
        return Regex(pattern), False
    asked = (body.get("response_format") or {}).get("json_schema") or {}
    schema = native.get("json") or asked.get("schema")
    if schema is None:
        return None, False
    properties = schema.get("properties", {})
    inner = properties.get(ANSWER, {}) if len(properties) == 1 else {}
    if inner.get("type") == "string" and "enum" in inner:
        return OneOf(tuple(inner["enum"])), True
    if inner.get("type") == "string" and "pattern" in inner:
        return Regex(inner["pattern"]), True
    return JsonSchema(_model_of(schema)), False


def _model_of(schema: dict[str, Any]) -> type[RootModel[Any]]:
    """A pydantic model with exactly this JSON schema, which accepts any value."""

    class Asked(RootModel[Any]):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return schema

    return Asked


def _prompt(model: LanguageModel, messages: list[dict[str, str]]) -> str | tuple[Message, ...]:
    """The messages; for a model without chat, the text of the only one."""
    if model.prompt_format == "chat":
        return tuple(Message(message["role"], message["content"]) for message in messages)
    if len(messages) > 1:
        raise ConfigError(f"{model.name} reads single prompts in its own prompt format, no conversations")
    return messages[0]["content"]

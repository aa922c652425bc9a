"""A real HTTP endpoint on loopback for tests: OpenAI's chat completions and Anthropic's messages, with faults."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Sequence
from http.server import ThreadingHTTPServer
from typing import Any, Self

from tape.lm.base import LanguageModel
from tape.testing.endpoint import JsonHandler, complete

CANARY = "sk-canary-0123456789abcdef"
"""The key of hosted models in tests; it must appear nowhere."""

Fault = Callable[["Faulty", dict[str, Any]], None]


class Served:
    """A server on a free port of loopback, until it is left."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.closing = threading.Event()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return self.root + "/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Endpoint(Served):
    """Answers as a server of models.

    Args:
        answers: A model; or the texts of all samples, made from the body of a request.
        faults: What goes wrong with the first, second ... request: a name in :data:`FAULTS`, or an empty text.
        forever: The last of ``faults`` goes on.
        together: Hold every answer back until so many requests are in flight.
        refuse: Why a request is refused, if it is.
        status: Of such a refusal.
        reports: What else an answer says, perhaps of another usage.
    """

    def __init__(
        self,
        answers: LanguageModel | Callable[[dict[str, Any]], list[str]],
        faults: Sequence[str] = (),
        *,
        forever: bool = False,
        together: int = 0,
        refuse: Callable[[dict[str, Any]], str | None] = lambda body: None,
        status: int = 400,
        **reports: Any,
    ) -> None:
        self._answers, self._faults, self._forever = answers, list(faults), forever
        self._lock, self._model_lock = threading.Lock(), threading.Lock()
        self._gate = threading.Barrier(together) if together else None
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = self.refused = 0
        self.refuse, self.status, self.reports = refuse, status, reports
        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Faulty,), {"endpoint": self})))
        self._server.handle_error = self._note_error
        self._errors: list[BaseException] = []

    def __exit__(self, *_: object) -> None:
        if self._gate:
            self._gate.abort()
        super().__exit__()
        if self._errors:
            raise self._errors[0]

    def _note_error(self, *_: object) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):  # clients hang up on purpose
            self._errors.append(error)

    def fault(self) -> str:
        """What goes wrong with the request that has just come in."""
        with self._lock:
            if not self._faults:
                return ""
            return self._faults[0] if self._forever and len(self._faults) == 1 else self._faults.pop(0)

    def enter(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        with self._lock:
            self.bodies.append(body)
            self.headers.append(headers)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self._gate:
            self._gate.wait(timeout=60)

    def leave(self) -> None:
        with self._lock:
            self.in_flight -= 1

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        if not callable(self._answers):
            with self._model_lock:
                return complete(self._answers, body) | self.reports
        texts = self._answers(body)
        words = sum(len(message["content"].split()) for message in body["messages"])
        used = sum(len(text.split()) for text in texts)
        return {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"} for text in texts],
            "usage": {"prompt_tokens": words, "completion_tokens": used, "total_tokens": words + used},
            **self.reports,
        }


class Faulty(JsonHandler):
    endpoint: Endpoint

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.endpoint.complete(body)

    def do_POST(self) -> None:
        body = self.body()
        self.endpoint.enter(body, {name.lower(): value for name, value in self.headers.items()})
        try:
            fault = self.endpoint.fault()
            if (words := self.endpoint.refuse(body)) is not None:
                self.endpoint.refused += 1
                self.error(self.endpoint.status, words)
            elif fault:
                FAULTS[fault](self, body)
            elif self.path.endswith("/messages"):
                self.reply(200, self.message(body))
            else:
                self.reply(200, self.answer(body))
        finally:
            self.endpoint.leave()

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        """An Anthropic message."""
        done = self.endpoint.complete(body)
        usage = done["usage"]
        return {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": done["choices"][0]["message"]["content"]}],
            "stop_reason": "end_turn",
            "model": done.get("model"),
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "output_tokens": usage["completion_tokens"],
                **{name: count for name, count in usage.items() if name.startswith("cache_")},
            },
        }

    def error(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.reply(status, {"error": {"message": message}}, headers)

    def raw(self, content: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def changed(self, body: dict[str, Any], **changes: Any) -> None:
        """The right answer, but for ``usage`` or fields of its choices."""
        done = self.answer(body)
        done["usage"] = changes.pop("usage", done["usage"])
        for choice in done["choices"]:
            choice["finish_reason"] = changes.get("finish_reason", "stop")
            choice["message"].update(changes.get("message", {}))
            if "message" in changes:
                done["usage"]["completion_tokens"] = len(" ".join(map(str, choice["message"].values())).split())
        self.reply(200, done)

    def hang(self) -> None:
        self.endpoint.closing.wait()
        self.close_connection = True

    def drop(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def cut(self, *, promised: int = 1000) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        self.wfile.write(f"Content-Length: {promised}\r\n\r\n".encode() + b'{"choices": [')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def key(self) -> str:
        """What the client authorises itself with."""
        return str(self.headers.get("Authorization") or self.headers.get("X-Api-Key")).removeprefix("Bearer ")

    def escaped(self) -> None:
        """An answer that repeats the key in escapes of JSON, so that no byte of the body is the key's."""
        escapes = "".join(f"\\u{ord(c):04x}" for c in self.key())
        usage = '{"prompt_tokens": 20, "completion_tokens": 5}'
        message = f'{{"message": {{"content": "wrong key {escapes}"}}, "finish_reason": "stop"}}'
        self.raw(f'{{"choices": [{message}], "usage": {usage}}}'.encode())

    def echo(self) -> None:
        """Repeats every header in its error, as a badly written gateway would."""
        self.error(401, f"wrong key: {dict(self.headers.items())}")


FAULTS: dict[str, Fault] = {
    "429": lambda h, b: h.error(429, "slow down", {"Retry-After": "0"}),
    "429 later": lambda h, b: h.error(429, "slow down", {"Retry-After": "3600"}),
    "quota": lambda h, b: h.reply(429, {"error": {"message": "pay first", "code": "insufficient_quota"}}),
    "500": lambda h, b: h.error(500, "oops"),
    "503": lambda h, b: h.error(503, "overloaded", {"Retry-After": "0"}),
    "hang": lambda h, b: h.hang(),
    "drop": lambda h, b: h.drop(),
    "cut": lambda h, b: h.cut(),
    "html": lambda h, b: h.raw(b"<html>bad gateway</html>", "text/html"),
    "garbage": lambda h, b: h.raw(b'\xff\xfe{"choices": nonsense'),
    "list": lambda h, b: h.raw(b"[1, 2, 3]"),
    "no choices": lambda h, b: h.raw(b'{"choices": []}'),
    "odd choices": lambda h, b: h.raw(b'{"choices": [7, {"message": {"content": 3}}], "usage": "much"}'),
    "billed": lambda h, b: h.reply(200, {"choices": [7], "usage": {"prompt_tokens": 40, "completion_tokens": 3.0}}),
    "no usage": lambda h, b: h.changed(b, usage=None),
    "zero usage": lambda h, b: h.changed(b, usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "odd usage": lambda h, b: h.changed(b, usage={"prompt_tokens": "7", "completion_tokens": -3.5}),
    "huge usage": lambda h, b: h.changed(b, usage={"prompt_tokens": 10**3, "completion_tokens": 10**3}),
    "ignore": lambda h, b: h.changed(b, message={"content": "Sure! Here is what you asked for."}),
    "surrogate": lambda h, b: h.changed(b, message={"content": "half a pair: \ud800"}),
    "refusal": lambda h, b: h.changed(b, message={"content": None, "refusal": "I will not do that."}),
    "length": lambda h, b: h.changed(b, message={"content": '{"answer": "po'}, finish_reason="length"),
    "ramble": lambda h, b: h.changed(b, message={"content": "Well, let me"}, finish_reason="length"),
    "no schema": lambda h, b: h.error(400, "response_format of type json_schema is not supported"),
    "no temperature": lambda h, b: h.error(400, "Unsupported value: 'temperature' must be 1"),
    "bad request": lambda h, b: h.error(400, "the context is too long"),
    "echo": lambda h, b: h.echo(),
    "echo 500": lambda h, b: h.error(500, f"at {dict(h.headers.items())}"),
    "echo headers": lambda h, b: h.error(500, "oops", {"X-Echo": str(dict(h.headers.items())), "Set-Cookie": h.key()}),
    "echo escaped": lambda h, b: h.escaped(),
    "echo text": lambda h, b: h.changed(b, message={"content": str(dict(h.headers.items()))}),
}

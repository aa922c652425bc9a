"""Requests to the server as bytes, over real loopback sockets, and what is too much to ask of it."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tape.lm.serve import make_server

PROMPT = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
ASKED = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 2}
TOKEN = "a-token-that-nobody-guesses"
CHAT = "/v1/chat/completions"


@contextmanager
def served(model: Any, **options: Any) -> Iterator[int]:
    server = make_server(model, **options)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def headers(port: int, body: bytes, **changed: str | None) -> dict[str, str]:
    usual = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", "Content-Length": str(len(body))}
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    return {name: value for name, value in {**usual, **named}.items() if value is not None}


def written(port: int, body: Any = ASKED, path: str = CHAT, method: str = "POST", **changed: str | None) -> bytes:
    """A request as bytes; a header that is None is left out."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers(port, raw, **changed).items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + raw


def exchange(port: int, raw: bytes) -> bytes:
    """What comes back until the server closes, or one whole answer is there."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        try:
            client.sendall(raw)
            return answer(client)
        except ConnectionError:
            return b""


def answer(client: socket.socket) -> bytes:
    got = b""
    while True:
        head, _, body = got.partition(b"\r\n\r\n")
        length = next((int(x[15:]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")), None)
        if length is not None and b"\r\n\r\n" in got and len(body) >= length:
            return head + b"\r\n\r\n" + body[:length]
        more = client.recv(65536)
        if not more:
            return got
        got += more


def exchange_until(clients: Sequence[socket.socket], count: int) -> dict[socket.socket, bytes]:
    """The first so many that are answered."""
    found: dict[socket.socket, bytes] = {}
    while len(found) < count:
        for client in select.select([one for one in clients if one not in found], [], [])[0]:
            found[client] = answer(client)
    return found


def status(raw: bytes) -> int:
    """The status, once the answer has OpenAI's shape."""
    head, _, body = raw.partition(b"\r\n\r\n")
    code = int(head.split()[1])
    assert b"\r\nContent-Type: application/json" in head
    told = json.loads(body)
    if code != 200:
        assert set(told) == {"error"}
        assert set(told["error"]) == {"message", "type", "param", "code"}
        assert told["error"]["message"]
    return code


def ask(port: int, *arguments: Any, **changed: str | None) -> int:
    return status(exchange(port, written(port, *arguments, **changed)))


def user(content: str = PROMPT, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 2, **more}


def schema(inner: Any) -> dict[str, Any]:
    return user(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": inner}})


def nested(depth: int) -> Any:
    return {"type": "array", "items": nested(depth - 1)} if depth else {"type": "string"}


BOMB = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)}

TOO_MUCH = {
    "samples": user(n=10_000),
    "tokens": user(max_tokens=10**9),
    "both": user(n=128, max_completion_tokens=10_000),
    "seed": user(seed=10**30),
    "cold": user(temperature=-1),
    "hot": user(temperature=1e30),
    "true": user(temperature=True),
    "text": user(temperature="1"),
    "stream": user(stream=1),
    "tools": user(tools=[{"type": "function", "function": {"name": "look"}}]),
    "logprobs": user(logprobs=True),
    "stop": user(stop=["x"]),
    "messages": {"messages": [{"role": "user", "content": ""}] * 5_000},
    "prompt": user(" wall" * 250_000),
    "role": {"messages": [{"role": "u" * 10_000, "content": PROMPT}]},
    "roles": {"messages": [{"role": {}, "content": PROMPT}]},
    "pattern": user(structured_outputs={"regex": "a" * 5_000}),
    "no pattern": user(structured_outputs={"regex": 7}),
    "counts": user(structured_outputs={"regex": "(a{1,1000}){1,1000}"}),
    "groups": user(structured_outputs={"regex": "(" * 1_900 + ")" * 1_900}),
    "options": user(structured_outputs={"choice": [f" {i}" for i in range(5_000)]}),
    "odd options": user(structured_outputs={"choice": [1, None]}),
    "no options": user(structured_outputs={"choice": []}),
    "references": schema({"$defs": BOMB, "$ref": "#/$defs/d0"}),
    "recursion": schema({"type": "object", "properties": {name: {"$ref": "#"} for name in "abcde"}}),
    "itself": schema({"$ref": "#"}),
    "arrays": schema(nested(40)),
    "optional": schema({"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(200)}}),
    "long": schema({"enum": ["x" * 30_000]}),
    "odd types": schema({"type": 5}),
    "odd reference": schema({"$ref": 7}),
    "no schema": schema([]),
    "odd properties": schema({"properties": 5}),
    "odd pattern": schema({"type": "object", "properties": {"answer": {"type": "string", "pattern": "[" * 99}}}),
}

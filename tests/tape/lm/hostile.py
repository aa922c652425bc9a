"""An endpoint on loopback that wants no good: replies of raw bytes, seeded, for sweeps."""

from __future__ import annotations

import gzip
import json
import random
import socket
import socketserver
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.tape.lm.endpoint import Served

Raw = Iterable[bytes]
"""What is sent, piece by piece; may be endless."""

OK = "200 OK"
TEXT = '{"actions": ["U"], "answer": "U", "thought": "t", "action": "U"}'
BIG = 2_000_000


class Hostile(Served):
    """Serves one reply a connection until it is left.

    Args:
        reply: Makes the bytes of a reply from the number of the request and its body.
    """

    def __init__(self, reply: Callable[[int, bytes], Raw]) -> None:
        self.requests = self.sent = 0
        self.paths: list[str] = []
        self.heads: list[str] = []
        self._reply, self._lock = reply, threading.Lock()
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients hang up on purpose

        super().__init__(Server(("127.0.0.1", 0), Handler))

    def _serve(self, link: socket.socket) -> None:
        link.settimeout(30)
        data = b""
        while b"\r\n\r\n" not in data:
            if not (more := link.recv(65536)):
                return
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(line.split(b":")[1] for line in head.lower().split(b"\r\n") if b"content-length" in line))
        while len(body) < length:
            body += link.recv(65536)
        with self._lock:
            number, self.requests = self.requests, self.requests + 1
            self.paths.append(head.split(b" ")[1].decode())
            self.heads.append(head.decode())
        for piece in self._reply(number, body):
            if self.closing.is_set():
                return
            if piece:
                link.sendall(piece)
                self.sent += len(piece)
            else:
                self.closing.wait(0.05)  # an empty piece is a pause


def http(body: bytes, status: str = OK, **headers: str) -> bytes:
    """A whole reply, which announces the end of the connection: else a client may use one that is being closed."""
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def chat(content: Any = TEXT, usage: Any = None, n: int = 1, **fields: Any) -> dict[str, Any]:
    """A chat completion and a message of Anthropic's in one."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop", **fields}
    used = {"prompt_tokens": 50, "completion_tokens": 20, "input_tokens": 50, "output_tokens": 20}
    return {
        "id": "x", "choices": [choice] * n, "usage": used if usage is None else usage,
        "content": [{"type": "text", "text": content}], "stop_reason": "end_turn",
    }  # fmt: skip


NUMBERS: list[Any] = [2**63, 10**400, 10**4000, -1, -(2**70), True, 1.5, 1e300, "7", None, [], {}, 0, 10**15, "x" * BIG]
DATES = ["Mon, 01 Jan 0001 00:00:00 +9999", "Mon, 01 Jan 9999 00:00:00 -99999999999999999999"]
DATES += ["Fri, 31 Dec 9999 23:59:59 -2359", "Thu, 99 Foo 99999999999 99:99:99 GMT"]
WAITS = [*DATES, "1e999", "9" * 5000, "nan", "-5", "inf", "", ",", "1_0", "0x10", "\u0663".encode().decode("latin1")]
STATUSES = "100 Continue,101 Switching Protocols,204 No Content,206 Partial,304 Not Modified,400 Bad,401 No,402 Pay,"
STATUSES += "403 No,404 No,408 Late,409 Conflict,413 Large,418 Teapot,422 No,429 Slow,500 Oops,503 Busy,599 Odd,999 Odd"


def usage(r: random.Random) -> Raw:
    names = ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"]
    names += ["cache_creation_input_tokens", "cache_read_input_tokens"]
    choices_by_name: Any = {name: r.choice([10, r.choice(NUMBERS)]) for name in names if r.random() < 0.9}
    body = json.dumps(chat(usage=r.choice([choices_by_name, choices_by_name, choices_by_name, 7, [], "much"])))
    return [http(body.encode())]


def choices(r: random.Random) -> Raw:
    odd: list[Any] = [None, 3, [], {}, "x" * BIG, True, 10**400, [[]] * 1000, {"a": {"b": None}}, "\ud800", "\0\x1b[2J"]
    # Together a few megabytes: an endpoint sends no more than is read.
    n, content = r.choice([(0, ""), (1000, TEXT), (1000, None), *((n, r.choice([TEXT, *odd])) for n in (1, 1, 2))])
    done = chat(content, n=n, index=r.choice(odd) if n < 3 else 0)
    for name in r.sample(["id", "choices", "content", "stop_reason", "model", "usage", "error"], r.randint(0, 2)):
        done[name] = r.choice(odd)
    for choice in done["choices"][:2] if isinstance(done["choices"], list) and r.random() < 0.5 else []:
        if isinstance(choice, dict):
            choice[r.choice(["finish_reason", "message", "logprobs"])] = r.choice(odd)
    return [http(json.dumps(done).encode())]


def body(r: random.Random) -> Raw:
    whole = json.dumps(chat()).encode()
    odd = [b"", b"null", b"[1, 2]", b'"text"', b"<html>" * 1000, whole[: r.randrange(len(whole))]]
    odd += [b"[" * r.choice([90, 900, 100_000, BIG]), b'{"choices":' * r.choice([300, 900, 100_000]) + b"1"]
    odd += [b'{"usage": ' + b"9" * r.choice([4000, 5000, BIG]) + b"}"]
    odd += [whole.replace(b"50", b"NaN"), whole.replace(b"50", b"1e999"), b"\xef\xbb\xbf" + whole]
    odd += [whole.decode().encode("utf-16"), bytes(r.randrange(256) for _ in range(300))]
    odd += [b'{"choices": [' + b"[]," * (BIG // 3) + b"[]]}", whole[:-1] + b', "x": "' + b"\\ud800" * 1000 + b'"}']
    odd += [whole + b" " * BIG, b'{"choices": [{"message": {"content": "' + b"\\\\" * BIG + b'"}}]}']
    kind = r.choice(["application/json", "text/event-stream", "text/html; charset=bz2", "x; charset=idna", "a\tb", ""])
    return [http(r.choice(odd), r.choice([OK, OK, "500 Oops", "400 Bad"]), Content_Type=kind)]


def transport(r: random.Random) -> Raw:
    whole = http(json.dumps(chat()).encode())
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return r.choice(
        [
            lambda: endless(head + b"\r\n" + b'{"choices": [', b" " * 65536),
            lambda: endless(head + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
            lambda: endless(head + b"Content-Length: 100\r\n\r\n", b""),
            lambda: endless(head, b"X-More: " + b"y" * 1000 + b"\r\n"),
            lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), lambda: endless(whole[:-20], b""),
            lambda: (whole[i : i + 1] if i % 2 else b"" for i in range(len(whole))),
            lambda: [whole.replace(b"Content-Length: ", b"Content-Length: 1")],
            lambda: [whole.replace(b"Content-Length: ", b"Content-Length: -")],
            lambda: [head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense"],
            lambda: [head + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 300 + b"\r\n"],
            lambda: [head + b"A: b\r\n" * 20_000 + b"\r\n{}"], lambda: [head + b"No colon here\r\n\r\n{}"],
            lambda: [head + b"Set-Cookie: a=" + b"b" * 4000 + b"\r\n" + b"\r\n{}"], lambda: [],
            lambda: [b"\x16\x03\x01" * 100], lambda: [b"HTTP/0.9 hello\r\n\r\n"],
            lambda: [b"HTTP/1.1 2000 OK\r\n\r\n{}"], lambda: [whole[: r.randrange(len(whole))]],
            lambda: [whole, whole, whole],
        ]
    )()  # fmt: skip


def compressed(r: random.Random) -> Raw:
    plain = json.dumps(chat()).encode()
    bomb = r.choice([300_000_000, 40_000_000])
    packed = r.choice(
        [
            lambda: gzip.compress(plain), lambda: zlib.compress(plain), lambda: bombs(bomb),
            lambda: gzip.compress(bombs(bomb)), lambda: gzip.compress(plain)[:-9], lambda: gzip.compress(plain) * 3,
            lambda: b"no gzip", lambda: plain,
        ]
    )()  # fmt: skip
    coding = r.choice([*["gzip"] * 3, "x-gzip", "deflate", "br", "zstd", "gzip, gzip", "identity", "zlib", "\t"])
    return [http(packed, r.choice([OK, OK, "500 Oops", "307 Away"]), Content_Encoding=coding)]


def redirect(r: random.Random) -> Raw:
    to = ["/v1/chat/completions", "http://127.0.0.1:9/", "https://127.0.0.1:1", "//[", "file:///etc/passwd"]
    to += ["\u00e9" * 99, "http://" + "a" * 9000, "", "?loop", "ftp://x", "javascript:1", "/\x01"]
    status = r.choice([300, 301, 302, 303, 305, 307, 308, 399])
    return [http(b"{}", f"{status} Away", Location=r.choice(to))]


def refusal(r: random.Random) -> Raw:
    words = ["temperature", "seed", "response_format", "schema", "insufficient_quota", "x" * BIG, "\ud800", ""]
    message: Any = r.choice([*words, None, 7, {"message": {"message": []}}, ["temperature"], {"deep": [[]]}])
    text = json.dumps(r.choice([{"error": {"message": message}}, {"error": message}, {"message": message}, message]))
    wait = r.choice(WAITS).replace("\x01", "")
    return [http(text.encode(), r.choice(STATUSES.split(",")), Retry_After=wait, x_should_retry="true")]


def endless(first: bytes, more: bytes) -> Iterator[bytes]:
    yield first
    while True:
        yield more


_BOMBS: dict[int, bytes] = {}


def bombs(size: int) -> bytes:
    """So many zeros, compressed."""
    if size not in _BOMBS:
        pack = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        _BOMBS[size] = b"".join(pack.compress(bytes(1 << 20)) for _ in range(size >> 20)) + pack.flush()
    return _BOMBS[size]


FAMILIES: list[Callable[[random.Random], Raw]] = [usage, choices, body, transport, compressed, redirect, refusal]


def hostile_reply(seed: int) -> Raw:
    """The reply of a number: families take turns."""
    return FAMILIES[seed % len(FAMILIES)](random.Random(seed))

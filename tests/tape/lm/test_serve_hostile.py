"""The server against clients that mean harm, or are broken: raw bytes over real loopback sockets."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tape.errors import ConfigError
from tape.lm import serve, serve_chat, serve_connections
from tape.lm.base import Completion, Request, Usage
from tape.lm.scripted import ScriptedLM
from tape.lm.serve import check_access, make_server
from tests.solvers.processes import until
from tests.tape.helpers import tiny_lm
from tests.tape.lm.raw_http import (
    CHAT,
    PROMPT,
    TOKEN,
    TOO_MUCH,
    answer,
    ask,
    exchange,
    exchange_until,
    served,
    status,
    user,
    written,
)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(tiny_lm()) as number:
        yield number


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "127.9.9.9"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "192.168.0.9"}, 403),
        ({"Host": ""}, 403),
        ({"Host": None}, 400),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost", "Origin": "https://evil.example"}, 403),
        ({"Host": "localhost", "Origin": "null"}, 403),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": None}, 415),
        ({"Content_Length": None}, 400),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "1e3"}, 400),
        ({"Content_Length": "²"}, 400),
        ({"Content_Length": "9" * 40}, 413),
        ({"Content_Length": str(serve.MOST_BYTES + 1)}, 413),
        ({"Transfer_Encoding": "chunked"}, 400),
    ],
)
def test_only_what_is_meant_for_it_is_read(port: int, changed: dict[str, str | None], code: int) -> None:
    assert ask(port, **changed) == code


def test_a_header_that_is_there_twice_is_refused(port: int) -> None:
    for line in (b"Host: localhost\r\n", b"Content-Length: 5\r\n"):
        assert status(exchange(port, written(port).replace(b"Content-Type", line + b"Content-Type"))) == 400


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/v1/models", 200),
        ("GET", "/v1/models/?x=1", 200),
        ("GET", CHAT, 405),
        ("POST", "/v1/models", 405),
        ("POST", "/v1/completions", 404),
        ("GET", "/../../etc/passwd", 404),
        ("GET", "http://evil.example/v1/models", 404),
        ("OPTIONS", CHAT, 405),
        ("PUT", CHAT, 405),
        ("GET", "/" + "a" * 70_000, 400),
    ],
)
def test_paths_and_methods(port: int, method: str, path: str, code: int) -> None:
    assert ask(port, b"", path, method) == code


def test_no_page_of_another_site_may_read_an_answer(port: int) -> None:
    raw = exchange(port, written(port, Origin="https://evil.example"))
    assert b"Access-Control" not in raw
    assert PROMPT.encode() not in raw


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_asks_for_too_much_is_refused_at_once(name: str, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(port, TOO_MUCH[name]) == 400
    assert ask(port) == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": 1e999}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": 1' + b"0" * 400 + b"}",
        b'{"messages": [{"role": "user", "content": "x"}], "seed": ' + b"9" * 5_000 + b"}",
        b"null",
    ],
)
def test_what_is_no_json_within_bounds_is_refused(body: bytes, port: int) -> None:
    assert ask(port, body) == 400


def test_the_size_of_a_schema_counts_what_is_used_twice() -> None:
    shared = {"$defs": {"x": {"type": "string"}}, "type": "array", "items": {"$ref": "#/$defs/x"}}
    plain = {"type": "array", "items": {"type": "string"}}
    size = [serve_chat._Size(one).of(one, ()) for one in (shared, plain)]
    assert 0 < size[1] <= size[0] < 20


def test_a_token_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    with served(tiny_lm(), token=TOKEN) as port:
        assert ask(port) == 401
        assert ask(port, b"", "/v1/models", "GET") == 401
        for wrong in (
            f"Bearer {TOKEN[:-1]}",
            f"Bearer {TOKEN}x",
            f"Basic {TOKEN}",
            "Bearer",
            "Bearer é" + TOKEN,
            TOKEN,
        ):
            assert ask(port, Authorization=wrong) == 401
        assert ask(port, Authorization=f"Bearer {TOKEN}") == 200
        assert ask(port, Authorization=f"bearer {TOKEN}") == 200
        assert ask(port, Authorization=f"Bearer {TOKEN}", Host="evil.example") == 403
    assert TOKEN not in "".join(capfd.readouterr())


@pytest.mark.parametrize("host", ["0.0.0.0", "", "192.0.2.1", "::", "example.org", "127.0.0.1.evil.example"])
def test_others_are_served_only_with_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="only with a token"):
        make_server(ScriptedLM([]), host)
    check_access(host, TOKEN)


@pytest.mark.parametrize("token", ["short", "with spaces in the middle of it", "ümlaut" * 5, "line\nbreak" * 3])
def test_a_weak_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="at least 16"):
        check_access("127.0.0.1", token)


def test_a_server_for_others_goes_by_its_addresses_and_its_names() -> None:
    key = f"Bearer {TOKEN}"
    with served(tiny_lm(), host="0.0.0.0", token=TOKEN, names=["Box.example"]) as port:
        assert ask(port, Host=f"192.0.2.7:{port}", Authorization=key) == 200
        assert ask(port, Host="box.example", Authorization=key) == 200
        assert ask(port, Host="evil.example", Authorization=key) == 403


class Slow(ScriptedLM):
    """Answers when it is let, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__([])
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.asked: list[str] = []

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.asked.append(str(requests[0].prompt))
        self.begun.release()
        assert self.may_end.wait(60)
        return [Completion(("x",), ("stop",), (0.0,), Usage(1, 1))]


def named(port: int, name: str) -> bytes:
    return written(port, user(name))


def test_nothing_is_computed_for_a_client_that_is_gone() -> None:
    model = Slow()
    with served(model) as port:
        first = socket.create_connection(("127.0.0.1", port), timeout=60)
        first.sendall(named(port, "first"))
        assert model.begun.acquire(timeout=60)
        for number in range(5):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as gone:
                gone.sendall(named(port, f"gone {number}"))
        last = socket.create_connection(("127.0.0.1", port), timeout=60)
        last.sendall(named(port, "last"))
        model.may_end.set()
        assert status(answer(first)) == status(answer(last)) == 200
    assert [text for text in model.asked if "gone" in text] == []
    assert len(model.asked) == 2


def test_so_many_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_connections, "MOST_WAITING", 3)
    model = Slow()
    with served(model) as port:
        waiting = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(6)]
        waiting[0].sendall(named(port, "first"))
        assert model.begun.acquire(timeout=60)
        for client in waiting[1:]:
            client.sendall(named(port, "later"))
        refused = exchange_until(waiting[1:], 2)
        model.may_end.set()
        codes = sorted(status(answer(client)) for client in waiting if client not in refused)
        assert [status(raw) for raw in refused.values()] == [429, 429]
        assert all(b"Retry-After" in raw for raw in refused.values())
        assert codes == [200] * 4


def test_so_many_connections_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_connections, "MOST_CONNECTIONS", 4)
    with served(tiny_lm()) as port:
        idle = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(4)]
        for client in idle:  # each has its thread once it was answered
            client.sendall(written(port, b"", "/v1/models", "GET"))
            assert status(answer(client)) == 200
        with socket.create_connection(("127.0.0.1", port), timeout=60) as more:
            assert status(answer(more)) == 503
        for client in idle:
            client.close()
        until(lambda: exchange(port, written(port)).startswith(b"HTTP/1.1 200"))


@pytest.mark.parametrize("start", [b"", b"POST /v1/chat/compl", b"POST / HTTP/1.1\r\nX-Header: 1\r\n", None])
def test_who_sends_slowly_is_hung_up_on(
    start: bytes | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "SECONDS", 0.3)
    with served(tiny_lm()) as port, socket.create_connection(("127.0.0.1", port), timeout=60) as slow:
        slow.sendall(written(port)[:-5] if start is None else start)
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.05):  # each byte in time, the whole never
                try:
                    slow.sendall(b" ")
                except OSError:
                    return

        if start:
            threading.Thread(target=drip, daemon=True).start()
        try:
            while slow.recv(4096):
                pass
        except ConnectionError:
            pass
        stop.set()
        assert ask(port) == 200
    assert "Traceback" not in capfd.readouterr().err


def test_headers_are_bounded(port: int) -> None:
    many = b"".join(b"X-%d: 1\r\n" % i for i in range(500))
    for more in (many, b"X: " + b"a" * 70_000 + b"\r\n"):
        assert status(exchange(port, written(port).replace(b"Host:", more + b"Host:"))) == 400


def test_a_fault_of_the_model_is_an_answer_and_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    class Panic(BaseException):
        """What native code raises through Python."""

    class Broken(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            raise Panic("at module.rs:7\nwith a line break")

    with served(Broken([])) as port:
        assert ask(port) == ask(port) == 500
    error = capfd.readouterr().err
    assert error.count("\n") == 2
    assert "Traceback" not in error


def fuzz(port: int, seed: int, count: int) -> dict[str, int]:
    """Send mangled requests; every one is answered properly, or hung up on."""
    found: dict[str, int] = {}
    for number in range(count):
        raw = mangled(random.Random(seed * 1_000_003 + number), port)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            try:
                client.sendall(raw)
                client.shutdown(socket.SHUT_WR)
                got = answer(client)
            except ConnectionError:
                got = b""
        kind = str(status(got)) if got else "closed"
        found[kind] = found.get(kind, 0) + 1
        assert kind in ("200", "400", "401", "403", "404", "405", "413", "415", "closed"), (number, raw[:300])
    return found


def mangled(rng: random.Random, port: int) -> bytes:
    """A request with something wrong in its bytes, its head or its body."""
    how = rng.randrange(4)
    if how == 0:
        return rng.randbytes(rng.randrange(1, 2_000))
    body = json.loads(json.dumps(rng.choice(list(TOO_MUCH.values()))))
    if how == 1:
        return written(port, body)[: rng.randrange(1, 400)]
    if how == 2:
        raw = bytearray(written(port))
        for _ in range(rng.randrange(1, 12)):
            place = rng.randrange(len(raw))
            raw[place : place + rng.randrange(2)] = rng.choice([b"\r\n", b"\0", b"\xff", b":", b" ", rng.randbytes(3)])
        return bytes(raw)
    odd: list[Any] = [None, True, -1, 0, 10**25, 1e300, "", "x" * 500, [], [[]], {}, {"a": {}}, "\u202e", "[", "(((("]
    names = ["n", "max_tokens", "temperature", "seed", "messages", "structured_outputs", "response_format", "stream"]
    asked: dict[str, Any] = user()
    for name in rng.sample(names, rng.randrange(1, 4)):
        value = rng.choice(odd)
        asked[name] = rng.choice(
            [value, {rng.choice(["regex", "choice", "json", "type", "json_schema"]): value}, [value]]
        )
    return written(port, asked)


def check_fuzz(seed: int, count: int) -> dict[str, int]:
    with served(tiny_lm()) as port:
        found = fuzz(port, seed, count)
        assert ask(port) == 200
    return found


def test_mangled_requests_are_refused_and_the_server_lives(capfd: pytest.CaptureFixture[str]) -> None:
    check_fuzz(1, 30)
    assert capfd.readouterr().err == ""


@pytest.mark.soak
def test_three_hundred_mangled_requests_of_each_of_ten_seeds(capfd: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    totals: dict[str, int] = {}
    for seed in range(10):
        for kind, count in check_fuzz(seed, 300).items():
            totals[kind] = totals.get(kind, 0) + count
    assert capfd.readouterr().err == ""
    figures = {"requests": 3_000, "answers": dict(sorted(totals.items())), "tracebacks": 0,
               "seconds": round(time.monotonic() - began, 1)}  # fmt: skip
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        (Path(folder) / "serve_hostile.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def test_the_command_refuses_what_is_unsafe_before_it_loads_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tape.cli.main import main

    monkeypatch.delenv("TAPE_SERVE_TOKEN", raising=False)
    empty = tmp_path / "token"
    empty.write_text("\n")
    for arguments, says in (
        (["--host", "0.0.0.0"], "only with a token"),
        (["--token-file", str(empty)], "is empty"),
        (["--token-file", str(tmp_path / "none")], "cannot be read"),
        (["--port", "70000"], "from 0 to 65535"),
    ):
        assert main(["serve", "scripted:/nowhere.json", *arguments]) == 2
        assert says in capsys.readouterr().err
    monkeypatch.setenv("TAPE_SERVE_TOKEN", "weak")
    assert main(["serve", "scripted:/nowhere.json"]) == 2
    assert "at least 16" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_line_shows_no_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    command = [sys.executable, "-m", "tape", "serve", "bundled:nano-750", "--port", "0", "--token-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        assert ask(port) == 401
        assert ask(port, b"", "/v1/models", "GET", Authorization=f"Bearer {TOKEN}") == 200
        assert TOKEN not in Path(f"/proc/{process.pid}/cmdline").read_text() + line
        process.terminate()
    assert process.returncode == 143

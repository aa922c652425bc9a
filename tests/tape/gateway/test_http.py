"""The gateway over HTTP: whose budget a request takes, and what one client can take from the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from hypothesis import given
from hypothesis import strategies as st
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from tape.gateway import http_requests
from tape.gateway.http_requests import Requests, Turns
from tape.gateway.http_sessions import Sessions
from tape.gateway.tokens import weakness_of
from tests.tape.gateway.helpers import write_config
from tests.tape.gateway.over_http import delete, message, opened, post, serving_here, stateless

TOKENS = {"ONE": "one-9fK2mQ7xVb4Tz81L", "TWO": "two-3hN6pR0yWc5Us72M"}
CONFIG = """
[gateway]
most_sessions = 3
[budgets]
session = { usd = "$0.03" }
[clients.one]
token_env = "ONE"
[clients.two]
token_env = "TWO"
[python.echo]
function = "FUNCTIONS:echo"
price = { usd = "$0.01" }
"""


def refusal(answer: tuple[int, str]) -> str | None:
    """The scope of the budget that refuses a call, None where the call was made."""
    status, text = answer
    assert status == 200, text
    content = json.loads(
        next(line for line in text.splitlines() if line.startswith(("data: ", "{"))).removeprefix("data: ")
    )
    return content["result"].get("structuredContent", {}).get("scope")  # type: ignore[no-any-return]


def in_session(address: str, session: str, name: str = "ONE") -> str | None:
    body = message(2, "tools/call", name="echo", arguments={"text": "x"})
    return refusal(post(address, body, Authorization=f"Bearer {TOKENS[name]}", Mcp_Session_Id=session))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_config(tmp_path, CONFIG)


@pytest.fixture
def address(file: Path) -> Iterator[str]:
    """Host and port of a gateway on it, in this process."""
    with serving_here(file, **TOKENS) as name:
        yield name


@pytest.mark.parametrize("token", ["short", "with spaces in the middle of it", "ümlaut" * 5, "line\nbreak" * 3, ""])
def test_a_weak_token_is_refused(token: str) -> None:
    assert "at least 16" in weakness_of(token)
    assert not any(map(weakness_of, TOKENS.values()))


# --- budgets of sessions --------------------------------------------------------------------------


def test_sessions_that_the_protocol_does_not_have_are_not_invented(address: str, file: Path) -> None:
    body, headers = stateless("echo", text="x")
    right = {"Authorization": f"Bearer {TOKENS['ONE']}"}
    refusals = [refusal(post(address, body, **headers, **right, Mcp_Session_Id=f"mine-{n}")) for n in range(5)]
    assert refusals == [None, None, None, "session", "session"]
    legacy = message(2, "tools/call", name="echo", arguments={"text": "x"})
    assert post(address, legacy, **right, Mcp_Session_Id="mine")[0] == 404
    scopes = {line.get("scope") for line in map(json.loads, file.with_suffix(".journal.jsonl").open())}
    assert scopes == {None, "gateway/one/shared"}


def test_coming_again_gives_no_fresh_budget(file: Path) -> None:
    token = TOKENS["ONE"]
    with serving_here(file, **TOKENS) as address:
        first = opened(address, token)[1]
        assert [in_session(address, first) for _ in range(4)] == [None, None, None, "session"]
        beside = opened(address, token)[1]  # a second one at the same time has a budget of its own
        assert in_session(address, beside) is None
        assert delete(address, token, first) == 200
        assert delete(address, token, first) == 404
        assert in_session(address, opened(address, token)[1]) == "session"
        assert in_session(address, opened(address, TOKENS["TWO"])[1], "TWO") is None
    with serving_here(file, **TOKENS) as address:  # nor does a restart
        assert in_session(address, opened(address, token)[1]) == "session"


def test_each_client_has_a_token_a_budget_and_sessions_of_its_own(tmp_path: Path) -> None:
    config = CONFIG.replace('token_env = "ONE"', 'token_env = "ONE"\nbudget = { usd = "$0.01" }')
    file = write_config(tmp_path, config)
    with serving_here(file, **TOKENS) as address:
        name, two = (opened(address, token)[1] for token in TOKENS.values())
        assert [in_session(address, name) for _ in range(2)] == [None, "client"]
        assert in_session(address, two, "TWO") is None
        body = message(2, "tools/call", name="echo", arguments={"text": "x"})
        status, text = post(address, body, Authorization=f"Bearer {TOKENS['ONE']}", Mcp_Session_Id=two)
        assert (status, "Session not found" in text) == (404, True)
    journal = file.with_suffix(".journal.jsonl").read_text()
    assert not any(secret in journal for secret in (*TOKENS.values(), name, two))


def test_a_client_has_so_many_sessions_and_opens_them_at_so_many_a_second(address: str) -> None:
    pairs = [opened(address, TOKENS["ONE"]) for _ in range(30)]
    names = [name for status, name in pairs if status == 200]
    assert {status for status, _ in pairs} == {200, 429}
    assert len(names) >= 6
    # The last three go on; for each of them the one that was idle for longest has ended.
    ended = [delete(address, TOKENS["ONE"], name) for name in names]
    assert ended == [404] * (len(names) - 3) + [200] * 3
    assert opened(address, TOKENS["TWO"])[0] == 200


class App:
    """What stands in for the SDK: opens sessions, ends them, and holds requests until ``hold`` is set."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.hold = asyncio.Event()
        self.hold.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        name = headers.get(b"mcp-session-id", b"").decode()
        if not name:
            name = f"{scope['user'].username}-{len(self.slots)}"
            self.slots[name] = scope["state"]["slot"]
        await self.hold.wait()
        status = 200 if name in self.slots else 404
        if scope["method"] == "DELETE":
            self.slots[name] = -1
        await send({"type": "http.response.start", "status": status, "headers": [(b"mcp-session-id", name.encode())]})
        await send({"type": "http.response.body", "body": b""})


async def ask(
    app: Any, client: str = "one", name: str = "", method: str = "POST", body: bytes = b""
) -> tuple[int, str]:
    """Status and session of one request."""
    values: dict[str, Any] = {}
    messages = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return messages.pop() if messages else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            values.update(status=message["status"], headers=dict(message["headers"]))

    headers = [(b"host", b"localhost")] + ([(b"mcp-session-id", name.encode())] if name else [])
    user = AuthenticatedUser(AccessToken(token=client, client_id=client, scopes=[]))
    scope = {"type": "http", "method": method, "headers": headers, "state": {}, "user": user}
    await app(scope, receive, send)
    return values["status"], values["headers"].get(b"mcp-session-id", b"").decode()


async def test_an_idle_session_ends_and_the_next_goes_on_in_its_slot() -> None:
    now, ended, app = [0.0], list[tuple[str, int]](), App()
    sessions = Sessions(app, lambda client, slot: ended.append((client, slot)), 2, 60.0, lambda: now[0])
    (_, first), (_, second) = await ask(sessions), await ask(sessions)
    now[0] = 50.0
    assert (await ask(sessions, name=second))[0] == 200
    now[0] = 70.0
    assert (await ask(sessions, name=first))[0] == 404
    assert (await ask(sessions, "two", name=second))[0] == 404
    assert (await ask(sessions, name=second))[0] == 200
    assert ended == [("one", 1)]
    third = (await ask(sessions))[1]
    assert [app.slots[name] for name in (first, second, third)] == [1, 2, 1]


async def test_only_an_idle_session_makes_way_for_another() -> None:
    now, app = [0.0], App()
    sessions = Sessions(app, lambda client, slot: None, 2, 60.0, lambda: now[0])
    names = [(await ask(sessions))[1] for _ in range(2)]
    app.hold.clear()
    working = [asyncio.create_task(ask(sessions, name=name)) for name in names]
    await asyncio.sleep(0)
    assert (await ask(sessions))[0] == 429
    app.hold.set()
    await asyncio.gather(*working)
    now[0] = 1.0
    assert (await ask(sessions, name=names[0]))[0] == 200
    assert (await ask(sessions))[0] == 200  # ends the other
    assert [app.slots[name] for name in names] == [1, -1]
    assert (await ask(sessions, name=names[1]))[0] == 404


@given(st.lists(st.tuples(st.sampled_from(["open", "use", "end", "wait"]), st.integers(0, 9)), max_size=60))
def test_no_two_open_sessions_share_a_slot(steps: list[tuple[str, int]]) -> None:
    async def body() -> None:
        now, app, open_ = [0.0], App(), set[int]()

        def ended(client: str, slot: int) -> None:
            open_.remove(slot)

        sessions, names = Sessions(app, ended, 3, 60.0, lambda: now[0]), list[str]()
        for what, number in steps:
            if what == "open":
                status, name = await ask(sessions)
                if status == 200:
                    assert app.slots[name] not in open_
                    open_.add(app.slots[name])
                    names.append(name)
            elif what == "wait":
                now[0] += 10.0 * number
            elif names:
                name = names[number % len(names)]
                await ask(sessions, name=name, method="DELETE" if what == "end" else "POST")
            assert len(open_) <= 3

    asyncio.run(body())


# --- bodies and turns -----------------------------------------------------------------------------


MANY = http_requests.MOST_VALUES
BODIES = {
    b"x" * (http_requests.MOST_BODY_BYTES + 1): 413, b"[" + b"[]," * MANY + b"1]": 413,
    b"[" + b"1," * MANY + b"1]": 413, b"[" + b'"",' * (2 * MANY) + b"1]": 413,
    b"[" + b'"\\\\",' * (2 * MANY) + b"1]": 413, b'["' + b"1,[{" * MANY + b'"]': 200,
    b'["' + b'\\"1\\",' * MANY + b'"]': 200, b"[" + b"1," * (MANY // 2) + b"1]": 200,
    b"\\" * (4 << 20) + b"," * (MANY + 1): 413, b"": 200,
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(BODIES)))
async def test_bodies_have_limits(number: int) -> None:
    body, status = list(BODIES.items())[number]
    passed: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    requests = Requests(app)
    assert (await ask(requests, body=body))[0] == status
    assert [item["more_body"] for item in passed] == [False] * (status == 200)
    assert set(requests._open.values()) == set(requests._held.values()) == {0}


async def test_a_client_has_so_many_requests_and_bytes_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_requests, "MOST_REQUESTS", 2)
    monkeypatch.setattr(http_requests, "MOST_HELD_BYTES", 100)
    app = App()
    app.hold.clear()
    requests = Requests(Sessions(app, lambda client, slot: None, 9, 60.0))
    working = [asyncio.create_task(ask(requests, body=b"x" * 60))]
    await asyncio.sleep(0)
    assert (await ask(requests, body=b"x" * 60))[0] == 429
    working.append(asyncio.create_task(ask(requests)))
    await asyncio.sleep(0)
    assert (await ask(requests))[0] == 429
    working.append(asyncio.create_task(ask(requests, "two", body=b"x" * 60)))
    app.hold.set()
    assert [status for status, _ in await asyncio.gather(*working)] == [200] * 3
    assert (await ask(requests, body=b"x" * 60))[0] == 200


async def test_a_client_that_floods_waits_for_itself() -> None:
    turns, order = Turns(), list[str]()

    async def one(client: str, cost: float) -> None:
        async with turns.turn(client, cost):
            order.append(client)
            await asyncio.sleep(0)

    flood = [asyncio.create_task(one("flood", 1)) for _ in range(20)]
    big = [asyncio.create_task(one("big", 100)) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.gather(*(one("honest", 1) for _ in range(3)), *flood, *big)
    assert len(order) == 26
    assert [place for place, client in enumerate(order) if client == "honest"][-1] < 15
    assert [client for client in order if client != "flood"].index("big") == 0  # none waits forever
    assert order[-2:] == ["big", "big"]


async def test_the_turn_of_a_cancelled_request_is_given_on() -> None:
    turns, until = Turns(), asyncio.Event()

    async def hold() -> None:
        async with turns.turn("one", 1):
            await until.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(10)]
    await asyncio.sleep(0)
    for task in tasks[1:9]:
        task.cancel()
    until.set()
    await asyncio.wait(tasks)
    assert not tasks[9].cancelled()
    assert turns._free == http_requests.TURNS_AT_ONCE


# --- connections ----------------------------------------------------------------------------------


def connected(address: str) -> socket.socket:
    host, _, port = address.partition(":")
    return socket.create_connection((host, int(port)), timeout=100)


def hung_up(connections: list[socket.socket]) -> None:
    """Wait until the other end has closed all of them."""
    for connection in connections:
        with contextlib.suppress(ConnectionError):
            while connection.recv(65536):
                pass


POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
OF_ONE = POST + f"Authorization: Bearer {TOKENS['ONE']}\r\nContent-Length: 9\r\n".encode()


ODD = [
    b"\0" * 100,
    POST + b"Content-Length: " + b"9" * 6000 + b"\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nX: " + b"x" * 200_000,
    POST.replace(b"POST", b"GET") + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
]
"""No request, a length of 6,000 digits, a head that is too long, another protocol."""


def test_what_is_no_request_is_hung_up_on_and_leaves_no_traceback(address: str, file: Path) -> None:
    for raw in ODD:
        with connected(address) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(raw)
            hung_up([connection])
    assert opened(address, TOKENS["ONE"])[0] == 200
    log = file.with_suffix(".log").read_text()
    assert [line for line in log.splitlines() if not line.startswith("tape gateway:")] == []

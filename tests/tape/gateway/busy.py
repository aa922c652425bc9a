"""A gateway over HTTP that has been busy: 10,000 calls behind it, some in flight, some refused, one that waits."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.tape.gateway.over_http import post, requested, serving_here, stateless

TOKENS = {"ONE": "one-9fK2mQ7xVb4Tz81L", "TWO": "two-3hN6pR0yWc5Us72M"}
CONFIG = """
[gateway]
name = "research desk"
[budgets]
run = { usd = "$60", steps = 20000 }
client = { usd = "$45" }
session = { usd = "$9" }
[resources.pages]
unit = "page"
[clients.one]
token_env = "ONE"
[clients.two]
token_env = "TWO"
budget = { usd = "$5.50" }
[python.echo]
function = "FUNCTIONS:echo"
price = { usd = "$0.01", pages = 2 }
[python.wait]
function = "FUNCTIONS:wait"
call_seconds = 5
price = { usd = "$0.04" }
[python.dear]
function = "FUNCTIONS:echo"
kind = "echo"
price = { usd = "$12", pages = 2 }
[python.wipe]
function = "FUNCTIONS:wipe"
price = { usd = "$0.02" }
destructive = true
"""


def write_journal(file: Path, calls: int = 10_000) -> None:
    """Calls of the last 30 days, as a gateway has written them; the last one is open."""
    rng, now = random.Random(0), datetime.now(UTC)
    at = sorted(now - timedelta(days=30 * rng.random() ** 1.4) for _ in range(calls))
    with file.open("w", encoding="utf-8") as stream:
        print(json.dumps({"schema": 1, "what": "ledger"}), file=stream)
        for n, begun in enumerate(at):
            usd = rng.choice((400, 1000, 4000, 9000))
            scope = f"gateway/{('one', 'two')[n % 7 == 0]}/{rng.randrange(1, 40)}"
            expires = (begun + timedelta(days=366)).isoformat()
            hold: dict[str, Any] = {"do": "hold", "at": begun.isoformat(), "expires": expires, "id": f"c{n}"}
            hold |= {"scope": scope, "labels": {}, "name": "echo", "worst": {"steps": 1, "usd": 10_000}, "free": False}
            print(json.dumps(hold), file=stream)
            if n + 1 < calls:
                end = {"do": "end", "at": begun.isoformat(), "id": f"c{n}", "state": "settled"}
                print(json.dumps(end | {"spent": {"steps": 1, "usd": usd, "pages": n % 3}}), file=stream)


def call(address: str, who: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool without a session; its result."""
    body, headers = stateless(tool, **arguments)
    status, text = post(address, body, Authorization=f"Bearer {TOKENS[who]}", **headers)
    assert status == 200, text
    line = next(line for line in text.splitlines() if line.startswith(("data: ", "{")))
    values: dict[str, Any] = json.loads(line.removeprefix("data: "))["result"]
    return values


class People:
    """Who has the token for people.

    Args:
        address: Host and port.
        token: Theirs.
    """

    def __init__(self, address: str, token: str) -> None:
        self.address, self.token = address, token

    def asks(self, path: str = "/state", body: Any = None) -> tuple[int, Any]:
        """Status and answer of a request."""
        method, sent = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        status, _, text = requested(self.address, method, path, sent, Authorization=f"Bearer {self.token}")
        return status, json.loads(text)

    def until(self, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """What the page shows, as soon as something holds of it."""
        for _ in range(1000):
            status, result = self.asks()
            assert status == 200, result
            if holds(result):
                return dict(result)
            time.sleep(0.02)
        raise AssertionError(f"the page still shows {result}")

    def decide(self, act: str, tool: str, why: str = "") -> tuple[int, Any]:
        """Approve or refuse the call of a tool that waits."""
        (item,) = (entry for entry in self.until(lambda state: state["waiting"]["count"])["waiting"]["rows"])
        assert item["tool"] == tool
        return self.asks("/act", {"act": act, "id": item["id"], "why": why})


@contextlib.contextmanager
def people_at(file: Path) -> Iterator[People]:
    """A gateway over HTTP, and who has its token for people."""
    with serving_here(file, **TOKENS) as address:
        yield People(address, file.with_suffix(".people-token").read_text().strip())


@contextlib.contextmanager
def meanwhile(address: str, who: str, tool: str, **arguments: Any) -> Iterator[list[dict[str, Any]]]:
    """Call a tool in a thread; its result is there after the block."""
    values: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: values.append(call(address, who, tool, **arguments)))
    thread.start()
    yield values
    thread.join()

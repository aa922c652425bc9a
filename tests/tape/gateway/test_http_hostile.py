"""Ten hostile clients beside an honest one, over HTTP: it is answered throughout, and nobody spends more than a cap."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.places import ROOT
from tests.tape.gateway.helpers import record, write_config
from tests.tape.gateway.over_http import heads, message, opened, serving, stateless

pytestmark = pytest.mark.slow

HOSTILE = 10
TOKENS = {"HONEST": "honest-8sLp3VnYd6Jf1GtX"}
TOKENS |= {f"HOSTILE_{n}": f"hostile-{n}-4hQ9xT2mWc7Rk5Zb" for n in range(HOSTILE)}
CONFIG = """
[budgets]
session = { usd = "$0.05" }
[python.echo]
function = "FUNCTIONS:echo"
price = { usd = "$0.01" }
[clients.honest]
token_env = "HONEST"
budget = { steps = 1000000 }
""" + "".join(f'[clients.hostile{n}]\ntoken_env = "HOSTILE_{n}"\n' for n in range(HOSTILE))


class Honest:
    """Asks again and again, in a session and without one, on a connection that it keeps and on new ones."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._kept = http.client.HTTPConnection(address, timeout=100)
        self._session = opened(address, TOKENS["HONEST"])[1]
        self.seconds: list[float] = []
        self.faults: list[Any] = []

    def ask_until(self, end: threading.Event) -> None:
        while not end.wait(0.02):
            self.ask()

    def ask(self) -> None:
        number = len(self.seconds)
        if number % 2:
            body, headers = stateless("budget")
        else:
            body, headers = message(2, "tools/call", name="budget", arguments={}), {"Mcp_Session_Id": self._session}
        head = heads(Authorization=f"Bearer {TOKENS['HONEST']}", **headers)
        began = time.monotonic()
        connection = self._kept if number % 4 < 2 else http.client.HTTPConnection(self._address, timeout=100)
        try:
            connection.request("POST", "/mcp", body, head)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"isError":true' in text or b'"left"' not in text:
                self.faults.append((number, answer.status, text[:300]))
        except OSError as error:
            self.faults.append((number, repr(error)))
        finally:
            self.seconds.append(time.monotonic() - began)
            if connection is not self._kept:
                connection.close()


def spent(journal: Path) -> dict[str, int]:
    """Micro-dollars that each session has spent."""
    worst: dict[str, tuple[str, int]] = {}
    for line in map(json.loads, journal.read_text().splitlines()[1:]):
        if line["do"] == "hold":
            worst[line["id"]] = (line["scope"], line["worst"].get("usd", 0))
        else:
            worst[line["id"]] = (worst[line["id"]][0], line["spent"].get("usd", 0))
    numbers: dict[str, int] = {}
    for session, usd in worst.values():
        numbers[session] = numbers.get(session, 0) + usd
    return numbers


def check(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """Attack a gateway, and return what came of it."""
    file = write_config(folder, CONFIG)
    end, began = threading.Event(), time.monotonic()
    with serving(file, **TOKENS) as address:
        honest = Honest(address)
        for _ in range(20):
            honest.ask()
        alone, honest.seconds = sorted(honest.seconds), []
        thread = threading.Thread(target=honest.ask_until, args=(end,))
        thread.start()
        try:
            command = [sys.executable, "-m", "tests.tape.gateway.hostile_clients", address, str(seed), str(count)]
            env = os.environ | TOKENS
            attack = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True, text=True)
        finally:
            end.set()
            thread.join()
        honest.ask()
    assert honest.faults == []
    sessions = spent(file.with_suffix(".journal.jsonl"))
    assert max(sessions.values()) <= 50_000
    assert {name.rpartition("/")[2] for name in sessions} <= {"shared", *map(str, range(1, 17))}
    log = file.with_suffix(".log").read_text()
    assert "Traceback" not in log
    slowest = sorted(honest.seconds)
    return {
        **json.loads(attack.stdout), "requests": sum(json.loads(attack.stdout)["sent"].values()),
        "honest_alone_median_seconds": round(alone[10], 4), "honest_alone_slowest_seconds": round(alone[-1], 3),
        "honest_requests": len(slowest), "honest_median_seconds": round(slowest[len(slowest) // 2], 4),
        "honest_slowest_seconds": round(slowest[-1], 3),
        "honest_over_one_second": sum(seconds > 1 for seconds in slowest), "load_average": round(os.getloadavg()[1], 1),
        "log_bytes": len(log), "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


@pytest.mark.parametrize(("seed", "requests"), [(1, 300), pytest.param(2, 100_000, marks=pytest.mark.soak)])
def test_an_honest_client_is_answered_beside_ten_hostile_ones(tmp_path: Path, seed: int, requests: int) -> None:
    mapping = check(tmp_path, seed, requests)
    assert set(mapping["sent"]) == set(mapping["answers"]) | {"slow_readers"}
    record("gateway_http", mapping)

"""Clients over stdio that die: no call is made that is not in the journal, and nothing of the gateway is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest

from tape.budget import Budget
from tests.tape.gateway.helpers import reading, record, server_table, write_config
from tests.tape.gateway.over_http import command, hello, message
from tests.tape.tools.hostile import is_running

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PRICE, CAP = 10_000, 200_000
"""Of a call and of a run, in millionths of a dollar."""
KINDS = (
    "before the handshake", "amid the bytes", "a call in flight", "asked for an approval", "an approval on its way",
    "writes no more", "reads no more", "has never read", "killed", "the gateway killed",
)  # fmt: skip
HELLO = hello(elicitation={})


def call(number: int, tool: str) -> bytes:
    return message(number, "tools/call", name=tool, arguments={})


class Place:
    """A journal, and the servers that were started beside it."""

    def __init__(self, folder: Path, *, linger: bool) -> None:
        self.linger = linger
        self.log, self.pids = folder / "log", folder / "pids"
        self.journal = folder / "gateway.journal.jsonl"
        server = [sys.executable, "-S", *map(str, (HERE / "counting_server.py", self.journal, self.log, self.pids))]
        text = f'[budgets]\nrun = {{ usd = "${CAP / 1e6}" }}\n{server_table([*server, *["linger"] * linger])}'
        file = write_config(folder, f'{text}price = {{ usd = "${PRICE / 1e6}" }}\n')
        self.command = command(file)
        self.script = folder / "script"

    def calls(self) -> list[tuple[str, int]]:
        """The tools that were really called, each with the reservations that the journal held then."""
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def require_gone(self) -> None:
        """No server runs any more; one that does makes the test run into its time limit."""
        numbers = self.pids.read_text().split() if self.pids.exists() else []
        wait_for(lambda: not any(is_running(int(number)) for number in numbers))

    def require_kept(self) -> int:
        """The journal opens, holds every call, and counts what was in flight in full; returns what is open."""
        from tape.gateway.ledgers import Ledgers

        for number, (_, reserved) in enumerate(self.calls(), 1):
            assert reserved >= number, f"call {number} began with {reserved} reservations in the journal"
        ledgers = Ledgers(Budget({"usd": CAP}), {}, Budget(), self.journal)
        try:
            run = reading(ledgers)
            used = (run.spent["usd"] or 0) + (run.held["usd"] or 0)
            open_ = ledgers.read(ledgers.others)
        finally:
            ledgers.close()
        assert used == self.booked()
        assert PRICE * len(self.calls()) <= used <= CAP
        return len(open_)

    def booked(self) -> int:
        """What the lines of the journal come to, by themselves: what is not settled counts in full."""
        counts: dict[str, int] = {}
        for line in self.journal.read_text().splitlines()[1:] if self.journal.exists() else []:
            record = json.loads(line)
            spent = record["worst"] if record["do"] == "hold" else record["spent"]
            counts[record["id"]] = spent.get("usd", 0)
        return sum(counts.values())


def listen(stdout: IO[bytes], heard: bytearray) -> bytearray:
    """What a gateway has answered so far; its pipe does not block."""
    with contextlib.suppress(BlockingIOError):
        heard += os.read(stdout.fileno(), 1 << 16)
    return heard


def wait_for(function: Callable[[], object]) -> None:
    while not function():
        time.sleep(0.005)


def die(place: Place, kind: str, chance: Random) -> None:
    """Let one client die, and wait until its gateway has ended."""
    if kind == "killed":
        die_by_a_signal(place, chance)
        return
    process = subprocess.Popen(place.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    write: Any = process.stdin
    read: Any = process.stdout
    with contextlib.suppress(BrokenPipeError):
        play(place, kind, chance, write, read)
    if kind == "the gateway killed":
        process.kill()
    if kind != "reads no more":
        with contextlib.suppress(BrokenPipeError):
            write.close()
    if kind == "writes no more":
        while read.read(1 << 16):
            pass
    if kind != "has never read":
        read.close()
    process.wait()
    for pipe in (write, read):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def play(place: Place, kind: str, chance: Random, stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """What a client does before it dies."""

    def write(data: bytes) -> None:
        stdin.write(data)
        stdin.flush()

    before = len(place.calls())
    numbers = range(2, 2 + chance.randint(1, 6))
    some = b"".join(call(number, chance.choice(("look", "slow", "wipe"))) for number in numbers)
    match kind:
        case "before the handshake":
            write(HELLO[: chance.randint(0, 20)])
        case "amid the bytes":
            write((HELLO + some)[: chance.randint(0, len(HELLO + some))])
        case "a call in flight" | "the gateway killed":
            write(HELLO + call(2, "slow"))
            os.set_blocking(stdout.fileno(), False)
            heard = bytearray()
            wait_for(lambda: len(place.calls()) > before or b"budget_exceeded" in listen(stdout, heard))
            write(some[: chance.randint(0, len(some))])
        case "asked for an approval" | "an approval on its way":
            write(HELLO + call(2, "wipe"))
            line = b""
            while b"elicitation/create" not in line and b"isError" not in line:
                line = stdout.readline()
            if kind == "an approval on its way" and b"elicitation" in line:
                answer = {"action": "accept", "content": {"approve": True}}
                yes = json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": answer}).encode() + b"\n"
                write(yes[: chance.randint(len(yes) // 2, len(yes))])
        case "writes no more":
            write(HELLO + some)
        case "reads no more":
            write(HELLO)
            stdout.readline()
            stdout.close()
            write(call(2, "look"))
        case "has never read":
            write(HELLO + b"".join(message(number, "tools/list") for number in range(2, 80)))
            write(some)


def die_by_a_signal(place: Place, chance: Random) -> None:
    """A client in a process of its own that ``kill -9`` ends."""
    before = len(place.calls())
    place.script.write_bytes(HELLO + call(2, "look") + call(3, "slow") + call(4, "wipe"))
    client = subprocess.Popen(
        [sys.executable, "-S", str(HERE / "client_that_dies.py"), str(place.script), *place.command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert client.stdout is not None
    gateway = int(client.stdout.readline())
    if chance.random() < 0.7:
        spent = place.booked() + PRICE > CAP
        wait_for(lambda: spent or len(place.calls()) > before or not is_running(gateway))
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    client.stdout.close()
    wait_for(lambda: not is_running(gateway))


def sweep(folder: Path, deaths: int, seed: int, of: Sequence[str]) -> dict[str, object]:
    """Let clients die, ten beside each journal."""
    chance, kinds, counts = Random(seed), Counter[str](), Counter[str]()
    place = Place(folder / "0", linger=deaths < 10)
    for number in range(deaths):
        if number and not number % 10:
            place = Place(folder / str(number), linger=number % 20 == 10)
        kind = of[number % len(of)]
        before = len(place.calls())
        die(place, kind, chance)
        if kind == "the gateway killed" and place.linger:  # nobody is left who could end it
            for pid in filter(is_running, map(int, place.pids.read_text().split())):
                os.kill(pid, signal.SIGKILL)
        place.require_gone()
        kinds[kind] += 1
        counts["calls made"] += len(place.calls()) - before
        if number % 10 == 9 or number == deaths - 1:
            counts["left open, counted in full"] += place.require_kept()
        elif place.journal.exists():
            place.require_kept()
    return {"deaths": deaths, "kinds": dict(sorted(kinds.items())), **counts, "calls not in the journal": 0}


@pytest.mark.parametrize(
    ("deaths", "kinds"),
    [
        pytest.param(2, ("reads no more", "the gateway killed"), id="2"),
        pytest.param(100, KINDS, marks=pytest.mark.soak, id="100"),
    ],
)
def test_nothing_is_left_of_a_client_that_dies(tmp_path: Path, deaths: int, kinds: Sequence[str]) -> None:
    record("client_deaths", sweep(tmp_path, deaths, 2, kinds))

"""Plays an episode that is killed at every instant, and resumes it until it ends; a program of its own.

Its model is scripted; SQLite, the HTTP server on loopback, the trace file and SIGKILL are real. ``python -m
tests.tape.agents.kill_sweep FOLDER FIRST STEP`` kills at the instants FIRST, FIRST + STEP, ..., two times of three
once or twice more while it resumes, and prints what came of each as a line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import tape.trace.continued
import tape.trace.file
from tape import TapeAgent
from tape.errors import UnfinishedCallError
from tape.files import append
from tape.lm.base import Completion, Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment, tool
from tape.tools.tool import Tool
from tape.trace import FinishedEvent, ResumedEvent, links_of, read_trace

BUDGET = "$1, 20 steps, 12 calls"
PEOPLE = ("ann", "bob")


class Instants:
    """Counts instants, and kills this process at one of them."""

    def __init__(self, last: int | None) -> None:
        self.count, self.last = 0, last

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class Posted(BaseHTTPRequestHandler):
    """Takes messages."""

    messages: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Keep one."""
        self.messages.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


class BilledLM(ScriptedLM):
    """Plans, and writes down what it is asked for, as a provider bills it."""

    def __init__(self, database: Path, instant: Instants) -> None:
        super().__init__(written, price=TokenPrice(Decimal("0.00001"), Decimal("0.00001")))
        self._database, self._instant = database, instant

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer, and bill the tokens."""
        self._instant()
        answers = await super().generate(requests)
        tokens = sum(answer.usage.prompt_tokens + answer.usage.completion_tokens for answer in answers)
        with sqlite3.connect(self._database) as rows:
            rows.execute("INSERT INTO billed VALUES (?)", (tokens,))
        self._instant()
        return answers


def written(request: Request, sample: int) -> str:
    """A plan; another one where a payment has failed."""
    del sample
    return plan("bob", via="card") if "declined" in str(request.prompt) else plan("ann", "bob", via="account")


def plan(*people: str, via: str) -> str:
    """A plan that pays people and posts that it is done."""
    calls = [f"pay({person!r}, via={via!r})" for person in people]
    return "\n".join(["left = balance()", *calls, 'post("paid")', 'answer("done" if left > 0 else "broke")'])


def tools_of(database: Path, port: int, instant: Instants) -> list[Tool]:
    """The tools: on a real database and a real server."""

    @tool(usd=0, pure=True)
    def balance() -> int:
        """How much is left."""
        with sqlite3.connect(database) as rows:
            return 100 - 10 * int(rows.execute("SELECT count(*) FROM paid").fetchone()[0])

    @tool(usd="0.10")
    def pay(person: str, via: str) -> str:
        """Pay a person."""
        if person == "bob" and via == "account":
            raise RuntimeError("declined")
        instant()
        with sqlite3.connect(database) as rows:
            rows.execute("INSERT INTO paid VALUES (?)", (person,))
        instant()
        return f"paid {person}"

    @tool(usd="0.05")
    def post(text: str) -> str:
        """Post a message."""
        instant()
        urlopen(HttpRequest(f"http://127.0.0.1:{port}/", data=text.encode()), timeout=10).close()
        instant()
        return "posted"

    return [balance, pay, post]


def killing(instant: Instants) -> Callable[..., None]:
    """What appends to a file, with instants before, amid and after."""

    def write(descriptor: int, content: bytes, *, sync: bool = False) -> None:
        instant()
        append(descriptor, content[: len(content) // 2])
        instant()
        append(descriptor, content[len(content) // 2 :], sync=sync)
        instant()

    return write


def play(folder: Path, port: int, last: int | None) -> dict[str, Any]:
    """Play the episode, or go on with it, and die at an instant."""
    instant = Instants(last)
    tape.trace.file.append = tape.trace.continued.append = killing(instant)
    database, trace = folder / "rows.db", folder / "trace.jsonl"
    agent = TapeAgent(BilledLM(database, instant), ablations={"extend": 0}, scorer="declared", num_plans=2)
    tools = tools_of(database, port, instant)
    events = list(read_trace(trace, whole=True)) if trace.exists() and b"\n" in trace.read_bytes() else []
    if events and isinstance(events[-1], FinishedEvent):
        result = EpisodeResult.model_validate(events[-1].result)
    elif events:
        try:
            result = agent.resume(trace, tools=tools)
        except UnfinishedCallError as error:
            done = is_done(folder, error.action)
            result = agent.resume(trace, tools=tools, on_unfinished="assume_done" if done else "retry")
    else:
        trace.unlink(missing_ok=True)
        result = agent.run(ToolEnvironment("Pay both.", tools, budget=BUDGET), trace=trace)
    return {"end": result.end_state, "used": dict(result.used), "instants": instant.count, "detail": result.detail}


def is_done(folder: Path, action: str) -> bool:
    """What a person would find out about a call."""
    if action.startswith("post"):
        return bool((folder / "posted").exists() and Posted.messages)
    with sqlite3.connect(folder / "rows.db") as rows:
        return any(person in action for (person,) in rows.execute("SELECT person FROM paid"))


def in_child(folder: Path, port: int, last: int | None) -> dict[str, Any] | None:
    """What came of it in a process of its own; None where that was killed."""
    out = folder / "out.json"
    out.unlink(missing_ok=True)
    if (child := os.fork()) == 0:
        try:
            out.write_text(json.dumps(play(folder, port, last)))
            os._exit(0)
        except BaseException as error:
            out.write_text(json.dumps({"end": f"{type(error).__name__}: {error}", "used": {}, "instants": 0}))
            os._exit(1)
    os.waitpid(child, 0)
    return json.loads(out.read_text()) if out.exists() and out.stat().st_size else None


def swept(folder: Path, port: int, kills: Sequence[int]) -> dict[str, Any]:
    """An episode that is killed at these instants, one after another, and then goes on to its end."""
    folder.mkdir()
    Posted.messages.clear()
    with sqlite3.connect(folder / "rows.db") as rows:
        rows.execute("CREATE TABLE paid (person TEXT)")
        rows.execute("CREATE TABLE billed (tokens INTEGER)")
    for last in (*kills, None):
        (folder / "posted").touch() if Posted.messages else None
        child = in_child(folder, port, last)
    assert child is not None
    trace = folder / "trace.jsonl"
    events = list(read_trace(trace))
    with sqlite3.connect(folder / "rows.db") as rows:
        child["paid"] = sorted(person for (person,) in rows.execute("SELECT person FROM paid"))
        child["billed"] = sum(tokens for (tokens,) in rows.execute("SELECT tokens FROM billed"))
    child["posted"] = list(Posted.messages)
    child["booked"] = [event.booked for event in events if isinstance(event, ResumedEvent)]
    child["links"] = links_of(trace).state
    return child | {"kills": list(kills), "types": [event.type for event in events]}


def main(argv: Sequence[str]) -> None:
    """Sweep."""
    folder, first, step = Path(argv[0]), int(argv[1]), int(argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Posted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    whole = swept(folder / "whole", port, ())
    print(json.dumps(whole), flush=True)
    for number, last in enumerate(range(first, whole["instants"] + 1, step)):
        kills = (last, *[1 + 7 * last % 90, 1 + last % 5][: number % 3])
        print(json.dumps(swept(folder / f"k{last}", port, kills)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

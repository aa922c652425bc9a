"""Real ``kill -9`` of workers of DBOS that run agents, against a receiver that counts effects.

``python -m experiments.effects.dbos_kills --url postgresql://user@host/postgres`` makes a database of its own there.
The models are scripted. The receiver answers on loopback after up to 0.2 s, and does a payment at a random moment of
that. A worker recovers what the one before it had under way, begins more, and is killed: a third of them at a random
moment, the others at a random moment after the receiver has got a request. Of the tools one is idempotent (the receiver
pays once for a key), one is asked for its outcome, and one is neither. Where a run of that one waits for a person, the
simulated person looks at the receiver.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg
from dbos import DBOS, DBOSConfig, SetWorkflowID

from tape import TapeAgent, tool
from tape.adapters.dbos import DurableAgent, go_on
from tape.budget import Cap, LedgerError, LedgerStore, open_store
from tape.budget.stores.postgres import PostgresStore
from tape.lm.price import TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.tools import Happened, Tool, ToolContext

OUT = Path(__file__).parents[1] / "results" / "effects" / "dbos_kills.json"
KINDS = ("idempotent", "outcome", "plain")
AT_ONCE, SCOPE, PAYMENT = 6, "org/kills", Decimal("0.10")
PLAN = 'r = rate("eur")\np = pay("ann", r)\nq = pay("bob", r)\nanswer(q)'


class Receiver(ThreadingHTTPServer):
    """Makes payments and answers for the model, and counts both."""

    daemon_threads = True

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock, self.rng = threading.Lock(), random.Random(seed)
        self.effects: Counter[str] = Counter()  # by run and payee
        self.keys: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self.under_way: Counter[str] = Counter()
        self.parked: dict[str, bool] = {}

    def take(self, path: str, told: dict[str, str]) -> Any:
        """Answer a request."""
        with self.lock:
            self.asked[path] += 1
            self.under_way[path] += 1
            before, after = self.rng.uniform(0, 0.1), self.rng.uniform(0, 0.1)
        try:
            if path == "/made":
                return self.keys.get(told["key"])
            time.sleep(before)
            with self.lock:
                if path == "/pay" and not (told["kind"] == "idempotent" and told["key"] in self.keys):
                    self.effects[f"{told['run']} {told['to']}"] += 1
                    self.keys[told["key"]] = f"paid {told['to']}"
                if path == "/park":
                    self.parked.setdefault(told["key"], told["key"] in self.keys)
            time.sleep(after)
            return self.keys.get(told["key"])
        finally:
            with self.lock:
                self.under_way[path] -= 1


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self.server.take(self.path, told)).encode()
        with suppress(OSError):  # who asked was killed
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _ask(port: int, path: str, **told: str) -> Any:
    request = Request(f"http://127.0.0.1:{port}{path}", json.dumps({"key": "", **told}).encode(), method="POST")
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def _tools(port: int, kind: str) -> list[Tool]:
    @tool(pure=True, usd="0.001")
    def rate(currency: str) -> float:
        """The rate of a currency."""
        _ask(port, "/rate", currency=currency)
        return 2.0

    def was_paid(ctx: ToolContext) -> Happened | bool:
        result = _ask(port, "/made", key=ctx.key)
        return False if result is None else Happened(result)

    declared: dict[str, dict[str, Any]] = {"idempotent": {"idempotent": True}, "outcome": {"outcome": was_paid}}

    @tool(usd=PAYMENT, key=("to",), **declared.get(kind, {}))
    def pay(ctx: ToolContext, to: str, rate: float) -> str:
        """Pay somebody."""
        return str(_ask(port, "/pay", key=ctx.key, run=ctx.run, to=to, kind=kind, rate=str(rate)))

    return [rate, pay]


def _agent(port: int, store: LedgerStore, kind: str) -> DurableAgent:
    def say(*_: object) -> str:
        _ask(port, "/model")
        return PLAN

    price = TokenPrice(Decimal("1e-6"), Decimal("1e-6"))
    agent = TapeAgent(ScriptedLM(say, price=price), tools=_tools(port, kind), num_plans=1)
    return DurableAgent(agent, store, SCOPE, name=kind, lease=1)


def work(url: str, port: int, number: int, more: bool, ready: Any) -> None:
    """Recover what is under way, begin more, and decide for a person where one is waited for."""
    sys.stderr = Path("/dev/null").open("w", encoding="ascii")  # noqa: SIM115 - as long as the process
    store = open_store(url)
    agents = [_agent(port, store, kind) for kind in KINDS]
    DBOS(config=DBOSConfig(name="kills", system_database_url=url, log_level="CRITICAL", application_version="1"))
    DBOS.launch()
    pending = DBOS.list_workflows(status=["PENDING", "ENQUEUED"], load_input=False, load_output=False)
    for place in range(AT_ONCE - len(pending) if more else 0):
        with SetWorkflowID(f"{number}-{place}"):
            DBOS.start_workflow(agents[(number + place) % len(KINDS)].workflow, "Pay.", "$1, 20 steps")
    ready.set()
    while True:
        for failed in DBOS.list_workflows(status="ERROR", load_input=False, load_output=False):
            for claim in store.claims(f"{SCOPE}/{failed.workflow_id}"):
                if claim.state == "unknown":
                    _ask(port, "/park", key=claim.key)
                    result = _ask(port, "/made", key=claim.key)
                    said = "" if result is None else json.dumps({"result": json.dumps(result), "failure": None})
                    with suppress(LedgerError):  # the worker before this one has said so
                        store.decide(claim.key, "person", "looked", done=result is not None, outcome=said)
            go_on(failed.workflow_id)
        time.sleep(0.1)


def _wait(rng: random.Random, receiver: Receiver) -> None:
    """Wait for the moment of a kill."""
    time.sleep(rng.uniform(0, 4))
    if rng.random() < 2 / 3:
        until = time.monotonic() + 5
        while time.monotonic() < until and not any(receiver.under_way.values()):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.15))


def _counted(url: str, receiver: Receiver, kills: Counter[str]) -> dict[str, Any]:
    """What came of it all; the workers have ended."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("select workflow_uuid, status from dbos.workflow_status").fetchall()
    store = open_store(url)
    over = [b for b in store.balances() if b.spent + b.held > b.amount]
    wanted = [f"{run} {to}" for run, _ in rows for to in ("ann", "bob")]
    made = [claim for run, _ in rows for claim in store.claims(f"{SCOPE}/{run}") if claim.state == "done"]
    [scope] = [balance for balance in store.read(SCOPE) if balance.cap.resource == "usd"]
    counted = {
        "kills": sum(kills.values()), "amid": dict(sorted(kills.items())), "workflows": len(rows),
        "states": dict(Counter(status for _, status in rows)), "effects": len(wanted),
        "twice": sum(receiver.effects[effect] > 1 for effect in wanted),
        "lost": sum(receiver.effects[effect] == 0 for effect in wanted),
        "claims_done": len(made), "requests": dict(sorted(receiver.asked.items())),
        "parked": len(receiver.parked), "parked_made": sum(receiver.parked.values()),
        "overspent_caps": len(over), "wrong_sums": len(store.check()),
        "usd_booked": scope.spent, "usd_held": scope.held,
        "usd_of_payments": int(sum(receiver.effects.values()) * PAYMENT * 1_000_000),
    }  # fmt: skip
    store.close()
    return counted


def main() -> int:
    """Kill workers, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="a PostgreSQL in which a database may be made")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    name = f"dbos_kills_{time.time_ns()}"
    with psycopg.connect(args.url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = f"{args.url.rpartition('/')[0]}/{name}"
    PostgresStore.create(url)
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 10**10), "kills", "")
    store.close()
    rng, receiver = random.Random(args.seed), Receiver(args.seed)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.effects.dbos_kills"])
    kills: Counter[str] = Counter()
    for number in range(args.kills + 1):
        ready, last = context.Event(), number == args.kills
        worker = context.Process(target=work, args=(url, receiver.server_port, number, not last, ready), daemon=True)
        worker.start()
        assert ready.wait(60), "a worker begins"
        if last:
            with psycopg.connect(url, autocommit=True) as connection:
                left = "select count(*) from dbos.workflow_status where status <> 'SUCCESS'"
                while connection.execute(left).fetchone() != (0,):
                    time.sleep(0.5)
        else:
            _wait(rng, receiver)
        with receiver.lock:
            busy = sorted(path for path, count in receiver.under_way.items() if count)
        worker.kill()
        worker.join()
        kills["" if last else "+".join(path[1:] for path in busy) or "nothing"] += 1
        if number % 20 == 0:
            print(number, sum(receiver.effects.values()), max(receiver.effects.values(), default=0), flush=True)
    del kills[""]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(_counted(url, receiver, kills), indent=1) + "\n", encoding="utf-8")
    print(args.out.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

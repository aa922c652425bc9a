"""The budget in LiteLLM's proxy: what a call takes with it, and 128 streams under one cap.

``python -m experiments.benches.litellm_proxy --python PYTHON --out FILE``, where PYTHON has ``tape-planner[litellm]``.
It starts a provider on loopback (``litellm_upstream.py``), and proxies before it. For what a call takes, one client
asks the proxies with and without the plug-in in turn, so a busy machine slows all alike. Beside the time of a call
stands the processor time of the proxy, and how long this disk takes to sync. At the cap, 128 streams at once make 5
calls each from one budget of $1, and each stream gives up at its first refusal. The worst case of a call is 5 % of the
cap, its actual cost at most a third of that. The provider counts what it has really written. LiteLLM's own budget is
the ``max_budget`` of a key, with its reservation on; the key comes from ``custom_auth``, and the callback that settles
is named in the configuration, since there is no database.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any, NamedTuple

import httpx

from tape.budget import Rule, open_store

STREAMS, CALLS, CAP = 128, 5, 1.0
MOST_TOKENS, PRICE = 500, 0.0001
"""Of a call, and of a token: together 5 % of the cap."""
SECONDS = 1.0
WARM = 20

AUTH = """
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.hooks.proxy_track_cost_callback import _ProxyDBLogger

costs = _ProxyDBLogger()


async def key(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, key_alias=api_key, max_budget={budget}, spend=0.0)
"""

KEYS = {"master_key": "sk-master", "custom_auth_run_common_checks": True}
"""Without a master key, or without these checks, LiteLLM reserves nothing."""
CONFIG = {
    "model_list": [
        {
            "model_name": "model",
            "litellm_params": {
                "model": "openai/own-model",
                "api_key": "none",
                "input_cost_per_token": 0.0,
                "output_cost_per_token": PRICE,
            },
        }
    ],
    "router_settings": {"num_retries": 0},
}


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server(NamedTuple):
    """A server: its address, and its process."""

    url: str
    pid: int

    def cpu(self) -> float:
        """Milliseconds of processor time that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(command: Sequence[str], port: int, path: str, folder: Path) -> Iterator[Server]:
    """A server, from when it answers until the block ends."""
    url = f"http://127.0.0.1:{port}"
    environ = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
    modules = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder, env={**environ, "PYTHONPATH": modules}, stdout=out, stderr=out)
        try:
            for _ in range(600):
                try:
                    httpx.get(f"{url}{path}", timeout=5)
                    break
                except httpx.HTTPError:
                    if server.poll() is not None:
                        raise RuntimeError(f"{' '.join(command)} has ended: {log.read_text()[-2000:]}") from None
                    time.sleep(0.2)
            yield Server(url, server.pid)
        finally:
            server.terminate()
            server.wait(60)


@contextmanager
def provider(python: str, folder: Path) -> Iterator[str]:
    """The provider; its address."""
    port, program = free_port(), Path(__file__).with_name("litellm_upstream.py")
    with running([python, str(program), str(port)], port, "/seen", folder) as server:
        yield server.url


@contextmanager
def proxy(
    python: str, folder: Path, upstream: str, ledger: str | None, budget: float | None = None
) -> Iterator[Server]:
    """A proxy before the provider, with the plug-in or with LiteLLM's own budget."""
    folder.mkdir()
    config = json.loads(json.dumps(CONFIG))
    config["model_list"][0]["litellm_params"]["api_base"] = f"{upstream}/v1"
    (folder / "keys.py").write_text(AUTH.format(budget=budget))
    config["general_settings"] = {**KEYS, "custom_auth": "keys.key"}
    if budget is not None:  # LiteLLM settles what it has reserved in this, and has it only where it has a database
        config["litellm_settings"] = {"callbacks": ["keys.costs"]}
    if ledger is not None:
        settings = {"ledger": ledger, "scope": "bench", "session": f"${CAP}"}
        config["litellm_settings"] = {
            "callbacks": ["tape.adapters.litellm.budget"], "callback_settings": {"tape": settings}
        }  # fmt: skip
    (folder / "config.yaml").write_text(json.dumps(config))
    port = free_port()
    command = [python, "-c", "from litellm import run_server; run_server()", "--config", "config.yaml", "--host",
               "127.0.0.1", "--port", str(port)]  # fmt: skip
    with running(command, port, "/health/liveliness", folder) as server:
        yield server


# --- what a call takes ------------------------------------------------------------------------------


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "stream": {"stream": True},
    "stream, usage asked": {"stream": True, "stream_options": {"include_usage": True}},
}
"""What is sent. The plug-in always asks for the usage of a stream, which takes LiteLLM itself some time."""


def overhead(proxies: dict[str, Server], calls: int, kind: str) -> list[dict[str, Any]]:
    """Milliseconds of a call by each way, and beside the first one."""
    connections = {
        name: http.client.HTTPConnection(server.url.removeprefix("http://")) for name, server in proxies.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in proxies}
    text = "Where is the ball? tokens=20"
    used: dict[str, float] = {}
    for number in range(-WARM, calls):
        if number == 0:
            used = {name: server.cpu() for name, server in proxies.items()}
        body = {"model": "model", "messages": [{"role": "user", "content": f"{text} {number}"}], "max_tokens": 20}
        for name, connection in random.sample(sorted(connections.items()), len(connections)):
            raw = json.dumps({**body, **KINDS[kind]})
            head = {"authorization": "Bearer sk-one", "content-type": "application/json",
                    "x-tape-session": f"{kind}{number // 10}"}  # fmt: skip
            begun = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", raw, head)
            answer = connection.getresponse()
            said = answer.read()
            took = time.perf_counter() - begun
            if answer.status != 200 or b"word" not in said:
                raise RuntimeError(f"{name} answers {answer.status}: {said[:500]!r}")
            if number >= 0:
                seconds[name].append(1000 * took)
    first = next(iter(seconds.values()))
    cpu = {name: (server.cpu() - used[name]) / calls for name, server in proxies.items()}
    return [
        {
            "kind": kind,
            "way": name,
            "calls": calls,
            "median": f"{median(second):.1f} ms",
            "p95": f"{quantiles(second, n=20)[-1]:.1f} ms",
            "more": f"{median(second) - median(first):.1f} ms",
            "cpu": f"{cpu[name]:.1f} ms",
        }
        for name, second in seconds.items()
    ]


def sync_ms(folder: Path) -> float:
    """How long the disk takes to sync a line of a ledger, at the median."""
    took = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 300)
            begun = time.perf_counter()
            os.fsync(file)
            took.append(1000 * (time.perf_counter() - begun))
    return round(median(took), 2)


# --- at the cap -------------------------------------------------------------------------------------


def drawn(seed: int) -> list[list[str]]:
    """What each stream asks for."""
    rng = random.Random(seed)

    def call() -> str:
        return f"tokens={rng.randrange(1, MOST_TOKENS // 3 + 1)} seconds={rng.uniform(0.1, SECONDS):.2f}"

    return [[call() for _ in range(CALLS)] for _ in range(STREAMS)]


async def at_the_cap(url: str, upstream: str, seed: int) -> dict[str, float]:
    """What became of one cap."""
    refused, said = list[int](), list[str]()
    limits = httpx.Limits(max_connections=STREAMS)
    httpx.get(f"{upstream}/seen")  # what was before is none of it
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
        head = {"authorization": f"Bearer sk-{seed}", "x-tape-session": f"seed{seed}"}

        async def stream(calls: list[str]) -> None:
            for text in calls:
                body = {"model": "model", "stream": True, "max_tokens": MOST_TOKENS,
                        "messages": [{"role": "user", "content": text}]}  # fmt: skip
                answer = await client.post("/v1/chat/completions", json=body, headers=head)
                if answer.status_code != 200:
                    refused.append(answer.status_code)
                    if answer.status_code not in (400, 402, 429):
                        said.append(answer.text[:1000])
                    return

        await asyncio.gather(*(stream(calls) for calls in drawn(seed)))
    seen = httpx.get(f"{upstream}/seen").json()
    spent = sum(item["written"] for item in seen) * PRICE
    if said:
        raise RuntimeError(f"{url} answers {said[0]}")
    return {"spent": spent, "calls": len(seen), "refused": len(refused)}


def row(way: str, numbers: Sequence[dict[str, float]]) -> dict[str, Any]:
    """The figures of a way."""
    return {
        "way": way,
        "seeds": len(numbers),
        "overspend": f"{fmean(max(0, shares['spent'] - CAP) / CAP for shares in numbers):.1%}",
        "most": f"{max(max(0, shares['spent'] - CAP) / CAP for shares in numbers):.1%}",
        "used": f"{fmean(min(shares['spent'], CAP) / CAP for shares in numbers):.1%}",
        "least": f"{min(min(shares['spent'], CAP) / CAP for shares in numbers):.1%}",
        "answered": f"{fmean(shares['calls'] for shares in numbers):.0f}",
        "refused": f"{fmean(shares['refused'] for shares in numbers):.0f}",
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.litellm_proxy", description=__doc__)
    parser.add_argument("--python", required=True, help="an interpreter that has tape-planner[litellm]")
    parser.add_argument("--url", help="a database with the tables of a ledger; without it the file alone is measured")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file")
    args = parser.parse_args(argv)
    values: dict[str, Any] = {"version": _version(args.python), "overhead": [], "cap": []}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        upstream = stack.enter_context(provider(args.python, folder))
        ledgers = {"file": f"file://{folder}/budget.ledger", **({"PostgreSQL": args.url} if args.url else {})}
        if args.calls:
            with ExitStack() as ways:
                proxies = {
                    way: ways.enter_context(proxy(args.python, folder / way, upstream, ledger))
                    for way, ledger in {"without": None, **ledgers}.items()
                }
                for kind in KINDS:
                    values["overhead"] += overhead(proxies, args.calls, kind)
                    values["sync_ms"] = sync_ms(folder)
                print(*values["overhead"], f"sync {values['sync_ms']} ms", f"load {os.getloadavg()[0]:.1f}", sep="\n")
        for way, rule in (("refuse", 0), ("wait", 60)) if args.seeds else ():
            ledger = f"file://{folder}/{way}.ledger"
            if rule:
                with closing(open_store(ledger)) as store:
                    store.set_rule(Rule("bench", "wait", rule), "bench", "")
            with proxy(args.python, folder / f"cap {way}", upstream, ledger) as server:
                runs = [asyncio.run(at_the_cap(server.url, upstream, seed)) for seed in range(args.seeds)]
            values["cap"].append(row(f"plug-in, {way}", runs))
            print(values["cap"][-1], flush=True)
        if args.seeds:
            with proxy(args.python, folder / "own", upstream, None, CAP) as server:
                runs = [asyncio.run(at_the_cap(server.url, upstream, seed)) for seed in range(args.seeds)]
            values["cap"].append(row("LiteLLM's own budget", runs))
            print(values["cap"][-1], flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return 0


def _version(python: str) -> str:
    code = "from importlib.metadata import version; print(version('litellm'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

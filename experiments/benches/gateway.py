"""What a call takes through `tape gateway` beside a bare MCP proxy and no proxy at all, in one run.

``python -m experiments.benches.gateway [--calls 300]`` starts the same server of the official SDK three times, with a
tool that does nothing: once asked directly, once through a proxy of a few lines that passes list and calls on by the
SDK's own client, once through the gateway, with a price, caps and the journal on this disk. The same client of the SDK
calls them in turn, so a busy machine slows all alike. Printed are milliseconds and the ratio of the medians; the result
is checked at each call, and the journal's lines at the end.

``--parallel N`` then has N calls under way at once, and prints calls a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("nothing")


@server.tool()
def nothing(text: str) -> str:
    """Do nothing."""
    return text


server.run()
'''

PROXY = """
import asyncio
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=[sys.argv[1]]), mode="legacy") as behind:

        async def list_tools(context, params):
            return await behind.list_tools()

        async def call_tool(context, params):
            return await behind.call_tool(params.name, params.arguments)

        server = Server("proxy", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


asyncio.run(main())
"""

CONFIG = """
[budgets]
run = {{ usd = "$1000" }}
client = {{ usd = "$1000" }}
session = {{ usd = "$1000", steps = 1_000_000 }}

[servers.nothing]
command = [{python}, "server.py"]
start_seconds = 300
price = {{ usd = "$0.0001" }}
"""


async def measure(folder: Path, calls: int, parallel: int) -> dict[str, Any]:
    """Time the three ways.

    Args:
        folder: An empty folder.
        calls: Of each way.
        parallel: Calls at once in the second part; 0 leaves it out.
    """
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

    server, proxy, config = folder / "server.py", folder / "proxy.py", folder / "gateway.toml"
    server.write_text(SERVER)
    proxy.write_text(PROXY)
    config.write_text(CONFIG.format(python=json.dumps(sys.executable)))
    ways = {
        "direct": [str(server)],
        "proxy": [str(proxy), str(server)],
        "gateway": ["-m", "tape", "gateway", str(config)],
    }
    async with AsyncExitStack() as stack:
        clients = {}
        for name, arguments in ways.items():
            parameters = StdioServerParameters(command=sys.executable, args=arguments)
            clients[name] = await stack.enter_async_context(Client(parameters, mode="legacy"))
            await clients[name].list_tools()
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(-20, calls):  # the first ones warm up
            for name, client in clients.items():
                text = f"call {number}"
                begun = time.perf_counter()
                said = await client.call_tool("nothing", {"text": text})
                took = time.perf_counter() - begun
                if said.is_error or said.structured_content != {"result": text}:
                    raise RuntimeError(f"{name} answers {said}")
                if number >= 0:
                    seconds[name].append(took)
        rates = {name: await _rate(client, calls, parallel) for name, client in clients.items()} if parallel else {}
    journal = config.with_suffix(".journal.jsonl").read_text().splitlines()
    expected = 1 + 2 * (20 + calls + (calls if parallel else 0))
    if len(journal) != expected:
        raise RuntimeError(f"the journal has {len(journal)} lines, not {expected}")
    return {
        "calls": calls,
        "median_ms": {name: round(1000 * median(second), 3) for name, second in seconds.items()},
        "p95_ms": {name: round(1000 * quantiles(second, n=20)[-1], 3) for name, second in seconds.items()},
        "ratio": round(median(seconds["gateway"]) / median(seconds["proxy"]), 3),
        "calls_a_second": rates,
    }


async def _rate(client: Any, calls: int, parallel: int) -> float:
    left = iter(range(calls))

    async def worker() -> None:
        for number in left:
            await client.call_tool("nothing", {"text": str(number)})

    begun = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(parallel)))
    return round(calls / (time.perf_counter() - begun), 1)


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.gateway", description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--parallel", type=int, default=0, metavar="N")
    parser.add_argument("--out", type=Path, help="a file for the numbers, as JSON")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        mapping = asyncio.run(measure(Path(folder), args.calls, args.parallel))
    for name, value in mapping["median_ms"].items():
        rate = mapping["calls_a_second"].get(name)
        more = f", {rate} calls a second with {args.parallel} at once" if rate else ""
        print(f"{name:8} median {value:8.3f} ms, 95 % within {mapping['p95_ms'][name]:8.3f} ms{more}")
    print(f"gateway / proxy: {mapping['ratio']} (n = {mapping['calls']} calls each)")
    if args.out is not None:
        args.out.write_text(json.dumps(mapping, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

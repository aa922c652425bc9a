"""What calls take on the disk and in memory: ``python -m experiments.benches.journal [--calls 100000] [--url URL]``.

Calls are reserved and settled in the journal of a gateway, as a gateway does. A new program then reads the file, as a
gateway does when it starts. With ``--url`` the same calls are made in a database with the tables of a ledger. What is
printed are bytes for each call, and the seconds and the memory of the reading.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tape.budget import Budget, HoldRequest, Resources, open_store
from tape.gateway.ledgers import Ledgers

SCOPE, WORST = "gateway/local/1", Resources.of(usd="0.01", steps=1)
CLIENTS = 64

READ = """
import sys, time
from pathlib import Path
from tape.budget import Budget
from tape.gateway.ledgers import Ledgers

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

before, began = held(), time.process_time()
ledgers = Ledgers(Budget(), {}, Budget(), Path(sys.argv[1]))
print(f"read in {time.process_time() - began:.1f} s of processor time, with {(held() - before) / 1e6:.0f} MB of memory")
"""
"""Linux only."""


def in_a_file(folder: Path, calls: int) -> str:
    """Make calls in a journal; what they take."""
    file = folder / "journal.jsonl"
    ledgers = Ledgers(Budget(), {}, Budget(), file)

    async def make() -> None:
        for _ in range(calls):
            (await ledgers.begin(SCOPE, "search", WORST)).settle(WORST)

    began = time.perf_counter()
    asyncio.run(make())
    ledgers.close()
    took = time.perf_counter() - began
    size = file.stat().st_size
    written = f"journal: {calls:,} calls in {took:.0f} s, {size / 1e6:.1f} MB, {size / calls:.0f} bytes a call"
    done = subprocess.run([sys.executable, "-c", READ, str(file)], check=True, capture_output=True, text=True)
    return f"{written}; {done.stdout.strip()}"


def in_a_database(url: str, calls: int) -> str:
    """Make calls in a database; what they take."""
    import psycopg

    query = (
        "select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'tape_ledger' and c.relkind = 'r'"
    )
    store, run = open_store(url), uuid.uuid4().hex[:8]

    def size() -> int:
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute(query).fetchone()
            return int(row[0]) if row else 0

    def call(number: int) -> None:
        store.reserve(HoldRequest(f"{run}-{number}", "org/team/agent", {"usd": 10_000, "steps": 1}, name="search"))
        store.settle(f"{run}-{number}", {"usd": 10_000, "steps": 1})

    before, began = size(), time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(call, range(calls)))
    took, grown = time.perf_counter() - began, size() - before
    store.close()
    return f"database: {calls:,} calls in {took:.0f} s, {grown / 1e6:.1f} MB, {grown / calls:.0f} bytes a call"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.journal", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="how many (default: 100000)")
    parser.add_argument("--url", help="a database with the tables of a ledger, measured too")
    args = parser.parse_args(argv)
    print(f"{os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(in_a_file(Path(folder), args.calls), flush=True)
    if args.url:
        print(in_a_database(args.url, args.calls), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``tape serve MODULE:AGENT``: agents over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LOOK_SECONDS = 0.5
"""Between two looks at files."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape serve",
        description="Serve agents over HTTP: as models of OpenAI's chat completions at /v1, and as runs at /runs that "
        "can be watched, approved, ended, and gone on with. SIGTERM lets runs end, or parks them for the next start.",
    )
    parser.add_argument(
        "agents", nargs="+", metavar="[NAME=]MODULE:AGENT", help="agents with tools; clients call them by their names"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8080, help="the port (default: 8080; 0: any free one)")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name by which clients may call this server"
    )
    parser.add_argument(
        "--keys", type=Path, metavar="FILE",
        help="a TOML file of keys, with budgets and rights (default: two keys are made in the folder of runs)",
    )  # fmt: skip
    parser.add_argument("--deps", default="", metavar="MODULE:FUNCTION", help="makes what tools get, of the request")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs are kept (runs)")
    parser.add_argument("--ledger", default="", metavar="URL", help="where keys pay from (default: a file in --runs)")
    parser.add_argument("--at-once", type=int, default=16, metavar="N", help="runs played at once (16)")
    parser.add_argument("--queue", type=int, default=64, metavar="N", help="runs that may wait; more get 429 (64)")
    parser.add_argument("--grace", type=float, default=10.0, metavar="SECONDS", help="for runs to end at SIGTERM (10)")
    parser.add_argument(
        "--keep", type=float, default=0.0, metavar="DAYS", help="delete ended runs after so long (never)"
    )
    parser.add_argument(
        "--reload", action="store_true", help="for development: start anew when a Python file below this folder changes"
    )
    args = parser.parse_args(argv)
    if args.reload:
        return _reloading([word for word in argv if word != "--reload"])
    from tape.errors import ConfigError
    from tape.plugins import require_extra

    for name, least in (("port", 0), ("at_once", 1), ("queue", 0), ("grace", 0), ("keep", 0)):
        if getattr(args, name) < least:
            raise ConfigError(f"--{name.replace('_', '-')} is at least {least}, got {getattr(args, name)}")
    if args.port > 65535:
        raise ConfigError(f"--port is at most 65535, got {args.port}")
    require_extra("serve", "starlette", "uvicorn", what="tape serve")
    from tape.serve.setup import ServeOptions, agents_of, serve

    options = ServeOptions(
        host=args.host, port=args.port, keys=args.keys, runs=args.runs, ledger=args.ledger, deps=args.deps,
        at_once=args.at_once, queue=args.queue, grace=args.grace, keep=args.keep, hosts=tuple(args.allow_host),
    )  # fmt: skip
    stopped = asyncio.run(serve(agents_of(args.agents), options))
    if stopped.parked:
        print(f"tape serve: {stopped.parked} runs are parked; they go on when it starts again", file=sys.stderr)
    return 130 if stopped.interrupted else 0


def _reloading(argv: Sequence[str]) -> int:
    """Serve in a process of its own, and in a new one after each change of a file; runs are parked between."""
    while True:
        before = _written()
        server = subprocess.Popen([sys.executable, "-m", "tape", "serve", *argv])  # noqa: S603 - this program itself
        try:
            while server.poll() is None and _written() == before:
                time.sleep(LOOK_SECONDS)
            if server.returncode is not None:
                if server.returncode == 0:
                    return 0
                print("tape serve: it ended; the next change starts it again", file=sys.stderr, flush=True)
            while _written() == before:
                time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt:
            return server.wait()
        if server.poll() is None:
            print("tape serve: a file has changed; it starts anew", file=sys.stderr, flush=True)
            for _ in range(2):  # the second one parks its runs at once
                server.terminate()
            server.wait()


def _written() -> dict[Path, int]:
    """When each Python file below this folder was written."""
    files: dict[Path, int] = {}
    for path in Path.cwd().rglob("*.py"):
        if not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(Path.cwd()).parts):
            with suppress(OSError):  # it has gone meanwhile
                files[path] = path.stat().st_mtime_ns
    return files

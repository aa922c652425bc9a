"""``tape gateway CONFIG``: an MCP server that gives any agent a budget."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tape.gateway.config import GatewayConfig
    from tape.gateway.gateway import Gateway
    from tape.gateway.ledgers import Ledgers

SPANS_TO = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The address of an OpenTelemetry collector that gets a span for each call of the gateway; without it none are made."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape gateway",
        description="Serve the tools of MCP servers and Python functions over MCP: each call is priced, reserved "
        "before it starts, and refused where it does not fit into a budget. Over stdio, or by --http over HTTP.",
    )
    parser.add_argument("config", type=Path, help="a TOML file, see docs/reference/gateway.md")
    parser.add_argument(
        "--check", action="store_true", help="check the file, start the servers once, and list what is offered"
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="serve over HTTP at this port (0: any free one)")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="where what is spent is kept (default: CONFIG with .journal.jsonl)"
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="where the token is that HTTP clients send, made if missing (default: CONFIG with .token); not with "
        "clients that are named in the file",
    )
    parser.add_argument(
        "--people-token-file",
        type=Path,
        metavar="FILE",
        help="where the token is that the page for people asks for over HTTP, made if missing (default: CONFIG with "
        ".people-token, beside the journal)",
    )
    args = parser.parse_args(argv)
    from tape.errors import ConfigError
    from tape.gateway.config import load_config
    from tape.plugins import require_extra

    if args.http is not None and not 0 <= args.http < 65536:
        raise ConfigError(f"--http is a port from 0 to 65535, got {args.http}")
    require_extra("mcp", "mcp", "httpx2", what="tape gateway")
    config = load_config(args.config)
    if args.check:
        asyncio.run(_check(config))
        return 0
    from tape.budget import paying
    from tape.gateway.ledgers import Ledgers

    journal = args.journal or args.config.with_suffix(".journal.jsonl")
    with paying(config.ledger.url, config.ledger.scope, config.ledger.labels) as payer:
        token_file = args.token_file or args.config.with_suffix(".token")
        people_file = args.people_token_file or journal.with_name(args.config.with_suffix(".people-token").name)
        with closing(Ledgers(config.run, config.client, config.session, journal, payer)) as ledgers:
            asyncio.run(_serve(config, ledgers, args.http, token_file, people_file))
    return 0


async def _serve(
    config: GatewayConfig, ledgers: Ledgers, port: int | None, token_file: Path, people_file: Path
) -> None:
    from tape.gateway.gateway import Gateway

    gateway = Gateway(config, ledgers)
    with ExitStack() as watching:
        _watch(gateway, watching)
        await gateway.start()
        try:
            for warning in gateway.warnings():
                print(f"tape gateway: {warning}", file=sys.stderr, flush=True)
            if port is None:
                from tape.gateway.serving import serve_stdio

                await serve_stdio(gateway)
            else:
                from tape.gateway.http import serve_http

                await serve_http(gateway, port, token_file, people_file)
        finally:
            await gateway.stop()


def _watch(gateway: Gateway, watching: ExitStack) -> None:
    """Have the audit log and the spans that are asked for."""
    config = gateway.config
    if config.limits.audit is not None:
        from tape.budget import LedgerError
        from tape.gateway.audit import Audit

        try:
            audit = watching.enter_context(closing(Audit(config.folder() / config.limits.audit)))
        except LedgerError as error:
            raise config.error(("gateway", "audit"), str(error)) from None
        gateway.watchers.append(audit)
        gateway.gates.append(audit.gate)
    if any(os.environ.get(name) for name in SPANS_TO):
        from tape.adapters.otlp import exported

        gateway.watchers += watching.enter_context(exported())


async def _check(config: GatewayConfig) -> None:
    from tape.gateway.gateway import Gateway
    from tape.gateway.ledgers import Ledgers

    with closing(Ledgers(config.run, config.client, config.session, None)) as ledgers:
        gateway = Gateway(config, ledgers)
        await gateway.start()
        await gateway.stop()
        warnings = gateway.warnings()
    for entry in gateway.listed():
        print(f"{entry['name']}: {str(entry['description'])[:160]}")
    for warning in warnings:
        print(f"warning: {warning}")

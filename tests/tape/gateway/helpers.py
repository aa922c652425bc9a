"""What the tests of the gateway share: a configuration, a running gateway, and callers."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tape.budget import paying
from tape.gateway.books import RUN
from tape.gateway.catalog import Offered
from tape.gateway.config import GatewayConfig, load_config
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.ledgers import Ledgers
from tape.guard.guard import ModelCharge
from tape.guard.left import ScopeReading

WHO = Caller("local", "stdio")

OWN_TOOLS = '[gateway]\nown_tools = ["plan", "checkpoint", "resume"]\n'
"""The gateway's own tools, all of them on."""

FUNCTIONS = '''
import asyncio

begun = asyncio.Event()
calls = []

def echo(text: str) -> str:
    """Say it again."""
    calls.append(text)
    return text

async def wait(text: str = "") -> str:
    """Never come back."""
    begun.set()
    calls.append(text)
    await asyncio.Event().wait()
    return text

def shred(pages: list[list[str]], kind: str = "paper") -> int:
    """Take a list to pieces."""
    calls.append(len(pages))
    for page in pages:
        page.clear()
    pages.clear()
    return 0

def wipe(path: str, a: str = "", options: dict | None = None) -> str:
    """Wipe a path."""
    calls.append(path)
    return path

def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)

def usage(usd: float) -> dict:
    """Report a cost."""
    return {"usage": {"cost": usd}}
'''


def write_config(folder: Path, text: str, name: str = "gateway.toml") -> Path:
    """A configuration beside a module of functions that no other test imports."""
    folder.mkdir(parents=True, exist_ok=True)
    module = f"functions_{abs(hash(str(folder))):x}"
    (folder / f"{module}.py").write_text(FUNCTIONS)
    file = folder / name
    file.write_text(text.replace("FUNCTIONS", module))
    return file


def functions(config: GatewayConfig) -> Any:
    """The module of a configuration's functions."""
    return sys.modules[next(iter(config.functions.values())).function.partition(":")[0]]


@contextlib.asynccontextmanager
async def running(file: Path) -> AsyncIterator[Gateway]:
    """A gateway on a configuration and the journal beside it."""
    config = load_config(file)
    path = list(sys.path)
    with paying(config.ledger.url, config.ledger.scope, config.ledger.labels) as payer:
        ledgers = Ledgers(config.run, config.client, config.session, file.with_suffix(".journal.jsonl"), payer)
        try:
            gateway = Gateway(config, ledgers)
            await gateway.start()
            try:
                yield gateway
            finally:
                await gateway.stop()
        finally:
            ledgers.close()
            sys.path[:] = path


def gateway_on(folder: Path, text: str) -> AbstractAsyncContextManager[Gateway]:
    """A gateway on a configuration that is written to a folder, and the journal beside it."""
    return running(write_config(folder, text))


async def never(tool: Offered, arguments: Mapping[str, Any], worst: Mapping[str, Any]) -> str:
    """Nobody is there to approve."""
    return "nobody is there"


async def call(gateway: Gateway, tool: str, who: Caller = WHO, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool."""
    return await gateway.call(who, tool, arguments, never)


async def ask(gateway: Gateway, tool: str, who: Caller = WHO, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool; the fields of its answer."""
    values: dict[str, Any] = (await call(gateway, tool, who, **arguments))["structuredContent"]
    return values


def reading(gateway: Gateway | Ledgers, scope: str = RUN) -> ScopeReading:
    """What a scope has spent and holds."""
    ledgers = gateway.ledgers if isinstance(gateway, Gateway) else gateway
    return ledgers.read(lambda books: books.reading(scope))


async def left(gateway: Gateway, kind: str = "usd", who: Caller = WHO) -> float:
    """What is left of a resource."""
    return float((await ask(gateway, "budget", who))["left"][kind])


def refused(call: AbstractContextManager[Any], error: type[Exception], match: str | None = None) -> Any:
    """A call is refused before it is made; the error."""
    with pytest.raises(error, match=match) as caught, call:
        pytest.fail("called")
    return caught.value


def paid(call: AbstractContextManager[Any], *answer: Any, **more: Any) -> None:
    """Make a call that is answered, or a model call that used so many tokens."""
    with call as charge:
        (charge.used if isinstance(charge, ModelCharge) else charge.answered)(*answer, **more)


def record(name: str, values: Mapping[str, Any]) -> None:
    """Write the figures of a sweep to the folder of ``make soak``."""
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        Path(folder, f"{name}.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def server_table(command: list[str], name: str = "s", seconds: float = 200) -> str:
    """The table of a server in a configuration; it may take long to start on a busy machine."""
    return f"[servers.{name}]\ncommand = {json.dumps(command)}\nstart_seconds = {seconds}\n"

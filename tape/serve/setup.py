"""What ``tape serve`` is given: agents, keys, deps, and where runs and budgets are kept."""

from __future__ import annotations

import asyncio
import importlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from tape.agents.base import Agent
from tape.budget import Cap, LedgerStore, open_store
from tape.budget.stores.addresses import read_address
from tape.errors import ConfigError, error_text
from tape.serve.app import Routes
from tape.serve.deps import Deps
from tape.serve.keys import Keys, made_keys, read_keys
from tape.serve.records import RunFolder, RunStore
from tape.serve.runs import Runs

_END_SECONDS = 2
"""For connections that are left when all runs have ended or are parked."""


@dataclass(frozen=True)
class ServeOptions:
    """How agents are served.

    Attributes:
        host: The address that is listened at.
        port: The port; 0 takes a free one.
        keys: The file of keys; None makes two in ``runs``.
        runs: The folder where runs are kept.
        ledger: The address of the store that keys pay from; by default a file in ``runs``.
        deps: ``module:function``, which makes what tools get.
        at_once: Runs that are played at once.
        queue: Runs that may wait beside them.
        grace: Seconds that runs have to end when the server is asked to stop.
        keep: Days after which runs that have ended are deleted; 0 keeps all.
        hosts: Names of this host that requests may have, beside those of loopback.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    keys: Path | None = None
    runs: Path = Path("runs")
    ledger: str = ""
    deps: str = ""
    at_once: int = 16
    queue: int = 64
    grace: float = 10.0
    keep: float = 0.0
    hosts: Sequence[str] = ()


def named(what: str) -> Any:
    """What ``module:name`` names.

    Raises:
        ConfigError: It cannot be imported.
    """
    module, colon, name = what.partition(":")
    if not colon or not name:
        raise ConfigError(f"{what!r} names nothing in a module; write MODULE:NAME")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a module raises
        raise ConfigError(f"{what} cannot be imported: {error_text(error)}") from error


def agents_of(given: Sequence[str]) -> dict[str, Agent]:
    """Agents by the names that clients call them by: ``module:agent``, or ``name=module:agent``.

    Raises:
        ConfigError: One is no agent, has no tools, or has the name of another.
    """
    agents: dict[str, Agent] = {}
    for text in given:
        own, sign, what = text.rpartition("=")
        agent, name = named(what), own if sign else what.partition(":")[2]
        if not isinstance(agent, Agent):
            raise ConfigError(f"{what} is {type(agent).__name__}, which is no agent")
        if agent.tasks is None:
            raise ConfigError(f"{what} has no tools: TapeAgent(model, tools=[...])")
        if name in agents:
            raise ConfigError(f"there are two agents named {name}; write NAME={what}")
        agents[name] = agent
    return agents


def require_caps(store: LedgerStore, keys: Keys) -> None:
    """Set the caps of keys that the store does not have as they are given."""
    there = {balance.cap.key: balance.cap.amount for balance in store.balances()}
    for key in keys.all.values():
        for kind, most in key.budget.items():
            cap = Cap(key.scope, kind, most)
            if there.get(cap.key) != most:
                store.set_cap(cap, "tape serve", "as the file of keys says")


def runs_of(options: ServeOptions) -> RunStore:
    """Where runs are kept: beside the budgets where these are in a database, else in the folder.

    Raises:
        ConfigError: The folder cannot be made, or a file in it is no record.
        LedgerError: The database cannot be used.
    """
    address = read_address(options.ledger) if options.ledger else None
    if address is None or not address.conninfo:
        return RunFolder(options.runs)
    from tape.serve.tables import RunTables

    return RunTables(address, options.runs)


async def serve(agents: Mapping[str, Agent], options: ServeOptions) -> ServerStop:
    """Serve until SIGTERM or Ctrl-C; then let runs end, or park them, before the last connection closes.

    Raises:
        ConfigError: The port is taken, or a key or a folder cannot be used.
    """
    kept = runs_of(options)
    if options.keys is None:
        keys, files = made_keys(options.runs)
        where = f"the token in {files['local']}, and people who approve that in {files['people']}"
    else:
        keys, where = read_keys(options.keys), f"a token of {options.keys}"
    deps: Callable[..., Any] | None = named(options.deps) if options.deps else None
    with closing(open_store(options.ledger or f"file://{(options.runs / 'serve.ledger').resolve()}")) as store:
        require_caps(store, keys)
        runs = Runs(agents, keys, kept, store, Deps(deps), at_once=options.at_once, queue=options.queue)
        routes = Routes(runs, options.hosts)
        try:
            listening = socket.create_server((options.host, options.port))
        except OSError as error:
            raise ConfigError(
                f"{options.host}:{options.port} cannot be used: {error.strerror or error}; give another --port (0: any)"
            ) from error
        with listening:
            server = _Server(
                uvicorn.Config(
                    routes.app(), log_level="error", access_log=False, ws="none", server_header=False,
                    timeout_graceful_shutdown=_END_SECONDS,
                )
            )  # fmt: skip
            signals = _Signals()
            going_on = runs.start()
            url = f"http://{options.host}:{listening.getsockname()[1]}/v1"
            print(
                f"tape serve: {', '.join(agents)} at {url} for clients that send {where}", file=sys.stderr, flush=True
            )
            if going_on:
                print(f"tape serve: {going_on} runs go on", file=sys.stderr, flush=True)
            cleaning = asyncio.create_task(_clean(runs, options.keep))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            await asyncio.wait([serving, signals.asked], return_when=asyncio.FIRST_COMPLETED)
            routes.ready = False
            cleaning.cancel()
            parked = await runs.stop(options.grace, signals.urged)
            server.should_exit = True
            await serving
            kept.close()
            return ServerStop(parked, signals.interrupted)


@dataclass(frozen=True)
class ServerStop:
    """How a server has ended.

    Attributes:
        parked: Runs that go on when it starts again.
        interrupted: By Ctrl-C.
    """

    parked: int
    interrupted: bool


class _Signals:
    """SIGTERM and Ctrl-C ask the server to end; a second one ends the patience with runs."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.asked: asyncio.Future[None] = loop.create_future()
        self.urged: asyncio.Future[None] = loop.create_future()
        self.interrupted = False
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._came, number)

    def _came(self, number: signal.Signals) -> None:
        self.interrupted |= number == signal.SIGINT
        if not self.asked.done():
            self.asked.set_result(None)
            print("tape serve: it ends when its runs have ended; once more parks them now", file=sys.stderr, flush=True)
        elif not self.urged.done():
            self.urged.set_result(None)


class _Server(uvicorn.Server):
    """Leaves signals to the command, which lets runs end first."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def _clean(runs: Runs, days: float) -> None:
    while days > 0:
        runs.keep(days)
        await asyncio.sleep(3600)

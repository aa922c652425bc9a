"""A server in a test's own process, and its clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")

from tape.budget import Budget, open_store  # noqa: E402
from tape.serve.app import Routes  # noqa: E402
from tape.serve.deps import Deps  # noqa: E402
from tape.serve.keys import Key, Keys  # noqa: E402
from tape.serve.runs import Runs  # noqa: E402
from tape.serve.setup import ServeOptions, require_caps, runs_of  # noqa: E402
from tests.tape.serve import shop  # noqa: E402

ANN, BOB, BOSS = "ann-token-0123456789", "bob-token-0123456789", "boss-token-0123456789"


class Server:
    """A server in this process, and its clients."""

    def __init__(self, folder: Path, **options: Any) -> None:
        caps = {"budget": Budget.of(usd=1), "run": Budget.of(usd="0.05", steps=8)}
        keys = Keys([
            Key("ann", ANN, **{**caps, **options.pop("ann", {})}),
            Key("bob", BOB, **caps),
            Key("boss", BOSS, approves=True, watches=True),
        ])  # fmt: skip
        database = options.pop("database", "")
        folder.mkdir(exist_ok=True)
        self.store = open_store(database or f"file://{folder / 'ledger'}")
        require_caps(self.store, keys)
        kept = runs_of(ServeOptions(runs=folder / "runs", ledger=database))
        self.runs = Runs({"shop": shop.made()}, keys, kept, self.store, Deps(shop.deps), **options)
        self.routes = Routes(self.runs, ["agents.example"])
        self._transport = httpx.ASGITransport(self.routes.app())

    def client(self, token: str = ANN, **headers: str) -> Any:
        """A client with this key."""
        head = {"authorization": f"Bearer {token}", **headers}
        return httpx.AsyncClient(transport=self._transport, base_url="http://127.0.0.1", headers=head)

    async def state(self, id: str, *states: str) -> dict[str, Any]:
        """A run when it is in one of these states."""
        while True:
            record = self.runs._of_id(id)
            if record.state in states:
                return record.told()
            await asyncio.sleep(0.01)

    async def called(self, id: str) -> None:
        """Wait until a call of a run has begun."""
        while not any(event["type"] == "call_begun" for event in self.runs._live[id].events):
            await asyncio.sleep(0.01)


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[Server]:
    """A server while the block lasts."""
    server = Server(folder, **options)
    server.runs.start()
    try:
        yield server
    finally:
        shop.gate.set()
        await server.runs.stop(0.1)
        server.store.close()


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    def run(tmp_path: Path) -> None:
        shop.bought.clear()
        shop.gate = asyncio.Event()
        asyncio.run(test(tmp_path))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def chat(task: str, **more: Any) -> dict[str, Any]:
    """A request for a completion."""
    return {"model": "shop", "messages": [{"role": "user", "content": task}], **more}

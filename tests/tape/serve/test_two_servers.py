"""Two servers on one database: runs of both, taken over, asked, ended; and calls of which nobody knows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("psycopg")

from tape.budget import StorePayer
from tape.serve import runs, tables
from tests.tape.serve import shop
from tests.tape.serve.serving import BOSS, Server, served

Play = Callable[[Server, Server], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing is waited for long."""
    monkeypatch.setattr(runs, "FOLLOW_SECONDS", 0.05)
    monkeypatch.setattr(tables, "LEASE", 1)
    shop.bought.clear()


def both(play: Play, folder: Path, database: str) -> None:
    """Play with two servers of one database."""

    async def playing() -> None:
        shop.gate = asyncio.Event()
        async with AsyncExitStack() as stack:
            first, second = [
                await stack.enter_async_context(served(folder / name, database=database)) for name in ("a", "b")
            ]
            await play(first, second)

    asyncio.run(playing())


def test_each_shows_decides_and_ends_runs_of_the_other(tmp_path: Path, database: str) -> None:
    async def play(here: Server, there: Server) -> None:
        async with here.client() as ann, there.client() as ann_there, there.client(BOSS) as boss:
            head = {"idempotency-key": "once"}
            run = (await ann.post("/runs", json={"task": "Order a lamp."}, headers=head)).json()
            again = (await ann_there.post("/runs", json={"task": "Order a lamp."}, headers=head)).json()
            id = run["id"]
            assert again["id"] == id, "a key of idempotency holds for both"
            question = (await there.state(id, "waiting"))["question"]["id"]
            told = boss.post(f"/runs/{id}/approve", json={"question": question, "allow": True})
            assert (await told).status_code == 200
            assert (await there.state(id, "ended"))["answer"] == "ordered lamp for ann"
            lines = (await ann_there.get(f"/runs/{id}/events")).text.split("\n\n")
            kinds = [line.partition("event: ")[2].partition("\n")[0] for line in lines if "event: " in line]
            assert (kinds[0], kinds[-2:]) == ("started", ["finished", "run"])
            assert lines == (await ann.get(f"/runs/{id}/events")).text.split("\n\n")
            waits = (await ann.post("/runs", json={"task": "Wait."})).json()["id"]
            await there.state(waits, "running")
            assert (await ann_there.post(f"/runs/{waits}/cancel")).json()["state"] == "cancelled"
            assert waits not in here.runs._live, "the server that played it has ended it"
            assert [item["id"] for item in (await ann_there.get("/runs")).json()["data"]] == [waits, id]
            await ann_there.delete(f"/runs/{id}")
            assert (await ann.get(f"/runs/{id}")).status_code == 404

    both(play, tmp_path, database)


def test_a_run_of_a_server_that_is_gone_goes_on_with_the_other(tmp_path: Path, database: str) -> None:
    async def play(here: Server, there: Server) -> None:
        async with here.client() as ann, there.client(BOSS) as boss:
            id = (await ann.post("/runs", json={"task": "Order a lamp."})).json()["id"]
            question = (await there.state(id, "waiting"))["question"]["id"]
            assert here.runs._following is not None
            here.runs._following.cancel()  # it beats no more, as if it were gone
            while (asked := (await there.state(id, "waiting"))["question"]["id"]) == question:
                await asyncio.sleep(0.05)
            assert id in there.runs._live
            here.runs._live[id].decide(allow=True)  # it was asleep, and goes on
            assert (await boss.post(f"/runs/{id}/approve", json={"question": asked, "allow": True})).status_code == 200
            assert (await there.state(id, "ended"))["answer"] == "ordered lamp for ann"
            assert len({line.rpartition(" ")[2] for line in shop.bought}) == len(shop.bought) == 1, "it is ordered once"

    both(play, tmp_path, database)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("place", ["file", "database"])
def test_a_person_says_what_became_of_a_call(tmp_path: Path, done: bool, place: str, request: Any) -> None:
    async def play(database: str) -> None:
        shop.gate = asyncio.Event()
        async with served(tmp_path, database=database) as server, server.client() as ann, server.client(BOSS) as boss:
            id = (await ann.post("/runs", json={"task": "Wait."})).json()["id"]
            await server.called(id)
            await server.runs.stop(0)  # amid the call, which may be made
            server.runs._stopping = False
            payer = StorePayer(server.store, f"serve/ann/{id[4:]}", lease=1)
            [claim] = server.store.claims(payer.scope)
            assert claim.state == "claimed"
            server.store.finish(claim.key, 1, "unknown", {})
            server.runs._take_free()
            assert "unknown" in (await server.state(id, "unknown"))["detail"]
            refused = await ann.post(f"/runs/{id}/resolve", json={"done": done})
            assert refused.json()["error"]["code"] == "may_not_approve"
            shop.gate.set()
            said = await boss.post(f"/runs/{id}/resolve", json={"done": done, "result": "b" if done else None})
            assert said.status_code == 200
            run = await server.state(id, "ended")
            assert run["answer"] == ("b" if done else "a")
            again = await boss.post(f"/runs/{id}/resolve", json={"done": done})
            assert again.json()["error"]["code"] == "not_unknown"
            assert json.loads(server.store.claims(payer.scope)[0].outcome)["result"] == json.dumps(run["answer"])

    asyncio.run(play(request.getfixturevalue("database") if place == "database" else ""))

"""The page for people: what it shows of runs and does with them, by HTTP and in a browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

from tests.tape.serve import shop  # noqa: E402
from tests.tape.serve.serving import ANN, BOSS, Server, played, served  # noqa: E402
from tests.tape.show.browser import LAPTOP, PHONE, chromium, missing  # noqa: E402


@played
async def test_it_shows_runs_with_their_plans_and_decides(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as ann, server.client(BOSS) as boss:
        assert (await ann.get("/")).text.startswith("<!DOCTYPE html>")
        assert (await ann.get("/", headers={"host": "evil.example"})).status_code == 403
        assert (await ann.get("/state")).json()["error"]["code"] == "may_not_approve"
        assert (await ann.post("/act", json={"act": "approve"})).status_code == 403
        id = (await ann.post("/runs", json={"task": "Order a lamp."})).json()["id"]
        await server.state(id, "waiting")
        state = (await boss.get("/state")).json()
        [asks] = state["waiting"]["rows"]
        [run] = state["runs"]
        assert [line["text"] for line in run["plan"]] == ['order(item="lamp")', "answer(order('lamp'))"]
        assert not any(line["done"] for line in run["plan"])
        asked = (await boss.get(f"/state?question={asks['id']}")).json()
        assert 'order(item="lamp")' in asked["shown"]
        assert (await boss.get("/state?question=other")).status_code == 404
        done = await boss.post("/act", json={"act": "approve", "id": asks["id"], "why": "needed"})
        assert done.json() == {"done": "approved a call of shop for ann"}
        await server.state(id, "ended")
        state = (await boss.get("/state")).json()
        assert (state["waiting"]["count"], state["acts"][0]["why"]) == (0, "needed")
        assert state["runs"][0]["spent"] == "$0.01"
        assert all(line["done"] for line in state["runs"][0]["plan"])
        [cap] = [item for item in state["shared"]["caps"] if item["account"] == "serve/ann"]
        assert cap["spent_text"] == "$0.01"
        more = {"act": "raise", "account": "serve/ann", "resource": "usd", "period": "total", "amount": "$2"}
        assert (await boss.post("/act", json=more)).json()["done"] == "raised serve/ann by $2"
        for act in ({"act": "approve", "id": asks["id"]}, {"act": "sing"}, {"act": "raise", "account": "other"}):
            assert (await boss.post("/act", json=act)).status_code == 409
        assert (await boss.post("/act", json={"act": "made", "id": id})).json()["error"]["code"] == "not_unknown"


@contextmanager
def listening(folder: Path) -> Iterator[tuple[str, Server, asyncio.AbstractEventLoop]]:
    """A server on loopback, in a thread of its own."""
    loop, begun, server = asyncio.new_event_loop(), threading.Event(), Server(folder)
    shop.bought.clear()
    made: list[Any] = []

    async def serve() -> None:
        shop.gate = asyncio.Event()
        http = uvicorn.Server(uvicorn.Config(server.routes.app(), port=0, log_level="error"))
        http.config.load()
        http.lifespan = http.config.lifespan_class(http.config)
        await http.startup()
        server.runs.start()
        made.append(http)
        begun.set()
        await http.main_loop()
        await server.runs.stop(0)
        await http.shutdown()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    begun.wait(30)
    try:
        yield f"http://127.0.0.1:{made[0].servers[0].sockets[0].getsockname()[1]}", server, loop
    finally:
        made[0].should_exit = True
        thread.join()
        server.store.close()
        loop.close()


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_person_approves_in_a_browser(tmp_path: Path) -> None:
    import httpx

    with listening(tmp_path) as (url, server, _), chromium(tmp_path / "profile") as browser:
        head = {"authorization": f"Bearer {ANN}"}
        task = "Order a lamp. <img src=x onerror='window.hacked = 1'>"
        id = httpx.post(f"{url}/runs", json={"task": task}, headers=head, timeout=20).json()["id"]
        browser.open(f"{url}/", "#token=wrong-token-0123456789", until=".sign-in")
        browser.open(f"{url}/", f"#token={BOSS}", until=".place-waiting .act")
        assert browser.do("return location.hash;") == ""
        assert browser.says(".place-runs", "<img src=x")
        assert browser.do("return window.hacked;") is None
        browser.click(".place-waiting .act")
        browser.wait("dialog[open]")
        assert 'order(item="lamp")' in browser.text("dialog pre")
        browser.click("dialog[open] .act")
        assert browser.says(".place-acts", "approved a call of shop for ann")
        assert browser.says(".place-runs", "ordered lamp for ann")
        assert server.runs.read(server.runs.keys.all["ann"], id).state == "ended"
        for size in (LAPTOP, PHONE):
            browser.open(f"{url}/", f"#token={BOSS}", size=size, until=".place-runs .entry")
            assert browser.too_wide() == 0
        complaints = [line for line in browser.complaints() if "401" not in line]
        browser.do("window.stop(); location.replace('about:blank')")
        assert complaints == []

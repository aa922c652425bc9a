"""Agents over HTTP: OpenAI's protocol, runs, rights, budgets, and what clients send that is wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")

from tape.budget import Budget  # noqa: E402
from tape.serve.app import MOST_BODY_BYTES  # noqa: E402
from tape.serve.deps import Deps  # noqa: E402
from tape.serve.records import RunFolder, RunRecord, new_id  # noqa: E402
from tests.tape.serve import shop  # noqa: E402
from tests.tape.serve.serving import BOB, BOSS, Server, chat, played, served  # noqa: E402


@played
async def test_a_completion_is_a_run(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        answer = (await client.post("/v1/chat/completions", json=chat("What does a lamp cost?"))).json()
        assert answer["choices"][0]["message"] == {"role": "assistant", "content": "30"}
        assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + 1
        assert answer["usage"]["cost"] == 0.001
        run = (await client.get(f"/runs/{answer['id']}")).json()
        assert (run["state"], run["answer"], run["spent"]["usd"]) == ("ended", 30, 0.001)
        assert [model["id"] for model in (await client.get("/v1/models")).json()["data"]] == ["shop"]
        [balance] = server.store.read("serve/ann")
        assert balance.spent == 1_000, "the key has paid"
        assert shop.opened == [], "what the tools got is closed"


@played
async def test_a_stream_has_the_answer_its_usage_and_an_end(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        request = chat("What does a lamp cost?", stream=True, stream_options={"include_usage": True})
        lines = (await client.post("/v1/chat/completions", json=request)).text.split("\n\n")
        pieces = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
        assert "".join(p["choices"][0]["delta"].get("content", "") for p in pieces if p["choices"]) == "30"
        assert pieces[-2]["choices"][0]["finish_reason"] == "stop"
        assert pieces[-1]["usage"]["cost"] == 0.001
        assert lines[-2:] == ["data: [DONE]", ""]


@played
async def test_a_run_waits_for_a_person_who_is_not_its_own_key(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as ann, server.client(BOSS) as boss:
        id = (await ann.post("/runs", json={"task": "Order a lamp."})).json()["id"]
        question = (await server.state(id, "waiting"))["question"]
        assert question["action"] == 'order(item="lamp")'
        [balance] = server.store.read("serve/ann")
        assert balance.held == 0, "nothing is held while a person is asked"
        body = {"question": question["id"], "allow": True}
        refused = await ann.post(f"/runs/{id}/approve", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "may_not_approve")
        stale = await boss.post(f"/runs/{id}/approve", json={"question": "older", "allow": True})
        assert (stale.status_code, stale.json()["error"]["code"]) == (409, "other_question")
        assert shop.bought == []
        assert (await boss.post(f"/runs/{id}/approve", json=body)).status_code == 200
        assert (await boss.post(f"/runs/{id}/approve", json=body)).status_code == 409, "once"
        run = await server.state(id, "ended")
        assert run["answer"] == "ordered lamp for ann"
        own = (await boss.post("/runs", json={"task": "Order a lamp."})).json()["id"]
        question = (await server.state(own, "waiting"))["question"]
        refused = await boss.post(f"/runs/{own}/approve", json={"question": question["id"], "allow": True})
        assert refused.json()["error"]["code"] == "own_run"


@played
async def test_a_completion_does_not_wait_for_a_person(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        answer = await client.post("/v1/chat/completions", json=chat("Order a lamp."))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "approval_required")


@played
async def test_events_are_told_from_any_point_while_it_goes_on_and_afterwards(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        id = (await client.post("/runs", json={"task": "Wait."})).json()["id"]
        watching = asyncio.create_task(client.get(f"/runs/{id}/events"))
        while not server.runs._live[id].events:
            await asyncio.sleep(0.01)
        shop.gate.set()
        live = (await watching).text
        await server.state(id, "ended")
        after = (await client.get(f"/runs/{id}/events")).text
        assert [line for line in live.splitlines() if line.startswith(("id", "event"))] == [
            line for line in after.splitlines() if line.startswith(("id", "event"))
        ]
        numbers = [int(line.removeprefix("id: ")) for line in after.splitlines() if line.startswith("id: ")]
        assert numbers == sorted(numbers)
        rest = (await client.get(f"/runs/{id}/events", headers={"last-event-id": str(numbers[-3])})).text
        assert rest.count("id: ") == 2
        assert after.rstrip().splitlines()[-2] == "event: run"
        assert "prompt" not in {json.loads(line[6:])["type"] for line in after.splitlines() if line[:5] == "data:"}


@played
async def test_a_conversation_goes_on_by_the_id_of_a_run_and_messages_are_text(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        first = (await client.post("/v1/chat/completions", json=chat("What does a lamp cost?"))).json()
        again = chat("Say it again.", metadata={"continues": first["id"]})
        assert (await client.post("/v1/chat/completions", json=again)).status_code == 200
        record = max(server.runs._kept.listed(), key=lambda record: record.created)
        assert record.continues == first["id"]
        assert record.history is not None
        assert [turn["task"] for turn in record.history["turns"]] == ["What does a lamp cost?", "Say it again."]
        messages = [{"role": "assistant", "content": "order('lamp') was made"}, {"role": "user", "content": "Say so."}]
        said = (await client.post("/v1/chat/completions", json={"model": "shop", "messages": messages})).json()
        assert "order('lamp') was made" in said["choices"][0]["message"]["content"]
        assert shop.bought == []


@played
async def test_a_budget_that_is_used_up_is_402(tmp_path: Path) -> None:
    async with served(tmp_path, ann={"budget": Budget.of(usd="0.0015")}) as server, server.client() as client:
        assert (await client.post("/v1/chat/completions", json=chat("What does a lamp cost?"))).status_code == 200
        refused = await client.post("/v1/chat/completions", json=chat("What does a lamp cost?"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (402, "insufficient_quota")
        assert refused.json()["error"]["type"] == "invalid_request_error"
        [balance] = server.store.read("serve/ann")
        assert balance.spent == 1_000


@played
async def test_the_same_idempotency_key_is_the_same_run(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as server,
        server.client(**{"idempotency-key": "k1"}) as client,
        server.client(BOB) as bob,
    ):
        first = (await client.post("/runs", json={"task": "Say a."})).json()["id"]
        assert (await client.post("/runs", json={"task": "Say a."})).json()["id"] == first
        other = await client.post("/runs", json={"task": "Say b."})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency")
        theirs = await bob.post("/runs", json={"task": "Say a."}, headers={"idempotency-key": "k1"})
        assert theirs.json()["id"] != first


@played
async def test_a_key_sees_its_own_runs_alone(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as server,
        server.client() as ann,
        server.client(BOB) as bob,
        server.client(BOSS) as boss,
    ):
        id = (await ann.post("/runs", json={"task": "Say a."})).json()["id"]
        await server.state(id, "ended")
        for answer in (
            await bob.get(f"/runs/{id}"),
            await bob.get(f"/runs/{id}/events"),
            await bob.delete(f"/runs/{id}"),
            await bob.post(f"/runs/{id}/cancel"),
            await bob.post("/runs", json={"task": "Say b.", "continues": id}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert (await bob.get("/runs")).json()["data"] == []
        assert [run["id"] for run in (await boss.get("/runs")).json()["data"]] == [id]
        assert (await ann.get("/metrics")).status_code == 403
        assert (
            'tape_runs_ended_total{key="ann",agent="shop",end_state="success"} 1' in (await boss.get("/metrics")).text
        )


@played
async def test_a_full_queue_says_when_to_come_again_and_a_cancelled_run_frees_its_place(tmp_path: Path) -> None:
    async with served(tmp_path, at_once=1, queue=1) as server, server.client() as client:
        first, second = [(await client.post("/runs", json={"task": "Wait."})).json()["id"] for _ in range(2)]
        await server.state(first, "running")
        assert server.runs._of_id(second).state == "queued"
        full = await client.post("/runs", json={"task": "Wait."})
        assert (full.status_code, full.headers["retry-after"]) == (429, "2")
        assert (await client.post(f"/runs/{first}/cancel")).json()["state"] == "cancelled"
        await server.state(second, "running")
        shop.gate.set()
        await server.state(second, "ended")
        assert server.runs._places.active == 0
        assert (await client.delete(f"/runs/{first}")).json()["deleted"] is True
        assert (await client.get(f"/runs/{first}")).status_code == 404
        assert not [path for path in (tmp_path / "runs").iterdir() if first in path.name]
        assert server.store.check() == []


@played
async def test_a_run_that_waits_leaves_its_place_to_another(tmp_path: Path) -> None:
    async with served(tmp_path, at_once=1) as server, server.client() as client:
        id = (await client.post("/runs", json={"task": "Order a lamp."})).json()["id"]
        await server.state(id, "waiting")
        other = (await client.post("/runs", json={"task": "Say a."})).json()["id"]
        await server.state(other, "ended")


def test_a_parked_run_goes_on_with_the_next_server_and_does_nothing_twice(tmp_path: Path) -> None:
    shop.bought.clear()
    shop.gate = asyncio.Event()

    async def first() -> str:
        server = Server(tmp_path)
        server.runs.start()
        async with server.client() as client:
            id: str = (await client.post("/runs", json={"task": "Order a lamp."})).json()["id"]
            await server.state(id, "waiting")
            assert await server.runs.stop(0) == 1
            assert server.runs._of_id(id).state == "parked"
        server.store.close()
        return id

    async def second(id: str) -> None:
        async with served(tmp_path) as server, server.client(BOSS) as boss:
            question = (await server.state(id, "waiting"))["question"]
            await boss.post(f"/runs/{id}/approve", json={"question": question["id"], "allow": True})
            run = await server.state(id, "ended")
            assert run["answer"] == "ordered lamp for ann"

    async def third(id: str) -> None:
        async with served(tmp_path) as server, server.client() as client:
            assert (await client.get(f"/runs/{id}")).json()["answer"] == "ordered lamp for ann"
            assert server.runs.keep(days=-1) == 1, "as if it had ended long ago"
            assert (await client.get(f"/runs/{id}")).status_code == 404

    id = asyncio.run(first())
    asyncio.run(second(id))
    asyncio.run(third(id))
    assert len(shop.bought) == 1


def test_a_run_of_an_agent_that_is_gone_stays_parked_and_is_not_counted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs")
    killed = RunRecord(id=new_id(), key="ann", agent="gone", task="Say a.", state="running")
    folder.write(killed)

    async def started() -> None:
        server = Server(tmp_path)
        assert server.runs.start() == 0
        assert server.runs._of_id(killed.id).state == "parked", "a server that was killed has not said so"
        server.store.close()

    asyncio.run(started())


@played
async def test_what_is_wrong_is_said_in_openais_form(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        image = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
        seen = {"model": "shop", "messages": [{"role": "user", "content": image}]}
        said = {"model": "shop", "messages": [{"role": "assistant", "content": "a"}]}
        cases: list[tuple[str, Any, int, str]] = [
            ("/v1/chat/completions", chat("a", model="other"), 404, "there is no agent 'other'; there is shop"),
            ("/v1/chat/completions", chat("a", n=2), 400, "one answer"),
            ("/v1/chat/completions", {"model": "shop", "messages": []}, 400, "messages: "),
            ("/v1/chat/completions", seen, 400, "image_url"),
            ("/v1/chat/completions", said, 400, "user's"),
            ("/runs", {"task": " "}, 400, "1 to 100000 characters"),
            ("/runs", {"task": "a", "tusk": "a"}, 400, "tusk"),
            ("/runs", {"task": "a", "continues": "run_none"}, 404, "there is no run"),
            ("/runs/run_none/approve", {"question": "a", "allow": "yes"}, 400, "allow"),
            ("/nothing", {}, 404, "there is nothing at /nothing"),
        ]  # fmt: skip
        for path, body, status, message in cases:
            answer = await client.post(path, json=body)
            assert (answer.status_code, message in answer.json()["error"]["message"]) == (status, True), answer.text
        assert (await client.put("/runs", json={})).status_code == 405
        for content in (b"{", b"\xff", b"[" * 5_000, b'{"task": NaN}'):
            assert (await client.post("/runs", content=content)).status_code == 400
        assert (await client.post("/runs", content=b" " * (MOST_BODY_BYTES + 1))).status_code == 413
        assert (await client.get("/runs/x/events")).status_code == 404
        assert server.runs._kept.listed() == []


@played
async def test_foreign_pages_hosts_and_keys_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client, server.client("wrong-token-012345") as wrong:
        assert (await wrong.get("/runs")).status_code == 401
        assert (await client.get("/runs", headers={"authorization": "Basic abc"})).status_code == 401
        assert (await client.get("/runs", headers={"host": "evil.example"})).json()["error"]["code"] == "host"
        assert (await client.get("/runs", headers={"origin": "http://evil.example"})).json()["error"][
            "code"
        ] == "origin"
        assert (await client.get("/runs", headers={"host": "agents.example:8080"})).status_code == 200
        assert (await wrong.get("/healthz")).text == "alive\n"
        server.routes.ready = False
        assert (await wrong.get("/readyz")).status_code == 503


@played
async def test_a_fault_of_ones_own_code_is_told_without_a_traceback(tmp_path: Path) -> None:
    async with served(tmp_path) as server, server.client() as client:
        failed = await client.post("/v1/chat/completions", json=chat("Fail."))
        assert failed.status_code == 500
        assert "KeyError" in failed.json()["error"]["message"]
        assert "Traceback" not in failed.text

        def broken(asked: Any) -> Any:
            raise RuntimeError("planted-secret")

        server.runs._deps = Deps(broken)
        failed = await client.post("/v1/chat/completions", json=chat("Say a."))
        assert failed.status_code == 500
        assert "planted-secret" not in failed.text


@pytest.mark.parametrize("kind", ["plain", "asynchronous", "manager"])
def test_deps_are_made_by_any_kind_of_function(kind: str) -> None:
    from contextlib import contextmanager

    from tape.serve.deps import Asked

    left: list[str] = []

    async def asynchronous(asked: Asked) -> str:
        return asked.key

    @contextmanager
    def manager(asked: Asked) -> Any:
        yield asked.key
        left.append(asked.key)

    function = {"plain": lambda asked: asked.key, "asynchronous": asynchronous, "manager": manager}[kind]

    async def used() -> str:
        async with Deps(function).of(Asked("shop", "a", "ann")) as deps:
            assert left == []
            return str(deps)

    assert asyncio.run(used()) == "ann"
    assert left == (["ann"] if kind == "manager" else [])

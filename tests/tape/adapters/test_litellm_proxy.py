"""The budget inside a real proxy of LiteLLM, on loopback: clients, providers that misbehave, and ways past it.

They run where ``TAPE_LITELLM_PYTHON`` names an interpreter with ``tape-planner[litellm]``. ``TAPE_LITELLM_CLIENTS``
names one with the clients of ``litellm_clients.py``, if this one has not all of them, and ``TAPE_LITELLM_NODE`` a
folder with ``node_modules/openai``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("httpx")

import httpx

from experiments.benches.litellm_proxy import free_port, provider, running
from tape.budget import open_store
from tape.budget.contract import HoldRecord
from tests.tape.adapters.litellm_clients import CLIENTS

PYTHON = os.environ.get("TAPE_LITELLM_PYTHON", "")
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not PYTHON, reason="TAPE_LITELLM_PYTHON names no interpreter that has tape-planner[litellm]"),
    pytest.mark.timeout(300),
]

PROMPT, TOKENS = 20, 5
"""What the provider says that a prompt takes, and what it writes where it is not told how much."""
KEY = {"authorization": "Bearer sk-one"}


class Trial(NamedTuple):
    """A proxy, the provider behind it, and the ledger."""

    url: str
    upstream: str
    ledger: Path
    log: Path

    def ask(self, text: str, session: str, path: str = "/v1/chat/completions", /, **body: Any) -> httpx.Response:
        """One request; a field that is ``...`` is left out."""
        asked = {"model": "small", "max_tokens": 50, "messages": [{"role": "user", "content": text}], **body}
        given = {name: value for name, value in asked.items() if value is not ...}
        head = {**KEY, "x-tape-session": session}
        return httpx.post(f"{self.url}{path}", json=given, headers=head, timeout=60)

    def seen(self) -> list[dict[str, Any]]:
        """What the provider was asked for since this was called last."""
        return list(httpx.get(f"{self.upstream}/seen", timeout=60).json())

    def ended(self, session: str) -> Sequence[HoldRecord]:
        """The holds of a session, the first one first, when all of them have ended."""
        store = open_store(f"file://{self.ledger}")
        try:
            for _ in range(200):
                records = [record for record in store.history(most=10_000) if record.scope.endswith(f"/{session}")]
                if all(record.state != "held" for record in records):
                    break
                time.sleep(0.1)
            assert all(record.state != "held" for record in records), records
            return records[::-1]
        finally:
            store.close()

    def tokens(self, session: str) -> list[str | int | None]:
        """What is booked for each call of a session: tokens, or that it is the worst case."""
        texts = list[str | int | None]()
        for record in self.ended(session):
            texts.append("worst" if record.spent == record.worst else record.spent.get("tokens") or 0)
        return texts


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder = tmp_path_factory.mktemp("litellm")
    ledger = folder / "budget.ledger"
    (folder / "proxy").mkdir()
    with provider(PYTHON, folder) as upstream:

        def model(name: str, deployment: str) -> Mapping[str, Any]:
            base = upstream if deployment.startswith("anthropic") else f"{upstream}/v1"
            return {"model_name": name, "litellm_params": {"model": deployment, "api_base": base, "api_key": "none"}}

        settings = {"ledger": f"file://{ledger}", "scope": "trial", "session": "$0.01", "labels": ["customer"]}
        config = {
            "model_list": [
                model("small", "openai/gpt-4o-mini"),
                model("big", "openai/gpt-4o"),
                model("claude", "anthropic/claude-sonnet-4-5"),
                model("vectors", "openai/text-embedding-3-small"),
            ],
            "litellm_settings": {
                "callbacks": ["tape.adapters.litellm.budget"], "callback_settings": {"tape": settings}
            },
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
            "general_settings": {"master_key": "sk-one"},
        }  # fmt: skip
        (folder / "proxy" / "config.yaml").write_text(json.dumps(config))
        port = free_port()
        command = [PYTHON, "-c", "from litellm import run_server; run_server()", "--config", "config.yaml", "--host",
                   "127.0.0.1", "--port", str(port)]  # fmt: skip
        with running(command, port, "/health/liveliness", folder / "proxy") as server:
            yield Trial(server.url, upstream, ledger, folder / "proxy" / "log")


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_pay_and_take_a_refusal_for_an_error(
    trial: Trial, name: str, record_property: Callable[[str, object], None]
) -> None:
    if name == "javascript" and "TAPE_LITELLM_NODE" not in os.environ:
        pytest.skip("TAPE_LITELLM_NODE names no folder with node_modules/openai")
    trial.seen()
    lines = len(trial.log.read_text().splitlines())
    program = Path(__file__).with_name("litellm_clients.py")
    python = os.environ.get("TAPE_LITELLM_CLIENTS", sys.executable)
    done = subprocess.run(
        [python, str(program), name, trial.url, f"client-{name}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    plain, streamed, tool, (error, status) = json.loads(done.stdout)
    assert (plain, streamed, tool) == (5 * TOKENS, 5 * TOKENS, "search")
    record_property("a refusal is", error)
    assert status == 402
    asked = [line for line in trial.log.read_text().splitlines()[lines:] if '"POST /v1/' in line]
    assert sum("402 Payment Required" in line for line in asked) == 1, "it was not tried again"
    seen = trial.seen()
    assert len(seen) == len(asked) - 1
    assert all(mapping["limit"] == 50 for mapping in seen)
    assert trial.tokens(f"client-{name}") == [PROMPT + mapping["written"] for mapping in seen]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("words", "booked"),
    [
        ("tokens=7", PROMPT + 7),
        ("tokens=7 bytes=1", PROMPT + 7),
        ("tokens=7 usage=less", PROMPT + 1),
        ("tokens=7 usage=more", PROMPT + 7000),
        ("tokens=7 usage=negative", "worst"),
        ("tokens=7 usage=none", "worst"),
        ("tokens=20 cut=1", "worst"),
        ("tokens=7 seconds=1", PROMPT + 7),
        ("status=500", "worst"),
        ("status=503", "worst"),
        ("status=400", 0),
        ("status=429", 0),
    ],
)
def test_what_a_provider_says_is_booked_or_the_worst_case(
    trial: Trial, path: str, stream: bool, words: str, booked: int | str
) -> None:
    session = f"{path[4:]} {stream} {words}".translate(str.maketrans(" =/", "---"))
    trial.seen()
    body: dict[str, Any] = {"stream": stream, "model": "claude" if path == "/v1/messages" else "small"}
    if path == "/v1/responses":
        body |= {"input": words, "messages": ..., "max_tokens": ..., "max_output_tokens": 50}
    try:
        trial.ask(words, session, path, **body)
    except httpx.RemoteProtocolError:
        assert "cut" in words
    assert len(trial.seen()) == 1
    assert trial.tokens(session) == [booked]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("words", ["tokens=40 seconds=3", "seconds=3 tokens=1"])
def test_a_client_that_goes_away_is_paid_for(trial: Trial, stream: bool, words: str) -> None:
    session = f"gone-{stream}-{words[0]}"
    body = json.dumps({"model": "small", "max_tokens": 50, "stream": stream,
                       "messages": [{"role": "user", "content": words}]}).encode()  # fmt: skip
    host, port = trial.url.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: {KEY['authorization']}\r\nx-tape-session: "
    head += f"{session}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        time.sleep(1.5)
    written = int(words.rpartition("tokens=")[2].split()[0])
    assert trial.tokens(session) in (["worst"], [PROMPT + written])


@pytest.mark.parametrize(
    ("status", "booked"), [(500, ["worst"] * 3), (429, [0, 0, "worst"])]
)  # LiteLLM does not say how the times between the first and the last have failed
def test_each_time_that_the_proxy_sends_a_call_is_paid_for(trial: Trial, status: int, booked: list[Any]) -> None:
    trial.seen()
    trial.ask(f"status={status}", f"again-{status}", num_retries=2)
    assert len(trial.seen()) == 3
    assert trial.tokens(f"again-{status}") == booked


@pytest.mark.parametrize(("path", "model"), [("/v1/messages", "small"), ("/v1/responses", "claude")])
@pytest.mark.parametrize(("words", "booked"), [("tokens=7", PROMPT + 7), ("status=500", "worst")])
def test_an_interface_that_a_provider_lacks_is_paid_for_once(
    trial: Trial, path: str, model: str, words: str, booked: Any
) -> None:
    session = f"bridge-{model}-{words[:6]}"
    trial.seen()
    body = {"messages": ..., "max_tokens": ..., "input": words, "max_output_tokens": 50}
    trial.ask(words, session, path, model=model, max_retries=2, **(body if path == "/v1/responses" else {}))
    seen = trial.seen()
    assert len(seen) == 1
    assert seen[0]["limit"] == 50
    assert trial.tokens(session) == [booked]


def test_a_fallback_is_paid_for(trial: Trial) -> None:
    trial.seen()
    trial.ask("status=500", "fallback", fallbacks=["claude"], num_retries=0)
    assert [mapping["path"] for mapping in trial.seen()] == ["chat/completions", "messages"]
    assert [record.name for record in trial.ended("fallback")] == ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"extra_body": {"max_tokens": 9000}}),
        ("/v1/chat/completions", {"drop_params": True}),
        ("/v1/chat/completions", {"web_search_options": {}}),
        ("/v1/chat/completions", {"prediction": {"type": "content", "content": "x"}}),
        ("/v1/chat/completions", {"tools": [{"type": "mcp", "server_url": "litellm_proxy"}]}),
        ("/v1/messages", {"model": "claude", "speed": "fast"}),
        ("/v1/messages", {"model": "claude", "inference_geo": "us"}),
        ("/v1/responses", {"input": "hi", "messages": ...}),
        ("/v1/responses", {"input": "hi", "messages": ..., "max_tokens": ..., "previous_response_id": "resp_1"}),
        ("/v1/images/generations", {"prompt": "hi"}),
        ("/v1/moderations", {"input": "hi"}),
        ("/v1/audio/speech", {"input": "hi", "voice": "alloy"}),
        ("/v1/rerank", {"query": "hi", "documents": ["a"]}),
        ("/v1/batches", {"input_file_id": "f", "endpoint": "/v1/chat/completions", "completion_window": "24h"}),
        ("/queue/chat/completions", {"priority": 0}),
        ("/rag/query", {"query": "hi", "retrieval_config": {"vector_store_id": "v", "custom_llm_provider": "openai"}}),
        ("/anthropic/v1/messages", {}),
        ("/vllm/v1/chat/completions", {}),
        ("/v1beta/models/small:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    ],
)  # fmt: skip
def test_no_way_leads_past_the_reservation(trial: Trial, path: str, body: dict[str, Any]) -> None:
    trial.seen()
    answer = trial.ask("hi", "past", path, **body)
    assert answer.status_code in (400, 402, 403), answer.text
    assert trial.seen() == []


def test_ids_that_clients_choose_are_no_ids_of_calls(trial: Trial) -> None:
    head = {**KEY, "x-tape-session": "ids", "x-litellm-call-id": "the-same"}

    def ask(number: int) -> int:
        body = {"model": "small", "max_tokens": 50, "metadata": {"tape_call": "x"}, "stream": number % 2 == 0,
                "messages": [{"role": "user", "content": f"tokens={number + 1} seconds=0.5"}]}  # fmt: skip
        return httpx.post(f"{trial.url}/v1/chat/completions", json=body, headers=head, timeout=120).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(16))) == {200}
    assert sorted(map(str, trial.tokens("ids"))) == sorted(str(PROMPT + number + 1) for number in range(16))


def test_vectors_are_paid_for(trial: Trial) -> None:
    assert trial.ask("", "vectors", "/v1/embeddings", model="vectors", input=["a", "b"], messages=...,
                     max_tokens=...).status_code == 200  # fmt: skip
    assert trial.tokens("vectors") == [PROMPT]

"""Endpoints that want no good: nothing they reply raises, hangs, fills the memory or spends more than was set aside."""

import asyncio
import gzip
import json
import random
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Ledger
from tape.cli.main import main
from tape.errors import EndpointWarning
from tape.lm.accounting import AccountedLM
from tape.lm.base import BatchError, OneOf, Request, worst_case
from tape.lm.hosted.http import MOST_BYTES
from tape.lm.hosted.model import MOST_USAGE
from tape.lm.hosted.providers import ANTHROPIC, OPENAI
from tape.lm.hosted.wire import LONGEST_WAIT, retry_after
from tests.tape.conftest import Keep
from tests.tape.lm.hostile import WAITS, Hostile, bombs, chat, endless, hostile_reply, http
from tests.tape.lm.hosting import PROMPT, ask, opened

pytest.importorskip("openai")
pytest.importorskip("anthropic")

REQUEST = Request(PROMPT, 20)
QUICK: dict[str, Any] = {"timeout": 5, "retries": 0, "max_wait": 0.05}
BOTH = pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda p: p.name)


def replying(body: Any = "up", status: str = "200 OK", **headers: str) -> Hostile:
    """An endpoint that always gives one reply: some bytes, or a chat completion."""
    content = body if isinstance(body, bytes) else json.dumps(body if isinstance(body, dict) else chat(body)).encode()
    return Hostile(lambda number, _: [http(content, status, **headers)])


@BOTH
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_an_endless_answer_is_not_read_to_its_end(provider: Any, framing: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    piece = b" " * 65536
    framed = {"length": b"Content-Length: 99999999999\r\n", "chunked": b"Transfer-Encoding: chunked\r\n", "close": b""}
    head += framed[framing]
    more = b"10000\r\n" + piece + b"\r\n" if framing == "chunked" else piece
    with Hostile(lambda number, body: endless(head + b"\r\n", more)) as endpoint:
        with pytest.raises(BatchError, match=f"more than {MOST_BYTES} bytes") as caught:
            ask(opened(endpoint, provider, retries=0))
        assert endpoint.sent < MOST_BYTES + (16 << 20), "the rest stands in the buffers of the system"
    assert caught.value.answers[0].usage.calls == 1, "it may be billed"


@BOTH
@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
def test_a_compressed_answer_is_bounded_as_it_grows(provider: Any, status: str) -> None:
    with replying(bombs(60 << 20), status, Content_Encoding="gzip") as endpoint:
        with pytest.raises(BatchError, match="bytes"):
            ask(opened(endpoint, provider, **QUICK | {"timeout": 60}))
        assert "accept-encoding: identity" in endpoint.heads[0].lower()


def test_an_answer_that_is_compressed_all_the_same_is_read() -> None:
    done = json.dumps(chat("up")).encode()
    for packed, coding in ((gzip.compress(done), "gzip"), (zlib.compress(done), "deflate"), (done, "identity")):
        with replying(packed, Content_Encoding=coding) as endpoint:
            assert ask(opened(endpoint, **QUICK)).texts == ("up",)
    with replying(done, Content_Encoding="br") as endpoint, pytest.raises(BatchError, match=r"'br'.*not asked for"):
        ask(opened(endpoint, **QUICK))


@BOTH
@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_redirect_is_followed_and_each_request_is_booked(provider: Any, status: int) -> None:
    with replying("stolen") as elsewhere:
        for to in (elsewhere.url + "/chat/completions", "/v1/loop"):
            with replying(b"{}", f"{status} Away", Location=to) as endpoint:
                ledger = Ledger(Budget({"calls": 100}))
                with pytest.raises(BatchError, match="redirects are not followed"):
                    ask(AccountedLM(opened(endpoint, provider, **QUICK | {"retries": 4}), ledger))
            assert endpoint.requests == 1 == ledger.used["calls"]
    assert elsewhere.requests == 0, "the prompt and the key went nowhere else"


@pytest.mark.parametrize("charset", ["bz2", "idna", "utf-16"])
@pytest.mark.parametrize("status", ["200 OK", "401 No"])
def test_the_endpoint_does_not_choose_how_its_bytes_are_decoded(charset: str, status: str) -> None:
    body = {**chat("up"), "error": {"message": "wrong"}}
    with replying(body, status, Content_Type=f"text/plain; charset={charset}") as endpoint:
        if status.startswith("200"):
            assert ask(opened(endpoint, **QUICK)).texts == ("up",)
        else:
            with pytest.raises(BatchError, match="HTTP 401: wrong"):
                ask(opened(endpoint, **QUICK))


@pytest.mark.parametrize("tokens", [2**63, 10**400, MOST_USAGE * 1000], ids=["2^63", "10^400", "1000"])
@pytest.mark.parametrize("field", ["prompt_tokens", "total_tokens"])
def test_an_absurd_usage_is_booked_at_the_worst_case_and_warned_of_once(field: str, tokens: int) -> None:
    with replying(chat("up", {"prompt_tokens": 10, "completion_tokens": 5, field: tokens})) as endpoint:
        model, ledger = opened(endpoint, **QUICK), Ledger(Budget({"tokens": 500}))
        accounted = AccountedLM(model, ledger)
        with pytest.warns(EndpointWarning, match=f"more than {MOST_USAGE} times"):
            ask(accounted)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(accounted)
    assert ledger.used["tokens"] == 2 * (worst_case(model, REQUEST)["tokens"] or 0)
    assert not ledger.violations


@pytest.mark.parametrize("tokens", [-1, True, 1.5, "7", None, [], float("nan")])
def test_what_is_no_count_is_no_usage(tokens: Any) -> None:
    no_usage = pytest.warns(EndpointWarning, match="no credible usage")
    with replying(chat("up", {"prompt_tokens": tokens, "completion_tokens": 5})) as endpoint, no_usage:
        assert ask(opened(endpoint, **QUICK)).usage.source == "assumed"


def test_retry_after_of_any_size_is_read_or_passed_over() -> None:
    assert retry_after({}) is None
    for text, seconds in (("3.5", 3.5), ("-3", 0), ("9" * 200, LONGEST_WAIT)):
        assert retry_after({"retry-after": text}) == seconds
    r = random.Random(5)
    parts = [*WAITS, "Mon,", "31", "Feb", "0000", "99:99", "+0000", "-99999", "GMT", "()", '"', "\\", ":", "1" * 30]
    for _ in range(3000):
        waited = retry_after({"retry-after": " ".join(r.choices(parts, k=r.randint(1, 8)))})
        assert waited is None or 0 <= waited <= LONGEST_WAIT


def test_an_answer_longer_than_its_limit_is_cut_off_and_more_choices_are_passed_over() -> None:
    with replying(chat("word " * 100_000, [])) as endpoint, pytest.warns(EndpointWarning, match="no credible usage"):
        completion = ask(opened(endpoint, **QUICK))
    assert completion.finish == ("length",)
    assert len(completion.texts[0]) == 128 * 20
    assert completion.usage.source == "assumed"
    with replying(chat("up", n=10_000)) as endpoint:
        assert ask(opened(endpoint, **QUICK)).texts == ("up",)


def test_no_cookies_are_kept() -> None:
    async def twice() -> None:
        for _ in range(2):
            await model.generate([REQUEST])

    with replying(Set_Cookie="a=b; Path=/") as endpoint:
        model = opened(endpoint, **QUICK)
        asyncio.run(twice())
    assert endpoint.requests == 2
    assert not any("cookie" in head.lower() for head in endpoint.heads)


TIMEOUT = 0.7


def warm_up() -> None:
    """Load the clients, which takes seconds and is no part of any answer."""
    with replying() as endpoint:
        for provider in (OPENAI, ANTHROPIC):
            ask(opened(endpoint, provider))


def sweep(n: int, first: int = 0) -> dict[str, Any]:
    """Ask for n hostile replies, each for all tries of one request, and count what came of them."""
    counted: Counter[str] = Counter()
    warm_up()
    slowest, limits = 0.0, QUICK | {"timeout": TIMEOUT, "retries": 1, "repairs": 1}
    for seed in range(first, first + n):
        provider = (OPENAI, ANTHROPIC)[seed // 7 % 2]
        asked = OneOf(("U", "D")) if seed % 3 else None
        with Hostile(lambda number, body: hostile_reply(seed)) as endpoint:  # noqa: B023
            model = opened(endpoint, provider, **limits)
            worst = worst_case(model, Request(PROMPT, 20, asked))
            caps = Budget({"calls": 3, "tokens": 3 * (worst["tokens"] or 0)})
            ledger = Ledger(caps)
            began = time.perf_counter()
            try:
                completion = ask(AccountedLM(model, ledger), asked)
            except BatchError:
                counted["failed"] += 1
            else:
                counted["answered"] += 1
                assert all(len(text) <= 128 * 200 for text in completion.texts)
            slowest = max(slowest, time.perf_counter() - began)
            # Two tries, two of the repair, and two that leave out what was refused, each as a schema is eased.
            assert endpoint.requests <= 8, f"reply {seed}: {endpoint.requests} requests"
            assert (ledger.used["calls"] or 0) <= caps["calls"], f"reply {seed}"
            over = (ledger.used["tokens"] or 0) > caps["tokens"]
            counted["over budget by a cost above the declared bound"] += over
            assert not over or ledger.violations, f"reply {seed}: more than was reserved, and no violation"
            assert (ledger.used["tokens"] or 0) <= MOST_USAGE * caps["tokens"], f"reply {seed}"
            counted["requests"] += endpoint.requests
    return {"replies": n, **counted, "tracebacks": 0, "slowest_seconds": round(slowest, 2)}


@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
@pytest.mark.parametrize("replies", [14, pytest.param(500, marks=pytest.mark.soak)])
def test_hostile_replies_end_in_an_answer_or_a_counted_failure(replies: int, keep_figures: Keep) -> None:
    mapping = sweep(replies)
    assert mapping["answered"] + mapping["failed"] == replies
    keep_figures("hostile_endpoint", mapping)


def play(folder: Path, episodes: int) -> dict[str, Any]:
    """Play episodes against hostile replies, twice, and read their records in the run directory."""
    warm_up()
    with Hostile(lambda number, body: hostile_reply(1000 + number)) as endpoint:
        model = f"openai:test@{endpoint.url}#backoff=0,retries=1,timeout={TIMEOUT},max_wait=0.05"
        arguments = ["run", "sokoban", "--levels", "easy", "--agent", "react", "--model", model, "--quiet"]
        arguments += ["--limit", str(min(episodes, 10)), "--repeats", str(max(1, episodes // 10))]
        arguments += ["--budget", "calls=40,tokens=200000", "--batch", "8", "--out", str(folder / "run")]
        assert main(arguments) in (0, 1)
        assert main(arguments) in (0, 1), "a finished run is summarised again"
        requests = endpoint.requests
    lines = [json.loads(line)["result"] for line in (folder / "run" / "episodes.jsonl").read_text().splitlines()]
    [group] = json.loads((folder / "run" / "summary.json").read_text())["groups"]
    assert group["episodes"] == len(lines)
    assert (folder / "run" / "results.csv").read_text().count("\n") == len(lines) + 1
    for line in lines:
        over = {kind for kind, most in line["budget"].items() if (line["used"].get(kind) or 0) > most}
        assert over <= {*line["broken_declarations"]}, line
        assert over <= {*line["budget_violations"]}, line
    ends = Counter(line["end_state"] for line in lines)
    return {"episodes": len(lines), "requests": requests, "end_states": dict(sorted(ends.items()))}


@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
@pytest.mark.soak
def test_a_run_against_hostile_replies_is_summarised(tmp_path: Path, keep_figures: Keep) -> None:
    mapping = play(tmp_path, 60)
    assert mapping["episodes"] == 60
    keep_figures("hostile_endpoint_runs", mapping)

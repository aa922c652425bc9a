"""The page for people: who may see it, what it shows, and what is done there."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tape.budget import Budget, Cap, LedgerStore, Resources, Wanted, open_store
from tape.budget.contract import State
from tape.errors import ConfigError
from tape.gateway.approval import Desk
from tape.gateway.books import Day
from tape.gateway.http import people_token
from tape.gateway.ledgers import Ledgers
from tape.gateway.page import MOST_OF_CLIENT, GatewayPage, would_do
from tape.gateway.watching import WatchedCall
from tests.tape.gateway.busy import CONFIG, TOKENS, People, call, meanwhile, people_at, write_journal
from tests.tape.gateway.helpers import write_config
from tests.tape.gateway.over_http import requested
from tests.tape.gateway.test_approval import MODES, config, reply, talking

SCOPE = "acme/desk"
RAISE = {"act": "raise", "account": SCOPE, "resource": "usd", "period": "total", "amount": "$5", "why": "due today"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LedgerStore]:
    """A shared ledger in which the gateway pays, beside others."""
    ledger_store = open_store(f"file://{tmp_path}/org.ledger")
    for account, amount in (("acme", 1_000_000), (SCOPE, 50_000), ("acme#customer=42", 900_000), ("acme/other", 10)):
        ledger_store.set_cap(Cap(account, "usd", amount), "ann", "the beginning")
    yield ledger_store
    ledger_store.close()


@pytest.fixture
def people(tmp_path: Path, store: LedgerStore) -> Iterator[People]:
    shared = f'[ledger]\nurl = "file://{tmp_path}/org.ledger"\nscope = "{SCOPE}"\nlabels = {{ customer = "42" }}\n'
    with people_at(write_config(tmp_path, CONFIG + shared)) as result:
        yield result


# --- who may ------------------------------------------------------------------------------------


def test_the_file_tells_nothing_and_all_else_needs_the_token_for_people(people: People) -> None:
    status, headers, text = requested(people.address, "GET", "/")
    assert (status, headers.get_content_type()) == (200, "text/html")
    policy = headers["Content-Security-Policy"]
    assert all(rule in policy for rule in ("default-src 'none'", "frame-ancestors 'none'", "connect-src 'self'"))
    assert "unsafe" not in policy
    assert not any(word in text for word in ("research desk", "wipe", "innerHTML", people.token, *TOKENS.values()))
    for path, method in (("/state", "GET"), ("/state?question=x", "GET"), ("/act", "POST")):
        for token in ("", "Bearer wrong", *(f"Bearer {name}" for name in TOKENS.values())):
            assert requested(people.address, method, path, Authorization=token)[0] == 401, (path, token)
    right = f"Bearer {people.token}"
    assert requested(people.address, "POST", "/mcp", Authorization=right)[0] == 401  # who decides does not call
    assert requested(people.address, "GET", "/state", Authorization=right)[0] == 200
    assert (
        requested(people.address, "POST", "/")[0]
        == requested(people.address, "GET", "/act", Authorization=right)[0]
        == 405
    )


@pytest.mark.parametrize("path", ["/", "/state", "/act"])
def test_pages_of_other_sites_reach_nothing(people: People, path: str) -> None:
    right = f"Bearer {people.token}"
    assert requested(people.address, "GET", path, Host="evil.example", Authorization=right)[0] == 403
    assert requested(people.address, "POST", path, Origin="http://evil.example", Authorization=right)[0] == 403
    assert requested(people.address, "GET", path, Origin="null", Authorization=right)[0] == 403


def test_the_token_for_people_is_theirs_alone(people: People, tmp_path: Path) -> None:
    file = tmp_path / "gateway.people-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    log = (tmp_path / "gateway.log").read_text()  # no terminal, so that no file gets the token
    assert f"asks for the token in {file}" in log
    assert people.token not in log
    with pytest.raises(ConfigError, match="a client has the same token"):
        people_token(file, {"one": people.token})
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="others can read the token"):
        people_token(file, {})
    with pytest.raises(ConfigError, match="name another by --people-token-file"):
        people_token(tmp_path / "no folder" / "file", {})


# --- what is shown ------------------------------------------------------------------------------


def test_it_shows_what_is_left_what_is_refused_and_why(people: People) -> None:
    call(people.address, "ONE", "echo", text="x")
    call(people.address, "ONE", "dear", text="x")
    call(people.address, "TWO", "ech", text="x")
    state = people.until(lambda state: state["days"][-1]["calls"])
    run, *others = state["caps"]
    assert (run["of"], [bar["left_text"] for bar in run["bars"]]) == ("run", ["19,999 steps", "$59.99"])
    assert run["spent"] == ["2 pages"]
    assert [(item["of"], item["name"]) for item in others][:1] == [("client", "one")]
    assert [(item["tool"], item["why"], item["would_do"]) for item in state["refused"]] == [
        ("'ech'", "there is no tool 'ech'", "similar: echo"),
        ("dear", "$12 asked for, $8.99 of $9 left in the session", "a cap of $12.01 would do; what fits: echo"),
    ]
    assert state["days"][-1] == {
        "day": f"{datetime.now(UTC):%d %b}".lstrip("0"), "calls": 1, "refused": 2,
        "spent": {"pages": [2, "2 pages"], "usd": [10_000, "$0.01"]},
    }  # fmt: skip
    assert {item["account"]: item["left_text"] for item in state["shared"]["caps"]} == {
        "acme#customer=42": "$0.89", "acme": "$0.99", SCOPE: "$0.04",
    }  # fmt: skip


def test_a_flood_of_one_client_hides_nothing_of_another(people: People) -> None:
    call(people.address, "TWO", "ech")
    for _ in range(3 * MOST_OF_CLIENT):
        call(people.address, "ONE", "ech")
    rows = people.asks()[1]["refused"]
    assert [row["client"] for row in rows].count("one") == MOST_OF_CLIENT
    assert rows[-1]["client"] == "two"


def test_2_000_calls_are_shown_as_small_as_ten(tmp_path: Path) -> None:
    file = write_config(tmp_path, CONFIG)
    write_journal(file.with_suffix(".journal.jsonl"), 2_000)
    with people_at(file) as people:
        state = people.asks()[1]
    assert sum(day["calls"] for day in state["days"]) > 1_800
    assert len(json.dumps(state)) < 30_000


async def test_days_are_counted_once_whoever_writes_them(tmp_path: Path) -> None:
    def ledgers() -> Ledgers:
        return Ledgers(Budget(), {}, Budget(), tmp_path / "j")

    item, two = ledgers(), ledgers()
    cost, today = Resources({"steps": 1, "usd": 400}), datetime.now(UTC).date()
    states: list[tuple[Ledgers, State]] = [(item, "settled"), (two, "booked"), (two, "voided")]
    for result, state in states:
        charge = await result.begin("gateway/local/1", "look", cost)
        for _ in range(2):
            result.end(charge.id, Resources() if state == "voided" else cost, state)
    await item.note("gateway/local/1", "not a call" * 200)
    handle = await item.checkpoint("gateway/local/1")
    third = ledgers()
    for result in (item, two, third):
        assert result.read(lambda books: dict(books.days)) == {today: Day(2, cost + cost)}
        resumed = await result.resume("local", 1, handle)
        assert resumed is not None
        assert (len(resumed.calls), resumed.in_flight) == (3, [])
    for result in (item, two, third):
        result.close()


async def test_calls_come_and_go(tmp_path: Path) -> None:
    ledgers = Ledgers(Budget(), {}, Budget(), tmp_path / "j")
    limits = SimpleNamespace(name="x")
    gateway: Any = SimpleNamespace(ledgers=ledgers, watchers=[], config=SimpleNamespace(limits=limits))
    page = GatewayPage(gateway, Desk())
    calls = [
        WatchedCall("one", "gateway/one/1", "echo", "", worst=Resources({"usd": None}), id=str(n)) for n in range(12)
    ]
    for watched_call in calls:
        page.begun(watched_call)
    live = (await page.state())["live"]
    assert (live["count"], len(live["rows"]), live["rows"][0]["worst"]) == (12, MOST_OF_CLIENT, "unknown usd")
    for watched_call in calls:
        page.ended(watched_call, "settled", Resources())
    assert (await page.state())["live"] == {"rows": [], "count": 0}
    ledgers.close()


def test_what_is_not_declared_here_is_shown_as_it_comes() -> None:
    assert would_do({"cap_needed": 3, "resource": "spoons", "in_flight": 1}) == (
        "a cap of 3 spoons would do; 1 spoons are set aside by calls in flight"
    )


# --- what is done -------------------------------------------------------------------------------


def test_a_person_approves_for_a_client_that_cannot_ask(people: People, tmp_path: Path) -> None:
    assert "cannot ask its user" in call(people.address, "ONE", "wipe", path="/a")["structuredContent"]["message"]
    people.asks()  # from now on somebody is there
    with meanwhile(people.address, "ONE", "wipe", path="/a", a="x" * 900) as made:
        state = people.until(lambda state: state["waiting"]["count"])
        (item,) = state["waiting"]["rows"]
        assert (item["client"], item["tool"], item["worst"]) == ("one", "wipe", "$0.02")
        shown = people.asks(f"/state?question={item['id']}")[1]["shown"]
        assert shown.splitlines()[0] == 'path = "/a"'
        assert "x" * 900 in shown
        assert people.decide("approve", "wipe", "old files") == (200, {"done": "approved wipe for one"})
    assert made[0]["isError"] is False
    status, result = people.asks("/act", {"act": "refuse", "id": item["id"], "why": ""})
    assert (status, "does not wait any more" in result["error"]["message"]) == (409, True)
    assert people.asks(f"/state?question={item['id']}")[0] == 404
    with meanwhile(people.address, "TWO", "wipe", path="/b") as made:
        assert people.decide("refuse", "wipe", "the only copy")[0] == 200
    assert made[0]["structuredContent"]["message"] == (
        "wipe was not called: it is destructive, and a person did not allow it: the only copy"
    )
    assert [(entry["what"], entry["why"]) for entry in people.asks()[1]["acts"]] == [
        ("refused wipe for two", "the only copy"), ("approved wipe for one", "old files"),
    ]  # fmt: skip
    journal = [json.loads(line) for line in (tmp_path / "gateway.journal.jsonl").open()]
    names = [entry["name"] for entry in journal if entry.get("do") == "hold"]
    said = "note: page approved wipe for one: old files", "note: page refused wipe for two: the only copy"
    assert names == [said[0], "wipe", said[1]]


def test_a_person_raises_caps_and_resumes_what_is_paused(people: People, store: LedgerStore) -> None:
    assert people.asks("/act", RAISE) == (200, {"done": f"raised {SCOPE} by $5"})
    assert {balance.cap.account: balance.amount for balance in store.balances()}[SCOPE] == 5_050_000
    assert (store.notes()[0].who, store.notes()[0].why) == ("page", "due today")
    store.pause("acme", "breaker", "the same call again")
    (paused,) = people.asks()[1]["shared"]["pauses"]
    assert (paused["account"], paused["who"], paused["stopped"]) == ("acme", "breaker", False)
    assert people.asks("/act", {"act": "stop", "account": "acme", "why": "no"})[0] == 200
    assert people.asks()[1]["shared"]["pauses"][0]["stopped"] is True
    assert call(people.address, "ONE", "echo", text="x")["structuredContent"]["error"] == "paused"
    assert people.asks("/act", {"act": "resume", "account": "acme", "why": "seen"})[0] == 200
    assert call(people.address, "ONE", "echo", text="x")["isError"] is False
    store.pause(SCOPE, "ledger", "it does not fit", wanted=Wanted(SCOPE, "usd", "total", 6_000_000))
    assert people.asks()[1]["shared"]["pauses"][0]["wanted"] == "$6"
    assert people.asks("/act", {"act": "once", "account": SCOPE})[0] == 200
    assert {balance.cap.account: balance.left for balance in store.balances()}[SCOPE] == 6_000_000


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (RAISE | {"account": "acme/other"}, "not pay from"),
        (RAISE | {"period": "day"}, "no such cap"),
        (RAISE | {"amount": "much"}, "much"),
        (RAISE | {"amount": "0"}, "how much"),
        (RAISE | {"amount": "-1"}, "-1"),
        ({"act": "once", "account": SCOPE}, "not paused"),
        ({"act": "resume"}, "not pay from"),
        ({"act": "explode"}, "one of approve"),
        ({"act": "approve", "id": ["x"]}, "object of texts"),
        ([], "object of texts"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(people: People, act: Any, why: str) -> None:
    status, result = people.asks("/act", act)
    assert (status, why in result["error"]["message"]) == (409, True), result


@MODES
async def test_who_answers_first_decides(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's user or a person at the page: also where the client answers with its next request."""
    desk = Desk()
    monkeypatch.setattr("tape.gateway.approval.Desk", lambda: desk)
    answers: list[Any] = []

    def elicited(no: str, answer: Any) -> Any:
        """A user who sees the question while a person at the page answers."""
        (asked,) = desk.waiting()
        assert asked.shown == 'text = "x"'
        assert desk.answer(asked, no)
        assert not desk.answer(asked, "again")
        return answer

    class Answers(list[Any]):
        def __getitem__(self, place: Any) -> Any:
            return answers.pop(0)()

    async with talking(tmp_path, mode, Answers([0])) as (_, client, _):
        for no, answer, made in (
            ("", reply("cancel"), True),
            ("a person said no", reply("accept", approve=True), False),
            *([("", reply("decline"), False)] if mode == "auto" else []),
        ):
            answers.append(lambda no=no, answer=answer: elicited(no, answer))
            tool = await client.call_tool("drop", {"text": "x"})
            assert tool.is_error is not made, (no, answer)
            assert not desk.waiting()
        answers.append(lambda: reply("accept", approve=True))
        assert (await client.call_tool("drop", {"text": "x"})).is_error is False
        assert not desk.waiting()


async def test_nobody_waits_for_a_page_that_nobody_has_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    monkeypatch.setattr("tape.gateway.approval.Desk", lambda: desk)
    text = f"[gateway]\napprove_seconds = 0.05\n{config('drop')}"
    async with talking(tmp_path, "legacy", text=text) as (_, client, _):
        tool = await client.call_tool("drop", {"text": "x"})
        assert "cannot ask its user" in tool.structured_content["message"]
        desk.seen()
        tool = await client.call_tool("drop", {"text": "x"})
        assert "nobody at the page allowed it in time" in tool.structured_content["message"]
        tool = await client.call_tool("drop", {"text": "x" * 70_000})
        assert "longer than what the page shows" in tool.structured_content["message"]
    monkeypatch.setattr("tape.gateway.approval.ATTENDED_SECONDS", 0)
    assert not desk.attended

"""What happens at a cap: waiting, asking, breakers, warnings, and parts for sub-agents."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tape import BudgetExceededError, ConfigError, Guard, Resources
from tape.budget import Cap, LedgerError, PausedError, Rule, StorePayer, Wanted, Warned
from tape.budget import payer as module
from tape.budget.payer import calling
from tape.budget.rules import deliver
from tape.budget.stores.file import FileStore
from tests.tape.commandline import Tape

TEN = Resources({"usd": 10})


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    file_store = FileStore(tmp_path / "budget.ledger")
    file_store.set_cap(Cap("org", "usd", 25), "anna", "")
    return file_store


@contextmanager
def meanwhile(what: Callable[[], object]) -> Iterator[None]:
    """Another thread that does something soon."""
    thread = threading.Timer(0.2, what)
    thread.start()
    yield
    thread.join()


def until(what: Callable[[], object]) -> None:
    """Wait for something."""
    while not what():
        time.sleep(0.01)


def test_a_call_waits_as_its_rule_says(store: FileStore) -> None:
    payer = StorePayer(store, "org/team")
    store.set_rule(Rule("org", "wait", 60), "anna", "")
    first, _ = payer.reserve(TEN), payer.reserve(TEN)
    with meanwhile(lambda: payer.settle(first, Resources({"usd": 1}))):
        payer.release(payer.reserve(TEN))
    with pytest.raises(BudgetExceededError, match="do not fit into what org has left"):
        payer.reserve(Resources({"usd": 26}))  # no hold that ends would make room


def test_a_person_is_asked_raises_and_the_call_goes_on(store: FileStore) -> None:
    payer = StorePayer(store, "org/team")
    store.set_rule(Rule("org", "ask", 60), "anna", "")
    first = payer.reserve(Resources({"usd": 20}))

    def answer(once: bool) -> None:
        until(store.pauses)
        [pause] = store.pauses()
        assert (pause.account, pause.who, pause.wanted) == ("org/team", "ledger", Wanted("org", "usd", "total", 10))
        assert "$0.00001 do not fit into what org has left" in pause.why
        if not once:
            store.set_cap(Cap("org", "usd", 40), "anna", "more")
        store.resume("org/team", "anna", "", once=once)

    with meanwhile(lambda: answer(once=True)):
        payer.reserve(TEN)
    assert store.balances()[0].left == 0
    assert store.balances()[0].amount == 30
    with meanwhile(lambda: answer(once=False)):
        payer.reserve(TEN)
    assert (store.balances()[0].left, store.balances()[0].held) == (0, 40)
    stop = meanwhile(lambda: (until(store.pauses), store.pause("org", "anna", "enough", stopped=True)))
    with stop, pytest.raises(PausedError, match="org is stopped by anna: enough"):
        payer.reserve(TEN)
    payer.settle(first, Resources())


def test_nobody_answers_in_time(store: FileStore) -> None:
    payer = StorePayer(store, "org/team")
    store.set_rule(Rule("org", "ask", 1), "anna", "")
    with pytest.raises(
        PausedError, match=r"org/team is paused by ledger: .* see `tape ledger pauses` and resume org/team"
    ):
        payer.reserve(Resources({"usd": 26}))
    assert [pause.account for pause in store.pauses()] == ["org/team"]


def test_equal_calls_in_a_row_pause_the_scope(store: FileStore) -> None:
    store.set_rule(Rule("org", same=3), "anna", "")
    payer = StorePayer(store, "org/team")
    resources = Resources({"usd": 1})

    def call(name: str, arguments: str) -> None:
        with calling(name, arguments):
            payer.release(payer.reserve(resources))

    for arguments in ("x", "x", "y", "x", "x"):
        call("search", arguments)
    with pytest.raises(
        PausedError, match="paused by breaker: search was called 3 times in a row with the same arguments"
    ):
        call("search", "x")
    store.resume("org/team", "anna", "looked at it")
    for _ in range(2):
        call("search", "x")
    assert {hold.name for hold in store.history()} == {"search"}


def test_too_many_different_tools_pause_a_guard(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    store = FileStore(tmp_path / "budget.ledger")
    store.set_rule(Rule("org", tools=2), "anna", "")
    guard = Guard("10 steps", tools={name: {"usd": 0} for name in "abc"}, journal=url, scope="org/run")
    for name in "aab":
        with guard.tool(name, {"x": 1}) as call:
            call.answered("fine")
    with pytest.raises(BudgetExceededError, match="paused by breaker: 3 different tools were called"), guard.tool("c"):
        pass
    guard.close()


def test_a_webhook_and_the_log_are_told(store: FileStore, caplog: pytest.LogCaptureFixture) -> None:
    told: list[object] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook?key=secret"
    store.set_rule(Rule("org", warn=(50, 100), webhook=url), "anna", "")
    with caplog.at_level(logging.WARNING, "tape.budget"):
        payer = StorePayer(store, "org")
        payer.settle(payer.reserve(Resources({"usd": 20})), Resources({"usd": 13}))
        until(lambda: told)
        server.shutdown()
        server.server_close()
        assert told == [
            {"account": "org", "resource": "usd", "period": "total", "percent": 50, "taken": 20, "amount": 25}
        ]
        deliver(Warned("org", "usd", "total", 100, 20, 25, url))  # nobody is there any more
        until(lambda: "was not told" in caplog.text)
    assert "org has taken $0.00002 of $0.000025 (total): 50 %" in caplog.text
    assert "a call was refused" in caplog.text
    assert "secret" not in caplog.text


def test_a_part_is_held_above_and_what_is_left_comes_back(store: FileStore) -> None:
    store.set_cap(Cap("org", "calls", 9), "anna", "")
    top = StorePayer(store, "org/run", {"customer": "42"})

    def left() -> int:
        return store.read("org")[1].left

    with top.part(Resources({"usd": 20})) as part, part.part(Resources({"usd": 12})) as two:
        with two.part(Resources({"usd": 5})) as three:
            assert three.scope.count("/part:") == 3
            assert left() == 5
            hold = three.reserve(Resources({"usd": 4}))
            with pytest.raises(BudgetExceededError, match=r"part:\w+ has left: \$0.000001 of \$0.000005"):
                three.reserve(Resources({"usd": 2}))
            three.release(three.reserve(Resources({"calls": 9})))  # another kind counts above
            with pytest.raises(BudgetExceededError, match="10 calls do not fit into what org has left"):
                three.reserve(Resources({"calls": 10}))
            three.settle(hold, Resources({"usd": 3}))
            assert left() == 5  # of parts nothing counts above
        two.settle(two.reserve(Resources({"usd": 9})), Resources({"usd": 2}))
        open_hold = two.reserve(Resources({"usd": 1}))
    assert left() == 25 - 3 - 2 - 1  # what is still held below is spent above
    with pytest.raises(PausedError):
        two.reserve(Resources({"usd": 1}))
    two.settle(open_hold, Resources())
    assert left() == 19
    assert list(store.check()) == []
    with pytest.raises(ConfigError, match="a part is of known amounts"), top.part(Resources({"usd": None})):
        pass
    with pytest.raises(BudgetExceededError), top.part(Resources({"usd": 20})):
        pass


def test_the_command_line_makes_rules_and_pauses(tmp_path: Path, tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPE_LEDGER", f"file://{tmp_path}/budget.ledger")
    tape("ledger", "cap", "org", "$1")
    rule = ("rule", "org", "--at-limit", "ask", "--seconds", "60", "--warn", "50,100", "--same", "5", "--tools", "9")
    shown = tape("ledger", *rule)[1]
    assert "rule of org: ask, up to 60 s; warn at 50, 100 %; pause at 5 equal calls in a row; pause above 9" in shown
    assert "org/team is paused since" in tape("ledger", "pause", "org/team", "--why", "a look")[1]
    assert "org/team is stopped since" in tape("ledger", "stop", "org/team")[1]
    assert "org/team" not in tape("ledger", "resume", "org/team")[1]
    assert "resume org/team" in tape("ledger", "notes")[1]
    for words, says in (
        (("rule", "org", "--at-limit", "panic"), "is to refuse, wait or ask, not 'panic'"),
        (("rule", "org", "--at-limit", "ask"), "for how many seconds is a call of org to ask?"),
        (("rule", "org", "--warn", "half"), "--warn: 'half' is not a whole number from 1 to 100"),
        (("rule", "org", "--warn", "120"), "--warn: '120' is not a whole number from 1 to 100"),
        (("rule", "org", "--webhook", "file:///etc/passwd"), "a webhook is an address with http or https"),
        (("rule", "org", "--same", "-1"), "--same: '-1' is not a whole number from 0"),
        (("resume", "org"), "org is not paused; there is: none"),
    ):
        code, _, error = tape("ledger", *words)
        assert (code, says in error.splitlines()[-1]) == (2, True), error


def test_rules_are_read_anew(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    payer = StorePayer(store, "org")
    payer.release(payer.reserve(TEN))
    store.set_rule(Rule("org", same=1), "anna", "")
    with calling("search"):
        payer.release(payer.reserve(TEN))
        monkeypatch.setattr(module, "RULES_SECONDS", -1.0)
        with pytest.raises(PausedError):
            payer.reserve(TEN)
    with pytest.raises(LedgerError, match="is not paused"):
        store.resume("elsewhere", "anna", "")


def test_a_part_keeps_to_the_labels_of_its_payer(store: FileStore) -> None:
    store.set_cap(Cap("org#customer=42", "tokens", 1000), "anna", "")
    payer = StorePayer(store, "org/run", {"customer": "42"})
    with payer.part(Resources({"usd": 20})) as outer, outer.part(Resources({"usd": 10})) as part:
        assert part.left() == {"usd": 10, "tokens": 1000}
        elsewhere = StorePayer(store, part.scope)  # as another host makes it
        elsewhere.settle(elsewhere.reserve(Resources({"tokens": 900})), Resources({"tokens": 800}))
        with pytest.raises(BudgetExceededError, match="do not fit into what org#customer=42 has left: 200 tokens of"):
            part.reserve(Resources({"tokens": 201}))
        store.pause("org#customer=42", "anna", "", stopped=True)
        with pytest.raises(PausedError, match="org#customer=42 is stopped by anna"):
            part.reserve(Resources({"usd": 1}))
    assert list(store.check()) == []


def test_a_part_that_takes_more_than_its_worst_case_is_booked_in_full(store: FileStore) -> None:
    payer = StorePayer(store, "org/run")
    with payer.part(Resources({"usd": 10})) as part:
        part.settle(part.reserve(TEN), Resources({"usd": 14}))
    assert payer.left() == {"usd": 11}
    with pytest.raises(ConfigError, match="a scope is 1 to 8 names"), StorePayer(store, "a/b/c/d/e/f/g/h").part(TEN):
        pass
    stream = dropped(payer)
    next(stream)
    stream.close()
    assert store.balances()[0].held == 10  # until the payer is used again
    assert (payer.left(), store.balances()[0].held) == ({"usd": 11}, 0)  # nothing was spent in it


def dropped(payer: StorePayer) -> Iterator[None]:
    """A stream within a part, which is not read to its end."""
    with payer.part(TEN):
        yield


def test_in_an_event_loop_nothing_waits(store: FileStore) -> None:
    payer = StorePayer(store, "org/run")
    store.set_rule(Rule("org", "wait", 600), "anna", "")

    async def two() -> None:
        hold = payer.reserve(Resources({"usd": 20}))
        with pytest.raises(BudgetExceededError):
            payer.reserve(TEN)
        payer.release(hold)

    asyncio.run(two())


def test_fewer_tokens_are_no_second_call_and_parts_are_none(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "budget.ledger")
    store.set_rule(Rule("org", same=2), "anna", "")
    guard = Guard(
        "1000 tokens", models={"m": ("1", "2")}, least_tokens=10, journal=f"file://{store._file.path}", scope="org/run"
    )
    with guard.model("m", "x", 5000, fit=True) as call:
        call.used(50, 10)
    payer = StorePayer(store, "org/run")
    for _ in range(3):
        with payer.part(TEN):
            pass
    assert store.pauses() == []
    guard.close()


def test_in_a_part_nobody_is_asked(store: FileStore) -> None:
    store.set_rule(Rule("org", "ask", 600), "anna", "")
    with StorePayer(store, "org/run").part(TEN) as part, pytest.raises(BudgetExceededError, match="has left"):
        part.reserve(Resources({"usd": 11}))
    assert store.pauses() == []

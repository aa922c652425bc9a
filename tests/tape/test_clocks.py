"""Clocks that jump: the wall clock decides nothing; a leap of the monotonic one ends what waits, at its worst case."""

from __future__ import annotations

import asyncio
import os
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tape.adapters.operations import open_run
from tape.budget import Budget
from tape.budget.deadline import Deadline
from tape.cli import main
from tape.lm.hosted.wire import LONGEST_WAIT, retry_after
from tape.trace import FinishedEvent
from tests.tape.show.view_runs import episode, write_trace

DAY = 86_400.0


class Leaping:
    """The monotonic clock of this process, with leaps."""

    def __init__(self) -> None:
        self._clock = time.monotonic
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._clock() + self.ahead


@pytest.fixture
def monotonic(monkeypatch: pytest.MonkeyPatch) -> Leaping:
    """Leaps when a test sets it ahead; loops, deadlines and approvals read it."""
    result = Leaping()
    monkeypatch.setattr(time, "monotonic", result)
    return result


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock that is somewhere else at each look."""
    chance = Random(1)
    monkeypatch.setattr(time, "time", lambda: chance.uniform(-DAY, 4e9))
    monkeypatch.setattr(time, "time_ns", lambda: chance.randrange(4 * 10**18))


CONFIG = """[gateway]
call_seconds = 200
approve_seconds = 100
[budgets]
session = { usd = "$1" }
[python.echo]
function = "FUNCTIONS:echo"
price = { usd = "$0.01" }
[python.wait]
function = "FUNCTIONS:wait"
price = { usd = "$0.10" }
"""


def test_a_leap_ends_calls_in_flight_at_their_worst_case(tmp_path: Path, monotonic: Leaping, wall: None) -> None:
    pytest.importorskip("mcp")
    from tests.tape.gateway.helpers import call, functions, left, running, write_config

    async def body() -> None:
        async with running(write_config(tmp_path, CONFIG)) as gateway:
            waiting = asyncio.create_task(call(gateway, "wait"))
            await functions(gateway.config).begun.wait()
            for _ in range(5):
                assert not (await call(gateway, "echo", text="x"))["isError"]
            assert not waiting.done()  # the wall clock has moved by years
            monotonic.ahead += DAY
            assert (await waiting)["structuredContent"]["error"] == "unanswered"
            assert await left(gateway) == pytest.approx(1 - 0.10 - 0.05)
            assert not (await call(gateway, "echo", text="x"))["isError"]  # and life goes on

    asyncio.run(body())


@pytest.mark.parametrize(("leap", "allowed"), [(0, True), (99, True), (101, False), (1000 * DAY, False)])
def test_an_approval_is_too_late_by_the_monotonic_clock_alone(
    leap: float, allowed: bool, monotonic: Leaping, wall: None
) -> None:
    pytest.importorskip("mcp")
    from mcp_types import ElicitResult

    from tape.gateway.approval import Approvals, AskedError
    from tape.gateway.gateway import Caller

    capabilities = SimpleNamespace(elicitation=SimpleNamespace(form=None, url=None))
    session = SimpleNamespace(client_capabilities=capabilities, can_send_request=False)
    context: Any = SimpleNamespace(session=session)
    tool: Any = SimpleNamespace(name="wipe", origin="s")
    approvals = Approvals(100)

    async def ask(**params: Any) -> str:
        asked: Any = SimpleNamespace(**params)
        return await approvals.ask(context, asked, Caller("local", ""), tool, {"all": True}, {"usd": 1})

    async def body() -> str:
        with pytest.raises(AskedError) as asked:
            await ask(request_state=None, input_responses=None)
        monotonic.ahead += leap
        answer = {"approve": ElicitResult(action="accept", content={"approve": True})}
        return await ask(request_state=asked.value.result.request_state, input_responses=answer)

    assert asyncio.run(body()) == ("" if allowed else "the question was answered too late")


@pytest.mark.parametrize("leap", [0.0, 0.4, 0.5, DAY, 1e12, 1e300, -DAY])
def test_a_deadline_stays_a_time_whatever_its_clock_does(leap: float) -> None:
    now = [1e6]
    deadline = Deadline(Budget.of(wall_seconds="0.5")["wall_seconds"], lambda: now[0])
    now[0] += leap
    left = deadline.left()
    assert left is not None
    assert 0 < left <= 1e9
    assert deadline.overrun() >= 0
    if leap >= 0.5:
        assert "wall_seconds" in str(deadline.error())


NOW = "Mon, 23 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("date", "until", "seconds"),
    [
        (NOW, "Mon, 23 Nov 2026 10:00:30 GMT", 30.0),
        (NOW, "Mon, 23 Nov 2026 09:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:07 GMT", 7.0),
        (NOW, "Mon, 23 Nov 2099 10:00:00 GMT", LONGEST_WAIT),
        ("no date", "Thu, 01 Jan 1970 00:00:00 GMT", 0.0),  # then this machine's clock has to do
        (None, "Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_a_wait_until_a_date_is_counted_by_the_clock_that_wrote_it(
    date: str | None, until: str, seconds: float
) -> None:
    assert retry_after({"retry-after": until} | ({} if date is None else {"date": date})) == seconds


@pytest.mark.parametrize(
    ("seconds", "date"),
    [(0.0, 0), (1e9, 1_700_000_000), (1e15, 2**33), (1e300, -(10**9)), (-5.0, 2**33), (-1e300, 0)],
)
def test_a_run_with_impossible_times_can_be_exported(
    seconds: float, date: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *events, last = episode()
    assert isinstance(last, FinishedEvent)
    events.append(FinishedEvent(result=last.result | {"wall_seconds": seconds}))
    trace = write_trace(tmp_path / "one.jsonl", events)
    os.utime(trace, (date, date))
    for finished_episode in open_run(trace).episodes():
        assert all(0 <= first <= second < 2**63 for first, second in pairwise(finished_episode.times))
    pytest.importorskip("inspect_ai")
    assert main(["export", str(trace), "--to", "inspect", "--out", str(tmp_path / "log.eval")]) == 0
    assert "Traceback" not in capsys.readouterr().err

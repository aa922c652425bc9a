"""A run's budget: shared by workers, kept across interrupts and kills, and no part of any episode."""

import json
import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Cap, HoldRequest, Resources, open_store
from tape.errors import BudgetExceededError, ConfigError, RunDirectoryError, UnknownCostError
from tape.lm.base import Completion, LanguageModel, Request
from tape.lm.scripted import ScriptedLM
from tape.runner.directory import RunDirectory
from tape.runner.play import Pool, WorkerError
from tape.runner.processes import Processes
from tape.runner.run_ledger import RunLedger, spent_in
from tape.runner.runner import Runner, Watcher
from tape.runner.workers import InProcess
from tests.tape.runner.test_workers import SCRIPT, comparable, configuration, scripted


def run(
    folder: Path, out: Path, pool: Pool, budget: str = "", watcher: Watcher | None = None, **changes: Any
) -> Runner:
    runner = Runner(
        [configuration(folder, "fine", **changes)], RunDirectory(out), pool, watcher, run_budget=Budget.parse(budget)
    )
    runner.run()
    return runner


def tokens(out: Path) -> list[int]:
    return [line["result"]["used"]["tokens"] for line in RunDirectory(out).episodes()]


def spent(out: Path) -> Resources:
    return spent_in(out / "run-ledger.jsonl")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The run without a budget of its own."""
    run(tmp_path, tmp_path / "whole", InProcess(scripted))
    assert len(tokens(tmp_path / "whole")) == 6
    assert not (tmp_path / "whole" / "run-ledger.jsonl").exists()
    return tmp_path / "whole"


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exhausted_run_resumes_with_a_larger_budget(tmp_path: Path, whole: Path, workers: int) -> None:
    # The tokens that a call may need at most are many more than those it needs.
    enough, out = sum(tokens(whole)) + 400, tmp_path / "run"
    with InProcess(scripted) if workers == 1 else Processes(workers, scripted) as pool:
        first = run(tmp_path, out, pool, f"tokens={enough // 2}")
        assert first.exhausted is not None
        assert (first.exhausted.kind, first.exhausted.ledger) == ("tokens", "run")
        assert first.spent is not None
        assert sum(tokens(out)) <= first.spent["tokens"] <= enough // 2
        done = len(tokens(out))
        assert done < 6
        again = run(tmp_path, out, pool, f"tokens={enough // 2}")
        assert again.exhausted is not None, "what was spent before counts"
        assert sum(tokens(out)) <= enough // 2
        if workers == 1:  # two at a time reserve side by side, and one alone may still fit
            assert len(tokens(out)) == done
        last = run(tmp_path, out, pool, f"tokens={10 * enough}")
    assert last.exhausted is None
    assert comparable(out) == comparable(whole), "a run's budget is no part of its episodes"
    assert last.spent == spent(out)


def test_a_run_that_begins_without_a_budget_counts_its_episodes_later(tmp_path: Path, whole: Path) -> None:
    lines = (whole / "episodes.jsonl").read_text().splitlines(keepends=True)
    (whole / "episodes.jsonl").write_text("".join(lines[:4]))
    refused = run(tmp_path, whole, InProcess(scripted), f"tokens={sum(tokens(whole))}")
    assert refused.exhausted is not None
    assert refused.spent == Resources({k: sum(json.loads(x)["result"]["used"][k] for x in lines[:4]) for k in KINDS})
    free = run(tmp_path, whole, InProcess(scripted))
    assert free.exhausted is None
    assert free.spent is not None, "once there is a ledger it is kept"
    assert len(tokens(whole)) == 6


KINDS = ("calls", "steps", "tokens")


def test_an_interrupt_does_not_lose_what_was_spent(tmp_path: Path) -> None:
    calls = 0

    class Interrupted(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise KeyboardInterrupt
            return await super().generate(requests)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, tmp_path / "run", InProcess(lambda _: Interrupted([SCRIPT])), "calls=100")
    [first, second] = tokens(tmp_path / "run")
    # Two calls of the first batch; two more were reserved when the interrupt came.
    assert spent(tmp_path / "run")["calls"] in (2, 4)
    assert (spent(tmp_path / "run")["tokens"] or 0) >= first + second


def deadly(name: str, mark: Path) -> LanguageModel:
    """Dies in its second call, in the middle of a batch."""

    class Deadly(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            if self.requests and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return await super().generate(requests)

    return Deadly([SCRIPT])


def test_what_a_killed_worker_had_reserved_is_charged(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    opener = partial(deadly, mark=tmp_path / "mark")
    with Processes(1, opener) as pool:
        with pytest.raises(WorkerError, match="signal 9"):
            run(tmp_path, out, pool, "calls=100,tokens=100000")
        assert len(tokens(out)) == 2
        after_kill = spent(out)
        assert after_kill["calls"] == 4, "two calls were made, two may have been"
        assert (after_kill["tokens"] or 0) > 2 * sum(tokens(out))
        last = run(tmp_path, out, pool, "calls=100,tokens=100000")
    assert last.spent is not None
    assert last.spent["calls"] == 4 + 4
    assert comparable(out) == comparable(whole)


def test_a_run_cannot_be_capped_in_wall_seconds(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="wall_seconds is a deadline of single episodes"):
        run(tmp_path, tmp_path / "run", InProcess(scripted), "wall_seconds=3")
    assert not (tmp_path / "run").exists()


def test_the_display_gets_what_is_left(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    watcher = Watcher(drained=lambda left, caps: shown.append((left["steps"], caps["steps"])))
    run(tmp_path, tmp_path / "run", InProcess(scripted), "steps=100", watcher)
    assert sorted({left for left, _ in shown}, reverse=True) == [left for left, _ in shown]
    assert (shown[0], shown[-1][0]) == ((100, 100), 100 - 18)


# Its ledger


def settled(run: RunLedger, worst: Resources, actual: Resources) -> None:
    run.payer.settle(run.payer.reserve(worst), actual)


def test_what_was_left_open_counts_in_full(tmp_path: Path) -> None:
    file = tmp_path / "j"
    run = RunLedger(file, Budget(), Resources({"usd": 5}))
    settled(run, Resources({"usd": 10, "tokens": 1}), Resources({"usd": 7}))
    run.payer.release(run.payer.reserve(Resources({"usd": 20})))
    assert run.spent() == Resources({"usd": 12})
    run.payer.reserve(Resources({"usd": 30, "tokens": 1}))
    # Killed here; a torn line was never acted on.
    file.write_bytes(file.read_bytes() + b'{"do": "end", "at')
    again = RunLedger(file, Budget({"usd": 50}), Resources({"usd": 1_000_000}))
    assert again.spent() == Resources({"usd": 42, "tokens": 1})
    with pytest.raises(BudgetExceededError, match=r"do not fit into what run has left: \$0.000008 of \$0.00005"):
        again.payer.reserve(Resources({"usd": 9}))
    settled(again, Resources({"usd": 8}), Resources({"usd": 8}))
    assert spent_in(file) == Resources({"usd": 50, "tokens": 1})
    assert RunLedger(file, Budget({"usd": 20}), Resources()).left() == {"usd": 0}


def test_a_run_that_goes_on_begins_with_a_small_file(tmp_path: Path) -> None:
    run = RunLedger(tmp_path / "j", Budget(), Resources())
    for _ in range(20):
        settled(run, Resources({"usd": 2}), Resources({"usd": 1}))
    again = RunLedger(tmp_path / "j", Budget(), Resources())
    assert again.spent() == Resources({"usd": 20})
    assert len((tmp_path / "j").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "text", ["", "nonsense\n", '{"schema": 2, "spent": {}}\n', '{"schema": 1, "what": "ledger"}\n{"a": 1}\n']
)
def test_a_malformed_ledger_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "j").write_text(text)
    with pytest.raises(RunDirectoryError, match=r"j(:\d: no line of a ledger| is no ledger| is empty)"):
        RunLedger(tmp_path / "j", Budget(), Resources())
    assert [path.name for path in tmp_path.iterdir()] == ["j"]


def test_unknown_spending_under_a_new_cap_is_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        run = RunLedger(tmp_path / "j", Budget(), Resources())
        settled(run, Resources({"usd": None, "tokens": None}), Resources({"usd": None, "tokens": 3}))
    assert run.spent() == Resources({"usd": None, "tokens": 6})
    RunLedger(tmp_path / "j", Budget({"tokens": 5}), Resources())
    with pytest.raises(UnknownCostError, match="how much usd was spent before is unknown"):
        RunLedger(tmp_path / "j", Budget({"usd": 5}), Resources())


def test_what_others_share_is_asked_after_the_run(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/org.ledger"
    store = open_store(url)
    store.set_cap(Cap("org", "tokens", 10), "anna", "")
    run = RunLedger(tmp_path / "j", Budget({"tokens": 8}), Resources(), (url, "org/study"))
    with pytest.raises(BudgetExceededError, match="what run has left"):
        run.payer.reserve(Resources({"tokens": 9}))
    settled(run, Resources({"tokens": 6}), Resources({"tokens": 3}))
    store.reserve(HoldRequest("other", "org", {"tokens": 3}))
    with pytest.raises(BudgetExceededError, match="what org has left"):
        run.payer.reserve(Resources({"tokens": 5}))
    assert (run.left(), run.spent()) == ({"tokens": 5}, Resources({"tokens": 3}))
    with pytest.raises(UnknownCostError, match="under the cap of run"):
        run.payer.reserve(Resources({"tokens": None}))
    assert [(hold.scope, dict(hold.spent)) for hold in store.history("org/study")] == [("org/study", {"tokens": 3})]

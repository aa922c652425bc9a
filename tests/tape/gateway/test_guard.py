"""A guard: model and tool calls of one program under one budget."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, amount_of
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tape.gateway.errors import ChargeError, JournalError
from tape.gateway.guard import OVERHEAD_TOKENS, Guard

TOOLS = {
    "quick": {"price": {"usd": "$0.01"}, "quality": 0.6, "kind": "search"},
    "deep": {"price": {"usd": "$0.05"}, "quality": 0.9, "kind": "search"},
    "pages": {"each": {"usd": "$0.01"}, "per": "argument", "argument": "n", "at_most": 3},
    "metered": {"worst": {"usd": "$0.10"}, "reported": "cost"},
}
MODELS = {"m": ("1", "2")}


def usd(guard: Guard) -> Decimal:
    return amount_of("usd", guard.ledger.used["usd"] or 0)


def test_tools_are_paid_for_before_they_are_called() -> None:
    guard = Guard("usd=0.06, steps=3", tools=TOOLS)
    with guard.tool("deep", {"q": "x"}) as charge:
        assert guard.ledger.reserved["usd"] == 50_000
        charge.answered("found")
    assert usd(guard) == Decimal("0.05")
    with pytest.raises(BudgetExceededError) as refused, guard.tool("deep"):
        pytest.fail("called")
    said = guard.refusal(refused.value, "deep")
    assert "deep was not called" in said
    assert 'What would fit: quick ({"steps": 1, "usd": 0.01})' in said
    with guard.tool("quick") as charge:
        charge.answered()
    assert guard.left()["left"] == {"steps": 1, "usd": 0}


def test_what_is_reported_counts_and_what_is_not_is_the_worst_case() -> None:
    guard = Guard("usd=1", tools=TOOLS)
    with guard.tool("metered") as charge:
        charge.answered(structured={"cost": "0.02"})
    assert usd(guard) == Decimal("0.02")
    with guard.tool("metered") as charge:
        charge.answered("no report")
    assert usd(guard) == Decimal("0.12")
    with pytest.raises(ZeroDivisionError), guard.tool("metered"):
        raise ZeroDivisionError
    assert usd(guard) == Decimal("0.22")
    with guard.tool("quick") as charge:
        charge.answered()
        with pytest.raises(ConfigError, match="settled already"):
            charge.answered()
    with pytest.raises(ChargeError, match="at most 3"), guard.tool("pages", {"n": 4}):
        pytest.fail("called")
    with pytest.raises(UnknownCostError, match="declare it"), guard.tool("nobody knows"):
        pytest.fail("called")
    assert guard.ledger.overspent() == ()


def test_models_are_paid_for_by_the_bytes_of_the_prompt_and_their_limit() -> None:
    guard = Guard("usd=1, tokens=1000, calls=2", models=MODELS, most_tokens=50)
    with guard.model("m", "x" * 100) as charge:
        assert charge.most_tokens == 50
        assert guard.ledger.reserved["tokens"] == 100 + OVERHEAD_TOKENS + 50
        charge.used(30, 20)
    assert dict(guard.ledger.used) == {"calls": 1, "tokens": 50, "usd": 70}
    with guard.model("m", [{"role": "user", "content": "ä"}], most_tokens=7) as charge:
        charge.used(None, 3)
    assert guard.ledger.used["tokens"] == 50 + len('[{"role": "user", "content": "ä"}]'.encode()) + OVERHEAD_TOKENS + 7
    with pytest.raises(BudgetExceededError, match="calls"), guard.model("m", ""):
        pytest.fail("called")
    rough = Guard("tokens=3000", bytes_per_token=3)
    with rough.model("m", b"1234"):
        assert rough.ledger.reserved["tokens"] == 2 + OVERHEAD_TOKENS + 1024
    with pytest.raises(ConfigError, match="most_tokens=0"), rough.model("m", "", most_tokens=0):
        pytest.fail("called")


def test_prices_of_models_are_looked_up() -> None:
    from tape.lm.price_table import PriceTable

    name = next(iter(PriceTable.shipped().prices))
    for said in (name, name.partition(":")[2]):
        with Guard("usd=1").model(said, "hello", 10) as charge:
            assert charge.worst["usd"]
    with pytest.raises(UnknownCostError), Guard("usd=1").model("unheard-of", "hello"):
        pytest.fail("called")
    with Guard("tokens=2000").model("unheard-of", "hello") as charge:
        charge.used(1, 1)


def test_nested_guards_keep_their_own_caps_and_the_outer_ones() -> None:
    outer = Guard("usd=0.07", tools=TOOLS)
    inner = outer.within("usd=0.05", name="helper")
    with inner.tool("deep") as charge:
        charge.answered()
    with pytest.raises(BudgetExceededError, match="helper"), inner.tool("quick"):
        pytest.fail("called")
    with pytest.raises(BudgetExceededError, match="guard"), outer.within(Budget()).tool("deep"):
        pytest.fail("called")
    assert usd(outer) == usd(inner) == Decimal("0.05")


def test_plans_are_those_of_the_gateway() -> None:
    guard = Guard("usd=0.06", tools=TOOLS)
    found = guard.plan(tools=["search", "search"])
    assert sorted(step["tool"] for step in found["plan"]) == ["deep", "quick"]
    assert found["cost_at_most"]["usd"] == 0.06
    assert not guard.plan(tools=["search"] * 7)["fits"]
    with pytest.raises(ConfigError, match="no tool or kind"):
        guard.plan(tools=["nothing"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tools": {"a": {"usd": "-1"}}}, "tools.a"),
        ({"tools": {"a": {"price": {"usd": 1}, "cost": 2}}}, "tools.a.cost"),
        ({"tools": {"a": {"quality": 2}}}, "tools.a.quality"),
        ({"tools": {"a": {"kind": 2}}}, "tools.a.kind"),
        ({"models": {"a": "free"}}, "models.a"),
        ({"models": {"a": ("1", "-2")}}, "models.a"),
        ({"most_tokens": 0}, "most_tokens"),
        ({"bytes_per_token": 0}, "bytes_per_token"),
    ],
)
def test_what_is_malformed_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Guard("usd=1", **arguments)


def test_threads_and_tasks_never_overspend_together() -> None:
    guard = Guard("steps=20", tools={"t": {"usd": 0}})
    made = []

    def work() -> None:
        for _ in range(10):
            try:
                with guard.tool("t") as charge:
                    made.append(1)
                    charge.answered()
            except BudgetExceededError:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 20

    async def cancelled() -> None:
        fresh = Guard("usd=0.05", tools=TOOLS)

        async def call() -> None:
            with fresh.tool("deep"):
                await asyncio.sleep(3600)

        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert usd(fresh) == Decimal("0.05")

    asyncio.run(cancelled())


def test_a_journal_outlives_the_program(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = f"""
import os
from tape.gateway.guard import Guard
guard = Guard("usd=0.12", tools={TOOLS!r}, journal={str(path)!r})
with guard.tool("quick") as charge:
    charge.answered()
with guard.tool("deep"):
    os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    guard = Guard("usd=0.12", tools=TOOLS, journal=path)
    assert usd(guard) == Decimal("0.01")
    assert guard.left()["left"] == {"usd": 0.06}  # what was in flight stays reserved
    with guard.tool("deep") as charge:
        charge.answered()
    guard.close()
    with pytest.raises(JournalError, match="closed"), guard.tool("quick"):
        pytest.fail("called")
    assert Guard("usd=0.12", tools=TOOLS, journal=path).left()["left"] == {"usd": 0.01}
    with pytest.raises(BudgetExceededError), Guard("usd=0.05", tools=TOOLS, journal=path).tool("quick"):
        pytest.fail("called")


def test_programs_with_one_journal_share_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = f"""
from tape.errors import BudgetExceededError
from tape.gateway.guard import Guard
guard, made = Guard("steps=50", tools={{"t": {{"usd": 0}}}}, journal={str(path)!r}), 0
try:
    while True:
        with guard.tool("t") as charge:
            made += 1
            charge.answered()
except BudgetExceededError:
    print(made)
"""
    programs = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    made = [int(one.communicate()[0]) for one in programs]
    assert sum(made) == 50
    one, other = (Guard("usd=0.06", tools=TOOLS, journal=tmp_path / "two") for _ in range(2))
    with one.tool("deep") as charge:
        assert other.left()["left"] == {"usd": 0.01}
        charge.answered()
    with one.within("usd=0.01").tool("quick") as charge:
        charge.answered()
    assert other.left()["spent_in_session"] == {"steps": 2, "usd": 0.06}


def test_a_journal_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    guard = Guard("usd=1", tools=TOOLS, journal=path)
    with guard.tool("quick") as charge:
        charge.answered()
    with path.open("ab") as file:
        file.write(b'{"reserve": 2, "na')
    Guard("usd=1", journal=path)
    with guard.tool("quick") as charge:  # what was torn is cut off
        charge.answered()
    assert usd(Guard("usd=1", tools=TOOLS, journal=path)) == Decimal("0.02")
    with path.open("ab") as file:
        file.write(b"nonsense\n")
    for use in (guard.left, lambda: Guard("usd=1", journal=path)):
        with pytest.raises(JournalError, match=r"run\.jsonl:6: no line"):
            use()
    other = tmp_path / "other.jsonl"
    other.write_text('{"schema": 1, "what": "gateway"}\n')
    with pytest.raises(JournalError, match="not the journal of a guard"):
        Guard("usd=1", journal=other)
    with pytest.raises(JournalError, match="cannot be opened"):
        Guard("usd=1", journal=tmp_path)
    gone = tmp_path / "gone.jsonl"
    guard = Guard("usd=1", tools=TOOLS, journal=gone)
    gone.unlink()
    with pytest.raises(JournalError, match="removed or replaced"), guard.tool("quick"):
        pytest.fail("called")
    shared = tmp_path / "tokens.jsonl"
    with Guard("tokens=2000", journal=shared).model("unheard-of", ""):
        pass
    with pytest.raises(JournalError, match=r"tokens\.jsonl:2: .*lift the cap on usd, or name another"):
        Guard("usd=1", journal=shared)


@given(st.lists(st.tuples(st.sampled_from([*TOOLS, *MODELS]), st.integers(0, 200)), max_size=30))
def test_nothing_is_ever_overspent(calls: list[tuple[str, int]]) -> None:
    guard = Guard("usd=0.30, tokens=2000", tools=TOOLS, models=MODELS, most_tokens=100)
    for name, number in calls:
        try:
            if name == "m":
                with guard.model(name, "x" * number) as model:
                    if number % 3:
                        model.used(number, number % 101)
            else:
                with guard.tool(name, {"n": number}) as tool:
                    if number % 3:
                        tool.answered(structured={"cost": number % 11 / 100})
        except (BudgetExceededError, ChargeError):
            pass
        assert usd(guard) <= Decimal("0.30")
        assert (guard.ledger.used["tokens"] or 0) <= 2000
        assert not any(guard.ledger.reserved.values())

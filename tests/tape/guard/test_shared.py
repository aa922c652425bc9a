"""What several programs spend of one guard's budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tape.budget import LedgerError
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.guard import Guard
from tests.tape.gateway.helpers import paid, refused
from tests.tape.guard.test_guard import TOOLS

IMPORTS = """
import os
from tape.errors import BudgetExceededError, TapeError
from tape.guard.guard import Guard
"""


def run(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", IMPORTS + program], stdout=subprocess.PIPE)


def test_a_journal_outlives_the_program(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = f"""
guard = Guard("usd=0.12", tools={TOOLS!r}, journal={str(path)!r})
with guard.tool("quick") as charge:
    charge.answered()
with guard.tool("deep"):
    os._exit(9)
"""
    assert run(program).wait() == 9
    guard = Guard("usd=0.12", tools=TOOLS, journal=path)
    assert guard.left()["spent_in_session"] == {"usd": 0.01}
    assert guard.left()["left"] == {"usd": 0.06}  # what was in flight stays reserved
    paid(guard.tool("deep"))
    guard.close()
    refused(guard.tool("quick"), LedgerError, "closed")
    assert Guard("usd=0.12", tools=TOOLS, journal=path).left()["left"] == {"usd": 0.01}
    refused(Guard("usd=0.12", tools=TOOLS, journal=path).tool("metered"), BudgetExceededError)
    with pytest.raises(ConfigError, match=r"caps guard at \$0.12, and this budget says \$0.05; change it"):
        Guard("usd=0.05", journal=path)


def test_a_journal_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    guard = Guard("usd=1", tools=TOOLS, journal=path)
    paid(guard.tool("quick"))
    with path.open("ab") as file:
        file.write(b'{"reserve": 2, "na')
    Guard("usd=1", journal=path)
    with guard.tool("quick") as charge:  # what was torn is cut off
        charge.answered()
    assert Guard("usd=1", tools=TOOLS, journal=path).left()["spent_in_session"] == {"usd": 0.02}
    with path.open("ab") as file:
        file.write(b"nonsense\n")
    for use in (guard.left, guard.left, lambda: Guard("usd=1", journal=path)):
        with pytest.raises(LedgerError, match=r"run\.jsonl:7: no line"):
            use()
    path.write_text('{"schema": 1, "what": "run"}\n')
    with pytest.raises(LedgerError, match="not a ledger of schema 1"):
        Guard("usd=1", journal=path)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Guard("usd=1", journal=tmp_path)
    path.unlink()
    guard = Guard("tokens=2000", tools=TOOLS, journal=path)
    path.unlink()
    refused(guard.tool("quick"), LedgerError, "removed or replaced")


@pytest.mark.parametrize("journal", [False, True])
def test_a_fork_does_not_spend_the_budget_again(tmp_path: Path, journal: bool) -> None:
    path = tmp_path / "run.jsonl"
    program = f"""
guard = Guard("steps=2", tools={{"t": {{"usd": 0}}}}, journal={str(path) if journal else None!r})
with guard.tool("t") as charge:
    if not os.fork():
        try:
            charge.answered()  # of a call that is the other's
        except TapeError as error:
            assert "fork" in str(error)
        try:
            with guard.tool("t"):
                os._exit(1)
        except TapeError as error:
            os._exit(7 if "forked" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
    charge.answered()
"""
    assert run(program).wait() == 0
    if journal:
        assert Guard("steps=2", journal=path).left()["left"] == {"steps": 1}


def test_an_interrupt_while_a_line_is_written_does_not_break_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, lines = tmp_path / "run.jsonl", os.write, [0]
    guard, other = (Guard("usd=0.06", tools=TOOLS, journal=path) for _ in range(2))

    def interrupted(file: int, line: bytes) -> int:
        written = write(file, line)
        lines[0] += 1
        if lines[0] in {2, 3}:
            raise KeyboardInterrupt
        return written

    monkeypatch.setattr(os, "write", interrupted)
    for _ in range(2):  # at a settlement, and at a reservation
        with pytest.raises(KeyboardInterrupt), guard.tool("quick") as charge:
            charge.answered()
    paid(guard.tool("quick"))
    assert other.left()["left"] == guard.left()["left"] == {"usd": 0.04}


def test_what_others_hold_is_not_left(tmp_path: Path) -> None:
    guard, other = (Guard("usd=0.10", tools=TOOLS, journal=tmp_path / "j") for _ in range(2))
    with guard.within("usd=0.5").tool("metered") as charge:
        assert other.left()["left"] == {"usd": 0}
        assert not other.plan(tools=["quick"])["fits"]
        charge.answered(structured={"cost": 0.01})
    assert other.left()["left"] == {"usd": 0.09}
    assert other.left()["spent_in_session"] == {"usd": 0.01}
    assert other.plan(tools=["quick"])["fits"]


def test_a_cap_that_would_not_count_earlier_calls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    paid(Guard("usd=0.10", tools=TOOLS, journal=path).tool("quick"))
    with pytest.raises(ConfigError, match="calls of guard were made without a cap on steps, which a new one would not"):
        Guard("usd=0.10, steps=1", tools=TOOLS, journal=path)


def test_a_guard_that_cannot_write_what_was_taken_says_so_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard("usd=0.10", tools=TOOLS, journal=tmp_path / "j")
    with guard.tool("quick") as charge:
        monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "the disk is full")))
        charge.answered()
    with pytest.raises(LedgerError, match="what 1 calls of guard took cannot be written now"):
        guard.close()

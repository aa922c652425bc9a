"""What the lines of a ledger show: random schedules pass, and any change of a linked line is found."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from tape.budget import Cap, HoldRequest, LedgerError
from tape.budget.stores.chain import unlinked
from tape.budget.stores.file import FileStore
from tape.budget.verify import verify
from tests.figures import record
from tests.tape.budget.stores.lockstep import BEGIN, Steps, answer
from tests.tape.budget.stores.server import Server
from tests.tape.commandline import Tape


def schedule(path: Path, seed: int, count: int, *, chain: bool = True) -> list[str]:
    """The lines of a file after random requests."""
    steps = Steps(seed)
    store = FileStore(path, lambda: steps.at, chain=chain)
    store.warned = lambda _: None  # type: ignore[method-assign,assignment]
    for _ in range(count):
        step = steps.draw()
        steps.answered(answer(store, step))
    store.close()
    return path.read_text().splitlines()


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 1000), marks=pytest.mark.soak)])
def test_what_a_file_has_decided_is_decided_again(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        lines = schedule(tmp_path / f"{seed}.ledger", seed, 150, chain=seed % 2 == 0)
        result = verify(lines)
        assert result.wrong == [], seed
        assert result.lines == len(lines) - 1
        assert result.holds == sum('"do": "hold"' in line for line in lines)
        assert result.unlinked == (0 if seed % 2 == 0 else result.lines)
    record("ledger_verify", "schedules on a file", schedules=len(seeds), wrong=0)


def corrupted(lines: Sequence[str], rng: random.Random) -> list[str]:
    """The lines with one that is changed, removed, written twice, or put elsewhere; the head stays."""
    lines = list(lines)
    place = rng.randrange(1, len(lines) - 1)
    match rng.randrange(4):
        case 0:
            text = lines[place]
            at = rng.choice([n for n, letter in enumerate(text) if letter.isalnum()])
            other = rng.choice([letter for letter in "0123456789abcdef" if letter != text[at]])
            lines[place] = text[:at] + other + text[at + 1 :]
        case 1:
            del lines[place]
        case 2:
            lines.insert(place, lines[place])
        case _:
            lines[place], lines[place + 1] = lines[place + 1], lines[place]
    return lines


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_any_change_of_linked_lines_is_found(count: int, tmp_path: Path) -> None:
    lines, rng = schedule(tmp_path / "budget.ledger", 4, 60), random.Random(4)
    for _ in range(count):
        assert verify(corrupted(lines, rng)).wrong
    record("ledger_verify", "changed files", changed=count, not_found=0)


def test_missing_last_lines_show_beside_an_anchor_alone(tmp_path: Path) -> None:
    lines = schedule(tmp_path / "budget.ledger", 5, 40)
    anchors = [*verify(lines).ends.items()]
    assert verify(lines, anchors).wrong == []
    assert verify(lines[:-1]).wrong == []
    [wrong] = verify(lines[:-1], anchors).wrong
    assert "lines are missing" in wrong


AT = "2026-01-01T00:00:00+00:00"
LATER = "2026-01-01T01:00:00+00:00"
HOLD = {"do": "hold", "at": AT, "id": "b", "scope": "org/team", "labels": {}, "name": "a call", "worst": {"usd": 95},
        "expires": LATER, "free": False, "part": ""}  # fmt: skip
CAP = {"do": "cap", "at": AT, "account": "org", "resource": "usd", "period": "total", "who": "anna", "why": ""}
END = {"do": "end", "at": AT, "id": "a", "state": "settled", "spent": {"usd": 10}}


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([HOLD], "line 4: it did not fit: org had 90 usd left of 100"),
        ([END, END], "line 5: the hold 'a' ends twice"),
        ([END, HOLD], "line 5: it did not fit"),
        ([{"do": "grow", "at": AT, "id": "a", "worst": {"usd": 101}}], "line 4: it did not fit"),
        ([{**END, "id": "x"}], "there is no hold 'x'"),
        ([{**END, "at": "yesterday"}], "line 4: "),
        ([{"do": "fly", "at": AT}], "there is no record 'fly'"),
        ([{**HOLD, "worst": {"usd": None}}], "it did not fit"),
        ([{**HOLD, "what": "ledger"}], "line 4: no line of a ledger (it is a head, or names no root)"),
        ([{**HOLD, "root": "ghost"}], "line 4: no line of a ledger (it is a head, or names no root)"),
        ([{"do": "grow", "at": AT, "id": "a", "worst": {"usd": 10, "steps": -5}}], "-5"),
        ([{"do": "grow", "at": AT, "id": "a", "worst": {"usd": None}}], "it only grows"),
        ([END, {**END, "do": "final", "at": LATER, "provisional": True}], "ends twice"),
        ([END, {**END, "do": "book", "provisional": True, "spent": {}}], "ends twice"),
        ([{**END, "do": "final", "provisional": False}], "has not ended"),
        ([END, {"do": "finish", "at": AT, "effect": "k", "provisional": True}], "does not end again"),
        ([{**CAP, "amount": 5}], "a cap of $0.000005 on org per total is below"),
    ],
)
def test_what_could_not_be_decided_is_named(records: list[dict[str, object]], why: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    store = FileStore(path, lambda: datetime.fromisoformat(AT))
    store.set_cap(Cap("org", "usd", 100), "anna", "the beginning")
    store.reserve(HoldRequest("a", "org", {"usd": 10}))
    store.close()
    [wrong] = verify([*path.read_text().splitlines(), *map(json.dumps, records)]).wrong
    assert why in wrong


def test_what_was_spent_above_a_cap_is_a_debt_with_its_cause(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    store = FileStore(path, lambda: BEGIN)
    store.set_cap(Cap("org", "usd", 100), "anna", "the beginning")
    store.reserve(HoldRequest("a", "org", {"usd": 10}, name="search"))
    store.settle("a", {"usd": 30})
    store.close()
    [debt] = verify(path.read_text().splitlines()).debts
    assert debt.startswith("org usd total: $0.00002 by the hold a (search), which took more")


def test_an_export_is_of_the_roots_that_it_names() -> None:
    lines = [{**CAP, "amount": 100, "root": "org"}, {**HOLD, "root": "org"}]
    assert verify(map(json.dumps, lines)).wrong == []
    [wrong] = verify(map(json.dumps, [lines[0], {**HOLD, "root": "ghost"}])).wrong
    assert "line 2 of ghost: it is of 'org/team', which has lines of its own" in wrong
    [wrong] = verify(map(json.dumps, [*lines, {**HOLD, "scope": "ghost", "root": "ghost"}])).wrong
    assert "the hold 'b' is of org already" in wrong
    [wrong] = verify(map(json.dumps, [CAP])).wrong
    assert "line 1: no line of a ledger" in wrong


def test_a_part_ends_with_what_was_spent_in_it() -> None:
    part = {**HOLD, "id": "p", "scope": "org", "worst": {"usd": 50}, "part": "org/part:p"}
    within = {**HOLD, "scope": "org/part:p", "worst": {"usd": 50}}
    spent = [{**END, "id": "b", "spent": {"usd": 50}}, {**END, "id": "p", "spent": {"usd": 10}}]
    lines = [{**CAP, "amount": 100}, part, within, *spent]
    [wrong] = verify(json.dumps({**line, "root": "org"}) for line in lines).wrong
    assert "the part org/part:p ends with less usd than was spent in it" in wrong


def test_every_line_of_a_chain_is_linked(tmp_path: Path) -> None:
    lines = schedule(tmp_path / "budget.ledger", 6, 20)
    bare = [lines[0], *(unlinked(line)[0] for line in lines[1:])]
    assert "its hash is not that" in verify(bare).wrong[0]
    assert "its hash is not that" in verify([*lines, unlinked(lines[1])[0]]).wrong[0]


def test_lines_that_were_changed_are_not_read_by_a_store(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    lines = schedule(path, 6, 20)
    path.write_text("\n".join(corrupted(lines, random.Random(1))) + "\n")
    with pytest.raises(LedgerError, match="it was changed, or lines before it were"):
        FileStore(path)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 100), marks=pytest.mark.soak)])
def test_what_a_database_has_decided_is_decided_again(seeds: range, server: Server) -> None:
    pytest.importorskip("psycopg")
    from tape.budget.stores.postgres import PostgresStore

    for seed in seeds:
        url = server.database(f"chain{seed}")
        PostgresStore.create(url, chain=True)
        steps = Steps(seed)
        store = PostgresStore(url, steps.at)
        store.warned = lambda _: None  # type: ignore[method-assign,assignment]
        for _ in range(150):
            step = steps.draw()
            store.at = steps.at
            steps.answered(answer(store, step))
        holds = store.history(most=10**6)  # what has expired has ended then
        lines = store.chain()
        store.close()
        result = verify(lines)
        assert (result.wrong, result.unlinked, result.holds) == ([], 0, len(holds)), seed
        assert result.open == sum(hold.state == "held" for hold in holds)
        rng = random.Random(seed)
        for _ in range(30):
            assert verify(["{}", *corrupted(["", *lines], rng)[1:]]).wrong
    record(
        "ledger_verify", "schedules on PostgreSQL", schedules=len(seeds), wrong=0, changed=30 * len(seeds), not_found=0
    )


def test_the_command_makes_exports_and_verifies(tmp_path: Path, tape: Tape) -> None:
    path, export = tmp_path / "budget.ledger", tmp_path / "export.jsonl"
    url = f"file://{path}"
    tape("ledger", "--url", url, "init", "--chain")
    tape("ledger", "--url", url, "cap", "org", "$1")
    export.write_text(tape("ledger", "--url", url, "export", "--chain").out)
    shown = tape("ledger", "verify", str(export)).out
    assert "verified: 1 changes; 0 holds" in shown
    anchor = shown.partition("anchor: ")[2].split()[0]
    assert tape("ledger", "verify", url, "--anchor", anchor).code == 0
    export.write_text(export.read_text().replace("1000000", "9000000"))
    changed = tape("ledger", "verify", str(export))
    assert (changed.code, "was changed" in changed.err) == (1, True)
    assert "only a new file" in tape("ledger", "--url", f"file://{plain(tmp_path)}", "init", "--chain").err


def plain(folder: Path) -> Path:
    """A ledger whose lines are not linked."""
    path = folder / "plain.ledger"
    FileStore(path).close()
    return path

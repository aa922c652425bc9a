"""Real processes get SIGKILL amid their runs, and others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.effects.campaign import EffectReceiver, Totals
from experiments.effects.kill import TapeCampaign, ask

Record = Callable[[str, object], None]


def require_promises(totals: Totals, record: Record) -> None:
    """What is promised, whatever was killed."""
    for name, value in totals.items():
        record(name, value)
    broken = ("made twice", "lost", "stuck runs", "over their cap", "wrong sums")
    assert {name: totals[name] for name in broken if totals.get(name)} == {}
    assert totals["spent"] == totals["booked"] == totals["effects"] * 10_000


@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.soak)])
def test_workers_on_a_file_are_killed(kills: int, tmp_path: Path, record_property: Record) -> None:
    store = f"file://{tmp_path}/budget.ledger"
    require_promises(TapeCampaign(store, kills, kills, tmp_path, at_once=min(kills, 12)).run(), record_property)


@pytest.mark.soak
def test_workers_on_a_database_are_killed(database: str, tmp_path: Path, record_property: Record) -> None:
    require_promises(TapeCampaign(database, 200, 1, tmp_path).run(), record_property)


def test_a_receiver_counts_by_what_it_knows() -> None:
    receiver = EffectReceiver()
    call = {"run": "r", "to": "ann"}
    for attempt in (1, 2):
        for kind in ("plain", "idempotent"):
            told = ask(f"{receiver.url}/make", **call, kind=kind, key=kind, attempt=attempt)
            assert told == {"made": True, "refused": False}
    assert not ask(f"{receiver.url}/made", **call, kind="outcome", attempt=2)["made"]
    assert ask(f"{receiver.url}/make", **call, kind="outcome", key="outcome", attempt=1)["refused"]
    assert receiver.made == {("r", "plain", "ann"): 2, ("r", "idempotent", "ann"): 1}
    receiver.close()

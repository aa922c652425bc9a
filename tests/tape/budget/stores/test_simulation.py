"""The file under faults drawn from seeds; a seed that fails is named, and plays the same again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tape.budget.stores.simulation import Simulation

STEPS = 30


SOAK = [range(first, first + 1000) for first in range(1000, 101_000, 1000)]


@pytest.mark.parametrize("seeds", [range(30), *(pytest.param(seeds, marks=pytest.mark.soak) for seeds in SOAK)])
def test_no_schedule_breaks_a_promise(seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        try:
            Simulation(seed, tmp_path / "budget.ledger", monkeypatch.setattr).run(STEPS)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise

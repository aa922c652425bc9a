"""The study of search agents: what it plays, a tiny run with a scripted policy, and its tables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from experiments.harness.cli import play
from experiments.harness.document import Table
from experiments.harness.matrix import Identified, Options, split
from experiments.harness.published import check, publish
from experiments.harness.standard import sections_of
from experiments.studies.cgdp import memory
from experiments.studies.cgdp.methods import HARNESSES
from tape.methods.cgdp.settings import CgdpSettings
from tape.runner.workers import InProcess
from tape.statistics import holm
from tests.tape.methods.cgdp.policy import scripted_policy

pytest.importorskip("bm25s")
POLICY = "scripted policy"


def options(limit: int = 1) -> Options:
    return Options(seeds=1, models=(POLICY,), limit=limit, identify=lambda _: Identified("scripted policy 0", "chat"))


def test_every_condition_of_every_harness_is_played_in_every_window() -> None:
    configurations = memory.configurations("dev", options(), domains=("locomo",))
    names = {split(configuration.name)[2] for configuration in configurations}
    assert {name.split(", ")[0] for name in names} == {*HARNESSES.values()}
    assert len(names) == 3 * 4 + 3 + 2, "Iter-RetGen has no newest observation, CGDP a belief alone"
    assert {CgdpSettings.of(configuration.spec.config).context_tokens for configuration in configurations} == {
        256,
        None,
    }
    assert all("own corpus" in configuration.name for configuration in configurations)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_conditions_are_compared_and_published(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    made = partial(memory.configurations, "dev", domains=("locomo",), harnesses=("ircot",), windows=(340, None))
    experiment = replace(memory.EXPERIMENT, configurations=made)
    with InProcess(lambda _: scripted_policy(0)) as pool:
        measured = play(experiment, options(2), tmp_path / "run", pool, quiet=True, listed=tmp_path / "list.json")
    publish(experiment, measured, tmp_path / "results")
    assert check(tmp_path / "results") == []
    blocks_by_title = {
        section.title: block
        for section in sections_of(experiment, measured)
        for block in section.blocks
        if isinstance(block, Table)
    }
    rows = blocks_by_title["All domains together"].rows
    assert len(rows) == 2 * 6  # windows, pairs of conditions
    assert {row[0] for row in rows} == {"window 340", "no window"}
    assert {row[4] for row in rows} == {"2"}
    assert len(blocks_by_title["Conditions (tables 3, 10, 14)"].rows) == 2 * 4


@pytest.mark.parametrize(
    ("ps", "corrected"), [((), ()), ((0.5, 0.6), (1.0, 1.0)), ((0.04, 0.001, 0.02, 0.03), (0.06, 0.004, 0.06, 0.06))]
)
def test_holm_by_hand(ps: tuple[float, ...], corrected: tuple[float, ...]) -> None:
    assert holm(ps) == pytest.approx(corrected)

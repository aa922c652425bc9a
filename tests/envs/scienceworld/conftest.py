"""Recorded games in the place of the simulator."""

from collections.abc import Iterator

import pytest

from envs.scienceworld import environment, gold
from tests.envs.scienceworld.recorded import RecordedGame


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(environment, "Game", RecordedGame)
    monkeypatch.setattr(gold, "Game", RecordedGame)
    # A recorded game has no tree of objects.
    monkeypatch.setattr(environment.ScienceWorldEnvironment, "truth", lambda env, target: None)
    gold.gold_path.cache_clear()
    yield
    gold.gold_path.cache_clear()

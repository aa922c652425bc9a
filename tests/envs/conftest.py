"""Recorded games of ScienceWorld in the place of its simulator."""

from collections.abc import Iterator

import pytest

from tests.tape.conftest import keep_figures

__all__ = ["keep_figures"]


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Games are replayed: most tests need no Java."""
    from envs.scienceworld import environment, gold
    from tests.envs.scienceworld.recorded import RecordedGame

    monkeypatch.setattr(environment, "ScienceGame", RecordedGame)
    monkeypatch.setattr(gold, "ScienceGame", RecordedGame)
    # A recorded game has no tree of objects.
    monkeypatch.setattr(environment.ScienceWorldEnvironment, "truth", lambda env, target: None)
    gold.gold_path.cache_clear()
    yield
    gold.gold_path.cache_clear()

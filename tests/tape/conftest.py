"""What tests of the engine share."""

from __future__ import annotations

import pytest

from tests.tape.deadlines import TimeUp


@pytest.fixture
def time_up(monkeypatch: pytest.MonkeyPatch) -> TimeUp:
    """The episodes of this test have deadlines that pass when this is called."""
    found = TimeUp()
    monkeypatch.setattr("tape.agents.base.Deadline", found.deadline)
    return found

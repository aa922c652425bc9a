"""What tests of the engine share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tape import redaction
from tests.tape.deadlines import TimeUp


@pytest.fixture
def time_up(monkeypatch: pytest.MonkeyPatch) -> TimeUp:
    """The episodes of this test have deadlines that pass when this is called."""
    found = TimeUp()
    monkeypatch.setattr("tape.agents.base.Deadline", found.deadline)
    return found


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No secret is hidden yet, and what the test hides is not hidden after it."""
    monkeypatch.setattr(redaction, "_known", {})
    monkeypatch.setattr(redaction, "_hidden", ())
    make = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(make)

"""What tests of the engine share."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tape import redaction
from tests.tape import commandline
from tests.tape.deadlines import TimeUp

tape = commandline.tape

Keep = Callable[[str, Mapping[str, object]], None]


@pytest.fixture
def time_up(monkeypatch: pytest.MonkeyPatch) -> TimeUp:
    """The episodes of this test have deadlines that pass when this is called."""
    result = TimeUp()
    monkeypatch.setattr("tape.agents.base.Deadline", result.deadline)
    return result


@pytest.fixture
def nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No secret is hidden yet, and what the test hides is not hidden after it."""
    monkeypatch.setattr(redaction, "_known", {})
    monkeypatch.setattr(redaction, "_hidden", ())
    make = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(make)


@pytest.fixture
def keep_figures(record_property: Callable[[str, object], None]) -> Keep:
    """Puts the figures of a sweep into the report, and into a file of the folder that TAPE_SOAK_RESULTS names."""

    def keep(name: str, figures: Mapping[str, object]) -> None:
        for figure, value in figures.items():
            record_property(figure, value if isinstance(value, int | float) else json.dumps(value, sort_keys=True))
        if folder := os.environ.get("TAPE_SOAK_RESULTS"):
            text = json.dumps(figures, indent=1, sort_keys=True)
            (Path(folder) / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    return keep

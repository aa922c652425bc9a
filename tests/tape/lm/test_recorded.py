"""Recorded replies are said again; a prompt that was not recorded is an error that names its task."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tape.errors import ModelError
from tape.lm.base import Message, Request
from tape.lm.recorded import RecordedLM
from tape.lm.scripted import ScriptedLM


def asked(task: str, n: int = 1) -> Request:
    return Request((Message("user", f"def f(): ...\nTask: {task}\nEnd"),), max_tokens=9, n=n)


def test_what_was_recorded_is_said_again_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "replies.json"
    file.write_text("{}")
    monkeypatch.setattr(RecordedLM, "asks", ScriptedLM(["one", "two"]))
    asyncio.run(RecordedLM(file).generate([asked("count", 2)]))
    monkeypatch.setattr(RecordedLM, "asks", None)
    [completion] = asyncio.run(RecordedLM(file).generate([asked("count", 2)]))
    assert completion.texts == ("one", "two")
    for other in (asked("count"), asked("weigh", 2)):
        with pytest.raises(ModelError, match=r"no reply to this prompt is recorded \(Task: (count|weigh)\)"):
            asyncio.run(RecordedLM(file).generate([other]))


def test_a_file_that_is_no_recording_says_how_to_make_one(tmp_path: Path) -> None:
    file = tmp_path / "replies.json"
    file.write_text("[]")
    with pytest.raises(ModelError, match="record replies with"):
        RecordedLM(file)

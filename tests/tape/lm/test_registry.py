"""Models by their names: what was meant; and recorded replies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tape.errors import ModelError, UnknownNameError
from tape.lm.base import Message, Request
from tape.lm.recorded import RecordedLM
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM


def test_what_was_meant_is_suggested(tmp_path: Path) -> None:
    meant = {"mini": "bundled:mini", "smollm": "smollm2", "some/model.Q4_1.gguf": "gguf:some/model.Q4_1.gguf"}
    for name, suggested in {**meant, str(tmp_path): f"hf:{tmp_path}"}.items():
        with pytest.raises(UnknownNameError, match=f"Did you mean '{suggested}'"):
            open_model(name)
    with pytest.raises(UnknownNameError, match="there is no model 'quite-another'") as caught:
        open_model("quite-another")
    assert "Did you mean" not in str(caught.value), "nothing near is no guess"


def test_a_checkpoint_that_is_none_says_why(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such folder"):
        open_model(f"hf:{tmp_path / 'nowhere'}")
    with pytest.raises(ModelError, match=r"name it gguf:model\.gguf"):
        open_model("hf:model.gguf")


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

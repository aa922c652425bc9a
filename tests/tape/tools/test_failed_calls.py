"""A tool that raises shows: in the result, its sentence, the log and the next prompt."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tape import TapeAgent
from tape.agents.react import ReactAgent
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment, tool

PLAN = 'seen = look(place="home")\nanswer(seen)'


@tool(usd=0)
def look(place: str) -> str:
    """Look at a place."""
    raise ValueError(f"{place} is dark")


def test_a_call_that_failed_is_in_result_detail_log_and_the_next_prompt(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedLM([PLAN] * 40)
    with caplog.at_level(logging.DEBUG, logger="tape"):
        result = TapeAgent(model, ablations={"extend": 0}, scorer="declared").run(
            ToolEnvironment("Look.", [look], budget="3 steps")
        )
    [failed] = result.failed_calls
    assert (failed.call, dict(failed.arguments)) == ('look(place="home")', {"place": "home"})
    assert (failed.error, failed.traceback) == ("ValueError: home is dark", "")
    assert not result.success
    assert result.detail.endswith('1 call failed: look(place="home"): ValueError: home is dark')
    levels = {(record.name, record.levelname) for record in caplog.records}
    assert levels >= {("tape.tools", "WARNING"), ("tape.engine", "INFO"), ("tape.lm", "DEBUG")}
    assert "home is dark" in str(model.requests[-1].prompt)


def test_tracebacks_are_kept_where_they_are_asked_for_and_files_hold_them(tmp_path: Path) -> None:
    env = ToolEnvironment("Look.", [look], budget="2 steps", tracebacks=True)
    result = ReactAgent(ScriptedLM(['look(place="home")'] * 8)).run(env, trace=tmp_path / "t.jsonl")
    assert 'raise ValueError(f"{place} is dark")' in result.failed_calls[0].traceback
    assert EpisodeResult.model_validate_json(result.model_dump_json()).failed_calls == result.failed_calls
    assert not {"failed_calls", "unproven"} & EpisodeResult(end_state="success", success=True).model_dump().keys()

"""Results as people and programs get them: amounts, plan, explanation, tables and pictures."""

from __future__ import annotations

import base64
import builtins
import copy
import json
import pickle
import re
import sys
import types
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.errors import TraceError
from tape.protocols import FailedCall
from tape.protocols.result import EpisodeResult
from tape.trace import FinishedEvent, PathSelectedEvent, read_trace
from tests.tape.agents.cleaning import CAPS, Cleaning, obedient
from tests.tape.commandline import Tape, Terminal
from tests.tape.show.view_runs import REFUSED, episode, refused_episode

DROPPED = 'drop(table="t")'


def played(trace: Path | None = None, agent: Any = TapeAgent) -> EpisodeResult:
    """A real episode of a scripted model, in which dropping a table is refused."""
    world = Cleaning()
    playing = agent(obedient(), horizon=9)
    result: EpisodeResult = playing.run(world.environment(), budget=CAPS, approve=lambda _: False, trace=trace)
    return result


def of(events: list[Any]) -> EpisodeResult:
    """The result of an episode made by hand."""
    last = events[-1]
    assert isinstance(last, FinishedEvent)
    result = EpisodeResult.model_validate(last.result)
    result.keep(events)
    return result


def image(html: str) -> str:
    """The picture in a notebook's output."""
    [data] = re.findall(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', html)
    return base64.b64decode(data).decode()


def test_a_result_explains_itself_as_the_commands_do(
    tmp_path: Path, tape: Tape, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.jsonl"
    result = played(file)
    assert result.events == tuple(read_trace(file))
    chosen = [event.actions for event in result.events if isinstance(event, PathSelectedEvent) and event.actions]
    assert result.plan == tuple(chosen[-1])
    assert f"run.jsonl\n{result.why()}\n" == tape("why", file).out
    assert f"{DROPPED} was refused where it was to be approved" in " ".join(result.why().split())
    replayed = tape("show", file, "--no-pictures").out
    result.show()
    shown = capsys.readouterr().out
    assert shown.startswith(replayed)
    assert shown[len(replayed) :].startswith("\nplan graph of round ")
    assert result.plan[0] in shown[len(replayed) :]


def test_amounts_are_in_units_and_equal_results_stay_equal() -> None:
    result = EpisodeResult(
        end_state="failure", success=False, used={"usd": 5_000, "steps": None, "tokens": 17}, wall_seconds=1.25,
        budget={"usd": 8_000, "steps": 6, "wall_seconds": 1_000, "calls": 3}, measures={"f1": float("nan")},
        failed_calls=[FailedCall("look()", {}, "KeyError: 'x'")], answer={"a": {1}},
    )  # fmt: skip
    assert result.left == {"usd": Decimal("0.003"), "steps": None, "wall_seconds": Decimal("-0.25"), "calls": 3}
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["spent"] == {"calls": 0, "steps": None, "tokens": 17, "usd": 0.005, "wall_seconds": 1.25}
    assert told["left"] == {"calls": 3, "steps": None, "usd": 0.003, "wall_seconds": -0.25}
    assert told["budget"] == {"calls": 3, "steps": 6, "usd": 0.008, "wall_seconds": 1}
    assert (told["plan"], told["measures"], told["answer"]) == (None, {"f1": None}, "{'a': {1}}")
    assert (told["failed_calls"][0]["error"], told["end_state"], told["success"]) == ("KeyError: 'x'", "failure", False)
    full = of(episode())
    read = EpisodeResult.model_validate(full.model_dump(mode="json"))
    assert read == full == copy.deepcopy(full) == pickle.loads(pickle.dumps(full))
    assert full.to_dict() == {**read.to_dict(), "plan": ["ask a person"]}
    assert full.to_dict()["failed_calls"] == []


def test_a_result_from_a_file_names_the_command_that_reads_the_trace() -> None:
    read = EpisodeResult.model_validate(played().model_dump(mode="json"))
    assert read.events is None
    for asked in (lambda: read.plan, read.why, read.show):
        with pytest.raises(TraceError, match=r"read from a file and holds no events; `tape why TRACE`"):
            asked()
    assert "<img" not in read._repr_html_()
    assert repr(read).startswith("end ")


def test_a_terminal_gets_a_table_and_a_drawing(capsys: pytest.CaptureFixture[str]) -> None:
    result = of(refused_episode())
    assert repr(result) == str(result) == (
        "end    success\nsteps  2 of 6 steps, 4 steps left\nusd    $0.001 of $0.008, $0.007 left\nplan   guess"
    )  # fmt: skip
    out = Terminal()
    Console(file=out, width=90, color_system=None).print(result)
    drawn = [line.rstrip() for line in out.getvalue().splitlines()]
    assert drawn[:4] == repr(result).splitlines()
    assert drawn[4:] == [
        "",
        "plan graph of round 2: 3 states, 2 actions; after 1 step: path by labelling, OPTIMAL",
        "1 >  guess         1 step          to 0.20 goal",
        "  |  ask a person  1 step, $0.004  to 0.80 goal  refused",
    ]
    result.show()
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()][-2:] == drawn[-2:]
    assert "plan graph" not in played(agent=ReactAgent).why()


EVIL = "</td><script>alert(1)</script>\x1b[31m\ud800\u202e &amp; ' \""


def test_nothing_in_a_table_or_a_picture_is_markup() -> None:
    events = [event for event in episode() if not isinstance(event, FinishedEvent)]
    result = of([*events, episode()[-1].model_copy(update={"result": {**episode()[-1].model_dump()["result"],
                 "answer": EVIL, "detail": EVIL, "actions": [EVIL]}})])  # fmt: skip
    html = result._repr_html_()
    html.encode()
    assert html.count("&lt;/td&gt;&lt;script&gt;alert(1)") == 3
    assert not re.search(r"<script|\x1b|\u202e|\ud800", html)
    assert ElementTree.fromstring(image(html)).tag == "{http://www.w3.org/2000/svg}svg"
    assert not set(repr(result)) & {"\x1b", "\u202e", "\ud800"}
    assert "✗ refused" in image(of(refused_episode())._repr_html_())
    stopped = of(refused_episode("stopped"))._repr_html_()
    assert f">{REFUSED}</text>" in image(stopped)
    assert "✗ refused" not in image(stopped)


def test_a_notebook_shows_the_picture(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class ZMQInteractiveShell:
        """What Jupyter's kernels call their shell; rich goes by the name."""

    shown: list[str] = []
    notebook: Any = types.ModuleType("IPython.display")
    notebook.HTML, notebook.display = str, shown.append
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    result = of(refused_episode())
    result.show()
    [html] = shown
    assert image(html) == image(result._repr_html_())
    assert "plan graph of" not in capsys.readouterr().out

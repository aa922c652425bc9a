"""Grounds with kept replies: a server is asked once, and all is played again without it. The model here is scripted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.evidence import __main__ as replay
from experiments.evidence import publish, tables
from experiments.evidence.grounds import GROUNDS, between
from experiments.evidence.play import Played, line, main, play
from experiments.evidence.replies import Replies, StaleError, pack, unpack
from experiments.evidence.rows import RIVALS
from tape.budget import Budget
from tape.errors import ConfigError
from tests.tape.lm.endpoint import Endpoint

pytest.importorskip("openai")

PROGRAM = 'film = [f for f in films() if f["title"] == "Snow Line"][0]\nanswer(film["minutes"])'
BY_HAND = 'Thought: I look.\nAction: {"answer": {"minutes": 142}}'
OWN = GROUNDS["own_tools"]


def said(body: dict[str, Any]) -> list[str]:
    """A program where one is asked for, else a reply of ReAct written by hand."""
    text = BY_HAND if "Action:" in body["messages"][0]["content"] else PROGRAM
    return [text] * body.get("n", 1)


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """The first question of the cinema, played by TAPE+, ReAct written by hand and TAPE+ without folding."""
    with Endpoint(said) as server:
        asked = ["--server", server.url, "--out", str(tmp_path)]
        rows = ["TAPE+", "ReAct by hand", "TAPE+ without folding"]
        assert main(["own_tools", "--tasks", "1-1", "--rows", *rows, *asked]) == 0
        asked_for = len(server.bodies)
        (tmp_path / "own_tools" / "results.jsonl").unlink()
        assert main(["own_tools", "--tasks", "1-1", "--rows", *rows, *asked]) == 0
        assert len(server.bodies) == asked_for == 2, "what was asked once is kept, the arm asks nothing of its own"
    return tmp_path / "own_tools"


def test_a_question_is_played_and_judged(played: Path) -> None:
    rows = [json.loads(line) for line in (played / "results.jsonl").read_text().splitlines()]
    assert [(row["row"], row["right"], row["unasked"]) for row in rows] == [
        ("TAPE+", True, 0), ("ReAct by hand", True, 0), ("TAPE+ without folding", True, 0),
    ]  # fmt: skip
    assert rows[0]["fits"]
    assert 0 < rows[0]["worth"] <= 1
    assert line("TAPE+", "own", rows).startswith("TAPE+: 1 of 1 right, 100% (21% to 100%)")


def test_committed_replies_play_the_table_again(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results"
    for module in (tables, publish, replay):
        monkeypatch.setattr(module, "FOLDER", folder)
    monkeypatch.setattr(publish.register, "FILE", tmp_path / "register.json")
    tables.rows.cache_clear()
    assert publish.main(["own_tools", "--out", str(tmp_path), "--commit", "c0ffee"]) == 0
    [entry] = json.loads((tmp_path / "register.json").read_text())
    assert (entry["sets"], entry["levels"]) == (["own_tools-test"], 1)
    assert replay.main(["own_tools"]) == 0
    assert "| own | TAPE+ | 100% (21% to 100%) | 1 |" in capsys.readouterr().out

    file = folder / "own_tools.json"
    file.write_text(file.read_text().replace('"tokens": ', '"tokens": 1', 1))
    tables.rows.cache_clear()
    assert replay.main(["own_tools"]) == 1
    assert "own: TAPE+: 0 stale, 1 other than committed" in capsys.readouterr().out
    file.write_text(file.read_text().replace('"task": "cinema minutes"', '"task": "cinema films"'))
    tables.rows.cache_clear()
    assert replay.main(["own_tools"]) == 1
    assert "own: TAPE+: 1 stale, 0 other than committed" in capsys.readouterr().out
    tables.rows.cache_clear()


def test_a_new_prompt_has_no_reply(played: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.xz"
    assert pack(played / "replies.sqlite", packed) == 2
    unpack(packed, tmp_path / "again.sqlite")
    replies = Replies(tmp_path / "again.sqlite", None)
    first, second = OWN.trials()[:2]
    for row in ("TAPE+", *RIVALS):
        with pytest.raises(StaleError, match="it has changed"):
            play(Played(row, second.id, "own", 0), OWN, second, replies, tmp_path / "trace")
    assert play(Played("TAPE+", first.id, "own", 0), OWN, first, replies, tmp_path / "trace")["right"]
    replies.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["desk", "--tasks", "all"], "--tasks is like 1-20, got 'all'"),
        (["desk", "--tasks", "900-901"], "desk has 100 tasks, none of them in 900-901"),
        (["desk", "--tasks", "1-2", "--caps", "tight"], "desk has no caps 'tight'; it has: own"),
        (["desk", "--tasks", "1-2", "--rows", "pydantic-ai"], "play own_tools alone"),
    ],
)
def test_what_cannot_be_played_is_said(
    given: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*given, "--out", str(tmp_path)])
    assert why in capsys.readouterr().err


def test_without_a_server_what_is_not_kept_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["own_tools", "--tasks", "1-1", "--out", str(tmp_path)]) == 1
    assert "it has changed; name a server" in capsys.readouterr().err


def test_an_episode_that_the_server_broke_off_is_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Endpoint(said, refuse=lambda body: "no such model", status=404) as server:
        assert main(["own_tools", "--tasks", "1-1", "--server", server.url, "--out", str(tmp_path)]) == 1
    assert "the server has not answered" in capsys.readouterr().err
    assert not (tmp_path / "own_tools" / "results.jsonl").exists()


def test_caps_between_two() -> None:
    made = between(Budget({"usd": 300, "steps": 3}), Budget({"usd": 600, "steps": 9}))
    assert [dict(caps) for caps in made.values()] == [
        {"steps": 5, "usd": 400}, {"steps": 7, "usd": 500}, {"steps": 11, "usd": 700},
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["desk", "trips", "own_tools"])
def test_a_ground_has_its_test_part(name: str) -> None:
    ground = GROUNDS[name]
    trials = ground.trials()
    assert len({trial.id for trial in trials}) == len(trials) > ground.test[1] - ground.test[0]
    assert all({*ground.caps} <= trial.caps.keys() for trial in trials)
    environment, _ = trials[ground.test[0] - 1].make()
    assert environment.domain.task_text()


COMMITTED = [name for name in GROUNDS if (tables.FOLDER / f"{name}.json").is_file()]


@pytest.mark.soak
def test_all_committed_episodes_come_out_as_they_are_committed() -> None:
    assert replay.main([]) == 0


@pytest.mark.parametrize("name", COMMITTED)
def test_a_task_of_each_row_comes_out_as_it_is_committed(name: str, tmp_path: Path) -> None:
    """A changed prompt has no committed reply: then its rows are sampled anew, or the page says so."""
    ground = GROUNDS[name]
    try:
        trials = {trial.id: trial for trial in ground.trials()}
    except ConfigError as error:
        pytest.skip(str(error))
    unpack(tables.FOLDER / f"{name}.replies.xz", tmp_path / "replies.sqlite")
    replies = Replies(tmp_path / "replies.sqlite", None)
    for episodes in tables.groups(name).values():
        row = episodes[0]
        played = Played(row["row"], row["task"], row["caps"], row["draw"])
        assert play(played, ground, trials[row["task"]], replies, tmp_path / "trace") == row
    replies.close()

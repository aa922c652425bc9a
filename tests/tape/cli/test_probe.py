"""``tape probe`` and ``tape run --auto-roles`` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.sokoban.xsb import write
from tape.analysis.audit import audit
from tape.cli import main
from tape.cli.probe import dollars
from tape.lm.bundled import sizes
from tape.runner.directory import RunDirectory
from tests.tape.helpers import CORRIDOR, ROOM


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def levels(tmp_path: Path) -> list[str]:
    path = tmp_path / "levels.xsb"
    write(path, [CORRIDOR, ROOM])
    return ["--levels", str(path)]


@pytest.fixture
def babble(tmp_path: Path) -> str:
    """A model that gives every state the same score, and says what is no answer to anything else."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(["hopeless"]))
    return f"scripted:{path}"


def test_a_model_that_can_do_nothing_is_told_apart_and_gives_its_roles_away(
    tmp_path: Path, levels: list[str], babble: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", babble, "sokoban", *levels, "--cases", "6"]) == 0
    said = capsys.readouterr()
    assert f"{babble} on sokoban, prompt format chat" in said.out
    assert "plan: reaches the goal" in said.out
    assert "  not good enough" in said.out
    assert "--proposer two_frontier" in said.out
    assert "cases in 10 minutes at most" in said.err

    assert main(["probe", babble, "sokoban", *levels, "--cases", "6", "--json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["roles"]["plan"]["valid"] == 0
    assert told["episode"]["success"] is True
    assert told["advice"]["settings"]["world_model"] == "simulator"
    assert "from the cache" in said.err

    out = tmp_path / "run"
    command = ["run", "sokoban", *levels, "--model", babble, "--auto-roles", "--out", str(out)]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "probing" not in said.err, "five cases of each role are enough"
    assert "--proposer two_frontier: plan: 0 of 6 right" in said.out
    assert "the model decides nothing any more" in said.out
    label = "tape [forced execution, two_frontier proposer, declared scorer, simulator world model]"
    assert f"| {label} |" in said.out, "the printed table says who played which role"
    [spec] = RunDirectory(out).configurations().values()
    assert set(spec.auto_roles) == {"execution", "proposer", "scorer", "world_model"}
    assert (spec.config.proposer, spec.config.scorer) == ("two_frontier", "declared")
    assert json.loads((out / "summary.json").read_text())["groups"][0]["successes"] == 2

    assert main(["show", str(out), "1", "--no-pictures"]) == 0
    shown = capsys.readouterr().out
    assert "auto-roles: proposer is two_frontier, not the model, since plan: 0 of" in shown

    assert not [finding for one in audit(RunDirectory(out)) for finding in one.findings]


def test_a_run_goes_on_with_the_roles_that_it_began_with(
    tmp_path: Path, cache: Path, levels: list[str], babble: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", *levels, "--model", babble, "--auto-roles", "--out", str(out)]
    assert main([*command, "--limit", "2"]) == 0
    first = capsys.readouterr()
    assert "probing sokoban" in first.err
    before = (out / "config.json").read_text()
    for file in cache.rglob("*.json"):
        file.unlink()
    assert main([*command, "--limit", "2"]) == 0
    again = capsys.readouterr()
    assert "probing" not in again.err
    assert (out / "config.json").read_text() == before


def test_a_run_of_fewer_tasks_goes_by_what_was_measured_of_all(
    tmp_path: Path, levels: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "bundled:nano", "sokoban", *levels, "--cases", "24", "--no-episode"]) == 0
    capsys.readouterr()
    command = ["run", "sokoban", *levels, "--model", "bundled:nano", "--auto-roles", "--limit", "1"]
    assert main([*command, "--out", str(tmp_path / "run")]) in (0, 1)
    assert "probing" not in capsys.readouterr().err


def test_what_is_asked_for_by_name_stays(
    tmp_path: Path, levels: list[str], babble: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "sokoban", *levels, "--model", babble, "--auto-roles", "--limit", "1"]
    assert main([*command, "--execution", "constrained", "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "execution is left as it was given" in said
    assert "| tape [two_frontier proposer, declared scorer, simulator world model] |" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "sokoban", "--auto-roles", "--agent", "react"], "--auto-roles is for the roles of the plan graph"),
        (["run", "sokoban", "--auto-roles", "--verify", "aec"], "under verification the verifier decides"),
        (["probe", "scripted:nowhere.json", "sokoban"], "nowhere.json: cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(
    arguments: list[str], says: str, levels: list[str], babble: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["--model", babble] if arguments[0] == "run" else []
    assert main([*arguments, *model, *levels]) == 2
    assert says in capsys.readouterr().err


def test_a_model_of_unknown_price_is_not_measured_without_a_cap_on_money(
    levels: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = "openai:NAME@https://models.invalid/v1"
    assert main(["run", "sokoban", "--auto-roles", "--model", model, *levels]) == 2
    assert f"the price of {model} is unknown" in capsys.readouterr().err


def test_an_environment_that_is_none(babble: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", babble, "sokobann"]) == 2
    assert "there is no environment 'sokobann'" in capsys.readouterr().err


def test_money_is_read_with_none_for_no_cap() -> None:
    assert dollars("$0.50") == dollars("50 cents") == 500_000
    assert dollars("none") is None


@pytest.mark.slow
def test_a_bundled_model_is_measured_at_what_it_can_do(capsys: pytest.CaptureFixture[str], levels: list[str]) -> None:
    model = f"bundled:{sizes('compact')[-1]}"
    assert main(["probe", model, "sokoban", "--levels", "easy", "--cases", "10", "--minutes", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["prompts"] == "compact"
    for role in ("plan", "next"):
        assert told["roles"][role]["valid"] == told["roles"][role]["n"]
        assert told["roles"][role]["good_enough"] is True
    assert told["advice"]["settings"] == {}
    assert told["episode"]["success"] is True
    assert told["tokens_per_second"]["written"] > 0
    assert told["first"]["seconds"] > 0

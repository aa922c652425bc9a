"""``tape probe`` and ``tape run --auto-roles`` as a user meets them."""

import json
from pathlib import Path

import pytest

from envs.sokoban.xsb import write
from tape.cli.probe import dollars
from tape.lm.bundled import sizes
from tape.runner.directory import RunDirectory
from tests.tape.commandline import Tape
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


def test_a_model_that_can_do_nothing_is_recognised_and_gives_its_roles_away(
    tmp_path: Path, levels: list[str], babble: str, tape: Tape
) -> None:
    command = ["probe", babble, "sokoban", *levels, "--cases", "6"]
    code, out, error = tape(*command)
    assert (code, "cases in 10 minutes at most" in error) == (0, True)
    assert f"{babble} on sokoban, prompt format chat" in out
    for text in ("plan: reaches the goal", "  not good enough", "--proposer two_frontier"):
        assert text in out

    written = tape(*command, "--json")
    data = written.data
    assert (data["roles"]["plan"]["valid"], data["episode"]["success"]) == (0, True)
    assert data["advice"]["settings"]["world_model"] == "simulator"
    assert "from the cache" in written.err

    run = tmp_path / "run"
    code, out, error = tape("run", "sokoban", *levels, "--model", babble, "--auto-roles", "--out", run)
    assert (code, "probing" in error) == (0, False), "five cases of each role are enough"
    label = "tape [forced execution, two_frontier proposer, declared scorer, simulator world model]"
    for text in ("--proposer two_frontier: plan: 0 of 6 right", "the model decides nothing any more", f"| {label} |"):
        assert text in out
    [spec] = RunDirectory(run).configurations().values()
    assert set(spec.auto_roles) == {"execution", "proposer", "scorer", "world_model"}
    assert (spec.config.proposer, spec.config.scorer) == ("two_frontier", "declared")
    assert json.loads((run / "summary.json").read_text())["groups"][0]["successes"] == 2

    shown = tape("show", run, "1", "--no-pictures").out
    assert "auto-roles: proposer is two_frontier, not the model, since plan: 0 of" in shown


def test_a_run_goes_on_with_the_roles_that_it_began_with(
    tmp_path: Path, cache: Path, levels: list[str], babble: str, tape: Tape
) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", *levels, "--model", babble, "--auto-roles", "--out", out, "--limit", "2"]
    assert "probing sokoban" in tape(*command).err
    before = (out / "config.json").read_text()
    for file in cache.rglob("*.json"):
        file.unlink()
    code, _, error = tape(*command)
    assert (code, "probing" in error) == (0, False)
    assert (out / "config.json").read_text() == before


def test_a_run_of_fewer_tasks_goes_by_what_was_measured_of_all(tmp_path: Path, levels: list[str], tape: Tape) -> None:
    assert tape("probe", "bundled:nano", "sokoban", *levels, "--cases", "24", "--no-episode").code == 0
    command = ["run", "sokoban", *levels, "--model", "bundled:nano", "--auto-roles", "--limit", "1"]
    code, _, error = tape(*command, "--out", tmp_path / "run")
    assert (code in (0, 1), "probing" in error) == (True, False)


def test_what_is_asked_for_by_name_stays(tmp_path: Path, levels: list[str], babble: str, tape: Tape) -> None:
    command = ["run", "sokoban", *levels, "--model", babble, "--auto-roles", "--limit", "1"]
    code, out, _ = tape(*command, "--execution", "constrained", "--out", tmp_path / "run")
    assert (code, "execution is left as it was given" in out) == (0, True)
    assert "| tape [two_frontier proposer, declared scorer, simulator world model] |" in out


def test_what_cannot_be_measured_is_refused_at_the_start(levels: list[str], tape: Tape) -> None:
    priceless = "openai:NAME@https://models.invalid/v1"
    for command, text in (
        (["run", "sokoban", "--auto-roles", "--model", priceless, *levels], f"the price of {priceless} is unknown"),
        (["probe", "scripted:nowhere.json", "sokoban", *levels], "nowhere.json: cannot be read"),
        (["probe", "bundled:nano", "sokobann"], "there is no environment 'sokobann'"),
    ):
        code, _, error = tape(*command)
        assert (code, text in error) == (2, True), error
    assert dollars("$0.50") == dollars("50 cents") == 500_000
    assert dollars("none") is None


@pytest.mark.slow
def test_a_bundled_model_is_measured_at_what_it_can_do(tape: Tape) -> None:
    model = f"bundled:{sizes('compact')[-1]}"
    data = tape(*f"probe {model} sokoban --levels easy --cases 10 --minutes 2 --json".split()).data
    assert data["prompts"] == "compact"
    for role in ("plan", "next"):
        assert data["roles"][role]["valid"] == data["roles"][role]["n"]
        assert data["roles"][role]["good_enough"] is True
    assert (data["advice"]["settings"], data["episode"]["success"]) == ({}, True)
    assert data["tokens_per_second"]["written"] > 0
    assert data["first"]["seconds"] > 0

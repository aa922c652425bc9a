"""`tape solve --format rcsp` and `--format dimacs`: one answer for people, one for programs, and errors that help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tape.cli import main

PROBLEM = "3 3 1\n0\n9\n0\n0\n0\n1 2 1 4\n2 3 1 4\n1 3 5 1\n"
GRAPH = "p sp 3 3\na 1 2 1\na 2 3 1\na 1 3 5\n"
TIMES = "p sp 3 3\na 1 2 4\na 2 3 4.5\na 1 3 1\n"


@pytest.fixture
def problem(tmp_path: Path) -> str:
    path = tmp_path / "problem.txt"
    path.write_text(PROBLEM)
    return str(path)


@pytest.fixture
def graph(tmp_path: Path) -> list[str]:
    (tmp_path / "costs.gr").write_text(GRAPH)
    (tmp_path / "times.gr").write_text(TIMES)
    return [str(tmp_path / "costs.gr"), "--format", "dimacs", "--weights", f"time={tmp_path / 'times.gr'}"]


def test_an_object_for_programs(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", problem, "--format", "rcsp", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    answer = json.loads(line)
    assert answer.pop("seconds") > 0
    assert answer == {
        "status": "OPTIMAL", "cost": 2, "path": [1, 2, 3], "resources": {"r0": 8}, "bound": 2, "message": ""
    }  # fmt: skip


def test_text_for_people(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", problem, "--format", "rcsp", "--budget", "r0=7"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("OPTIMAL in ")
    assert rest == ["cost 5", "r0: 1 of 7", "path 1 3"]


def test_why_there_is_no_path(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["solve", problem, "--format", "rcsp", "--budget", "r0=0"]
    assert main(short) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "paths lead to the target, and none keeps all limits",
        "r0: 0 is given, every path takes 1 at least; 1 would do",
    ]
    assert main([*short, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["cost"], answer["path"]) == ("INFEASIBLE", None, [])
    assert answer["explanation"]["needs"][0]["with_others"] == 1
    assert main([*short, "--json", "--no-explain"]) == 1
    assert "explanation" not in json.loads(capsys.readouterr().out)


def test_a_dimacs_graph(graph: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", *graph, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resources"] == {"time": 8.5}
    assert main(["solve", *graph, "--budget", "time=8.4"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["cost 5", "time: 1 of 8.4", "path 1 3"]
    assert main(["solve", *graph, "--start", "2", "--goal", "3"]) == 0
    assert "path 2 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("added", "text"),
    [
        (["--budget", "r1=3"], "--budget r1=3: no such resource; there are: r0"),
        (["--budget", "r0=x"], "--budget r0=x: expected NAME=NUMBER"),
        (["--budget", "r0=nan"], "upper[0] = nan"),
        (["--start", "4"], "'4' is no node of"),
        (["--goal", "٣"], "'٣' is no node of"),
        (["--goal", "1", "--goal", "2"], "--goal: --format rcsp takes one"),
        (["--horizon", "4"], "--horizon is for plan graphs, not for --format rcsp"),
        (["--risk", "0.1"], "--risk is for plan graphs"),
        (["--weights", "a=b"], "--weights is for --format dimacs"),
    ],
)
def test_what_is_malformed_is_named(
    problem: str, added: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["solve", problem, "--format", "rcsp", *added])
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2
    printed = capsys.readouterr()
    assert (printed.out, text in printed.err) == ("", True)


def test_wrong_files(problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(problem).write_text(PROBLEM.replace("1 2 1 4", "1 2 x 4"))
    assert main(["solve", problem, "--format", "rcsp"]) == 2
    assert capsys.readouterr().err == f"tape solve: {problem}:7: expected numbers, found '1 2 x 4'\n"
    assert main(["solve", str(tmp_path / "none"), "--format", "rcsp"]) == 2
    assert "No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["solve", problem, "--format", "dimacs", "--weights", "time"])
    assert "expected NAME=FILE" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["solve", problem, "--weights", "time=x"])
    assert "--weights is for --format dimacs" in capsys.readouterr().err


def test_a_circle_without_end(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(problem).write_text("2 2 0\n1 2 -1\n2 1 0\n")
    assert main(["solve", problem, "--format", "rcsp"]) == 2
    assert "has no end: it costs less than nothing" in capsys.readouterr().err

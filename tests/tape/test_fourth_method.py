"""A method is one object: a fourth one, registered by an entry point, is everywhere where the three are."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tape import plugins
from tape.cli.main import main
from tape.show.view.episode import facts

POINTS = """[tape.agents]
looks = tests.tape.fourth_method:LooksAgent
[tape.methods]
looks = tests.tape.fourth_method:LOOKS
"""
RUN = ["run", "sokoban", "--agent", "looks", "--model", "bundled:nano", "--limit", "1", "--quiet"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for runs; the method's entry points are found while the test runs."""
    metadata = tmp_path / "looks-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: looks\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    plugins._points.cache_clear()
    yield tmp_path / "run"
    plugins._points.cache_clear()


def test_a_fourth_method_runs_and_is_summarised_shown_and_exported(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--looks", "3", "--out", str(installed)]) == 0
    assert "per episode: 3.00 looks taken" in capsys.readouterr().out
    line = json.loads((installed / "episodes.jsonl").read_text())
    assert line["result"]["method"] == {"looks_taken": 3}
    assert json.loads((installed / "summary.json").read_text())["groups"][0]["method"] == {"looks_taken": 3}
    with (installed / "results.csv").open() as file:
        assert [row["looks_taken"] for row in csv.DictReader(file)] == ["3"]

    assert main(["show", str(installed), "--delay", "0", "--no-pictures"]) == 0
    assert "looks around, the 3. time" in capsys.readouterr().out
    assert main(["view", str(installed), "-o", str(installed.with_suffix(".html"))]) == 0
    assert installed.with_suffix(".html").is_file()
    assert ["looks taken", "3"] in facts(line["result"])
    assert main(["export", str(installed), "--to", "inspect"]) == 0


def test_its_run_is_resumed(installed: Path) -> None:
    assert main([*RUN, "--out", str(installed)]) == 0
    assert main([*RUN, "--out", str(installed)]) == 0
    [trace] = (installed / "traces").glob("*.jsonl")
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert sum(line["type"] == "looked" for line in lines) == 1


def test_its_settings_are_options_where_it_is_in_use(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "sokoban", "--agent", "looks", "--help"])
    assert "how often it looks around before it acts (default: 1)" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["run", "sokoban", "--looks", "2"])
    assert "--looks is a setting of looks, which is not in use here; add --agent looks" in capsys.readouterr().err
    assert main([*RUN, "--no-repeat", "--out", str(installed)]) == 2
    assert "looks needs actions that repeat" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*RUN, "--verify", "looks"])
    assert "invalid choice: 'looks' (choose from none, aec)" in capsys.readouterr().err
    assert main([*RUN, "--looks", "10", "--out", str(installed)]) == 2
    assert "setting looks.looks = 10" in capsys.readouterr().err

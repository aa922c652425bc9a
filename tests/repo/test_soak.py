"""How the results of a soak run are written."""

import json
import subprocess
from pathlib import Path

import pytest

from tools import soak

REPORT = """<?xml version="1.0"?><testsuites><testsuite hostname="machine" tests="3">
<testcase classname="tests.b" name="test_two" time="1.26"><failure message="no">text</failure></testcase>
<testcase classname="tests.a" name="test_one" time="12.04"><properties>
<property name="boards" value="50"/></properties></testcase>
<testcase classname="tests.c" name="test_three" time="0"><skipped message="no data"/></testcase>
</testsuite></testsuites>"""


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, status: int) -> int:
    def pytest_run(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        (folder / "pytest.xml.partial").write_text(REPORT)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(soak, "RESULTS", folder)
    monkeypatch.setattr(soak.subprocess, "run", pytest_run)
    return soak.main([])


def test_sweeps_are_listed_by_name_without_the_machine() -> None:
    sweeps = soak.sweeps(REPORT)
    assert [(item["name"], item["outcome"], item["seconds"]) for item in sweeps] == [
        ("tests.a.test_one", "passed", 12.0),
        ("tests.b.test_two", "failed", 1.3),
        ("tests.c.test_three", "skipped", 0.0),
    ]
    assert sweeps[0]["recorded"] == {"boards": "50"}
    assert "machine" not in json.dumps(sweeps)


def test_results_are_written_and_the_status_is_that_of_pytest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, tmp_path, 5) == 5
    assert not (tmp_path / "soak.json").exists(), "no sweep was run"
    assert run(monkeypatch, tmp_path, 1) == 1
    assert len(json.loads((tmp_path / "soak.json").read_text())["sweeps"]) == 3
    assert not (tmp_path / "pytest.xml.partial").exists()


def test_property_tests_are_swept_with_all_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(soak, "RESULTS", tmp_path)
    monkeypatch.setattr(
        soak.subprocess, "run", lambda command, **_: commands.append(command) or subprocess.CompletedProcess(command, 5)
    )
    soak.main(["tests/tape/engine"])
    [command] = commands
    assert command[command.index("-m", 3) + 1] == "soak or hypothesis or lm"
    assert "--hypothesis-profile=soak" in command
    assert command[-1] == "tests/tape/engine"


def test_a_selection_of_sweeps_keeps_the_results_of_the_others() -> None:
    def results(**outcomes: str) -> dict[str, object]:
        return {"versions": {}, "sweeps": [{"name": name, "outcome": outcome} for name, outcome in outcomes.items()]}

    both = soak.merged(results(a="passed", b="failed"), results(b="passed", c="passed"))
    assert both == results(a="passed", b="passed", c="passed")


def test_a_sweep_that_was_run_with_other_versions_names_them() -> None:
    held = {"versions": {"numpy": "1", "python": "3"}, "sweeps": [{"name": "a"}, {"name": "b"}]}
    fresh = {"versions": {"numpy": "2", "python": "3"}, "sweeps": [{"name": "b"}]}
    assert soak.merged(held, fresh) == {**held, "sweeps": [{"name": "a"}, {"name": "b", "versions": {"numpy": "2"}}]}

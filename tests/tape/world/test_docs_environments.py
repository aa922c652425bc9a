"""The page on environments: its files print what it shows, its package can be installed, every declaration is named."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tape.world import World
from tape.world.schema import FORMATS, MOST_CHOICES
from tests.tape.world import pages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages.write(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["play.py", "short.py", "prompts.py", "over_http.py"])
def test_the_courier_plays_as_it_is_printed(name: str, folder: Path) -> None:
    if name == "over_http.py":
        pytest.importorskip("openai")
    done = pages.python(folder, name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == pages.printed(name)


@pytest.mark.slow
def test_the_worlds_pass_the_suite_for_environments(folder: Path) -> None:
    (folder / "test_bakery.py").write_text(
        pages.FILES["test_courier.py"].replace("courier", "bakery").replace("Courier", "Bakery"), encoding="utf-8"
    )
    done = pages.python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_courier.py", "test_bakery.py")
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@pytest.mark.slow
def test_an_installed_package_is_played_by_its_name(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("openai")
    installed, runs = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("runs")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "--target", str(installed), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(installed.glob("courier-*.dist-info/entry_points.txt"))

    sys.path.insert(0, str(folder))
    try:
        from model import model  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
        for name in ("model", "courier"):
            sys.modules.pop(name, None)
    from tape.testing.endpoint import ModelEndpoint

    with ModelEndpoint(model) as endpoint:
        offline, command = (line.split() for line in pages.PAGE.splitlines() if line.startswith("$ tape "))
        words = [f"openai:scripted@{endpoint.url}" if ":NAME" in w else w for w in command[2:]]
        run = runs / "run"
        done = pages.python(runs, "-m", "tape", *words, "--repeats", "2", "--quiet", "--out", str(run), also=installed)
        assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert [(episode["environment"], episode["result"]["end_state"]) for episode in episodes] == [
        ("courier", "success")
    ] * 2
    played = pages.python(runs, "-m", "tape", *offline[2:], "--quiet", also=installed)
    assert (played.returncode, "1/1 solved" in played.stdout) == (0, True), played.stderr
    refused = pages.python(runs, "-m", "tape", "run", "courier", "--world-model", "simulator", also=installed)
    assert refused.returncode == 2
    shown = pages.python(runs, "-m", "tape", "show", str(run), "--no-pictures", also=installed)
    assert 'delivered: ["harbour", "mill"]' in shown.stdout, shown.stderr


def test_every_declaration_is_named() -> None:
    for name in inspect.signature(World.__init__).parameters:
        assert name == "self" or name in pages.PAGE
    for name in ("action", "goal", "lost", "observe"):
        assert f"@world.{name}" in pages.PAGE
    for name in ("environment", "add_task"):
        assert f"world.{name}(" in pages.PAGE
    assert MOST_CHOICES == 100
    assert "a hundred actions" in pages.PAGE
    assert FORMATS == ("date", "date-time", "time", "uuid")

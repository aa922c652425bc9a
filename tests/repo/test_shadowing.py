"""A user's own folder ``solvers`` or ``envs`` in the working directory comes before ours: fresh processes report it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT


def make_shadow(folder: Path, name: str, kind: str) -> str:
    """Something of the user's own under a name of ours; its path, as the error gives it."""
    if kind == "module":
        (folder / f"{name}.py").write_text("ANSWER = 42\n")
        return str(folder / f"{name}.py")
    (folder / name).mkdir()
    (folder / name / ("__init__.py" if kind == "package" else "notes.txt")).write_text("")
    return str(folder / name)


def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    # As installed: the checkout comes after the working directory, which `python -m` and `python -c` put first.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def is_complete(error: str, text: str, name: str) -> bool:
    """Whether an error names both places and a remedy."""
    return all(words in error for words in (text, str(ROOT / name), f"another package {name!r}", "Rename", "python -P"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import tape; tape.TapeAgent", "package"), ("from tape import PlanGraph", "module"),
        ("from tape import solve", "package"), ("import tape.agents.tape", "module"),
    ],
)  # fmt: skip
def test_a_name_of_tape_reports_the_shadow(code: str, kind: str, tmp_path: Path) -> None:
    name = make_shadow(tmp_path, "solvers", kind)
    done = run("-c", code, cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tape.errors.ShadowedPackageError")
    assert is_complete(last, name, "solvers")


@pytest.mark.parametrize(
    ("arguments", "name", "kind"),
    [
        ("run sokoban --limit 1 --out a-run", "solvers", "package"),
        ("run sokoban --limit 1 --out a-run", "envs", "module"),
        ("solve graph.json", "solvers", "package"),
        ("show a-run", "solvers", "package"),
    ],
)
def test_a_command_reports_the_shadow(arguments: str, name: str, kind: str, tmp_path: Path) -> None:
    text = make_shadow(tmp_path, name, kind)
    done = run("-m", "tape", *arguments.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert is_complete(done.stderr, text, name)
    assert not (tmp_path / "a-run").exists()


def test_a_folder_that_is_no_package_does_not_shadow(tmp_path: Path) -> None:
    for name in ("solvers", "envs"):
        make_shadow(tmp_path, name, "folder")
    done = run("-c", "import tape; tape.TapeAgent; import envs.sokoban.plugin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_needs_no_shadowed_package_works(tmp_path: Path) -> None:
    make_shadow(tmp_path, "envs", "module")
    assert run("-c", "import tape; tape.TapeAgent", cwd=tmp_path).returncode == 0
    make_shadow(tmp_path, "solvers", "package")
    assert run("-m", "tape", "--help", cwd=tmp_path).returncode == 0

"""How the Makefile looks for Python, and its message where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with nothing but what the recipe needs."""
    for name in ("sh", "test", "printf", "tr", "head"):
        if text := shutil.which(name):
            (tmp_path / name).symlink_to(text)
    return tmp_path


def python(folder: Path, name: str, answer: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)


def python_path(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    assert MAKE is not None
    command = [MAKE, "--no-print-directory", "-C", str(ROOT), "python-path", *args]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_first_fit_python_is_taken_and_a_wanted_one_before_it(bin_folder: Path) -> None:
    python(bin_folder, "python3", "old 3.9.2")
    python(bin_folder, "python3.12", "ok 3.12.1")
    python(bin_folder, "my python", "ok 3.11.7")
    assert python_path(bin_folder).stdout == "python3.12\n"
    path = python_path(bin_folder, f"PYTHON={bin_folder / 'my python'}")
    assert (path.stdout, path.stderr) == (f"{bin_folder / 'my python'}\n", "")


def test_unfit_wanted_python_is_named(bin_folder: Path) -> None:
    python(bin_folder, "python3", "ok 3.13.0")
    python(bin_folder, "mine", "old 3.10.1")
    path = python_path(bin_folder, "PYTHON=mine")
    assert path.stdout == "python3\n"
    assert "mine is Python 3.10.1: too old" in path.stderr
    assert "Using python3 instead" in path.stderr


def test_what_was_found_is_listed(bin_folder: Path) -> None:
    path = python_path(bin_folder)
    assert path.returncode != 0
    assert "No Python at all" in path.stderr
    python(bin_folder, "python3", "old 3.9.2")
    python(bin_folder, "python3.12", "novenv 3.12.3")
    path = python_path(bin_folder)
    assert path.returncode != 0
    for text in ("no Python 3.11", "python3 is Python 3.9.2: too old", "3.12.3, but without", "make PYTHON="):
        assert text in path.stderr


def test_real_python_answers_the_probe(bin_folder: Path) -> None:
    (bin_folder / "python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
    assert python_path(bin_folder).stdout == "python3\n"


def test_plain_make_lists_the_targets() -> None:
    assert MAKE is not None
    command = [MAKE, "--no-print-directory", "-C", str(ROOT)]
    environment = {"PATH": os.environ["PATH"]}
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "test-fast", "test-wheel", "test-lm", "soak", "lint", "clean", "install"):
        assert f"make {target} " in completed.stdout

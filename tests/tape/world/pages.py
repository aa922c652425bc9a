"""The files that the reader of docs/reference/environments.md and worlds.md writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = "\n".join((REFERENCE / name).read_text(encoding="utf-8") for name in ("environments.md", "worlds.md"))
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILES = {text.split()[1]: text for language, text in FENCED if language == "python"}


def printed(name: str) -> str:
    """The output of a file on the page: the block without a language that follows it."""
    index = next(i for i, (_, text) in enumerate(FENCED) if text.startswith(f"# {name}\n"))
    language, text = FENCED[index + 1]
    assert not language, f"no output of {name} is shown"
    return text


def write(folder: Path) -> None:
    """All files of the page, and its pyproject.toml."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    [project] = [text for language, text in FENCED if language == "toml"]
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")


def python(folder: Path, *arguments: str, also: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A fresh process in the folder, which finds what lies in it and in another one."""
    paths = os.pathsep.join(str(path) for path in (also, ROOT) if path is not None)
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=240,
        env={**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip

"""The README's Python examples run as they stand, and its table is the one of the committed results."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

README = ROOT / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("code", EXAMPLES, ids=["agent", "tools", "graph"])
def test_examples_run(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for said in re.findall(r"# (OPTIMAL \[.*\])", code):
        assert said in done.stdout

"""Records what a real model says to the prompts of the documentation: ``python -m experiments.replies --server URL``.

The programs in README and in ``docs`` that use :class:`tape.lm.recorded.RecordedLM` are run; what they ask is kept in
``tape/lm/recorded.json``, and what they print is printed, to be compared with what the pages show.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tape.lm.recorded import SHIPPED, RecordedLM
from tape.lm.registry import open_model

ROOT = Path(__file__).parents[1]
_PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def programs(page: str) -> list[str]:
    """The programs of a page that play recorded replies."""
    return [program for program in _PROGRAM.findall(page) if "RecordedLM(" in program]


def main(arguments: Sequence[str] | None = None) -> int:
    """Record all replies anew."""
    parser = argparse.ArgumentParser(prog="python -m experiments.replies", description=__doc__)
    parser.add_argument("--server", required=True, help="an OpenAI-compatible server with Qwen2.5-Coder-1.5B-Instruct")
    given = parser.parse_args(arguments)
    SHIPPED.write_text("{}\n")
    RecordedLM.asks = open_model(f"llamacpp:qwen@{given.server}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for program in programs(page.read_text(encoding="utf-8")):
            print(f"== {page.relative_to(ROOT)}", flush=True)
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                exec(compile(program, str(page), "exec"), {"__name__": "__main__"})
    return 0 if os.path.getsize(SHIPPED) > 3 else 1


if __name__ == "__main__":
    raise SystemExit(main())

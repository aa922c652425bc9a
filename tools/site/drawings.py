"""Writes the drawings of the pages on concepts, docs/images/concepts/*.svg: ``python -m tools.site.drawings``.

Each draws what the programs of its page have made, so a reader who runs them sees the same. A page and its drawing have
one name. Nothing in a drawing depends on the clock.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tape.files import replace_file
from tools.site import concepts

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES, IMAGES = ROOT / "docs" / "concepts", ROOT / "docs" / "images" / "concepts"

DRAWINGS: Mapping[str, Callable[[concepts.Values], str]] = {
    "plan-graph": concepts.plan_graph,
    "budgets": concepts.budgets,
    "ledger": concepts.ledger,
    "selection": concepts.selection,
    "execution": concepts.execution,
    "verification": concepts.verification,
    "models": concepts.models,
}


def values_of(page: Path) -> dict[str, Any]:
    """Run the programs of a page in an empty folder, one after the other; the variables that they leave."""
    values = dict[str, Any]()
    for program in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            file = Path("program.py")
            file.write_text(program, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                values |= runpy.run_path(str(file))
    return values


def drawing(name: str) -> str:
    """The drawing of a page as SVG."""
    return DRAWINGS[name](values_of(PAGES / f"{name}.md"))


def main() -> None:
    """Write all of them."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in DRAWINGS:
        replace_file(IMAGES / f"{name}.svg", drawing(name).encode())
        print(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main()

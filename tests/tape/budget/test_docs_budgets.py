"""The examples of docs/budgets.md run as they stand."""

import json
import re
from pathlib import Path

import pytest

from tape.lm.price_table import PriceTable
from tests.places import ROOT

PAGE = (ROOT / "docs" / "budgets.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = CODE
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)


def test_the_price_file_is_one(tmp_path: Path) -> None:
    [text] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "p.json").write_text(text)
    assert list(PriceTable.load(tmp_path / "p.json").prices) == list(json.loads(text)["models"])

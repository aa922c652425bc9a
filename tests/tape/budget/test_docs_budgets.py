"""docs/reference/budgets.md: the price file that it shows is one."""

import json
import re
from pathlib import Path

from tape.lm.price_table import PriceTable
from tests.places import ROOT

PAGE = (ROOT / "docs" / "reference" / "budgets.md").read_text(encoding="utf-8")


def test_the_price_file_is_one(tmp_path: Path) -> None:
    [text] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "p.json").write_text(text)
    assert list(PriceTable.load(tmp_path / "p.json").prices) == list(json.loads(text)["models"])

"""docs/aec.md: its table of settings is that of the class."""

import re

from tape.aec.settings import AecSettings
from tests.places import ROOT

PAGE = (ROOT / "docs" / "aec.md").read_text(encoding="utf-8")


def test_the_settings_have_the_defaults_that_the_table_says() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE))
    assert set(rows) == set(AecSettings.model_fields)
    for name, documented in rows.items():
        default = getattr(AecSettings(), name)
        assert documented.strip("`") == str({"": "none", True: "on", False: "off"}.get(default, default)).lower()

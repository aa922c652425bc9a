"""The example of docs/aec.md runs as it stands, and its table of switches is the configuration's."""

import re

import pytest

from tape.engine.settings import TapeConfig
from tests.places import ROOT

PAGE = (ROOT / "docs" / "aec.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)


def test_the_switches_have_the_defaults_that_the_table_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE)
    assert len(rows) == 12
    for name, said in rows:
        default = getattr(TapeConfig(), name)
        told = {"": "none", True: "on", False: "off"}.get(default, default)
        assert said.strip("`") == str(told).lower()

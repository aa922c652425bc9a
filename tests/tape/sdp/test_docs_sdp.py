"""The example of docs/sdp.md runs as it stands; its tables are those of the configuration, adapters and results."""

from __future__ import annotations

import json
import re

import pytest

from envs.alfworld.sdp import CAPS as HOUSEHOLD
from envs.sokoban.sdp import CAPS as SOKOBAN
from experiments.studies.sdp.validators import share
from tape.engine.settings import TapeConfig
from tests.places import ROOT

PAGE = (ROOT / "docs" / "sdp.md").read_text(encoding="utf-8")
OWN = ("chain", "attempts", "target_replans", "step_cap", "strict_algorithm1", "cascade", "validation")


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)


def test_every_switch_has_the_default_that_the_table_says() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \| ", PAGE, re.MULTILINE))
    assert set(OWN) <= set(rows)
    for name, said in rows.items():
        default = getattr(TapeConfig(), name)
        told = "none" if default is None else ("off", "on")[default] if isinstance(default, bool) else str(default)
        assert said.strip("`") == told


def test_the_caps_are_the_adapters() -> None:
    rows = {
        name: tuple(map(int, caps))
        for name, *caps in re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.M)
    }
    for name, own in (("Sokoban", SOKOBAN), ("ALFWorld", HOUSEHOLD)):
        assert rows[name] == (own.attempts, own.replans, own.steps)
    assert rows["ScienceWorld"] == (30, 5, 500)


def test_the_figures_are_those_that_were_measured() -> None:
    measured = json.loads((ROOT / "experiments" / "results" / "sdp_validators.json").read_text(encoding="utf-8"))
    rows = [row for row in measured["rows"] if row["family"] == "all"]
    assert rows
    for row in rows:
        shares = f"{share(row['both'], row['found'])} | {share(row['both'], row['true'])}"
        n, wrong = f"{row['cases']} ({row['predicates']})", row["found"] - row["both"]
        assert f"| {row['environment']} | {row['validator']} | {n} | {shares} | {wrong} |" in PAGE


def test_its_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
    assert "## Declaring predicates" in (ROOT / "docs" / "aec.md").read_text(encoding="utf-8")

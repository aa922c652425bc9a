"""docs/sdp.md: its tables are those of the settings, the adapters and the results."""

from __future__ import annotations

import json
import re

from envs.alfworld.sdp import CAPS as HOUSEHOLD
from envs.sokoban.sdp import CAPS as SOKOBAN
from experiments.studies.sdp.validators import share
from tape.engine.settings import TapeConfig
from tape.sdp.settings import SdpSettings
from tests.places import ROOT

PAGE = (ROOT / "docs" / "sdp.md").read_text(encoding="utf-8")


def test_every_switch_has_the_default_that_the_table_says() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \| ", PAGE, re.MULTILINE))
    assert set(SdpSettings.model_fields) <= set(rows)
    defaults = {**dict(TapeConfig()), **dict(SdpSettings())}
    for name, said in rows.items():
        default = defaults[name]
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

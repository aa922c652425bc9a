"""The pages on AEC, on SDP and on its trajectories: their tables and switches are those of the code."""

from __future__ import annotations

import argparse
import re

import pytest

from envs.alfworld.sdp import CAPS as ALFWORLD
from envs.sokoban.sdp import CAPS as SOKOBAN
from tape.cli.switches import add_switches
from tape.engine.ablations import Ablations
from tape.engine.settings import TapeConfig
from tape.methods.aec.settings import AecSettings
from tape.methods.sdp.settings import SdpSettings
from tape.protocols.method import MethodSettings
from tests.places import ROOT

METHODS = ROOT / "docs" / "reference" / "methods"
PAGE = (METHODS / "sdp.md").read_text(encoding="utf-8")
TRAJECTORIES = (METHODS / "sdp-trajectories.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("settings", [AecSettings(), SdpSettings()])
def test_every_setting_has_the_default_of_the_table(settings: MethodSettings) -> None:
    page = (METHODS / f"{type(settings).__name__.removesuffix('Settings').lower()}.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", page, re.MULTILINE))
    assert set(dict(settings)) <= set(rows)
    defaults = {**dict(TapeConfig()), **dict(Ablations()), **dict(settings)}
    for name, documented in rows.items():
        default = defaults[name]
        shown = {None: "none", False: "off", True: "on"}[default] if default in (None, False, True) else str(default)
        assert documented.strip("`") == shown


def test_the_caps_are_the_adapters() -> None:
    matches = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.M)
    rows = {name: tuple(map(int, caps)) for name, *caps in matches}
    for name, own in (("Sokoban", SOKOBAN), ("ALFWorld", ALFWORLD)):
        assert rows[name] == (own.attempts, own.replans, own.steps)
    assert rows["ScienceWorld"] == (30, 5, 500)


def test_the_switches_exist() -> None:
    parser = argparse.ArgumentParser()
    add_switches(parser, ["sdp"])
    switches = re.findall(r"`(--(?:validation|ablation|cascade) [\w=]+)`", TRAJECTORIES)
    assert len(switches) == 3
    for switch in switches:
        parser.parse_args(switch.split())

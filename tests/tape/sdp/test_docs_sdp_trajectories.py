"""docs/sdp-trajectories.md: it explains every rule of a finding, and its switches exist."""

from __future__ import annotations

import argparse
import re

from tape.cli.switches import add_switches
from tape.sdp.revalidation import RULES
from tests.places import ROOT

PAGE = (ROOT / "docs" / "sdp-trajectories.md").read_text(encoding="utf-8")


def test_every_rule_of_a_finding_is_explained() -> None:
    assert [*RULES] == re.findall(r"^\| `(\w+)` \|", PAGE.split("## Checking it again")[1].split("`checked(")[0], re.M)


def test_the_switches_exist() -> None:
    parser = argparse.ArgumentParser()
    add_switches(parser, ["sdp"])
    switches = re.findall(r"`(--(?:validation|replan|cascade) \w+)`", PAGE)
    assert len(switches) == 3
    for said in switches:
        parser.parse_args(said.split())

"""The examples of docs/sdp-trajectories.md run as they stand and print what it says."""

from __future__ import annotations

import argparse
import importlib.util
import re
from typing import Any

import pytest

from tape.agents.sdp import SdpAgent
from tape.analysis.revalidation import Finding
from tape.cli.switches import add_switches
from tests.places import ROOT

PAGE = (ROOT / "docs" / "sdp-trajectories.md").read_text(encoding="utf-8")
FIRST, SECOND = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_the_examples_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(FIRST, "first example", "exec"), names)
    said, said_second = re.findall(r"It prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == said
    assert SdpAgent.name == names["agent"].name
    if importlib.util.find_spec("minari") is None:
        return
    exec(compile(SECOND, "second example", "exec"), names)
    assert capsys.readouterr().out.splitlines() == said_second.splitlines()


def test_every_rule_of_a_finding_is_explained() -> None:
    rules = re.findall(r"``(\w+)``", Finding.__doc__ or "")
    assert rules == re.findall(r"^\| `(\w+)` \|", PAGE.split("## Checking it again")[1].split("`checked(")[0], re.M)


def test_the_switches_exist() -> None:
    parser = argparse.ArgumentParser()
    add_switches(parser)
    switches = re.findall(r"`(--(?:validation|replan|cascade) \w+)`", PAGE)
    assert len(switches) == 3
    for said in switches:
        parser.parse_args(said.split())

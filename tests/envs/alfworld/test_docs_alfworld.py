"""docs/alfworld.md: its options are those there are."""

import argparse
import re

from envs.alfworld.plugin import PLUGIN
from tests.places import ROOT

PAGE = (ROOT / "docs" / "alfworld.md").read_text(encoding="utf-8")


def test_the_options_are_those_there_are() -> None:
    parser = argparse.ArgumentParser()
    PLUGIN.add_arguments(parser)
    there = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", PAGE, re.MULTILINE)) == there

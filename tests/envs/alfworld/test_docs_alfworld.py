"""The page on household games: its example runs, its options are those there are."""

import argparse
import re

import pytest

from envs.alfworld.plugin import PLUGIN
from tests.envs.alfworld.helpers import needs_engine
from tests.places import ROOT

PAGE = (ROOT / "docs" / "alfworld.md").read_text(encoding="utf-8")


def test_the_options_are_those_there_are():
    parser = argparse.ArgumentParser()
    PLUGIN.add_arguments(parser)
    there = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", PAGE, re.MULTILINE)) == there


@needs_engine
@pytest.mark.slow
def test_the_example_runs(capsys):
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.startswith("success ")

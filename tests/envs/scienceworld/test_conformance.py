"""A recorded game of ScienceWorld passes the suite that other environments inherit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from envs.scienceworld.plugin import PLUGIN
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance
from tests.envs.scienceworld.recorded import recorded

TASK = "find-living-thing"
GOLD = [action for action, *_ in recorded()[TASK]["steps"][1:]]


@pytest.mark.usefixtures("no_java")
class TestScienceWorld(EnvironmentConformance):
    plugin = PLUGIN
    arguments: ClassVar = ("--task", TASK, "--variations", "{0}-{0}".format(recorded()[TASK]["variation"]))

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [*GOLD, "look around", "flarb the unicorn"]

    def test_the_simulator_agrees_or_is_refused(self) -> None:  # type: ignore[override]
        pytest.skip("a recording cannot be brought into a state; test_engine.py asks the real simulator")

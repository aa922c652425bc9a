"""Word problems pass the suite that other environments inherit."""

from __future__ import annotations

from collections.abc import Sequence

from envs.gsm_hard.plugin import PLUGIN
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance
from tape.tools.calls import answer, call


class TestGsmHard(EnvironmentConformance):
    plugin = PLUGIN
    prompt_formats = ("chat", "tools")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        made = [  # with constants for which the bundled model has words
            call("add", "quick", a=2, b=3),
            call("divide", "exact", a=7, b=2),
            call("subtract", "standard", a=4, b=3),
        ]
        return [one.text for one in (*made, answer(7))]

"""Trips pass the suite that other environments inherit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from envs.travelplanner.domain import TripDomain, as_state
from envs.travelplanner.plugin import PLUGIN
from envs.travelplanner.proposal import first_complete
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance


class TestTravelplanner(EnvironmentConformance):
    plugin = PLUGIN
    arguments: ClassVar = ("--count", "6")
    prompt_formats = ("chat", "declared")
    most_steps = 4

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        assert isinstance(environment.domain, TripDomain)
        return environment.domain.variants(state, first_complete(environment.domain, as_state(state))[0])

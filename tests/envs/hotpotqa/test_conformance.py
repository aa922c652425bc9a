"""Multi-hop questions pass the suite that other environments inherit, given and searched paragraphs alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from envs.hotpotqa.actions import FINISH, Answer, Find, Search, write
from envs.hotpotqa.plugin import PLUGIN
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance


class TestHotpotqa(EnvironmentConformance):
    plugin = PLUGIN
    prompt_formats = ("chat",)  # tools serves the environment's own operators alone

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [write(Find(1, "somebody", "Somewhere")), write(Answer("nobody")), write(Answer("somebody")), FINISH]


class TestHotpotqaSearched(TestHotpotqa):
    arguments: ClassVar = ("--mode", "open")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [write(Search("who is mayor?")), *super().actions(environment, state)]

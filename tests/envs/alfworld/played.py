"""A game of ALFWorld played by its rules in memory, for tests that need no engine."""

from __future__ import annotations

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import STEP, AlfworldDomain
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.prompts import prompt_format
from envs.alfworld.sdp import adapter
from experiments.training.alfworld.world import World
from tape.budget import Budget, Resources
from tape.methods.sdp.adapter import Adapter
from tape.protocols import Environment, Observation
from tape.protocols.prompt_format import PromptFormat


class PlayedAlfworld(Environment):
    """One episode."""

    domain: AlfworldDomain

    def __init__(self, world: World, steps: int) -> None:
        self.world, self.domain, self.budget = world, AlfworldDomain(world.layout), Budget({"steps": steps})

    def reset(self, seed: int) -> Observation:
        return Observation("", self.world.known)

    def step(self, action: str) -> tuple[Observation, Resources]:
        command = read_command(action)
        if command is not None:
            self.world.do(AlfworldCommand(command.verb, command.place, kind_of(command.thing) if command.thing else ""))
        return Observation("", self.world.known), STEP

    def prompt_format(self, name: str) -> PromptFormat:
        return prompt_format(self.domain, name)

    def sdp(self) -> Adapter:
        return adapter(self.domain)

    def success(self) -> bool:
        return rules.satisfied(self.world.known)

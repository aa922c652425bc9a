"""A method in one file: an agent that looks around before every few actions, and counts that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from tape.agents.react import ReactAgent
from tape.engine.episode import Episode
from tape.engine.settings import TapeConfig
from tape.protocols.method import Method, MethodSettings
from tape.trace import DescribedEvent, register_event


class LooksSettings(MethodSettings):
    """How often it looks around."""

    looks: int = Field(default=1, ge=1, le=9, description="how often it looks around before it acts")


@register_event
class LookedEvent(DescribedEvent):
    """It has looked around."""

    type: ClassVar[str] = "looked"
    number: int

    def description(self) -> str:
        return f"  looks around, the {self.number}. time"


class LooksAgent(ReactAgent):
    """Looks around, then acts as ``react`` does."""

    name: ClassVar[str] = "looks"
    methods: ClassVar[tuple[str, ...]] = ("looks",)

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        return config.using("looks", LooksSettings.find(config) or LooksSettings())

    async def _play(self, episode: Episode) -> None:
        for number in range(LooksSettings.of(episode.config).looks):
            episode.result.method["looks_taken"] += 1
            episode.trace.write(LookedEvent(number=number + 1))
        await super()._play(episode)


@dataclass(frozen=True)
class LooksMethod(Method):
    """What is registered."""

    def check(self, config: TapeConfig) -> None:
        if config.no_repeat:
            raise ValueError("looks needs actions that repeat")


LOOKS = LooksMethod("looks", LooksSettings, "--agent looks", {"looks_taken": 0})

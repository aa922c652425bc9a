"""Replacements of the model and the agent when an episode is checked by playing it again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from tape.agents.base import Agent
from tape.engine.episode import ActionRefused, Episode, EpisodeEnded
from tape.engine.settings import TapeConfig
from tape.lm.base import LanguageModel
from tape.lm.scripted import ScriptedLM
from tape.protocols import Environment
from tape.trace import ActedEvent, AnsweredEvent, ApprovalEvent, Event, FinishedEvent, GeneratedEvent, TrialEvent

FORMATS = ("compact", "declared", "chat")
"""Prompt formats; a model of the last one alone is asked in messages."""


def _reads(env: Environment, name: str) -> bool:
    with suppress(Exception):
        env.prompt_format(name)
        return True
    return False


def uncounted(events: Sequence[Event], env: Environment) -> LanguageModel:
    """Stands behind recorded answers where the model's own tokenizer is not to be had; tokens are not compared then.

    Args:
        events: The trace.
        env: The environment, which knows the prompt formats that there are.
    """
    asked = next((event for event in events if isinstance(event, GeneratedEvent)), None)
    chat = asked is not None and bool(asked.prompt and asked.prompt[0].role)
    known = (name for name in FORMATS[2 if chat else 0 :] if _reads(env, name))
    return ScriptedLM([""], prompt_format=next(known, "chat"))


class RecordedActions(Agent):
    """Takes the actions of a trace, whatever led to them.

    Args:
        model: Gives recorded answers where the environment has a model read its results.
        events: The trace.
    """

    name: ClassVar[str] = "recorded"
    searches: ClassVar[bool] = True

    def __init__(self, model: LanguageModel, events: Sequence[Event]) -> None:
        answered = any(isinstance(event, AnsweredEvent) for event in events)
        super().__init__(model, TapeConfig.make(on_limit="final_answer" if answered else "stop"))
        self._events = events

    async def _play(self, episode: Episode) -> None:
        trials = sum(isinstance(event, TrialEvent) for event in self._events)
        for event in self._events:
            if isinstance(event, ActedEvent):
                try:
                    await episode.step(event.action, text=event.text, planned=event.planned)
                except EpisodeEnded as end:
                    if end.end_state == "success" or not trials:
                        raise
            elif isinstance(event, TrialEvent):
                trials -= 1
                await episode.reset(event.seed)
            elif isinstance(event, ApprovalEvent) and event.decision == "refused":
                with suppress(ActionRefused):
                    await episode.approve(event.action)
            elif isinstance(event, FinishedEvent):
                raise EpisodeEnded(str(event.result.get("end_state")), str(event.result.get("detail")), limit=True)

"""The shape of an environment: what can be played, and what it may offer beyond that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from tape.budget import Resources
from tape.lm.base import Request
from tape.protocols.domain import Domain
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.roles import WorldModel
from tape.protocols.types import Action, Observation, State, Task


class Environment(Protocol):
    """A task that can be played."""

    @property
    def domain(self) -> Domain:
        """What the engine may know about the task."""

    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this task in the prompt format ``name``.

        Raises:
            UnknownNameError: The task has no prompts in that format.
        """

    def reset(self, seed: int) -> Observation:
        """Start an episode."""

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns what is seen and what the action really cost."""

    def success(self) -> bool:
        """The environment's own goal check."""


@runtime_checkable
class AsyncEnvironment(Protocol):
    """An environment whose actions wait for something, for instance a tool on another machine; optional.

    ``astep`` takes the place of ``step``. It is cancelled when the episode's ``wall_seconds`` are up.
    """

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns what is seen and what the action really cost."""


@runtime_checkable
class BelongsToLoop(Protocol):
    """An environment with parts that live in an event loop, for instance sessions with servers; optional."""

    def home_loop(self) -> asyncio.AbstractEventLoop | None:
        """That loop; None where it can be played in any."""


@runtime_checkable
class Ends(Protocol):
    """An environment in which an episode can be over without success; optional."""

    def ended(self) -> bool:
        """Whether nothing can be done any more; asked where ``success()`` says no."""


@runtime_checkable
class Concludes(Protocol):
    """An environment whose result may be revised until the agent stops, and is judged then; optional."""

    def conclude(self) -> None:
        """The agent has stopped, whatever the reason; ``success()`` is asked once more afterwards."""


@runtime_checkable
class Measures(Protocol):
    """An environment that measures more than success, for instance the F1 of an answer; optional."""

    def measures(self) -> Mapping[str, float]:
        """Its measures of the episode, by name; asked at the end."""


@runtime_checkable
class Answers(Protocol):
    """An environment whose episodes come to an answer, told as ``EpisodeResult.answer``; optional."""

    def answered_value(self) -> Any:
        """The answer's value, placeholders resolved; None where none was given. Asked at the end."""


@runtime_checkable
class TakesProjections(Protocol):
    """An environment whose actions may refer to what the model has read in an observation; optional."""

    def projected(self, state: State) -> None:
        """Take over the state as the projector has it."""


@runtime_checkable
class TakesRefusals(Protocol):
    """An environment that takes note of actions which somebody has refused; optional.

    The engine keeps them from being executed in any case. Here the state can say so, which is how a model gets to know.
    """

    def refuse(self, action: Action) -> Observation:
        """Take note that an action was refused, which costs nothing and changes nothing else; what is seen now."""


@runtime_checkable
class TakesAnswers(Protocol):
    """An environment that takes an answer when an episode is at a limit (``on_limit="final_answer"``); optional."""

    def longest_answer_request(self, prompt_format: str) -> Request:
        """A request as long as any that :meth:`answer_request` may make: its worst case is kept back."""

    def answer_request(self, state: State, prompt_format: str) -> Request:
        """Ask a model for its answer in a state."""

    def answer(self, text: str) -> None:
        """Take the model's text; ``success()`` judges it afterwards.

        Raises:
            InvalidOutputError: Nothing can be made of it.
        """


@runtime_checkable
class NamesAgent(Protocol):
    """A plugin that another agent than ``tape`` plays by default; optional."""

    agent: str


@runtime_checkable
class NeedsInstalled(Protocol):
    """A plugin whose environment is played by optional packages or programs; optional."""

    def require_installed(self) -> None:
        """Check that they are there; asked before the first task, and starts nothing.

        Raises:
            MissingExtraError: One is not; names it and the extra.
        """


@runtime_checkable
class ReplaysActions(Protocol):
    """A plugin that says whether recorded actions may be played again; optional, and False where it says nothing.

    They may where the environment does the same each time, and where acting reaches nothing outside of it: checking a
    record must not send a mail twice.
    """

    replayable: bool


def prompt_version(plugin: EnvironmentPlugin, prompt_format: str) -> str:
    """The version of the prompts that a model is asked by; part of an episode's key.

    Args:
        plugin: The environment.
        prompt_format: The one that the model reads (:attr:`tape.lm.base.LanguageModel.prompt_format`); the version is
            empty where the environment has no such prompts, which it says itself when it is played.
    """
    version = plugin.prompt_version
    return version if isinstance(version, str) else version.get(prompt_format, "")


@runtime_checkable
class EnvironmentPlugin(Protocol):
    """An environment as the command line and the runner see it: one object per entry point."""

    name: str
    model: str
    """The model that plays by default."""
    reads: bool
    """Whether the model takes part in the projector: then it may be asked once more after every step."""

    @property
    def prompt_version(self) -> str | Mapping[str, str]:
        """Changes whenever a prompt of the environment does; by prompt format where there are several.

        So the episodes with one format keep their keys when prompts of another change (:func:`prompt_version`).
        """

    def add_arguments(self, parser: Any) -> None:
        """Add the environment's own options to an ``argparse`` parser."""

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """The tasks that the options name.

        Raises:
            TapeError: or ValueError, with a message for the user.
        """

    def make(self, task: Task) -> Environment:
        """A fresh environment of a task."""

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model (never used in the default mode)."""

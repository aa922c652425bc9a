"""What can be played: the base classes of environments and of their plugins."""

from __future__ import annotations

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tape.budget import Budget, Resources
from tape.budget.deadline import blocking
from tape.errors import ConfigError, UnknownNameError
from tape.lm.base import Request
from tape.protocols.domain import Domain
from tape.protocols.parts import Part, require_known_parts
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import RoleCase
from tape.protocols.roles import WorldModel
from tape.protocols.types import Action, Observation, State, Task


class AnswersAtLimit(Part):
    """Takes an answer when an episode is at a limit (``on_limit="final_answer"``)."""

    @abstractmethod
    def longest_answer_request(self, prompt_format: str) -> Request:
        """A request as long as any that :meth:`answer_request` may make: its worst case is kept back."""

    @abstractmethod
    def answer_request(self, state: State, prompt_format: str) -> Request:
        """Ask a model for its answer in a state."""

    @abstractmethod
    def answer(self, text: str) -> None:
        """Take the model's text; ``success()`` judges it afterwards.

        Raises:
            InvalidOutputError: Nothing can be made of it.
        """


class Environment(ABC):
    """A task that can be played.

    What every environment must do is abstract. What it may do has a default here. The one optional part is an
    attribute, which is None where the environment does not have it.
    """

    domain: Domain
    """What the engine may know about the task."""

    budget: Budget = Budget()
    """Hard caps of the task's own."""

    @abstractmethod
    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this task in the prompt format ``name``; ``PromptFormat()`` where no model is asked.

        Raises:
            UnknownNameError: The task has no prompts in that format.
        """

    @abstractmethod
    def reset(self, seed: int) -> Observation:
        """Start an episode."""

    @abstractmethod
    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns what is seen and what the action really cost."""

    @abstractmethod
    def success(self) -> bool:
        """The environment's own goal check."""

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Act, as the engine asks for it; cancelled when the episode's ``wall_seconds`` are up.

        Override it where actions wait for something, for instance a tool on another machine; ``step`` is then
        ``run_sync(self.astep(action))`` (:func:`tape.waiting.run_sync`).
        """
        return await blocking(lambda: self.step(action), "environment step")

    def home_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop in which parts of it live, such as sessions with servers; None: it can be played in any."""
        return None

    def ended(self) -> bool:
        """Whether nothing can be done any more; asked where ``success()`` says no."""
        return False

    def conclude(self) -> bool:
        """The agent has stopped, whatever the reason.

        Returns:
            Whether ``success()`` is to be asked once more: the result could be revised until now.
        """
        return False

    def answered_value(self) -> Any:
        """The answer's value, placeholders resolved; None where none was given. Asked at the end."""
        return None

    def measures(self) -> Mapping[str, float]:
        """What it measures beside success, by name, for instance the F1 of an answer; asked at the end."""
        return {}

    def gold(self) -> tuple[Sequence[str], Sequence[str]]:
        """The answers that count, and the ids of the passages that hold the evidence; either may be empty.

        Asked once the episode is over, for gap detectors of search agents.
        """
        return (), ()

    def projected(self, state: State) -> None:
        """Take over the state with what the model has read in an observation: later actions may refer to that."""
        del state

    def refuse(self, action: Action) -> Observation | None:
        """Take note that somebody has refused an action, which costs nothing and changes nothing else.

        The engine keeps the action from being executed in any case. Here the state can say so, which is how a model
        gets to know.

        Returns:
            What is seen now; None where no note is taken.
        """
        del action
        return None

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Give back what it holds, such as processes; it is not played any more."""

    @property
    def answers_at_limit(self) -> AnswersAtLimit | None:
        """How an answer is taken when an episode is at a limit."""
        return None


def require_environment(env: Environment) -> None:
    """Refuse what is no environment, and one that has a part which no step of the engine asks for.

    Raises:
        ConfigError: Says what to do.
    """
    if not isinstance(env, Environment) or not isinstance(domain := getattr(env, "domain", None), Domain):
        raise ConfigError(
            f"{type(env).__name__} is no environment: it has to inherit from tape.protocols.Environment, and its "
            "attribute domain from tape.protocols.Domain"
        )
    for owner in (env, domain):
        require_known_parts(owner, *(base for base in (Environment, Domain) if isinstance(owner, base)))


class EnvironmentPlugin(ABC):
    """An environment as the command line and the runner see it: one object per entry point."""

    name: str
    model: str
    """The model that plays by default."""
    agent: str = "tape"
    """The agent that plays by default."""
    replayable: bool = False
    """Whether recorded actions may be played again, to check a record.

    They may where the environment does the same each time, and where acting reaches nothing outside of it: checking a
    record must not send a mail twice.
    """
    built_on: Sequence[str] = ()
    """Packages beside its own that the environment is made of: a run's key holds a hash of their sources."""
    roles: Sequence[str] = ()
    """The roles that a general model plays and :meth:`role_cases` has cases of, in the order of an episode."""
    cases: str = ""
    """The module whose function ``role_cases`` makes these cases; loaded when they are asked for."""

    @property
    def reads(self) -> bool:
        """Whether the model takes part in the projector: then it may be asked once more after every step."""
        return False

    @property
    @abstractmethod
    def prompt_version(self) -> str | Mapping[str, str]:
        """Changes whenever a prompt of the environment does; by prompt format where there are several.

        So the episodes with one format keep their keys when prompts of another change (:func:`prompt_version`).
        """

    @abstractmethod
    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """The tasks that the options name.

        Raises:
            TapeError: or ValueError, with a message for the user.
        """

    @abstractmethod
    def make(self, task: Task) -> Environment:
        """A fresh environment of a task."""

    def add_arguments(self, parser: Any) -> None:
        """Add the environment's own options to an ``argparse`` parser."""
        del parser

    def require_installed(self) -> None:  # noqa: B027 - most need nothing more
        """Check that the optional packages and programs are there; asked before the first task, and starts nothing.

        Raises:
            MissingExtraError: One is not; names it and the extra.
        """

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model (never used in the default mode).

        Raises:
            ConfigError: There is none.
        """
        del environment
        raise ConfigError(f"{self.name} has no simulator; leave world_model at lm")

    def role_cases(self, prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
        """Small generated cases with known answers, the same for the same seed; from development data alone.

        Args:
            prompts: The prompt format, for instance ``chat``.
            role: One of :attr:`roles`.
            count: How many.
            seed: Any integer; 0 is that of the documentation.

        Raises:
            UnknownNameError: There is no such role or prompt format.
            ConfigError: The plugin names roles, and no :attr:`cases`.
        """
        if role not in self.roles:
            raise UnknownNameError(f"role of {self.name}", role, self.roles)
        if not self.cases:
            raise ConfigError(f"{self.name} has roles and no cases: name the module whose role_cases makes them")
        made: list[RoleCase] = importlib.import_module(self.cases).role_cases(prompts, role, count, seed)
        return made


def prompt_version(plugin: EnvironmentPlugin, prompt_format: str) -> str:
    """The version of the prompts that a model is asked by; part of an episode's key.

    Args:
        plugin: The environment.
        prompt_format: The one that the model reads (:attr:`tape.lm.base.LanguageModel.prompt_format`); the version is
            empty where the environment has no such prompts, which it says itself when it is played.
    """
    version = plugin.prompt_version
    return version if isinstance(version, str) else version.get(prompt_format, "")

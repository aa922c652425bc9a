"""The base classes of environments and of their plugins."""

# ruff: noqa: ARG002, B027 - what an environment or a format leaves out does nothing with its arguments

from __future__ import annotations

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic

from tape.budget import Budget, Resources
from tape.budget.claims import Effect
from tape.budget.deadline import blocking
from tape.errors import ConfigError, UnknownNameError
from tape.lm.base import Request
from tape.protocols.domain import Domain
from tape.protocols.parts import CallsAtOnce, Copies, Part, require_known_parts
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import RoleCase
from tape.protocols.roles import WorldModel
from tape.protocols.surroundings import Surroundings
from tape.protocols.types import Action, AnswerT, FailedCall, Observation, State, Task


class AnswersAtLimit(Part):
    """Takes an answer when an episode is at a limit (``on_limit="final_answer"``).

    Examples:
        >>> from tape.lm.base import Request
        >>> from tape.protocols import AnswersAtLimit
        >>> class Quiz(AnswersAtLimit):
        ...     def longest_answer_request(self, prompt_format):
        ...         return Request("What is 6 x 7?", max_tokens=5)
        ...     def answer_request(self, state, prompt_format):
        ...         return self.longest_answer_request(prompt_format)
        ...     def answer(self, text):
        ...         self.given = int(text)
        >>> quiz = Quiz()
        >>> quiz.answer("42")
        >>> quiz.given
        42
    """

    @abstractmethod
    def longest_answer_request(self, prompt_format: str) -> Request:
        """A request as long as any of :meth:`answer_request`; its worst case is reserved."""

    @abstractmethod
    def answer_request(self, state: State, prompt_format: str) -> Request:
        """Ask a model for its answer in a state."""

    @abstractmethod
    def answer(self, text: str) -> None:
        """Accept the model's text; ``success()`` judges it afterwards.

        Raises:
            InvalidOutputError: It cannot be read.
        """


class Environment(ABC, Generic[AnswerT]):
    """A task that can be played.

    Mandatory methods are abstract; optional ones have a default here. Each optional part is an attribute, None if the
    environment does not have it.

    Examples:
        >>> from tape import Resources
        >>> from tape.protocols import Environment, Observation, PromptFormat
        >>> class Door(Environment):  # its domain is left out here, see Domain
        ...     def prompt_format(self, name):
        ...         return PromptFormat()
        ...     def reset(self, seed):
        ...         self.open = False
        ...         return Observation("shut")
        ...     def step(self, action):
        ...         self.open = action == "open"
        ...         return Observation(action), Resources({"steps": 1})
        ...     def success(self):
        ...         return self.open
        >>> door = Door()
        >>> door.reset(seed=0).text, door.step("open")[0].text, door.success()
        ('shut', 'open', True)
    """

    domain: Domain
    """The declarations about the task."""

    budget: Budget = Budget()
    """Hard caps of the task's own."""

    names_effects: bool = False
    """Whether what it does for good has a key, so that a run has a name of its own."""

    records: bool = False
    """Whether its actions reach the world outside, so that each is recorded with its outcome and never done again."""

    @abstractmethod
    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this task in the prompt format ``name``; ``PromptFormat()`` if no model is used.

        Raises:
            UnknownNameError: The task has no prompts in that format.
        """

    @abstractmethod
    def reset(self, seed: int) -> Observation:
        """Start an episode."""

    @abstractmethod
    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; returns the observation and the real cost of the action."""

    @abstractmethod
    def success(self) -> bool:
        """The environment's own goal check."""

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Act, as the engine does; cancelled when the episode's ``wall_seconds`` are up.

        Override it if actions wait for something, for instance a tool on another machine; ``step`` is then
        ``run_sync(self.astep(action))`` (:func:`tape.waiting.run_sync`).
        """
        return await blocking(lambda: self.step(action), "environment step")

    def outcome(self) -> Mapping[str, Any]:
        """What came of the last action, in JSON, as :meth:`restore` takes it; asked where it :attr:`records`."""
        return {}

    async def restore(self, action: Action, outcome: Mapping[str, Any]) -> tuple[Observation, Resources]:
        """Take the outcome of an action in the place of doing it.

        Args:
            action: The action.
            outcome: What :meth:`outcome` returned; or ``{"lost": True}`` where it is done and its outcome was not seen.
                A result that was found out later stands beside that as ``result``, in JSON.
        """
        return await self.astep(action)

    def is_pure(self, action: Action) -> bool:
        """Whether an action changes nothing, so that it may be done twice; asked where it :attr:`records`."""
        return False

    def effect(self, action: Action) -> Effect | None:
        """What an action does for good, to be claimed where a store pays; None where nothing has to be claimed."""
        return None

    async def happened(self, action: Action) -> Mapping[str, Any] | None:
        """The outcome of an action that another worker may have done; None where it may be done, perhaps again.

        Raises:
            UnfinishedCallError: Nobody knows.
        """
        del action
        return None

    def home_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop of its parts, such as sessions with servers; None: it can be played in any loop."""
        return None

    def played_in(self, surroundings: Surroundings) -> None:
        """Learn of the run; called before each."""
        del surroundings

    def history(self, end_state: str) -> Any:
        """The conversation up to here, for the next turn; None where there is none. Called at the end."""
        del end_state
        return None

    def ended(self) -> bool:
        """Whether no action is possible any more; called if ``success()`` is false."""
        return False

    def conclude(self) -> bool:
        """Called when the agent has stopped; returns whether ``success()`` must be checked once more."""
        return False

    def answered_value(self) -> Any:
        """The answer's value with placeholders resolved; None if there is none. Called at the end."""
        return None

    def made_with(self) -> Mapping[str, Any]:
        """What it was made with beside its task, in JSON, so that an episode is resumed in one made alike."""
        return {}

    def read_answer(self, written: Any) -> Any:
        """An answer as a value again, from what is written of it in JSON."""
        return written

    def measures(self) -> Mapping[str, float]:
        """Measures beside success, by name, for instance the F1 of an answer. Called at the end."""
        return {}

    def failed_calls(self) -> Sequence[FailedCall]:
        """The calls of tools that gave nothing, in order; asked at the end."""
        return ()

    def gold(self) -> tuple[Sequence[str], Sequence[str]]:
        """The accepted answers, and the ids of the passages with the evidence; either may be empty.

        Called after the episode, for gap detectors of search agents.
        """
        return (), ()

    def projected(self, state: State) -> None:
        """Accept the state with what the model has read in an observation; later actions may refer to it."""

    def refuse(self, action: Action) -> Observation | None:
        """Record that an action was refused; this costs nothing. The engine never executes a refused action.

        Returns:
            An observation with the refusal, so that the model knows of it; None if nothing is recorded.
        """
        return None

    def close(self) -> None:
        """Release resources, such as processes; it is not played any more."""

    @property
    def answers_at_limit(self) -> AnswersAtLimit | None:
        """How an answer is accepted when an episode is at a limit."""
        return self if isinstance(self, AnswersAtLimit) else None

    @property
    def calls_at_once(self) -> CallsAtOnce | None:
        """How actions of a path run at once (``parallel``)."""
        return self if isinstance(self, CallsAtOnce) else None

    @property
    def copies(self) -> Copies | None:
        """How actions are tried on copies (``world_model="copy"``)."""
        return self if isinstance(self, Copies) else None


def require_environment(env: Environment) -> None:
    """Refuse an object that is no environment, or has a part that the engine does not know.

    Raises:
        ConfigError: Names what to do.
    """
    if not isinstance(env, Environment) or not isinstance(domain := getattr(env, "domain", None), Domain):
        raise ConfigError(
            "a list is no environment; write ToolEnvironment(task, tools)"
            if isinstance(env, list | tuple)
            else f"{type(env).__name__} is no environment: it has to inherit from tape.protocols.Environment, and its "
            "attribute domain from tape.protocols.Domain"
        )
    for owner in (env, domain):
        require_known_parts(owner, *(base for base in (Environment, Domain) if isinstance(owner, base)))


class EnvironmentPlugin(ABC):
    """An environment as the command line and the runner see it: one object per entry point.

    Examples:
        >>> from tape import Budget, ToolEnvironment, tool
        >>> from tape.protocols import EnvironmentPlugin, Task
        >>> @tool(usd=0)
        ... def unlock(door: str) -> str:
        ...     "Unlock a door."
        ...     return f"{door} is open"
        >>> class Doors(EnvironmentPlugin):
        ...     name, model, prompt_version = "doors", "openai:gpt-4.1-mini", "1"
        ...     def tasks(self, options):
        ...         return [Task("front", "doors", Budget.of(steps=3), digest="front door, version 1")]
        ...     def make(self, task):
        ...         return ToolEnvironment(f"Open the {task.id} door.", [unlock])
        >>> plugin = Doors()
        >>> [task] = plugin.tasks({})
        >>> plugin.make(task).domain.task_text()
        'Open the front door.'
    """

    name: str
    model: str
    """The model that plays by default."""
    agent: str = "tape"
    """The agent that plays by default."""
    proposer: str = "lm"
    """Who samples plans by default, where the default model plays."""
    replayable: bool = False
    """Whether recorded actions may be played again, to check a record.

    The environment must be deterministic and must not act on the outside: checking a record must not send a mail twice.
    """
    built_on: Sequence[str] = ()
    """Further packages of the environment; a run's key has a hash of their sources too."""
    roles: Sequence[str] = ()
    """The roles of a general model that :meth:`role_cases` has cases for, in the order of an episode."""
    cases: str = ""
    """The module whose function ``role_cases`` makes these cases; imported when they are needed."""

    @property
    def reads(self) -> bool:
        """Whether the model takes part in the projector, with one more request after every step."""
        return False

    @property
    @abstractmethod
    def prompt_version(self) -> str | Mapping[str, str]:
        """A version that changes with the environment's prompts; by prompt format if there are several.

        Thus episodes with one format keep their keys when prompts of another change (:func:`prompt_version`).
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

    def require_installed(self) -> None:
        """Check that optional packages and programs are installed; called before the first task, starts nothing.

        Raises:
            MissingExtraError: Names the missing one and the extra.
        """

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model (never used in the default mode).

        Raises:
            ConfigError: There is none.
        """
        raise ConfigError(f"{self.name} has no simulator; leave world_model at lm")

    def role_cases(self, prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
        """Generate small cases with known answers, the same for the same seed; from development data alone.

        Args:
            prompts: The prompt format, for instance ``chat``.
            role: One of :attr:`roles`.
            count: The number of cases.
            seed: Any integer; 0 is that of the documentation.

        Raises:
            UnknownNameError: There is no such role or prompt format.
            ConfigError: The plugin has roles but no :attr:`cases`.
        """
        if role not in self.roles:
            raise UnknownNameError(f"role of {self.name}", role, self.roles)
        if not self.cases:
            raise ConfigError(f"{self.name} has roles and no cases: name the module whose role_cases makes them")
        made: list[RoleCase] = importlib.import_module(self.cases).role_cases(prompts, role, count, seed)
        return made


def prompt_version(plugin: EnvironmentPlugin, prompt_format: str) -> str:
    """The version of an environment's prompts in one prompt format; part of an episode's key.

    Args:
        plugin: The environment's plugin.
        prompt_format: The format that the model reads, for instance ``chat``.

    Returns:
        The version; empty if the environment has no prompts in that format. Playing fails then.

    Examples:
        >>> from tape.protocols import EnvironmentPlugin, prompt_version
        >>> class Doors(EnvironmentPlugin):
        ...     name, model, prompt_version = "doors", "openai:gpt-4.1-mini", {"chat": "2", "compact": "1"}
        ...     def tasks(self, options):
        ...         return []
        ...     def make(self, task):
        ...         raise NotImplementedError
        >>> prompt_version(Doors(), "chat"), prompt_version(Doors(), "tools")
        ('2', '')
    """
    version = plugin.prompt_version
    return version if isinstance(version, str) else version.get(prompt_format, "")

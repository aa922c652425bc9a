"""A method: what AEC, SDP or CGDP adds to the engine, as one object in a folder of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from pydantic import BaseModel, ConfigDict

from tape.errors import ConfigError
from tape.plugins import METHODS, load, names

if TYPE_CHECKING:
    from pathlib import Path

    from tape.protocols import Environment
    from tape.trace import Event

ROLE_SETTINGS = ("world_model", "scorer", "proposer", "execution")
"""Settings of the engine that say who plays a role."""


class Configured(Protocol):
    """A configuration that holds settings of methods (:class:`tape.engine.settings.TapeConfig`)."""

    @property
    def methods(self) -> Mapping[str, MethodSettings]:
        """The settings of the methods in use, by the methods' names."""


class MethodSettings(BaseModel):
    """Base of the settings that a method adds to the engine's, as AEC, SDP and CGDP do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def find(cls, config: Configured) -> Self | None:
        """These settings in a configuration; None if it has none."""
        return next((found for found in config.methods.values() if isinstance(found, cls)), None)

    @classmethod
    def of(cls, config: Configured) -> Self:
        """These settings in a configuration.

        Raises:
            ConfigError: It has none.
        """
        found = cls.find(config)
        if found is None:
            raise ConfigError(f"the configuration holds no {cls.__name__}")
        return found


@dataclass(frozen=True)
class Finding:
    """Something in the record of an episode that is not as it must be.

    Attributes:
        rule: Which rule is broken.
        move: The number of the attempt, from 0, or of the round; None where it is of neither.
        what: What was found.
    """

    rule: str
    move: int | None
    what: str


@dataclass
class Audit:
    """What a method finds in the record of an episode.

    Attributes:
        findings: What is not as it must be.
        facts: How many recorded facts were checked against what was observed.
        unchecked: What could not be checked, in words.
    """

    findings: list[Finding] = field(default_factory=list)
    facts: int = 0
    unchecked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Method:
    """An entry of the entry-point group ``tape.methods``.

    Attributes:
        name: The name under which :class:`tape.engine.settings.TapeConfig` takes its settings.
        settings: Their class. Their fields are options of the command line.
        chosen_by: The option that chooses it on a command line, for messages: ``--verify aec``, ``--agent sdp``.
        counters: Its first values in ``EpisodeResult.method``, by name: 0, False, {} or []. Summaries add up numbers
            and flags, and ``results.csv`` has a column for each of these.
    """

    name: str
    settings: type[MethodSettings]
    chosen_by: str
    counters: Mapping[str, Any] = field(default_factory=dict)

    verifies: ClassVar[bool] = False
    """Whether ``--verify`` chooses it (:class:`tape.engine.verification.VerifyingMethod`)."""
    rules: ClassVar[tuple[str, ...]] = ()
    """What its findings mean, as ```rule`: meaning``; several rules may share a meaning."""
    verdict: ClassVar[str] = ""
    """The type of the events that a replay counts as repeated verdicts."""
    holds_back: ClassVar[bool] = False
    """Whether what is left of a budget at an observation depends on what its model is asked."""
    stages: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Where a failed episode of it may have stopped, beside the stages of every agent, and what each means."""
    gaps: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What may be wrong with an episode of it, by name, and what each means."""

    def check(self, config: Any) -> None:
        """Refuse settings of the engine that contradict it.

        Args:
            config: A :class:`tape.engine.settings.TapeConfig` that uses the method.

        Raises:
            ValueError: Names the contradiction.
        """
        del config

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """Find contradictions inside one episode's record, from the file alone.

        Args:
            events: The trace.
            result: The result, with ``method``.

        Yields:
            One sentence for each contradiction.
        """
        del events, result
        yield from ()

    def audit(self, trace: Path, events: Sequence[Event], env: Environment | None, config: Configured | None) -> Audit:
        """Check an episode's record beyond what :meth:`wrong` does.

        Args:
            trace: The file of the trace.
            events: What it holds.
            env: An environment of the task, which is not played; None where it cannot be made.
            config: The settings of the run, as its agent plays with them; None outside of runs, or without ``env``.

        Raises:
            TraceError: The trace contradicts itself.
        """
        del trace, events, env, config
        return Audit()

    def stopped(self, events: Sequence[Event]) -> str:
        """Where a failed episode of it stopped: one of :attr:`stages`; empty where it stopped as any other may."""
        del events
        return ""

    def gaps_in(self, events: Sequence[Event]) -> Collection[str]:
        """Which of :attr:`gaps` an episode shows."""
        del events
        return ()

    def advisable(self, config: Configured) -> Collection[str]:
        """The settings with which something declared may take a role from the model, of :data:`ROLE_SETTINGS`."""
        del config
        return ROLE_SETTINGS


def method(name: str) -> Method:
    """A method by name.

    Raises:
        UnknownNameError: No such method is installed.
    """
    found: Method = load(METHODS, name)
    return found


def methods() -> list[Method]:
    """Every method that is installed."""
    return [method(name) for name in names(METHODS)]


def counters(config: Configured) -> dict[str, Any]:
    """The first values of the counters of the methods in use."""
    return {name: deepcopy(value) for used in config.methods for name, value in method(used).counters.items()}

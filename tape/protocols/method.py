"""A method: what AEC, SDP or CGDP adds to the engine, as one object in a folder of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from pydantic import BaseModel, ConfigDict

from tape.errors import ConfigError
from tape.plugins import METHODS, load, names

if TYPE_CHECKING:
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
        return next((settings for settings in config.methods.values() if isinstance(settings, cls)), None)

    @classmethod
    def of(cls, config: Configured) -> Self:
        """These settings in a configuration; ConfigError if it has none."""
        item = cls.find(config)
        if item is None:
            raise ConfigError(f"the configuration holds no {cls.__name__}")
        return item


@dataclass(frozen=True)
class JudgedPath:
    """The verdict of a verifier on a path."""

    actions: tuple[str, ...]
    accepted: bool
    why: str


@dataclass(frozen=True)
class Verdicts:
    """What a method that verifies has made of a planning round.

    Attributes:
        hypotheses: The paths, in the order of the verdicts.
        queries: What was asked and answered, in words.
        refusal: Why the round was refused; empty where it was not.
    """

    hypotheses: tuple[JudgedPath, ...] = ()
    queries: tuple[str, ...] = ()
    refusal: str = ""


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

    def check(self, config: Any) -> None:
        """Refuse settings of the engine that contradict it.

        Raises:
            ValueError: Names the contradiction.
        """
        del config

    def verdicts(self, events: Sequence[Event]) -> Verdicts:
        """What it has made of a planning round, by the round's events."""
        del events
        return Verdicts()

    def advisable(self, config: Configured) -> Collection[str]:
        """The settings with which something declared may take a role from the model, of :data:`ROLE_SETTINGS`."""
        del config
        return ROLE_SETTINGS


def method(name: str) -> Method:
    """A method by name.

    Raises:
        UnknownNameError: No such method is installed.
    """
    result: Method = load(METHODS, name)
    return result


def methods() -> list[Method]:
    """Every method that is installed."""
    return [method(name) for name in names(METHODS)]


def counters(config: Configured) -> dict[str, Any]:
    """The first values of the counters of the methods in use."""
    return {name: deepcopy(value) for used in config.methods for name, value in method(used).counters.items()}


def verifying_in(config: Mapping[str, Any]) -> Method | None:
    """The method that verified paths under a recorded configuration, if any."""
    used = (method(name) for name in names(METHODS) if config.get(name) is not None)
    return next((use for use in used if use.verifies), None)

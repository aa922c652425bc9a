"""A method: what AEC, SDP or CGDP adds to the engine, as one object of its own folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from pydantic import BaseModel, ConfigDict

from tape.errors import ConfigError
from tape.plugins import METHODS, load

if TYPE_CHECKING:
    from tape.trace import Event


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
        """These settings in a configuration; None where it has none."""
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
class Method:
    """What is registered in the entry-point group ``tape.methods``.

    Attributes:
        name: The name under which :class:`tape.engine.settings.TapeConfig` takes its settings.
        settings: Their class. Their fields are options of the command line.
        chosen_by: How a command line chooses it, for messages: ``--verify aec``, ``--agent sdp``.
        counters: What ``EpisodeResult.method`` holds of it when an episode begins, by name: 0, False, {} or []. The
            numbers and flags among them are totals of summaries and columns of ``results.csv``.
    """

    name: str
    settings: type[MethodSettings]
    chosen_by: str
    counters: Mapping[str, Any] = field(default_factory=dict)

    verifies: ClassVar[bool] = False
    """Whether ``--verify`` chooses it (:class:`tape.engine.verification.VerifyingMethod`)."""

    def check(self, config: Any) -> None:
        """Refuse settings of the engine that contradict it.

        Args:
            config: A :class:`tape.engine.settings.TapeConfig` that uses the method.

        Raises:
            ValueError: Says what contradicts it.
        """
        del config

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """What in an episode's record does not follow from the records before it, from the file alone.

        Args:
            events: The trace.
            result: The result, with ``method``.

        Yields:
            One sentence a contradiction.
        """
        del events, result
        yield from ()


def method(name: str) -> Method:
    """A method by name.

    Raises:
        UnknownNameError: None of that name is installed.
    """
    found: Method = load(METHODS, name)
    return found


def counters(config: Configured) -> dict[str, Any]:
    """The counters of the methods in use, as an episode begins with them."""
    return {name: deepcopy(value) for used in config.methods for name, value in method(used).counters.items()}

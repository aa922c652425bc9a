"""Verification: it decides whether a path may be committed to, and watches its execution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tape.engine.episode import Episode
from tape.engine.execute import Executor, Outcome, Watch
from tape.engine.loop import Planner
from tape.engine.select import Path
from tape.engine.settings import TapeConfig
from tape.protocols import Domain, PlannedActor
from tape.protocols.method import Method, method


class Verification:
    """Stands between the planner and the executor of one episode; this one lets every path through."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.monitor = Watch()
        """Judges every step of a path that was committed to."""

    async def plan(self) -> Path | None:
        """The next path that may be committed to; None if every candidate of this round was refused.

        Raises:
            EpisodeEnded: No path can be found or certified.
            BudgetExceededError: A call does not fit.
        """
        return await self._planner.plan()

    async def follow(self, executor: Executor, planned: Path) -> Outcome:
        """Execute a path that was committed to, and count its outcome."""
        return await executor.execute(planned)

    def contradicted(self) -> None:
        """Count a committed path that was executed elsewhere and did not reach its end."""


@dataclass(frozen=True)
class VerifyingMethod(Method, ABC):
    """A method that verifies the solver's paths; ``--verify`` chooses it."""

    verifies: ClassVar[bool] = True

    @abstractmethod
    def require(self, domain: Domain) -> None:
        """Refuse a domain without the declarations that verification needs.

        Raises:
            ConfigError: Names what the domain lacks.
        """

    @abstractmethod
    def verification(self, episode: Episode, planner: Planner, actor: PlannedActor) -> Verification:
        """The verification of one episode, as configured."""


def verifying_method(config: TapeConfig) -> VerifyingMethod | None:
    """The method in use that verifies, if any."""
    used = map(method, config.methods)
    return next((use for use in used if isinstance(use, VerifyingMethod)), None)

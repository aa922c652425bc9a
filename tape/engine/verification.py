"""What TAPE knows of verification: somebody who says whether a path may be committed to, and watches its execution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tape.engine.episode import Episode
from tape.engine.execute import Executor, Outcome, Watch
from tape.engine.loop import Planner
from tape.engine.method import Method, method
from tape.engine.select import Path
from tape.engine.settings import TapeConfig
from tape.protocols import Domain, PlannedActor


class Verification(Protocol):
    """Stands between the planner and the executor of one episode."""

    @property
    def monitor(self) -> Watch:
        """Is told every step of a path that was committed to."""

    async def plan(self) -> Path | None:
        """The next path that may be committed to; None where every candidate of this round was refused.

        Raises:
            EpisodeEnded: No path can be found or certified.
            BudgetExceededError: A call does not fit.
        """

    async def follow(self, executor: Executor, planned: Path) -> Outcome:
        """Execute a path that was committed to, and count what comes of it."""

    def contradicted(self) -> None:
        """Count a committed path that somebody else has executed, and that did not run to its end."""


@dataclass(frozen=True)
class VerifyingMethod(Method, ABC):
    """A method that verifies what the solver has selected; ``--verify`` chooses it."""

    verifies: ClassVar[bool] = True

    @abstractmethod
    def require(self, domain: Domain) -> None:
        """Refuse a domain that does not declare what verification needs.

        Raises:
            ConfigError: Says what it lacks.
        """

    @abstractmethod
    def verification(self, episode: Episode, planner: Planner, actor: PlannedActor) -> Verification:
        """The verification of one episode, as its configuration says."""


def verifying_method(config: TapeConfig) -> VerifyingMethod | None:
    """The method that is to verify, if any."""
    used = map(method, config.methods)
    return next((found for found in used if isinstance(found, VerifyingMethod)), None)

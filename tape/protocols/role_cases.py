"""Small cases with known answers, by which it is measured what a model can do in each role of an environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from tape.errors import TapeError, UnknownNameError
from tape.lm.base import Request

R = TypeVar("R")


@dataclass(frozen=True)
class Judged:
    """What an answer is.

    Attributes:
        valid: It could be read, and could be acted on.
        right: It is right; what is right is valid.
        why: What is wrong, in a few words; empty where it is right.
    """

    valid: bool
    right: bool
    why: str = ""


@dataclass(frozen=True)
class RoleCase:
    """One request with a known answer.

    Attributes:
        role: Who asks, as :attr:`tape.lm.base.Request.role`: ``plan``, ``act``, ``next``, ``rollout``, ``score``,
            ``select``, ``project`` (what a text says), ``answer`` and what else an environment asks.
        id: Unique within environment and role.
        request: As the environment's prompt format makes it, for one greedy answer.
        judge: Whether the text of an answer can be read and is right; never raises.
        ideal: A right answer, which the request's constraint admits.
        chance: The share right by guessing among the options; None where there are too many to guess.
    """

    role: str
    id: str
    request: Request
    judge: Callable[[str], Judged]
    ideal: str
    chance: float | None = None

    @property
    def scored(self) -> bool:
        """Whether the engine compares the probabilities of the options; else it has one of them written."""
        return self.role == "score"


@runtime_checkable
class ProbedPlugin(Protocol):
    """An environment plugin that makes such cases; optional.

    Attributes:
        roles: The roles that a general model plays in the environment, in the order of an episode.
    """

    roles: Sequence[str]

    def role_cases(self, prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
        """Generated cases, the same for the same seed; from development data alone.

        Args:
            prompts: The prompt format, for instance ``chat``.
            role: One of :attr:`roles`.
            count: How many.
            seed: Any integer; 0 is that of the documentation.

        Raises:
            UnknownNameError: There is no such role or prompt format.
        """


def judged_by(read: Callable[[str], R], right: Callable[[R], bool | str]) -> Callable[[str], Judged]:
    """A judge of what is read first.

    Args:
        read: Reads an answer; raises a :class:`tape.errors.TapeError` where it cannot be read.
        right: Whether what was read is right; a text says why it is not.
    """

    def judge(text: str) -> Judged:
        try:
            found = read(text)
        except TapeError as error:
            return Judged(False, False, str(error)[:200])
        verdict = right(found)
        if isinstance(verdict, str):
            return Judged(True, False, verdict)
        return Judged(True, verdict, "" if verdict else f"{found!s:.200}")

    return judge


def known_role(role: str, roles: Sequence[str], environment: str) -> None:
    """Check a role's name.

    Raises:
        UnknownNameError: The environment has no such role.
    """
    if role not in roles:
        raise UnknownNameError(f"role of {environment}", role, roles)

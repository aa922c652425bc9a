"""What a probe has measured, and where it is kept: in the user's cache, one file per model and environment."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import tape
from tape.errors import TapeError
from tape.files import cache_folder, replace_file
from tape.protocols.role_cases import RoleCase
from tape.redaction import redacted
from tape.statistics import wilson

SCHEMA = 1

_CLOSED = ConfigDict(extra="forbid")


class CaseAnswer(BaseModel):
    """What came of one case.

    Attributes:
        request: The fingerprint of what was asked of the model.
        valid: The answer could be read.
        right: It is right.
        why: What is wrong with it, in a few words.
        chance: The share right by guessing; None where there is too much to guess.
        prompt_tokens: Of the call.
        completion_tokens: Of the call.
    """

    model_config = _CLOSED

    request: str
    valid: bool
    right: bool
    why: str = ""
    chance: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


class RoleRecord(BaseModel):
    """What a model can do in one role.

    Attributes:
        role: The role.
        answers: One per case, in order.
        seconds: That all of them took, on a clock.
        failure: Why the model could not be asked further; empty where it could.
        worst_tokens: Of one call, as it is reserved: the prompt and all samples at full length.
        worst_usd: The same in millionths of a US dollar; None where the price is unknown.
    """

    model_config = _CLOSED

    role: str
    answers: list[CaseAnswer] = Field(default_factory=list)
    seconds: float = 0.0
    failure: str = ""
    worst_tokens: int = 0
    worst_usd: int | None = 0

    @property
    def n(self) -> int:
        """Cases."""
        return len(self.answers)

    @property
    def valid(self) -> int:
        """Answers that could be read."""
        return sum(answer.valid for answer in self.answers)

    @property
    def right(self) -> int:
        """Answers that are right."""
        return sum(answer.right for answer in self.answers)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share that is right: Wilson's, 95 %."""
        return wilson(self.right, self.n)

    @property
    def chance(self) -> float | None:
        """The share right by guessing; None where that is not known of every case."""
        known = [answer.chance for answer in self.answers if answer.chance is not None]
        return sum(known) / len(known) if known and len(known) == self.n else None

    @property
    def prompt_tokens(self) -> int:
        """Of all calls."""
        return sum(answer.prompt_tokens for answer in self.answers)

    @property
    def completion_tokens(self) -> int:
        """Of all calls."""
        return sum(answer.completion_tokens for answer in self.answers)


class FirstCall(BaseModel):
    """The first constrained call of a process, which may have to make its constraint ready.

    Attributes:
        role: Whose.
        seconds: It took.
        again: The same call once more; None where it was not made.
    """

    model_config = _CLOSED

    role: str
    seconds: float
    again: float | None = None


class PricedEpisode(BaseModel):
    """An episode that was played to see what one costs.

    Attributes:
        task: The task's name.
        settings: What the agent was played with beyond its defaults.
        end_state: How it ended.
        success: Whether the goal was reached.
        steps: Actions.
        calls: Of the model.
        prompt_tokens: Of all calls.
        completion_tokens: Of all calls.
        usd: In millionths of a US dollar; None where the price is unknown.
        seconds: On a clock.
        cut: The probe's own time or money ended it, so it would have cost more.
        most_calls: An upper bound on the calls of such an episode; None where none is known.
        most_tokens: What so many of the largest call that was measured come to.
        most_usd: The same in millionths of a US dollar; None where the price is unknown.
    """

    model_config = _CLOSED

    task: str
    settings: dict[str, str] = Field(default_factory=dict)
    end_state: str
    success: bool
    steps: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: int | None
    seconds: float
    cut: bool = False
    most_calls: int | None = None
    most_tokens: int | None = None
    most_usd: int | None = None


class Probe(BaseModel):
    """What was measured of a model in an environment.

    Attributes:
        environment: Its name.
        model: The model's string.
        identity: The model's identity.
        prompts: The prompt format.
        seed: Of the cases.
        version: Of this package.
        date: When it was begun.
        threads: That torch computed with; None where the model computes elsewhere.
        roles: In the order of an episode, by name.
        first: The first constrained call; None where there was none.
        episode: The episode; None where none was played.
        usd: Spent on all of it, in millionths of a US dollar; None where the price is unknown.
        stopped: Why there is less of it than was asked for; empty where there is not.
    """

    model_config = _CLOSED

    environment: str
    model: str
    identity: str
    prompts: str
    seed: int = 0
    version: str = tape.__version__
    date: str = ""
    threads: int | None = None
    roles: dict[str, RoleRecord] = Field(default_factory=dict)
    first: FirstCall | None = None
    episode: PricedEpisode | None = None
    usd: int | None = 0
    stopped: str = ""

    @property
    def measured(self) -> int:
        """Cases of all roles."""
        return sum(role.n for role in self.roles.values())


@lru_cache(maxsize=4096)
def fingerprint(case: RoleCase, identity: str) -> str:
    """Identifies what a model is asked in a case."""
    return (case.request if case.reading is None else case.reading.requests[0]).fingerprint(identity)


def file_of(identity: str, environment: str, seed: int) -> Path:
    """Where a probe is kept, by the model's identity, the environment and this package's version."""
    name = hashlib.sha256(json.dumps([SCHEMA, identity, environment, seed, tape.__version__]).encode()).hexdigest()[:16]
    return cache_folder("probe") / f"{environment}-{name}.json"


def kept(identity: str, environment: str, seed: int = 0) -> Probe | None:
    """What is in the cache of a model and an environment; None where nothing is, or nothing that can be read.

    What was asked may not be what is asked now: the answers' fingerprints show it.
    """
    try:
        text = file_of(identity, environment, seed).read_text(encoding="utf-8")
        probe = Probe.model_validate_json(text)
    except (OSError, UnicodeDecodeError, ValidationError):
        return None  # a cache may be deleted, or be of another program: then it is measured anew
    return probe if (probe.identity, probe.environment, probe.seed) == (identity, environment, seed) else None


def keep(probe: Probe) -> None:
    """Write a probe to the cache.

    Raises:
        ProbeError: The cache cannot be written.
    """
    path = file_of(probe.identity, probe.environment, probe.seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_name(f"{path.stem}-{os.getpid()}.json")  # another process may write at the same time
        replace_file(own, json.dumps(redacted(probe.model_dump(mode="json")), indent=1) + "\n")
        own.replace(path)
    except OSError as error:
        raise ProbeError(
            f"{path} cannot be written ({error.strerror}); let XDG_CACHE_HOME name a folder that can be"
        ) from error


class ProbeError(TapeError):
    """A model cannot be probed in an environment, or what was measured cannot be kept."""

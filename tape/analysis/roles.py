"""What a model can do in each role, measured on cases with known answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tape.errors import BudgetExceededError, TapeError
from tape.lm.base import LanguageModel, OneOf, weighs
from tape.protocols.role_cases import JudgedAnswer, RoleCase

BATCH = 5
"""Cases that a model is asked at once."""


@dataclass(frozen=True)
class Answered:
    """What came of one case."""

    case: RoleCase
    text: str
    judged: JudgedAnswer
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class RoleMeasure:
    """What a model can do in one role.

    Attributes:
        role: The role.
        answers: By case.
        seconds: Of all answers together, on a clock.
        failure: Why the model could not be asked further, if that happened; the cases after it have no answer.
    """

    role: str
    answers: tuple[Answered, ...]
    seconds: float
    failure: str = ""

    @property
    def n(self) -> int:
        """Cases that were asked."""
        return len(self.answers)

    @property
    def valid(self) -> int:
        """Answers that could be read."""
        return sum(answered.judged.valid for answered in self.answers)

    @property
    def right(self) -> int:
        """Answers that are right."""
        return sum(answered.judged.right for answered in self.answers)

    @property
    def chance(self) -> float | None:
        """The share right by guessing among the options; None where that is not known of every case."""
        shares = [answered.case.chance for answered in self.answers]
        known = [share for share in shares if share is not None]
        return sum(known) / len(known) if known and len(known) == len(shares) else None

    @property
    def prompt_tokens(self) -> tuple[float, int]:
        """Tokens of a prompt: mean and most; zeros where there is no answer."""
        counts = [answered.prompt_tokens for answered in self.answers]
        return (sum(counts) / len(counts), max(counts)) if counts else (0.0, 0)

    @property
    def completion_tokens(self) -> float:
        """Tokens of an answer, mean."""
        return sum(answered.completion_tokens for answered in self.answers) / self.n if self.n else 0.0


@dataclass
class _Asked:
    answers: list[Answered] = field(default_factory=list)
    failure: str = ""


async def measure(
    model: LanguageModel,
    cases: Sequence[RoleCase],
    *,
    batch: int = BATCH,
    until: float | None = None,
    listener: Callable[[Answered], None] | None = None,
) -> RoleMeasure:
    """Ask a model the cases of one role, greedily.

    Args:
        model: The model.
        cases: All of one role.
        batch: How many are asked at once.
        until: No batch begins after this time of ``time.monotonic``.
        listener: Called with every answer.

    Raises:
        ValueError: The cases are of several roles, or there is none.
    """
    roles = {case.role for case in cases}
    if len(roles) != 1:
        raise ValueError(f"expected cases of one role, got those of {sorted(roles) or 'none'}")
    asked, began = _Asked(), time.monotonic()
    for first in range(0, len(cases), batch):
        if until is not None and time.monotonic() >= until:
            break
        try:
            answers = await _ask(model, cases[first : first + batch])
        except BudgetExceededError:
            raise
        except TapeError as error:
            asked.failure = str(error)
            break
        for answered in answers:
            asked.answers.append(answered)
            if listener is not None:
                listener(answered)
    return RoleMeasure(roles.pop(), tuple(asked.answers), time.monotonic() - began, asked.failure)


async def _ask(model: LanguageModel, cases: Sequence[RoleCase]) -> list[Answered]:
    if weighs(model) and all(case.reading is not None for case in cases):
        read = [(case, *await case.reading.read(model)) for case in cases if case.reading is not None]
        return [
            Answered(case, text, case.judge(text), used.prompt_tokens, used.completion_tokens)
            for case, text, used in read
        ]
    requests = [case.request for case in cases]
    if cases[0].scored:
        result = []
        for case, (weights, usage) in zip(cases, await model.score_options(requests), strict=True):
            assert isinstance(case.request.constraint, OneOf), "a score is asked for by a choice"
            options = case.request.constraint.options
            text = options[weights.index(max(weights))] if any(weights) else ""
            result.append(Answered(case, text, case.judge(text), usage.prompt_tokens, usage.completion_tokens))
        return result
    return [
        Answered(
            case,
            completion.texts[0],
            case.judge(completion.texts[0]),
            completion.usage.prompt_tokens,
            completion.usage.completion_tokens,
        )
        for case, completion in zip(cases, await model.generate(requests), strict=True)
    ]

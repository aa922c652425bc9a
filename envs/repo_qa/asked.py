"""A question about a repository as it is played, generated or public."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlayedQuestion:
    """A question as it is played, generated or public.

    Attributes:
        id: Unique within its set.
        text: As asked.
        answers: The spellings that count; none where there is no answer.
        evidence: Ids of the passages that hold the answer, as far as they are known.
        answerable: False where there is no answer.
        kind: Of generated questions; ``public`` of others.
        hops: Of generated questions; 0 where it is not known.
        sub_questions: Of generated questions.
        heldout: Whether a wording is held out from training.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...]
    answerable: bool
    kind: str = "public"
    hops: int = 0
    sub_questions: tuple[str, ...] = ()
    heldout: bool = False

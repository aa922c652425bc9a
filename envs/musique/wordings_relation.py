"""What a relation between two entities is, and how it may be worded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """A relation with one answer for each subject.

    Of each group of wordings the last is held out: no training text has it.

    Attributes:
        name: One lower-case word.
        subjects: The types of entities that have it.
        answer: The type of its answers.
        sentences: Passages state it so; ``{s}`` is the subject, ``{o}`` the answer.
        phrases: Questions speak of the answer so; ``{x}`` is the subject or the phrase for it.
        questions: Questions ask for the answer so.
    """

    name: str
    subjects: tuple[str, ...]
    answer: str
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]

"""Grounding: answer only from facts whose subject agrees with the question's (a pullback, as AEC has it).

A fact has the title of its source as its subject, a question the names in it. Facts and names are taken together over
what they agree on: a fact is aligned where its subject is named in the question, or in a fact that is aligned already,
which is how a chain of facts goes from one thing to the next. The rest may be true and is about something else. With a
question that names no subject of the corpus nothing can disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tape.cgdp.view import Fact

_WORD = re.compile(r"[^\W_]+")


def names(subject: str, text: str) -> bool:
    """Whether a text names a subject: its words stand there, in order, whatever their case."""
    wanted, there = _WORD.findall(subject.lower()), _WORD.findall(text.lower())
    width = len(wanted)
    return width > 0 and any(there[i : i + width] == wanted for i in range(len(there) - width + 1))


def aligned(question: str, facts: Iterable[Fact], subjects: Iterable[str]) -> tuple[Fact, ...]:
    """The facts that agree with a question, in their order.

    Args:
        question: The question.
        facts: Facts with sources.
        subjects: All that there are in the corpus.
    """
    left = list(facts)
    if not any(names(subject, question) for subject in subjects):
        return tuple(left)
    said = [question]
    found: set[int] = set()
    grown = True
    while grown:
        grown = False
        for i, fact in enumerate(left):
            if i not in found and any(names(fact.subject, text) for text in said):
                found.add(i)
                said.append(fact.quote)
                grown = True
    return tuple(fact for i, fact in enumerate(left) if i in found)

"""Grounding: answer only from facts whose subject agrees with the question's (a pullback, as AEC has it).

The subject of a fact is the title of its source. A fact is aligned if the question, or a fact that is already aligned,
names its subject; so a chain of facts leads from one subject to the next. All other facts are about something else. If
the question names no subject of the corpus, all facts are aligned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tape.methods.cgdp.view import Fact

_WORD = re.compile(r"[^\W_]+")


def names(subject: str, text: str) -> bool:
    """Whether a text contains the words of a subject, in order; case is ignored."""
    wanted, there = _WORD.findall(subject.lower()), _WORD.findall(text.lower())
    width = len(wanted)
    return width > 0 and any(there[i : i + width] == wanted for i in range(len(there) - width + 1))


def aligned(question: str, facts: Iterable[Fact], subjects: Iterable[str]) -> tuple[Fact, ...]:
    """The facts that agree with a question, in their order."""
    left = list(facts)
    if not any(names(subject, question) for subject in subjects):
        return tuple(left)
    naming = [question]
    numbers: set[int] = set()
    grown = True
    while grown:
        grown = False
        for i, fact in enumerate(left):
            if i not in numbers and any(names(fact.subject, text) for text in naming):
                numbers.add(i)
                naming.append(fact.quote)
                grown = True
    return tuple(fact for i, fact in enumerate(left) if i in numbers)

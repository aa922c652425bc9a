"""What is read: paragraphs, and what is asked of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tape.protocols.search import Passage

_ENDS = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|Jr|Sr|No|vs|Lt|Mt|Ft)\.)(?<!\b(?:Mrs|Rev|Gen|Col|Sgt)\.)"
    r"\s+(?=[A-Z0-9\"'(])"
)
"""An initial or a title with a point ends no sentence."""


@dataclass(frozen=True)
class Asked:
    """A question to some paragraphs.

    Attributes:
        question: As it is asked.
        quote: The sentence that answers it, word for word; empty where none does.
        answer: The answer in the sentence; empty where there is none.
        title: Of its paragraph.
        gap: Whether the question is a sentence that the answer completes.
    """

    question: str
    quote: str = ""
    answer: str = ""
    title: str = ""
    gap: bool = False


@dataclass(frozen=True)
class Sheet:
    """Paragraphs, and the questions that are asked of them one by one.

    Attributes:
        passages: In the order shown.
        asked: The questions; no two of them need each other.
    """

    passages: tuple[Passage, ...]
    asked: tuple[Asked, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph."""
    return _ENDS.split(text.strip())


def shortened(passage: Passage, keep: str, most: int) -> Passage:
    """A paragraph of at most so many words: whole sentences around the one that is kept.

    Args:
        passage: The paragraph.
        keep: A sentence of it; the first where it is none.
        most: Words; one longer sentence stays whole.
    """
    parts = sentences(passage.text)
    first = last = parts.index(keep) if keep in parts else 0
    left = most - len(parts[first].split())
    while True:
        before = parts[first - 1] if first else None
        after = parts[last + 1] if last + 1 < len(parts) else None
        grown = before if before is not None else after
        if grown is None or len(grown.split()) > left:
            return Passage(passage.id, passage.title, " ".join(parts[first : last + 1]))
        left -= len(grown.split())
        first, last = (first - 1, last) if before is not None else (first, last + 1)

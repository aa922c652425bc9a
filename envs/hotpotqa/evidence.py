"""Which paragraph a finding rests on: titles, and keyword overlap as the fallback (SDP appendix A.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tape.protocols.search import Passage

SHORTEST = 4
"""Letters of a content word."""

_STOP = (
    "about after again against also although among another because been before being between both could does doing "
    "down during each ever every from further have having here hers herself himself into itself just more most much "
    "myself name named once only other others ours over said same shall should some such than that their theirs them "
    "themselves then there these they this those though through under until upon very were what when where which while "
    "whom whose will with within without would your yours"
)
STOP_WORDS = frozenset(_STOP.split())

_WORD = re.compile(r"[^\W\d_]+|\d+")


def content_words(text: str) -> frozenset[str]:
    """Words of four letters or more that are no stop words; numbers of four digits or more count too."""
    return frozenset(word for word in _words(text) if len(word) >= SHORTEST and word not in STOP_WORDS)


def overlap(text: str, passage: Passage) -> int:
    """How many content words of a text stand in a paragraph or its title."""
    return len(content_words(text) & frozenset(_words(f"{passage.title} {passage.text}")))


def ranked(text: str, passages: Sequence[Passage]) -> list[Passage]:
    """Paragraphs by overlap with a text, the best first; of equal ones the earlier first."""
    return sorted(passages, key=lambda passage: -overlap(text, passage))


def reading_order(sub_question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Paragraphs to read for a sub-question: those whose title it names first, then by overlap (ours)."""
    asked = " ".join(_words(sub_question))
    return sorted(ranked(sub_question, passages), key=lambda p: not _named(" ".join(_words(p.title)), asked))


def _named(title: str, asked: str) -> bool:
    return bool(title) and f" {title} " in f" {asked} "


def resolve_title(title: str, passages: Sequence[Passage], cached: Sequence[Passage]) -> Passage | None:
    """The paragraph that a cited title means.

    By the exact title; then where one title contains the other; then the same among what was ever retrieved.

    Args:
        title: As cited.
        passages: The paragraphs that were looked at.
        cached: The paragraphs of the search cache.
    """
    wanted = " ".join(_words(title))
    if not wanted:
        return None
    for group in (passages, cached):
        titles = [" ".join(_words(passage.title)) for passage in group]
        exact = [p for p, its in zip(group, titles, strict=True) if its == wanted]
        # Of several that contain it, the title closest in length.
        near = [(abs(len(its) - len(wanted)), i) for i, its in enumerate(titles) if its and _inside(its, wanted)]
        if exact or near:
            return exact[0] if exact else group[min(near)[1]]
    return None


def _inside(name: str, other: str) -> bool:
    return f" {name} " in f" {other} " or f" {other} " in f" {name} "


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())

"""What training text is made from: a question, the facts that answer it, and a corpus that can be searched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from envs.search.index import Index

_PLAIN = """
a an the of to in on at by for from with and or is are was were be been being it its that this which who whom whose
what where when how many much does do did has have had there their his her he she they them as into one person name
give find tell me say please you your i my than then also about would could will can
"""
PLAIN = frozenset(_PLAIN.split())
"""Words that a query does without."""

_WORD = re.compile(r"[\w'’-]+(?:\.[\w'’-]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")


@dataclass(frozen=True)
class Hop:
    """One fact that a question needs.

    Attributes:
        question: It as a question of its own, names filled in.
        queries: What finds it, the first try first; names filled in.
        answer: What it comes to.
        evidence: Passage ids and sentences that state it; none where the corpus does not.
        needs: Positions of the hops whose answers its question names.
    """

    question: str
    queries: tuple[str, ...]
    answer: str
    evidence: frozenset[tuple[str, str]]
    needs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Task:
    """A question with its gold.

    Attributes:
        domain: Where it comes from.
        question: Its text.
        hops: In an order in which each comes after those that it needs.
        answer: The answer, or :data:`tape.protocols.search.UNANSWERABLE`.
        index: The corpus.
    """

    domain: str
    question: str
    hops: tuple[Hop, ...]
    answer: str
    index: Index

    def next_hop(self, seen: Iterable[int]) -> int | None:
        """The first hop that is not resolved: neither seen, nor needed by one that is; None where all are."""
        resolved = set(seen)
        for number in sorted(resolved, reverse=True):
            resolved |= self._below(number)
        return next((i for i in range(len(self.hops)) if i not in resolved), None)

    def _below(self, number: int) -> set[int]:
        found: set[int] = set()
        for need in self.hops[number].needs:
            found |= {need} | self._below(need)
        return found


def keywords(text: str, names: Iterable[str] = ()) -> str:
    """The words of a text that say something; names stay whole."""
    text = _POSSESSIVE.sub("", text)
    kept = {name: f"Keep{'x' * i}" for i, name in enumerate(sorted(names, key=len, reverse=True), 1)}
    for name, stand_in in kept.items():
        text = text.replace(name, stand_in)
    words = [word for word in _WORD.findall(text) if word.lower() not in PLAIN]
    back = {stand_in: name for name, stand_in in kept.items()}
    return " ".join(dict.fromkeys(back.get(word, word.lower()) for word in words))


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts, each once, the empty ones left out."""
    return tuple(dict.fromkeys(text for text in texts if text))

"""Texts as the bundled search model reads them: one token a word, and a slot for each unknown word.

Words are lower case, marks and possessive endings are left out; a run of capitalised words is one name, and a dotted
name is two words, the path and the last part. A word outside the vocabulary is a slot (``e1``, ``e2``, ...), the same
word the same slot throughout a prompt, so that copying a name is one token and a text may hold any words. Everything
that can be referred to ends in a tag (``s1``, ``s2``, ...).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Generic, TypeVar

from tape.errors import InvalidOutputError, ModelError
from tape.protocols.search import Passage, SearchTask

T = TypeVar("T")

UNKNOWN = "<unk>"
MOST_SLOTS = 120
"""Slots are ``e1`` to ``e120``; further words are ``<unk>``."""
MOST_TAGS = 120
"""Tags are ``s1`` to ``s120``; later items end in ``s0`` and cannot be referred to."""

_ALL = 10**9
"""More passages than any corpus has."""
SURE_OF, MOST_STRANGE = 60, 0.2
"""So many ordinary words tell whether the model knows such texts, and the largest share of them that are unknown: of
our own conversations .1 are, of public ones .3."""

_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|[^\W\d]\w*(?:\.[^\W\d]\w*)*(?=\.[^\W\d])|\w+(?:[-'’](?!s\b)\w+)*")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_PLAIN = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_SLOT = re.compile(r"e([1-9]\d{0,2})")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\s*\n\s*")
_STARTS = frozenset('.?!:;"“”(\n')
"""After these a capital letter makes no name."""


@cache
def vocabulary() -> tuple[str, ...]:
    """The plain words of the bundled model, in the order of their ids."""
    return tuple((resources.files("envs.search.prompts") / "search_words.txt").read_text("utf-8").split())


@cache
def _known() -> frozenset[str]:
    return frozenset(vocabulary())


@dataclass(frozen=True)
class Word:
    """A word of a text, or a run of capitalised words.

    Attributes:
        key: Its words in lower case: equal keys are the same word.
        start: Where it begins in the text.
        end: Where it ends.
    """

    key: str
    start: int
    end: int


@lru_cache(maxsize=20_000)
def split(text: str) -> tuple[Word, ...]:
    """The words of a text, in order."""
    matches = list(_WORD.finditer(_POSSESSIVE.sub("  ", text)))
    words: list[Word] = []
    position = 0
    while position < len(matches):
        first = matches[position]
        end = position + 1
        if _capital(first[0]) and not _ordinary(text, first):
            while (
                end < len(matches)
                and _capital(matches[end][0])
                and text[matches[end - 1].end() : matches[end].start()] == " "
            ):
                end += 1
        words.append(Word(" ".join(f[0].lower() for f in matches[position:end]), first.start(), matches[end - 1].end()))
        position = end
    return tuple(words)


def _capital(word: str) -> bool:
    return word[0].isupper() and word != "I" and not word.startswith(("I'", "I’"))


def _ordinary(text: str, word: re.Match[str]) -> bool:
    """Whether a capitalised word is a known one that starts a sentence, so that no name begins with it."""
    before = word.start()
    while before and text[before - 1] == " ":
        before -= 1
    return word[0].lower() in _known() and (not before or text[before - 1] in _STARTS)


@lru_cache(maxsize=20_000)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences or lines of a text that have words, verbatim."""
    return tuple(part for part in (part.strip() for part in _BREAK.split(text)) if split(part))


def ordinary_words(text: str) -> list[str]:
    """The words of a text in lower-case letters, which are no names."""
    return [word.key for word in split(text) if _PLAIN.fullmatch(text, word.start, word.end)]


def check_words(task: SearchTask) -> None:
    """Refuse a corpus whose words the bundled model does not know.

    Raises:
        ModelError: More than :data:`MOST_STRANGE` of its ordinary words are unknown: ``unsupported``.
    """
    ordinary, strange = task.most(_ALL, _ordinary_count), task.most(_ALL, _strange_count)
    if ordinary >= SURE_OF and strange > MOST_STRANGE * ordinary:
        raise ModelError(
            "unsupported: the bundled search LM reads texts like those of the project's own corpora alone, and not "
            f"these: {strange} of their {ordinary} ordinary words are unknown to it; see tape models for general ones"
        )


def _ordinary_count(passage: Passage) -> int:
    """Words that are no names; none of source code, whose passages have dotted names for titles."""
    return 0 if "." in passage.title else len(ordinary_words(passage.text))


def _strange_count(passage: Passage) -> int:
    return 0 if "." in passage.title else sum(word not in _known() for word in ordinary_words(passage.text))


class TaggedPage(Generic[T]):
    """A prompt under construction, with its tagged items.

    Attributes:
        words: The tokens so far.
        tagged: The item of each tag, from ``s1``.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.tagged: list[T] = []
        self._slots: dict[str, str] = {}
        self._names: dict[str, tuple[str, str]] = {}
        self._texts: list[tuple[str, tuple[Word, ...]]] = []

    def mark(self, *markers: str) -> None:
        """Append words of the format."""
        self.words += markers

    def text(self, text: str) -> None:
        """Append a text."""
        words = split(text)
        self._texts.append((text, words))
        self.words += [self._token(word.key, text[word.start : word.end]) for word in words]

    def tag(self, what: T) -> None:
        """Append a tag for the item that was just written."""
        self.tagged.append(what)
        self.words.append(f"s{len(self.tagged)}" if len(self.tagged) <= MOST_TAGS else "s0")

    def tokens(self, text: str) -> list[str] | None:
        """The tokens of a text of plain words and words of the page; None if it has others."""
        keys = [word.key if word.key in _known() else self._slots.get(word.key, "") for word in split(text)]
        return keys if all(keys) and UNKNOWN not in keys else None

    @property
    def slots(self) -> int:
        """Number of slots in use."""
        return len(self._names)

    def _token(self, key: str, surface: str) -> str:
        if key in _known():
            return key
        if key not in self._slots:
            used = len(self._names)
            slot = f"e{used + 1}" if used < MOST_SLOTS else UNKNOWN
            self._slots[key] = slot
            if slot != UNKNOWN:
                self._names[slot] = key, surface
        return self._slots[key]

    def read(self, words: Sequence[str]) -> str:
        """The text of some tokens, with names as on the page.

        Raises:
            InvalidOutputError: A token is neither plain nor a slot in use, or there are none.
        """
        if not words:
            raise InvalidOutputError("expected words, got none")
        return " ".join(self._surface(word) for word in words)

    def verbatim(self, words: Sequence[str]) -> str:
        """As :meth:`read`, but verbatim from the first text that contains these words in a row, if any.

        Raises:
            InvalidOutputError: As for :meth:`read`.
        """
        plain = self.read(words)
        keys = [self._names[word][0] if word in self._names else word for word in words]
        for text, result in self._texts:
            own = [word.key for word in result]
            for start in range(len(own) - len(keys) + 1):
                if own[start : start + len(keys)] == keys:
                    return text[result[start].start : result[start + len(keys) - 1].end]
        return plain

    def _surface(self, word: str) -> str:
        if word in self._names:
            return self._names[word][1]
        if _SLOT.fullmatch(word) or not _PLAIN.fullmatch(word):
            raise InvalidOutputError(f"{word[:80]!r} stands for nothing in the prompt")
        return word

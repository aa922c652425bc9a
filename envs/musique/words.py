"""The words that the bundled LM reads: lower case, with a slot for each name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envs.musique import wordings
from envs.musique.errors import TooManyEntitiesError

RELATIONS: tuple[str, ...] = tuple(wordings.RELATIONS)
"""The relations that queries name."""

MOST_ENTITIES = 40
"""There are slots ``e1`` to ``e40``."""

_TOKEN = re.compile(r"[^\W\d_]+(?:(?:-|['’](?!s\b))[^\W\d_]+)*|['’]s\b|\d+|[^\w\s]|_")
_SLOT = re.compile(r"e([1-9]|[1-3]\d|40)\Z")
_ENDS_SENTENCE = frozenset('.?!:;"“”(')
_QUERY = re.compile(r"\s*(\w+)\s+of\s+(\S.*?)\s*\Z", re.DOTALL)


def _vocabulary() -> tuple[str, ...]:
    texts: list[str] = [*wordings.TYPES, *wordings.FRAMES.who, *wordings.FRAMES.what]
    for relation in wordings.RELATIONS.values():
        texts += [relation.name, *relation.sentences, *relation.phrases, *relation.questions]
    for its in wordings.ENTITY_TYPES.values():
        texts += its.beside
    found: set[str] = set()
    for text in texts:
        found.update(_TOKEN.findall(re.sub(r"\{\w+\}", " ", text)))
    return tuple(sorted(found))


VOCABULARY: tuple[str, ...] = _vocabulary()
"""Every plain word and mark that our own questions and passages use."""
_KNOWN = frozenset(VOCABULARY)


@dataclass(frozen=True)
class Words:
    """Texts as the bundled LM reads them.

    Attributes:
        tokens: The words of each text, names replaced by slots.
        entities: The name behind each slot: ``e1`` is the first.
    """

    tokens: tuple[tuple[str, ...], ...]
    entities: tuple[str, ...]

    def slot(self, entity: str) -> str | None:
        """The slot of a name; None where it has none."""
        key = _key(entity)
        return next((f"e{i}" for i, name in enumerate(self.entities, 1) if _key(name) == key), None)

    def name(self, slot: str) -> str | None:
        """The name behind a slot; None where there is none."""
        found = _SLOT.match(slot)
        number = int(found[1]) if found else 0
        return self.entities[number - 1] if 0 < number <= len(self.entities) else None


def _key(name: str) -> str:
    return " ".join(_TOKEN.findall(name))


class _Slots:
    """Slots in the order of first appearance."""

    def __init__(self, entities: Sequence[str]) -> None:
        self.names: list[str] = []
        self._slots: dict[str, str] = {}
        self._unusual: dict[str, list[tuple[list[str], str]]] = {}
        for entity in entities:
            key = _key(entity)
            if key in self._slots:
                continue
            slot = self.slot(key, entity)
            words = key.split()
            if words and not all(word[0].isupper() for word in words):
                # Not a run of capitals, so it is found by its words alone, the longest name first.
                same = self._unusual.setdefault(words[0].lower(), [])
                same.append(([word.lower() for word in words], slot))
                same.sort(key=lambda item: -len(item[0]))

    def slot(self, key: str, name: str) -> str:
        found = self._slots.get(key)
        if found is None:
            if len(self.names) == MOST_ENTITIES:
                raise TooManyEntitiesError(
                    f"more than {MOST_ENTITIES} different names, the {MOST_ENTITIES + 1}st is {name!r}; "
                    "give fewer or shorter texts"
                )
            self.names.append(name)
            found = self._slots[key] = f"e{len(self.names)}"
        return found

    def known(self, key: str) -> bool:
        return key in self._slots

    def unusual(self, raw: Sequence[str], start: int) -> tuple[str, int] | None:
        for words, slot in self._unusual.get(raw[start].lower(), ()):
            end = start + len(words)
            if [word.lower() for word in raw[start:end]] == words:
                return slot, end
        return None


def delexicalise(texts: Sequence[str], entities: Sequence[str] = ()) -> Words:
    """Replace the names in some texts by slots, the same name by the same slot throughout.

    A name is a longest run of capitalised words; a word that starts a sentence and is in :data:`VOCABULARY` does not
    count. Everything else becomes lower case.

    Args:
        texts: The texts, in the order in which new names are numbered.
        entities: Names that get the first slots whether they occur or not.

    Raises:
        TooManyEntitiesError: There are more than :data:`MOST_ENTITIES` names.
    """
    slots = _Slots(entities)
    return Words(tuple(_one(text, slots) for text in texts), tuple(slots.names))


def _one(text: str, slots: _Slots) -> tuple[str, ...]:
    raw = _TOKEN.findall(text)
    tokens: list[str] = []
    position = 0
    while position < len(raw):
        word = raw[position]
        unusual = slots.unusual(raw, position)
        if unusual is not None:
            slot, position = unusual
            tokens.append(slot)
            continue
        if word[0].isupper():
            end = position + 1
            while end < len(raw) and raw[end][0].isupper():
                end += 1
            key = " ".join(raw[position:end])
            starts = position == 0 or raw[position - 1] in _ENDS_SENTENCE
            if not starts or word.lower() not in _KNOWN or slots.known(key):
                tokens.append(slots.slot(key, key))
                position = end
                continue
        tokens.append(word.lower())
        position += 1
    return tuple(tokens)


def unknown_words(tokens: Iterable[str]) -> list[str]:
    """The words that our own texts never use and that are no slots, each once, in order."""
    return list(dict.fromkeys(token for token in tokens if token not in _KNOWN and not _SLOT.match(token)))


def query_text(relation: str, entity: str) -> str:
    """A query as retrievers get it, for instance ``founder of Aldera``."""
    return f"{relation} of {entity}"


def parse_query(text: str) -> tuple[str, str] | None:
    """Relation and entity of a query made by :func:`query_text`; None where it is none."""
    found = _QUERY.match(text)
    return (found[1], found[2]) if found is not None and found[1] in RELATIONS else None

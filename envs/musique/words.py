"""The words of our own questions and passages: lower case, with a slot for each name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.musique import wordings

RELATIONS: tuple[str, ...] = tuple(wordings.RELATIONS)
"""The relations that queries name."""

_TOKEN = re.compile(r"[^\W\d_]+(?:(?:-|['’](?!s\b))[^\W\d_]+)*|['’]s\b|\d+|[^\w\s]|_")
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
    """Texts without their names.

    Attributes:
        tokens: The words of each text in lower case, names replaced by slots ``e1``, ``e2``, ...
        entities: The name behind each slot: ``e1`` is the first.
    """

    tokens: tuple[tuple[str, ...], ...]
    entities: tuple[str, ...]


def delexicalise(texts: Sequence[str]) -> Words:
    """Replace the names in some texts by slots, the same name by the same slot throughout.

    A name is a longest run of capitalised words; a word that starts a sentence and is in :data:`VOCABULARY` does not
    count. Everything else becomes lower case.

    Args:
        texts: The texts, in the order in which names are numbered.
    """
    slots: dict[str, str] = {}
    return Words(tuple(_one(text, slots) for text in texts), tuple(slots))


def _one(text: str, slots: dict[str, str]) -> tuple[str, ...]:
    """The words of a text; new names get new slots."""
    raw = _TOKEN.findall(text)
    tokens: list[str] = []
    position = 0
    while position < len(raw):
        word = raw[position]
        if word[0].isupper():
            end = position + 1
            while end < len(raw) and raw[end][0].isupper():
                end += 1
            name = " ".join(raw[position:end])
            starts = position == 0 or raw[position - 1] in _ENDS_SENTENCE
            if not starts or word.lower() not in _KNOWN or name in slots:
                tokens.append(slots.setdefault(name, f"e{len(slots) + 1}"))
                position = end
                continue
        tokens.append(word.lower())
        position += 1
    return tuple(tokens)


def query_text(relation: str, entity: str) -> str:
    """A query as retrievers get it, for instance ``founder of Aldera``."""
    return f"{relation} of {entity}"


def parse_query(text: str) -> tuple[str, str] | None:
    """Relation and entity of a query made by :func:`query_text`; None where it is none."""
    found = _QUERY.match(text)
    return (found[1], found[2]) if found is not None and found[1] in RELATIONS else None

"""The relations that speakers state, and the questions for them.

The relations are data files, with one table for each:

.. code-block:: toml

    [pet_from]
    key = "town"
    value = "pet"
    said = ["I found a kitten in {key} and called it {value}."]
    asked = ["What is the name of the pet that {who} got in {key}?"]
    linked = ["What did {who} call the pet from {key}?"]
    described = ["the pet that {he} got in {key}"]

``said`` holds sentences of a speaker. In ``asked`` and ``described`` ``{who}`` is the speaker; ``{he}``, ``{his}``,
``{him}`` are pronouns. ``linked`` asks with ``{key}`` being a description instead of a name; where it is left out
``asked`` does both. The last of each list is held out of training.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from envs.data_files import Folder, TableEntry, read_toml
from envs.locomo.words import known_kinds, words

FILES = ("people.toml", "life.toml")
"""In a fixed order: what a seed generates depends on it."""

_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class SpokenWording:
    """One wording.

    Attributes:
        text: With slots in braces.
        held_out: Whether no training text has it.
    """

    text: str
    held_out: bool

    @property
    def slots(self) -> frozenset[str]:
        """The slots that it has."""
        return frozenset(_SLOT.findall(self.text))

    def filled(self, **slots: str) -> str:
        """The text with its slots filled; it begins with a capital letter if it did before."""
        text = _SLOT.sub(lambda slot: slots[slot[1]], self.text)
        return text[0].upper() + text[1:] if self.text[0] in "{" or self.text[0].isupper() else text


@dataclass(frozen=True)
class SpokenRelation:
    """A relation that a speaker states at most once of each key.

    Attributes:
        name: Unique.
        key: The kind of its key; empty where it is about the speaker alone.
        value: The kind of its value; ``speaker`` is the other speaker.
        said: Sentences that state it.
        asked: Questions for the value.
        linked: Questions for the value that may have a description for the key.
        described: Phrases for the value; empty where questions cannot describe it.
        after: What the key must be the value of, by name of the relation; empty where that does not matter.
        of_key: It is about the key and not about the speaker, so two speakers cannot differ on it.
    """

    name: str
    key: str
    value: str
    said: tuple[SpokenWording, ...]
    asked: tuple[SpokenWording, ...]
    linked: tuple[SpokenWording, ...]
    described: tuple[SpokenWording, ...]
    after: tuple[str, ...]
    of_key: bool

    @property
    def crosses(self) -> bool:
        """Whether its value is the other speaker."""
        return self.value == "speaker"


def leads_to(first: SpokenRelation, second: SpokenRelation) -> bool:
    """Whether the value of one can be the key of the other."""
    fits = bool(first.described) and first.value == second.key and not second.crosses
    return fits and (not second.after or first.name in second.after)


def read_relations(folder: Folder) -> tuple[SpokenRelation, ...]:
    """Read the relations of a folder.

    Raises:
        DataFileError: A file cannot be used; names entry and field.
    """
    spoken_relations: dict[str, SpokenRelation] = {}
    for file in FILES:
        for entry in read_toml(folder, file).tables():
            if entry.name in spoken_relations:
                raise entry.error("", "came before; give each relation its own name")
            spoken_relations[entry.name] = _relation(entry)
    return tuple(spoken_relations.values())


def _relation(entry: TableEntry) -> SpokenRelation:
    entry.only("key", "value", "said", "asked", "linked", "described", "after", "of_key")
    key = entry.text("key") if "key" in entry.fields else ""
    value = entry.text("value")
    for field, kind in (("key", key), ("value", value)):
        if kind and kind not in known_kinds(words()):
            raise entry.error(field, f"is {kind!r}; there is: {', '.join(known_kinds(words()))}")
    keys = {"key"} if key else set()
    who = {"who", "he", "his", "him"}
    asked = tuple(_wordings(entry, "asked", {"who"} | keys, who))
    linked = tuple(_wordings(entry, "linked", keys, who)) if "linked" in entry.fields else asked
    described = tuple(_wordings(entry, "described", keys, who)) if "described" in entry.fields else ()
    said = tuple(_wordings(entry, "said", {"value"} | keys, set()))
    after = entry.texts("after") if "after" in entry.fields else ()
    return SpokenRelation(entry.name, key, value, said, asked, linked, described, after, entry.flag("of_key"))


def _wordings(entry: TableEntry, field: str, needed: set[str], allowed: set[str]) -> Iterator[SpokenWording]:
    texts = entry.texts(field, 3)
    for number, text in enumerate(texts):
        wording = SpokenWording(text, number == len(texts) - 1)
        if not needed <= wording.slots or not wording.slots <= needed | allowed:
            raise entry.error(field, f"{text!r}: needs {_listed(needed)}, and may have {_listed(allowed)}")
        yield wording


def _listed(slots: set[str]) -> str:
    return ", ".join(f"{{{slot}}}" for slot in sorted(slots)) or "none"


def choices(wordings: Sequence[SpokenWording], *, held_out: bool) -> list[SpokenWording]:
    """The wordings that are held out, or the others."""
    return [wording for wording in wordings if wording.held_out == held_out]


def pronouns(name: str, *, woman: bool) -> Mapping[str, str]:
    """What fills the slots for a speaker."""
    he, his, him = ("she", "her", "her") if woman else ("he", "his", "him")
    return {"who": name, "he": he, "his": his, "him": him}


def by_name(name: str) -> Mapping[str, str]:
    """What fills the slots where the speaker has not been named yet."""
    return {"who": name, "he": name, "his": f"{name}'s", "him": name}


@cache
def relations() -> tuple[SpokenRelation, ...]:
    """The relations of the package."""
    return read_relations(resources.files("envs.locomo") / "data")

"""The words of invented conversations: names and things that belong to one part alone, and kinds that all parts share.

They are in ``data/words.toml``. Lists of phrases are separated by ``|``, lists of words by spaces.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

from envs.data_files import Folder, TableEntry, read_toml

Part = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = get_args(Part)

FILE = "words.toml"
_OPEN = ("town", "person", "firm", "pet", "thing", "title")
"""Kinds whose names are invented: each name belongs to one part, and comes once in a conversation."""
_SPECIAL = ("speaker", "date")
"""Kinds that are made in a way of their own: the one spoken to, and a day of a month."""
_DAYS = 28


@dataclass(frozen=True)
class DialogueWords:
    """What conversations are made of; see the data file."""

    women: tuple[str, ...]
    men: tuple[str, ...]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    pets: tuple[str, ...]
    pet_ends: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    kinds: Mapping[str, tuple[str, ...]]


def part_of(text: str) -> Part:
    """The part that a text belongs to: by its hash half of all texts are for training, a quarter for each other part.

    Args:
        text: A name or a sentence; case does not count.
    """
    quarter = hashlib.sha256(text.lower().encode()).digest()[0] % 4
    return ("train", "train", "dev", "test")[quarter]


def is_open(kind: str) -> bool:
    """Whether names of a kind are invented, and differ from part to part."""
    return kind in _OPEN


def known_kinds(words: DialogueWords) -> tuple[str, ...]:
    """All kinds that a relation may name."""
    return (*_OPEN, *_SPECIAL, *words.kinds)


def draw(rng: random.Random, words: DialogueWords, part: Part, kind: str, used: set[str]) -> str:
    """Draw a name of a kind."""
    make = _makers(words).get(kind)
    while make is not None:  # there are far more than a conversation uses up
        made = make(rng)
        if part_of(made) == part and made not in used:
            return made
    if kind == "date":
        return f"{rng.randint(1, _DAYS)} {rng.choice(words.kinds['month'])}"
    return rng.choice([word for word in words.kinds[kind] if word not in used])


def draw_speakers(rng: random.Random, words: DialogueWords, part: Part, used: set[str]) -> tuple[tuple[str, bool], ...]:
    """Two first names of a part, each with whether it is a woman's."""
    names = [(name, woman) for woman in (True, False) for name in (words.women if woman else words.men)]
    drawn = rng.sample([pair for pair in names if part_of(pair[0]) == part], 2)
    used.update(name for name, _ in drawn)
    return tuple(drawn)


def spellings(kind: str, value: str) -> tuple[str, ...]:
    """Every spelling of a value that counts as the same answer, the value itself first."""
    if kind == "date":
        day, month = value.split()
        return (value, f"{month} {day}")
    if kind == "money":
        return (value, value.split(maxsplit=1)[0])
    return (value,)


def _makers(words: DialogueWords) -> Mapping[str, Callable[[random.Random], str]]:
    def name(rng: random.Random) -> str:
        return rng.choice(words.starts) + rng.choice(words.ends)

    return {
        "town": name,
        "firm": name,
        "person": lambda rng: rng.choice(words.women + words.men),
        "pet": lambda rng: rng.choice(words.pets) + rng.choice(words.pet_ends),
        "thing": lambda rng: f"{rng.choice(words.adjectives)} {rng.choice(words.nouns)}",
        "title": lambda rng: f"The {rng.choice(words.firsts)} {rng.choice(words.seconds)}",
    }


def read_words(folder: Folder) -> DialogueWords:
    """Read the word lists of a folder.

    Raises:
        DataFileError: The file cannot be used.
    """
    entry = read_toml(folder, FILE).only("first_names", "names", "kinds", "things", "titles")
    people = entry.table("first_names").only("women", "men")
    names = entry.table("names").only("starts", "ends", "pets", "pet_ends")
    things = entry.table("things").only("adjectives", "nouns")
    titles = entry.table("titles").only("firsts", "seconds")
    kinds = entry.table("kinds")
    return DialogueWords(
        women=people.words("women", 40),
        men=people.words("men", 40),
        starts=names.words("starts", 10),
        ends=names.words("ends", 10),
        pets=names.words("pets", 10),
        pet_ends=names.words("pet_ends", 10),
        adjectives=phrases(things, "adjectives"),
        nouns=phrases(things, "nouns"),
        firsts=phrases(titles, "firsts"),
        seconds=phrases(titles, "seconds"),
        kinds={kind: phrases(kinds, kind) for kind in kinds.fields},
    )


def phrases(entry: TableEntry, field: str) -> tuple[str, ...]:
    """A list of phrases, separated by ``|``.

    Raises:
        DataFileError: There are fewer than six, or one comes twice.
    """
    texts = tuple(" ".join(phrase.split()) for phrase in entry.text(field).split("|"))
    if len(texts) < 6 or len(set(texts)) < len(texts) or not all(texts):
        raise entry.error(field, "holds fewer than six phrases, an empty one or one twice; separate them by |")
    return texts


@cache
def words() -> DialogueWords:
    """The word lists of the package."""
    return read_words(resources.files("envs.locomo") / "data")

"""All wordings of our own worlds: relations, types of entities, frames of questions, and invented names.

They are data files, ``data/*.toml``, with one table per relation in :data:`FILES`:

.. code-block:: toml

    [founder]
    subjects = ["firm", "school"]
    answer = "person"
    sentences = ["{s} was founded by {o}.", "{o} founded {s}."]
    phrases = ["the founder of {x}", "the person who founded {x}"]
    questions = ["who founded {x}?", "by whom was {x} founded?"]

and one per type of entities in ``entities.toml``; :class:`Relation` and :class:`EntityType` document the fields.
``words.toml`` has the frames of questions and the syllables of names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from envs.data_files import Folder, TableEntry, read_toml

FILES = ("people.toml", "places.toml", "things.toml")
"""The files of relations in a fixed order: what a seed generates depends on it."""
ENTITIES_FILE = "entities.toml"
WORDS_FILE = "words.toml"


@dataclass(frozen=True)
class Relation:
    """A relation with one answer for each subject.

    Of each group of wordings the last is held out: no training text has it.

    Attributes:
        name: One lower-case word.
        subjects: The types of entities that have it.
        answer: The type of its answers.
        sentences: Passages state it so; ``{s}`` is the subject, ``{o}`` the answer.
        phrases: Questions speak of the answer so; ``{x}`` is the subject or the phrase for it.
        questions: Questions ask for the answer so.
        symmetric: It holds in both directions.
    """

    name: str
    subjects: tuple[str, ...]
    answer: str
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]
    symmetric: bool = False


@dataclass(frozen=True)
class EntityType:
    """A type of entities.

    Attributes:
        name: One lower-case word.
        alone: How often a name is one word.
        second: The second word of other names; where there is none it is invented too.
        beside: Sentences that state no relation; ``{s}`` is the entity, others in them are named by their type.
    """

    name: str
    alone: float
    second: tuple[str, ...]
    beside: tuple[str, ...]


@dataclass(frozen=True)
class Frames:
    """Questions for whatever ``{p}`` names; of each group the last is held out.

    Attributes:
        who: Where it is a person.
        what: Where it is anything else.
    """

    who: tuple[str, ...]
    what: tuple[str, ...]


@dataclass(frozen=True)
class Syllables:
    """What invented names are put together from: one of each, in this order."""

    starts: tuple[str, ...]
    middles: tuple[str, ...]
    ends: tuple[str, ...]


def read_entity_types(folder: Folder) -> dict[str, EntityType]:
    """Read the types of entities of a folder of data files.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, ENTITIES_FILE)
    found: dict[str, EntityType] = {}
    for entry in file.tables():
        entry.only("alone", "second", "beside")
        _check_name(entry)
        beside = entry.texts("beside")
        for sentence in beside:
            _check_gaps(entry, "beside", sentence, needed={"s"}, allowed=set(file.fields))
        second = entry.words("second") if "second" in entry.fields else ()
        found[entry.name] = EntityType(entry.name, entry.number("alone", 0, 1), second, beside)
    return found


def read_relations(folder: Folder, types: Mapping[str, EntityType]) -> dict[str, Relation]:
    """Read the relations of a folder of data files, in the order of :data:`FILES`.

    Raises:
        DataFileError: A file is malformed; names the place.
    """
    found: dict[str, Relation] = {}
    for name in FILES:
        for entry in read_toml(folder, name).tables():
            if entry.name in found:
                raise entry.error("", "is in another file too; give each relation its own name")
            found[entry.name] = _relation(entry, types)
    return found


def _relation(entry: TableEntry, types: Mapping[str, EntityType]) -> Relation:
    entry.only("subjects", "answer", "symmetric", "sentences", "phrases", "questions")
    _check_name(entry)
    subjects, answer, symmetric = entry.texts("subjects"), entry.text("answer"), entry.flag("symmetric")
    for field, kinds in (("subjects", subjects), ("answer", (answer,))):
        for kind in kinds:
            if kind not in types:
                raise entry.error(field, f"there is no type {kind!r}; there is: {', '.join(types)}")
    if symmetric and subjects != (answer,):
        raise entry.error("symmetric", "needs subjects and answers of one type")
    groups = {}
    for field, gaps in (("sentences", {"s", "o"}), ("phrases", {"x"}), ("questions", {"x"})):
        groups[field] = entry.texts(field, least=2)
        for wording in groups[field]:
            _check_gaps(entry, field, wording, needed=gaps)
    return Relation(entry.name, subjects, answer, **groups, symmetric=symmetric)


def read_frames_and_syllables(folder: Folder) -> tuple[Frames, Syllables]:
    """Read the frames of questions and the syllables of names of a folder of data files.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, WORDS_FILE).only("frames", "names")
    frames, names = file.table("frames").only("who", "what", "all"), file.table("names")
    names.only("starts", "middles", "ends")
    for field in frames.fields:
        for frame in frames.texts(field):
            _check_gaps(frames, field, frame, needed={"p"})
    both = frames.texts("all", least=2)
    return (
        Frames((*frames.texts("who"), *both), (*frames.texts("what"), *both)),
        Syllables(names.words("starts"), names.words("middles"), names.words("ends")),
    )


def _check_name(entry: TableEntry) -> None:
    if re.fullmatch("[a-z]+", entry.name) is None:
        raise entry.error("", "cannot be its name; give one lower-case word")


def _check_gaps(
    entry: TableEntry, field: str, wording: str, needed: set[str], allowed: set[str] | frozenset[str] = frozenset()
) -> None:
    gaps = set(re.findall(r"\{(\w+)\}", wording))
    if re.search(r"[{}]", re.sub(r"\{\w+\}", "", wording)) or not needed <= gaps <= needed | allowed:
        shown = " and ".join(f"{{{gap}}}" for gap in sorted(needed))
        others = f", and may have {', '.join(f'{{{gap}}}' for gap in allowed)}" if allowed else ""
        raise entry.error(field, f"{wording!r} must have {shown}{others}; nothing else stands in braces")


_DATA = resources.files("envs.musique") / "data"
ENTITY_TYPES = read_entity_types(_DATA)
"""Types of entities by name."""
TYPES = tuple(ENTITY_TYPES)
RELATIONS = read_relations(_DATA, ENTITY_TYPES)
"""Relations by name."""
OF_TYPE: Mapping[str, tuple[str, ...]] = {
    kind: tuple(name for name, relation in RELATIONS.items() if kind in relation.subjects) for kind in TYPES
}
"""The relations that entities of a type have."""
FRAMES, SYLLABLES = read_frames_and_syllables(_DATA)

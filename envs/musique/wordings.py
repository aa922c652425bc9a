"""How our own passages and questions word their relations.

They are data files, ``data/*.toml``, with one table per relation in :data:`FILES`:

.. code-block:: toml

    [founder]
    sentences = ["{s} was founded by {o}.", "{o} founded {s}."]
    phrases = ["the founder of {x}", "the person who founded {x}"]
    questions = ["who founded {x}?", "by whom was {x} founded?"]

:class:`Relation` documents the fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from envs.data_files import Folder, TableEntry, read_toml

FILES = ("people.toml", "places.toml", "things.toml")


@dataclass(frozen=True)
class Relation:
    """A relation with one answer for each subject.

    Attributes:
        name: One lower-case word.
        sentences: Passages state it so; ``{s}`` is the subject, ``{o}`` the answer.
        phrases: Questions speak of the answer so; ``{x}`` is the subject or the phrase for it.
        questions: Questions ask for the answer so.
        symmetric: It holds in both directions.
    """

    name: str
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]
    symmetric: bool = False


def read_relations(folder: Folder) -> dict[str, Relation]:
    """Read the relations of a folder of data files, in the order of :data:`FILES`.

    Raises:
        DataFileError: A file is malformed; names the place.
    """
    relations: dict[str, Relation] = {}
    for name in FILES:
        for entry in read_toml(folder, name).tables():
            if entry.name in relations:
                raise entry.error("", "is in another file too; give each relation its own name")
            relations[entry.name] = _relation(entry)
    return relations


def _relation(entry: TableEntry) -> Relation:
    entry.only("symmetric", "sentences", "phrases", "questions")
    if re.fullmatch("[a-z]+", entry.name) is None:
        raise entry.error("", "cannot be its name; give one lower-case word")
    groups = {}
    for field, gaps in (("sentences", {"s", "o"}), ("phrases", {"x"}), ("questions", {"x"})):
        groups[field] = entry.texts(field, least=2)
        for wording in groups[field]:
            if re.search(r"[{}]", re.sub(r"\{\w+\}", "", wording)) or set(re.findall(r"\{(\w+)\}", wording)) != gaps:
                shown = " and ".join(f"{{{gap}}}" for gap in sorted(gaps))
                raise entry.error(field, f"{wording!r} must have {shown}; nothing else stands in braces")
    return Relation(entry.name, **groups, symmetric=entry.flag("symmetric"))


RELATIONS = read_relations(resources.files("envs.musique") / "data")
"""Relations by name."""


_QUERY = re.compile(r"\s*(\w+)\s+of\s+(\S.*?)\s*\Z", re.DOTALL)


def query_text(relation: str, entity: str) -> str:
    """A query as retrievers get it, for instance ``founder of Aldera``."""
    return f"{relation} of {entity}"


def parse_query(text: str) -> tuple[str, str] | None:
    """Relation and entity of a query made by :func:`query_text`; None where it is none."""
    match = _QUERY.match(text)
    return (match[1], match[2]) if match is not None and match[1] in RELATIONS else None

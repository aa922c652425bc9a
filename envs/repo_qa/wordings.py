"""How questions about sources are worded.

The wordings are a data file, ``data/wordings.toml``, one table a relation:

.. code-block:: toml

    [base]
    subjects = ["class"]
    phrases = ["the base class of {x}", "the parent class of {x}"]
    questions = ["What is the base class of {x}?", "Which class is the parent of {x}?"]

A question about several hops puts the phrase of a hop in the place of ``{x}`` of the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal, get_args

from envs.data_files import Folder, TableEntry, read_toml

FILE = "wordings.toml"
Wordings = Literal["trained", "heldout", "all"]
WORDINGS: tuple[Wordings, ...] = get_args(Wordings)
KINDS = ("class", "function", "method")
ARGUMENTS: Mapping[str, str] = {"default": "p", "calls": "k", "raiser": "m"}
"""What a relation is asked with beside its subject."""
RELATIONS = ("class_of", "base", "subclass", "module", "raises", "raiser", "calls", "default", "returns")

_GAP = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Worded:
    """The wordings of a relation; of each group the last is held out.

    Attributes:
        name: The relation.
        subjects: Of what kinds of definitions it is asked.
        phrases: Questions speak of its answer so.
        questions: Questions ask for its answer so.
    """

    name: str
    subjects: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Wording:
    """All wordings.

    Attributes:
        relations: By name.
        names: How the first thing of a question is named, by its kind.
    """

    relations: Mapping[str, Worded]
    names: Mapping[str, str]


def chosen(group: Sequence[str], wordings: Wordings) -> Sequence[str]:
    """The wordings of a group that a question may have."""
    return {"trained": group[:-1], "heldout": group[-1:], "all": group}[wordings]


def read_wordings(folder: Folder) -> Wording:
    """Read the wordings of a folder.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, FILE).only(*RELATIONS, "names")
    mapping: dict[str, Worded] = {}
    for name in RELATIONS:
        entry = file.table(name).only("subjects", "phrases", "questions")
        subjects = entry.texts("subjects")
        if unknown := [subject for subject in subjects if subject not in KINDS]:
            raise entry.error("subjects", f"has {unknown[0]!r:.40}; there is: {', '.join(KINDS)}")
        needed = {"x", *ARGUMENTS.get(name, "")}
        groups = {field: _group(entry, field, needed) for field in ("phrases", "questions")}
        mapping[name] = Worded(name, subjects, groups["phrases"], groups["questions"])
    names = file.table("names").only(*KINDS)
    for kind in KINDS:
        _check(names, kind, names.text(kind), {"name"})
    return Wording(mapping, {kind: names.text(kind) for kind in KINDS})


def _group(entry: TableEntry, field: str, needed: set[str]) -> tuple[str, ...]:
    group = entry.texts(field, least=2)
    for text in group:
        _check(entry, field, text, needed)
    return group


def _check(entry: TableEntry, field: str, text: str, needed: set[str]) -> None:
    gaps = _GAP.findall(text)
    if sorted(gaps) != sorted(needed) or _GAP.sub("", text).count("{") or _GAP.sub("", text).count("}"):
        wanted = ", ".join(f"{{{gap}}}" for gap in sorted(needed))
        raise entry.error(field, f"{text!r:.60} must have each of these gaps once and no other: {wanted}")


@lru_cache(maxsize=1)
def wording() -> Wording:
    """The wordings that belong to this package."""
    return read_wordings(resources.files(__package__) / "data")

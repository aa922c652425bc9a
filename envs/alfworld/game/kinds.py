"""What there is in a house: kinds of receptacles and objects, and the rules of the game about them.

The names are those of the game's text, in ``data/kinds.toml``. What a receptacle can hold and what can be done to an
object is what the games of ALFWorld declare in their PDDL; which kinds can be closed is the same in all of them,
although not every cabinet and drawer can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

from envs.data_files import Folder, TableEntry, read_toml

VERBS = ("clean", "heat", "cool")
"""What can be done to objects by a receptacle."""


@dataclass(frozen=True)
class Kinds:
    """The content of ``kinds.toml``; the constants of this module have the same names and are described there.

    Attributes:
        lamps: Kinds of objects that can be switched on.
        openable: Kinds of receptacles that may be closed.
        always_openable: Those that can always.
        treatments: By verb, the kind of receptacle that does it and the kinds of objects that it can be done to.
        after: By verb, what an object is after it.
        can_contain: By kind of receptacle, the kinds of objects that it can hold.
    """

    lamps: tuple[str, ...]
    openable: frozenset[str]
    always_openable: frozenset[str]
    treatments: Mapping[str, tuple[str, frozenset[str]]]
    after: Mapping[str, str]
    can_contain: Mapping[str, frozenset[str]]


def read_kinds(folder: Folder) -> Kinds:
    """Read ``kinds.toml`` in a folder of data files.

    Raises:
        DataFileError: The file is not as it should be; the message names the place.
    """
    file = read_toml(folder, "kinds.toml").only("lamps", "openable", "always_openable", "treatments", "can_contain")
    table = file.table("can_contain")
    can_contain = {kind: frozenset(table.words(kind, least=0)) for kind in table.fields}
    objects = frozenset().union(*can_contain.values())
    treatments, after = {}, {}
    verbs = file.table("treatments").only(*VERBS)
    for verb in VERBS:
        entry = verbs.table(verb).only("receptacle", "after", "objects")
        check_known(entry, "receptacle", (entry.text("receptacle"),), can_contain)
        check_known(entry, "objects", entry.words("objects"), objects)
        treatments[verb] = (entry.text("receptacle"), frozenset(entry.words("objects")))
        after[verb] = entry.text("after")
    check_known(file, "openable", file.words("openable"), can_contain)
    check_known(file, "always_openable", file.words("always_openable"), file.words("openable"))
    return Kinds(
        file.words("lamps"),
        frozenset(file.words("openable")),
        frozenset(file.words("always_openable")),
        MappingProxyType(treatments),
        MappingProxyType(after),
        MappingProxyType(can_contain),
    )


def check_known(
    entry: TableEntry,
    field: str,
    kinds: tuple[str, ...],
    known: Mapping[str, object] | frozenset[str] | tuple[str, ...],
) -> None:
    """Refuse kinds that are not among those known.

    Raises:
        DataFileError: There is one.
    """
    for kind in kinds:
        if kind not in known:
            raise entry.error(field, f"there is no kind {kind!r} here; there is: {', '.join(sorted(known))}")


_KINDS = read_kinds(resources.files("envs.alfworld") / "data")

CAN_CONTAIN = _KINDS.can_contain
"""Kinds of objects that each kind of receptacle can hold."""

RECEPTACLES = tuple(sorted(CAN_CONTAIN))
"""All kinds of receptacles."""

OPENABLE = _KINDS.openable
"""Kinds of receptacles that may be closed; all fridges, microwaves and safes can, not all cabinets and drawers."""

ALWAYS_OPENABLE = _KINDS.always_openable

LAMPS = _KINDS.lamps
"""Kinds of objects that can be switched on."""

OBJECTS = tuple(sorted(frozenset().union(*CAN_CONTAIN.values()))) + LAMPS
"""All kinds of objects that can be carried, and the lamps."""

TREATMENTS = _KINDS.treatments
"""Verb to the kind of receptacle that does it and the kinds of objects that it can be done to."""

CLEANABLE, HEATABLE, COOLABLE = (TREATMENTS[verb][1] for verb in VERBS)

AFTER = _KINDS.after
"""What an object is after each treatment; heating and cooling undo each other."""


def kind_of(name: str) -> str:
    """The kind of a named thing: ``cabinet 3`` -> ``cabinet``; a kind is its own."""
    return name.rpartition(" ")[0] or name

"""The readable names that a game gives to the identifiers of its PDDL: ``Apple_bar_1`` is shown as ``apple 1``.

The engine and everything that reads a game file must agree on them, so there is one place that makes them. Tests
compare it with the naming of the package ``alfworld``, which is not imported here: importing it creates a folder in the
user's home and sets an environment variable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

_SEPARATOR = "_bar_"
_ESCAPED = (("_minus_", "-"), ("_plus_", "+"), ("_dot_", "."), ("_comma_", ","))


def entity_names(identifiers: Iterable[str]) -> dict[str, str]:
    """Name every identifier.

    What comes before the first ``_bar_`` is the kind, and the basin of a sink or bathtub is a kind of its own. Those of
    a kind are numbered from 1, the last in alphabetical order first. What has no ``_bar_`` keeps its text, with a
    blank.

    Args:
        identifiers: All that occur in the facts of a game, since each counts for the numbers of its kind.
    """
    kinds = defaultdict(list)
    names = {}
    for identifier in sorted(set(identifiers), reverse=True):
        kind, separator, _ = identifier.partition(_SEPARATOR)
        if not separator:
            names[identifier] = f"{_plain(identifier)} "
            continue
        kinds[_plain(kind) + ("basin" if "basin" in identifier else "")].append(identifier)
    for kind, same in kinds.items():
        names.update((identifier, f"{kind} {number}") for number, identifier in enumerate(same, 1))
    return names


def _plain(text: str) -> str:
    """The text without the escapes of PDDL names."""
    for escape, character in _ESCAPED:
        text = text.replace(escape, character)
    return text

"""Names of PDDL as names of Python, one to one."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable

_OTHER = re.compile(r"\W", re.ASCII)

FINISH = ""
"""What ends a plan whose last state has a price; no action of a problem has this name."""


def in_python(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """An identifier for each name, in their order; ``pick-up`` becomes ``pick_up``.

    Args:
        names: The names; each once.
        taken: Identifiers that no name may get.

    Returns:
        The identifier of each name; two names never have the same.
    """
    used, identifiers = set(taken), dict[str, str]()
    for name in names:
        base = _OTHER.sub("_", name) or "_"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"_{base}" if base[0].isdigit() else f"{base}_"
        written, number = base, 1
        while written in used:
            number += 1
            written = f"{base}_{number}"
        used.add(written)
        identifiers[name] = written
    return identifiers

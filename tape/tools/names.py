"""Names that anybody was free to choose, such as those of a server's tools and arguments, as names of Python."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection, Iterable
from itertools import chain, count

LONGEST = 100
"""Characters of a name that is made."""


def is_python_name(name: str) -> bool:
    """Whether a name is one of Python that begins with a letter, is no keyword, and is read as it is written."""
    return (
        name.isidentifier()
        and not name.startswith("_")
        and not keyword.iskeyword(name)
        and len(name) <= LONGEST
        and unicodedata.normalize("NFKC", name) == name
    )


def python_names(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """A name of Python for each name, no two alike; one that is such a name stays as it is.

    What a name becomes depends on the names together, not on their order.

    Args:
        names: Any texts.
        reserved: Names that none of them may get.

    Returns:
        The names of Python by the names that were given.

    Examples:
        >>> python_names(["page-size", "page_size", "from", "$filter", "_meta", "2fa"])
        {'page-size': 'page_size_2', 'page_size': 'page_size', 'from': 'from_', '$filter': 'filter', '_meta': 'meta', '2fa': 'x2fa'}
    """  # noqa: E501 - a line of output
    given = list(dict.fromkeys(names))
    made = {name: name for name in given if is_python_name(name) and name not in reserved}
    taken = {*reserved, *made}
    for name in sorted({*given} - made.keys()):
        plain = _plain(name)
        if keyword.iskeyword(plain) or plain in reserved:
            plain += "_"
        made[name] = next(text for text in chain([plain], (f"{plain}_{k}" for k in count(2))) if text not in taken)
        taken.add(made[name])
    return {name: made[name] for name in given}


def _plain(name: str) -> str:
    """The nearest name of Python; it may be a keyword, and others may come to the same."""
    letters = "".join(c if f"a{c}".isidentifier() else " " for c in unicodedata.normalize("NFKC", name))
    joined = "_".join(letters.replace("_", " ").split())[: LONGEST - 10]
    return joined if joined.isidentifier() else f"x{joined}"

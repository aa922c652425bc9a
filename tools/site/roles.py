"""Docstrings name what they mean as Sphinx does, in roles; the reference shows Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc|const|obj):`(~?)([^`]+)`")


class Roles(Extension):
    """Writes each role as the name that it means."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object that has been read."""
        del kwargs
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(_named, obj.docstring.value)


def _named(match: re.Match[str]) -> str:
    name = match[2].rpartition(".")[2] if match[1] else match[2]
    return f"`{name}`"

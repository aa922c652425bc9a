"""Prompts of the search agents: for general models (``chat``) and for the bundled one (``search``)."""

from __future__ import annotations

from tape.errors import UnknownNameError
from tape.methods.cgdp.prompts import SearchFormat

FORMATS = ("chat", "search")


def search_format(name: str, noun: str) -> SearchFormat:
    """The prompts of the search agents in one format.

    Args:
        name: ``chat``, or ``search`` of the bundled model.
        noun: The items of the corpus, for instance ``passage``.

    Raises:
        UnknownNameError: The format is unknown; other bundled models cannot search.
    """
    if name == "chat":
        from envs.search.prompts.chat import ChatSearchFormat

        return ChatSearchFormat(noun)
    if name == "search":
        from envs.search.prompts.compact import CompactSearchFormat

        return CompactSearchFormat()
    raise UnknownNameError("prompt format of search", name, FORMATS, "Take a general model.")

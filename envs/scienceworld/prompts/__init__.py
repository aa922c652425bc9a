"""How ScienceWorld is written for models: ``chat``."""

from __future__ import annotations

from envs.scienceworld.prompts.chat import ChatFormat
from tape.errors import UnknownNameError
from tape.protocols.prompt_format import PromptFormat


def prompt_format(name: str) -> PromptFormat:
    """The prompts of every task in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    if name == "chat":
        return ChatFormat()
    raise UnknownNameError("ScienceWorld prompt format", name, ("chat",))

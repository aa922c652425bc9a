"""How ScienceWorld is written for models: ``chat``, which the simulated model reads under a name of its own."""

from __future__ import annotations

from envs.scienceworld.prompts.chat import ScienceChatFormat
from tape.errors import UnknownNameError
from tape.protocols.prompt_format import PromptFormat

SIMULATED = "scienceworld"
"""The prompts of the simulated model, which no other environment has: it plays this one alone."""


def prompt_format(name: str) -> PromptFormat:
    """The prompts of every task in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    if name in ("chat", SIMULATED):
        return ScienceChatFormat()
    raise UnknownNameError("ScienceWorld prompt format", name, ("chat",))

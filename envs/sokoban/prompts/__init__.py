"""How Sokoban is written for models: ``compact`` for the bundled ones, ``chat`` for general ones."""

from __future__ import annotations

from collections.abc import Callable

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts.chat import ChatFormat
from envs.sokoban.prompts.compact import CompactFormat
from tape.protocols.prompt_format import PromptFormat, pick

PROMPT_FORMATS: dict[str, Callable[[SokobanDomain], PromptFormat]] = {"compact": CompactFormat, "chat": ChatFormat}


def prompt_format(domain: SokobanDomain, name: str) -> PromptFormat:
    """The prompts of a level in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    return pick(PROMPT_FORMATS, name, "Sokoban")(domain)

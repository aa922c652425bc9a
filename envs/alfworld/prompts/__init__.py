"""How ALFWorld tasks are written for models: ``household`` for the bundled ones, ``chat`` for general ones."""

from __future__ import annotations

from collections.abc import Callable

from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.prompts.alfworld import AlfworldFormat
from envs.alfworld.prompts.chat import ChatFormat
from tape.protocols.prompt_format import PromptFormat, pick

PROMPT_FORMATS: dict[str, Callable[[AlfworldDomain], PromptFormat]] = {
    "household": AlfworldFormat,
    "chat": ChatFormat,
}


def prompt_format(domain: AlfworldDomain, name: str) -> PromptFormat:
    """The prompts of a task in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    return pick(PROMPT_FORMATS, name, "ALFWorld tasks", "bundled:household reads household prompts.")(domain)

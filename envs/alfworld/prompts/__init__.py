"""How ALFWorld tasks are written for models: ``household`` for the bundled ones, ``chat`` for general ones."""

from __future__ import annotations

from collections.abc import Callable

from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.prompts.alfworld import AlfworldFormat
from envs.alfworld.prompts.chat import AlfworldChatFormat
from tape.protocols.prompt_format import PromptFormat, picking

prompt_format: Callable[[AlfworldDomain, str], PromptFormat] = picking(
    {"household": AlfworldFormat, "chat": AlfworldChatFormat},
    "ALFWorld tasks",
    "bundled:household reads household prompts.",
)
"""The prompts of a task in a prompt format."""

"""How Sokoban is written for models: ``compact`` for the bundled ones, ``chat`` for general ones."""

from __future__ import annotations

from collections.abc import Callable

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts.chat import SokobanChatFormat
from envs.sokoban.prompts.compact import CompactFormat
from tape.protocols.prompt_format import PromptFormat, picking

prompt_format: Callable[[SokobanDomain, str], PromptFormat] = picking(
    {"compact": CompactFormat, "chat": SokobanChatFormat}, "Sokoban"
)
"""The prompts of a level in a prompt format."""

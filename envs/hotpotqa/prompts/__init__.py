"""How multi-hop questions are written for models."""

from __future__ import annotations

from collections.abc import Callable

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.setting import Setting
from tape.protocols.prompt_format import picking

prompt_format: Callable[[Setting, str], ChatQaFormat] = picking(
    {"chat": ChatQaFormat}, "multi-hop questions", "Use a general model, for instance --model openai:NAME."
)
"""The prompts of a question in a prompt format."""

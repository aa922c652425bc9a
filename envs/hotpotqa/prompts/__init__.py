"""How multi-hop questions are written for models: ``chat``, and ``tools`` for the bundled tool model."""

from __future__ import annotations

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.prompts.tools import UnplannedFormat
from envs.hotpotqa.sdp import Setting
from tape.errors import UnknownNameError

PROMPT_FORMATS = {"chat": ChatQaFormat, "tools": UnplannedFormat}


def prompt_format(setting: Setting, name: str) -> ChatQaFormat:
    """The prompts of a question in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    if name not in PROMPT_FORMATS:
        raise UnknownNameError(
            "prompt format for multi-hop questions", name, PROMPT_FORMATS, "Use a model that reads one."
        )
    return PROMPT_FORMATS[name](setting)

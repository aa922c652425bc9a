"""How multi-hop questions are written for models: ``chat``, and ``tools`` for the bundled tool model."""

from __future__ import annotations

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.prompts.tools import UnplannedFormat
from envs.hotpotqa.setting import Setting
from tape.protocols.prompt_format import pick

PROMPT_FORMATS = {"chat": ChatQaFormat, "tools": UnplannedFormat}


def prompt_format(setting: Setting, name: str) -> ChatQaFormat:
    """The prompts of a question in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    return pick(PROMPT_FORMATS, name, "multi-hop questions", "Use a model that reads one of them.")(setting)

"""How multi-hop questions are written for models: ``chat``, and ``tools`` for the bundled tool model."""

from __future__ import annotations

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.setting import Setting
from tape.protocols.prompt_format import pick


class UnplannedFormat(ChatQaFormat):
    """The bundled tool model decomposes, reads and verifies, for SDP alone; agents that plan are refused."""

    instead = (
        "it plays hotpotqa with --agent sdp --chain adapter alone; for other agents play musique, which has the same "
        "questions, or take a general model"
    )


PROMPT_FORMATS = {"chat": ChatQaFormat, "tools": UnplannedFormat}


def prompt_format(setting: Setting, name: str) -> ChatQaFormat:
    """The prompts of a question in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    return pick(PROMPT_FORMATS, name, "multi-hop questions", "Use a model that reads one of them.")(setting)

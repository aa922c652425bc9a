"""How multi-hop questions are written for models: ``chat``, and ``tools`` for the bundled tool model."""

from __future__ import annotations

from collections.abc import Callable

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.setting import Setting
from tape.protocols.prompt_format import picking


class UnplannedFormat(ChatQaFormat):
    """The bundled tool model decomposes, reads and verifies, for SDP alone; agents that plan are refused."""

    instead = (
        "it plays hotpotqa with --agent sdp --chain adapter alone; for other agents play musique, which has the same "
        "questions, or take a general model"
    )


prompt_format: Callable[[Setting, str], ChatQaFormat] = picking(
    {"chat": ChatQaFormat, "tools": UnplannedFormat}, "multi-hop questions", "Use a model that reads one of them."
)
"""The prompts of a question in a prompt format."""

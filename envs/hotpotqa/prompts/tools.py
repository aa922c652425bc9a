"""The ``tools`` prompt format here: the bundled model decomposes, reads and verifies, for SDP alone.

It plans and acts with calls of tools alone, so the other agents play the same questions with it on the environment
``musique``.
"""

from __future__ import annotations

from envs.hotpotqa.prompts.chat import ChatQaFormat


class UnplannedFormat(ChatQaFormat):
    """Agents that plan are refused before they ask."""

    instead = (
        "it plays hotpotqa with --agent sdp --chain adapter alone; for other agents play musique, which has the same "
        "questions, or take a general model"
    )

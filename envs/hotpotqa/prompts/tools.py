"""The ``tools`` prompt format here: the bundled model decomposes, reads and verifies, for SDP alone.

It plans and acts with calls of tools alone, so the other agents play the same questions with it on the environment
``musique``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.state import QaState
from tape.errors import ModelError
from tape.lm.base import Request
from tape.protocols import Action, State
from tape.protocols.prompt_format import OfferedPath


class UnplannedFormat(ChatQaFormat):
    """Refuses all that another agent would ask, with a message for the user."""

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Refused."""
        _refuse(state, remaining)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Refused."""
        _refuse(state)

    def ask(self, state: State, question: str) -> NoReturn:
        """Refused."""
        _refuse(state, question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Refused."""
        _refuse(state, remaining, action, plan)

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Refused."""
        _refuse(state, paths, remaining)

    def answer_request(self, state: QaState) -> Request:
        """Refused."""
        _refuse(state)


def _refuse(*asked: object) -> NoReturn:
    del asked
    raise ModelError(
        "unsupported: the bundled tool LM plays the environment hotpotqa with the agent sdp and chain=adapter alone; "
        "for other agents use the environment musique, which asks the same questions, or a general model"
    )

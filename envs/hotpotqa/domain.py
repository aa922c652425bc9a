"""The domain of a multi-hop question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.hotpotqa.actions import FINISH, Find, HotpotAnswer, ParagraphSearch, read
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.setting import Setting
from envs.hotpotqa.state import QaState, Searched, as_state
from tape.budget import Resources
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.domain import Domain
from tape.protocols.parts import Outcomes

STEP = Resources({"steps": 1})

_WIDTH = 100
"""Characters of a line in a picture."""


class QaDomain(Domain, Outcomes):
    """What a question declares.

    Args:
        setting: How the question is played.
    """

    deterministic = True

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def task_text(self) -> str:
        """The question."""
        return self.setting.question

    def key(self, state: State) -> str:
        """See :meth:`envs.hotpotqa.state.QaState.key`."""
        return as_state(state).key()

    def render(self, state: State) -> str:
        """Queries, findings and the answer, one a line."""
        return "\n".join(
            line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines_of(as_state(state))
        )

    def project(self, observation: Observation) -> QaState:
        """The state as it was observed."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: queries, findings and answers are open."""
        del state
        return None

    def cost(self, state: State, action: Action) -> Resources:
        """A step."""
        del state, action
        return STEP

    def declared_costs(self) -> Mapping[str, Resources]:
        """A step for every family of actions."""
        return dict.fromkeys([*(["search"] if self.setting.searches else []), "find", "answer", FINISH], STEP)

    def outcome(self, state: State, action: Action) -> Prediction:
        """What an action declares; what a search brings is not known before."""
        before = as_state(state)
        if self.refusal(before, action) is not None:
            return Prediction(None)
        parsed = read(action)
        if isinstance(parsed, ParagraphSearch):
            return Prediction(replace(before, searches=(*before.searches, Searched(parsed.query, ())), note=""))
        return Prediction(self.after(before, parsed))

    def after(self, state: QaState, parsed: object) -> QaState:
        """The state after a finding, an answer or the end."""
        if isinstance(parsed, Find):
            return state.with_claim(parsed.hop, parsed.finding, parsed.title, parsed.bridge, parsed.sub)
        if isinstance(parsed, HotpotAnswer):
            return replace(state, answer=parsed.text, note="")
        return replace(state, over=True, note="")

    def refusal(self, state: QaState, action: Action) -> str | None:
        """Why an action cannot be taken; None where it can."""
        try:
            parsed = read(action)
        except HotpotError as error:
            return str(error)
        if state.over:
            return "the episode is over"
        if isinstance(parsed, ParagraphSearch):
            if not self.setting.searches:
                return "there is nothing to search: the paragraphs came with the question"
            if parsed.query in state.queries:
                return f"{parsed.query!r} has been searched already"
        return None

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """The action alone."""
        del state
        return [action]

    def is_end(self, state: State) -> bool:
        """Whether the episode is over."""
        return as_state(state).over


def lines_of(state: QaState) -> list[str]:
    """A state in words."""
    lines = [f"searched: {s.query} ({len(s.found)} paragraphs)" for s in state.searches]
    lines += [f"hop {c.hop}: {c.finding} [{c.title}]" for c in state.claims]
    lines += [f"answer: {state.answer}"] if state.answer else []
    lines += [f"note: {state.note}"] if state.note else []
    return [*lines, *(["over"] if state.over else [])] or ["start"]

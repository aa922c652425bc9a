"""The ``chat`` prompt format: the same questions for agents that plan and act freely, with general models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from envs.hotpotqa.actions import read
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.setting import Setting
from envs.hotpotqa.state import Claim, QaState, Searched, as_state
from envs.musique.question import Passage
from tape.budget import in_units
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import OfferedPath, offered_text
from tape.tools.results import cut, filler

RULES = """You answer a question that takes several look-ups. An action is one line:
search: QUERY
find: {"hop": 1, "sub": "...", "finding": "...", "title": "...", "bridge": "..."}
answer: TEXT
finish
"search" retrieves paragraphs, "find" notes what one of them states in answer to a sub-question ("sub") and the entity
to go on with, "answer" lets a short answer stand in place of an earlier one, and "finish" ends the episode with the
answer that stands."""

WITHOUT_SEARCH = "The paragraphs are given; there is nothing to search."

LONGEST_PARAGRAPHS, LONGEST_LIST, LONGEST_LINE = 12000, 2000, 400
"""Bytes that are shown of the paragraphs, of the queries or findings, and of an answer or a refusal."""

MOST_ACTIONS = 12
_SCORES = {"good": 1.0, "poor": 0.1}
_STRICT = ConfigDict(extra="forbid")


class Planned(BaseModel):
    """A plan."""

    model_config = _STRICT
    actions: list[str] = Field(max_length=MOST_ACTIONS)


class Acted(BaseModel):
    """A thought and an action."""

    model_config = _STRICT
    thought: str = Field(max_length=300)
    action: str


class FinalAnswer(BaseModel):
    """The answer at a limit."""

    model_config = _STRICT
    answer: str = Field(max_length=300)


class ChatQaFormat:
    """Implements :class:`tape.protocols.prompt_format.PromptFormat`.

    Args:
        setting: How the question is played.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def _messages(self, state: QaState, ask: str, remaining: Mapping[str, int] | None = None) -> tuple[Message, ...]:
        text = cut("\n".join(f"[{p.title}] {p.text}" for p in state.paragraphs), LONGEST_PARAGRAPHS)
        found = "\n".join(f"hop {c.hop}: {c.finding} [{c.title}]" for c in state.claims)
        left = ", ".join(in_units(kind, count) for kind, count in (remaining or {}).items())
        parts = [
            f"Question: {state.question}",
            "" if self._setting.searches else WITHOUT_SEARCH,
            f"Paragraphs:\n{text}" if text else "",
            f"Queries so far: {cut('; '.join(state.queries), LONGEST_LIST)}" if state.queries else "",
            f"Findings so far:\n{cut(found, LONGEST_LIST)}" if found else "",
            f"The answer that stands: {cut(state.answer, LONGEST_LINE)}" if state.answer else "",
            f"Refused: {cut(state.note, LONGEST_LINE)}" if state.note else "",
            f"Left of the budget: {left}" if left else "",
            ask,
        ]
        return (Message("system", RULES), Message("user", "\n\n".join(part for part in parts if part)))

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for the actions that are left."""
        ask = 'Write the actions that are left, ending with finish. Answer as JSON: {"actions": ["...", ...]}'
        prompt = self._messages(as_state(state), ask, remaining)
        return Request(prompt, 600, constraint=JsonSchema(Planned), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The actions up to the first that is none."""
        del state
        try:
            lines = Planned.model_validate_json(text).actions
        except ValidationError:
            return Plan((), valid=False)
        actions: list[Action] = []
        for line in lines:
            try:
                read(line)
            except HotpotError:
                return Plan(tuple(actions), valid=False)
            actions.append(line.strip())
        return Plan(tuple(actions))

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """None: the domain declares what actions lead to."""
        del state, actions
        return None

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Never asked for."""
        del state, actions, text
        raise ConfigError("the domain declares what actions lead to; no model predicts it")

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Never asked for."""
        del state, action, valid
        raise ConfigError("the domain declares what actions lead to; no model predicts it")

    def read_next(self, state: State, text: str) -> State | None:
        """Never asked for."""
        del state, text
        raise ConfigError("the domain declares what actions lead to; no model predicts it")

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how good the end of a plan is."""
        ask = "How good is this as the end of an attempt at the question? Answer good or poor."
        prompt = self._messages(as_state(state), ask)
        return Request(prompt, 3, constraint=Choice(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_state(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and an action."""
        hint = "A plan for what is left:\n" + "\n".join(plan) + "\n" if plan else ""
        schema: type[BaseModel] = Acted
        ask = f"{hint}Choose the next action."
        if action is not None:
            fixed: dict[str, Any] = {"thought": (str, Field(max_length=300)), "action": (Literal[action], ...)}
            schema = create_model("FixedAct", __config__=_STRICT, **fixed)
            ask = f"{hint}The next action is: {action}"
        prompt = self._messages(
            as_state(state), f'{ask} Answer as JSON: {{"thought": "...", "action": "..."}}', remaining
        )
        return Request(prompt, 300, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        try:
            acted = Acted.model_validate_json(text)
            read(acted.action)
        except (ValidationError, HotpotError) as error:
            raise InvalidOutputError(f"no action: {str(error)[:120]}") from None
        return acted.thought, acted.action.strip()

    def answer_request(self, state: QaState) -> Request:
        """Ask for the answer at a limit."""
        ask = 'No more actions can be taken. What is your answer? Answer as JSON: {"answer": "..."}'
        return Request(self._messages(state, ask), 100, constraint=JsonSchema(FinalAnswer), role="answer")

    def longest_answer_request(self) -> Request:
        """With as much of everything as is shown."""
        words, line = filler(LONGEST_LIST), filler(LONGEST_LINE)
        searched = (Searched(words, (Passage("0", "x", filler(LONGEST_PARAGRAPHS)),)),)
        state = QaState(self._setting.question, (), searched, (Claim(1, words, "x", "x", 1),), line, note=line)
        return self.answer_request(state)

    def read_answer(self, text: str) -> str:
        """The answer.

        Raises:
            InvalidOutputError: It cannot be read.
        """
        try:
            return FinalAnswer.model_validate_json(text).answer.strip()
        except ValidationError as error:
            raise InvalidOutputError(f"no answer: {error.errors()[0]['msg']}") from None

    def read_intention(self, thought: str) -> Action | None:
        """None: what a thought intends is not read."""
        del thought
        return None

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans is best?\n{listed}\nAnswer with its number."
        options = tuple(str(i) for i in range(1, len(paths) + 1))
        return Request(self._messages(as_state(state), ask, remaining), 3, constraint=Choice(options), role="select")

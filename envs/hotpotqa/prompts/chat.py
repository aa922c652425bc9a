"""The ``chat`` prompt format: the same questions for agents that plan and act freely, with general models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from envs.hotpotqa.actions import read, write
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.evidence import reading_order
from envs.hotpotqa.prompts import chat_schema as schema
from envs.hotpotqa.prompts import chat_text as texts
from envs.hotpotqa.setting import Setting
from envs.hotpotqa.state import HopClaim, QaState, Searched, as_state
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.protocols.answers import fields_of
from tape.protocols.prompt_format import PromptFormat, turns
from tape.protocols.search import Passage
from tape.reading import parsed
from tape.tools.results import filler

PLAN_TOKENS, ACT_TOKENS, ANSWER_TOKENS = 900, 320, 140

_SCORES = {"good": 1.0, "poor": 0.1}


class ChatQaFormat(PromptFormat):
    """Chat messages for general models."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def _titles(self, state: QaState) -> tuple[str, ...]:
        return tuple(passage.title for passage in self._shown(state))

    def _shown(self, state: QaState) -> tuple[Passage, ...]:
        """The paragraphs, those that share most with the question first."""
        return tuple(reading_order(state.question, state.paragraphs))

    def _messages(
        self, state: QaState, ask: str, role: str = "", remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        searches = self._setting.searches
        text = texts.described(state, self._shown(state), remaining, searches)
        return turns(texts.rules(searches), texts.examples(role, searches), f"{text}\n\n{ask}")

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought and the steps that are left, at least one."""
        here = as_state(state)
        model = schema.plan_model(self._titles(here), self._setting.searches)
        prompt = self._messages(here, texts.ASK_PLAN, "plan", remaining)
        return Request(prompt, PLAN_TOKENS, constraint=JsonSchema(model), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The steps as actions, up to the first that is none."""
        here = as_state(state)
        model = schema.plan_model(self._titles(here), self._setting.searches)
        steps: list[Any]
        try:
            answer: Any = model.model_validate_json(text)
            steps, whole = answer.steps, True
        except ValidationError:
            steps, whole = self._beginning(model, text), False
        actions = schema.as_actions(steps, len(here.claims))
        return Plan(tuple(write(action) for action in actions), valid=whole)

    @staticmethod
    def _beginning(model: type[BaseModel], text: str) -> list[Any]:
        """The steps at the beginning of a malformed plan."""
        items = fields_of(text)[0].get("steps")
        steps: list[Any] = []
        for item in items if isinstance(items, list) else []:
            try:
                value: Any = model.model_validate({"thought": "", "steps": [item]})
            except ValidationError:
                break
            steps += value.steps
        return steps[: schema.MOST_ACTIONS]

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how good the end of a plan is."""
        prompt = self._messages(as_state(state), texts.ASK_SCORE, "score")
        return Request(prompt, 3, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_state(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a step; or for a thought about the action that comes next."""
        here = as_state(state)
        hint = "A plan for what is left:\n" + "\n".join(plan) + "\n\n" if plan else ""
        if action is None:
            model = schema.act_model(self._titles(here), self._setting.searches)
            ask = f"{hint}{texts.ASK_ACT}"
        else:
            model = schema.fixed_model(action)
            ask = f"{hint}The next action is: {action}\nSay in one sentence what it is for, then repeat it."
        prompt = self._messages(here, ask, "act" if action is None else "fixed", remaining)
        return Request(prompt, ACT_TOKENS, constraint=JsonSchema(model), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        here = as_state(state)
        fields, _ = fields_of(text)
        if isinstance(fields.get("action"), str):
            try:
                read(fields["action"])
            except HotpotError as error:
                raise InvalidOutputError(f"no action: {str(error)[:120]}") from None
            return str(fields.get("thought", "")), fields["action"].strip()
        answer: Any = parsed(schema.act_model(self._titles(here), self._setting.searches), text, "no action")
        [action] = schema.as_actions([answer.step], len(here.claims))
        return answer.thought, write(action)

    def answer_request(self, state: QaState) -> Request:
        """Ask for the answer at a limit."""
        prompt = self._messages(state, texts.ASK_ANSWER, "answer")
        return Request(prompt, ANSWER_TOKENS, constraint=JsonSchema(schema.AnswerAtLimit), role="answer")

    def longest_answer_request(self) -> Request:
        """With as much of everything as is shown."""
        words, line = filler(texts.LONGEST_LIST), filler(texts.LONGEST_LINE)
        searched = (Searched(words, (Passage("0", "x", filler(texts.LONGEST_PARAGRAPHS)),)),)
        state = QaState(self._setting.question, (), searched, (HopClaim(1, words, "x", "x", 1),), line, note=line)
        return self.answer_request(state)

    def read_answer(self, text: str) -> str:
        """The answer.

        Raises:
            InvalidOutputError: It cannot be read.
        """
        return parsed(schema.AnswerAtLimit, text, "no answer").answer.strip()

"""The ``chat`` prompt format: Sokoban for general instruction-tuned LMs, rules, worked examples and JSON schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pydantic_core
from pydantic import ValidationError

from envs.sokoban.domain import SokobanDomain, as_state
from envs.sokoban.prompts import chat_text as texts
from envs.sokoban.prompts.chat_schema import MAX_PLAN, act_model, outcome_model, plan_model, rollout_model
from envs.sokoban.state import State
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan
from tape.protocols import State as AbstractState
from tape.protocols.prompt_format import OfferedPath, PromptFormat, number_request, offered_text, states_along
from tape.reading import parsed

RULES = texts.RULES

_ACTIONS = re.compile(r'"actions"\s*:\s*\[((?:\s*"\w*"\s*,?)*)')

_SCORES = {"solved": 1.0, "possible": 0.0, "hopeless": -1.0}

THOUGHT_TOKENS = 120
"""For a thought of the most characters, and the JSON around it, indented or not."""

MOVE_TOKENS = 8
"""For a move in an indented list."""


class SokobanChatFormat(PromptFormat):
    """Chat messages for general models."""

    def __init__(self, domain: SokobanDomain) -> None:
        self._domain, self._level = domain, domain.level

    def _messages(
        self, state: AbstractState, task: str, role: str = "", remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        asked = texts.question(texts.board(self._level, as_state(state)), task, texts.left_in_words(remaining))
        return (Message("system", texts.RULES), *texts.examples(role), asked)

    def plan_request(self, state: AbstractState, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought and a list of moves, at least one."""
        steps = max(1, min(remaining.get("steps", MAX_PLAN), MAX_PLAN))
        prompt = self._messages(state, texts.PLAN_TASK.format(steps=steps), "plan", remaining)
        tokens = THOUGHT_TOKENS + MOVE_TOKENS * steps
        return Request(prompt, tokens, constraint=JsonSchema(plan_model(steps)), role="plan")

    def read_plan(self, state: AbstractState, text: str) -> Plan:
        """The moves of the JSON answer, or the moves at its beginning where it is malformed."""
        del state
        try:
            answer: Any = plan_model(MAX_PLAN).model_validate_json(text)
            return Plan(tuple(texts.MOVES[word] for word in answer.actions))
        except ValidationError:
            head = _ACTIONS.search(text)
            words = re.findall(r'"(\w*)"', head[1]) if head else []
            known = next((i for i, word in enumerate(words) if word not in texts.MOVES), len(words))
            return Plan(tuple(texts.MOVES[word] for word in words[:known]), valid=False)

    def _outcome_tokens(self, state: AbstractState) -> int:
        """For the outcome of a move, indented."""
        return 80 + 16 * len(as_state(state).boxes)

    def rollout_request(self, state: AbstractState, actions: Sequence[Action]) -> Request | None:
        """Ask for the outcomes of all moves of a plan at once."""
        if not actions:
            return None
        task = texts.ROLLOUT_TASK.format(count=len(actions), moves=texts.in_words(actions))
        schema = rollout_model(self._level, len(as_state(state).boxes), tuple(actions))
        tokens = 16 + self._outcome_tokens(state) * len(actions)
        return Request(self._messages(state, task, "rollout"), tokens, constraint=JsonSchema(schema), role="rollout")

    def read_rollout(self, state: AbstractState, actions: Sequence[Action], text: str) -> list[AbstractState | None]:
        """States up to the first blocked move, or as far as a cut or unreadable answer can be read."""
        try:
            outcomes = pydantic_core.from_json(text.encode("utf-8", "replace"), allow_partial=True)
        except ValueError as error:
            raise InvalidOutputError(f"no rollout: {error}") from None
        if not isinstance(outcomes, dict):
            raise InvalidOutputError("no rollout: the answer is no object")
        steps = [(action, outcomes.get(str(number))) for number, action in enumerate(actions, 1)]
        return states_along(state, steps, lambda here, item: self._after(here, item[0], item[1]))

    def _after(self, before: AbstractState, action: Action, outcome: Any) -> State | None:
        boxes = len(as_state(before).boxes)
        try:
            answer: Any = outcome_model(self._level, boxes, action).model_validate(outcome)
        except ValidationError as error:
            raise InvalidOutputError(f"no outcome: {error.errors()[0]['msg']}") from None
        return self._state(before, answer)

    def _state(self, before: AbstractState, answer: Any) -> State | None:
        if answer.meets in (texts.WALL, texts.BLOCKED_BOX):
            return None
        cells = self._domain.cells(f"{answer.player} {' '.join(answer.boxes)}")
        if len(cells) != len(as_state(before).boxes) + 1:
            raise InvalidOutputError(f"expected a player and {len(as_state(before).boxes)} boxes on the board")
        return State(cells[0], tuple(sorted(cells[1:])))

    def next_request(self, state: AbstractState, action: Action, *, valid: bool = False) -> Request:
        """Ask for one outcome."""
        task = (texts.VALID_TASK if valid else texts.NEXT_TASK).format(move=texts.WORDS[action])
        schema = outcome_model(self._level, len(as_state(state).boxes), action, valid)
        tokens = self._outcome_tokens(state)
        return Request(self._messages(state, task, "next"), tokens, constraint=JsonSchema(schema), role="next")

    def read_next(self, state: AbstractState, text: str) -> State | None:
        """Read one outcome, of whichever move it is."""
        try:
            outcome = pydantic_core.from_json(text.encode("utf-8", "replace"))
            action = texts.MOVES[outcome["move"]]
        except (ValueError, TypeError, KeyError):
            raise InvalidOutputError(f"no outcome of a move: {text[:80]!r}") from None
        return self._after(state, action, outcome)

    def score_request(self, state: AbstractState) -> tuple[Request, Mapping[str, float]]:
        """Ask for one word."""
        prompt = self._messages(state, texts.SCORE_TASK, "score")
        return Request(prompt, 4, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: AbstractState, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(state, question)

    def act_request(
        self, state: AbstractState, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a move; with ``action`` the move is fixed and only the thought is free."""
        hint = f"Your plan goes on with {texts.in_words(plan)}: keep to it while it fits the board.\n" if plan else ""
        if action is None:
            task, schema = texts.ACT_TASK.format(hint=hint), act_model()
        else:
            word = texts.WORDS[action]
            task, schema = texts.FIXED_TASK.format(hint=hint, move=word), act_model(word)
        prompt = self._messages(state, task, "act" if action is None else "fixed", remaining)
        return Request(prompt, THOUGHT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: AbstractState, text: str) -> tuple[str, Action]:
        """Read the thought and the move."""
        del state
        answer: Any = parsed(act_model(), text, "no action")
        return answer.thought, texts.MOVES[answer.action]

    def select_request(
        self, state: AbstractState, paths: Sequence[OfferedPath], remaining: Mapping[str, int]
    ) -> Request:
        """Ask for the number of the best plan."""
        worded = [replace(path, actions=tuple(texts.WORDS.get(a, a) for a in path.actions)) for path in paths]
        task = texts.SELECT_TASK.format(listed=offered_text(worded, remaining))
        return number_request(self._messages(state, task, "select", remaining), paths)

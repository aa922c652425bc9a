"""The ``chat`` dialect: Sokoban for general instruction-tuned LMs, instructions plus a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from envs.sokoban.domain import SokobanDomain, as_state
from envs.sokoban.level import State
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Regex, Request
from tape.protocols import Action, Plan
from tape.protocols import State as AbstractState

MAX_PLAN = 60

RULES = """You play Sokoban on a grid. A cell is written (row,col); row 0 is at the top, col 0 at the left.
Moves: U is row-1, D is row+1, L is col-1, R is col+1. The border of the board is wall.
A move into a wall is invalid. A move into a box pushes the box one cell the same way, if the cell behind it
is free of walls and boxes; otherwise the move is invalid. Boxes cannot be pulled. An invalid move changes nothing.
The level is solved when every box is on a goal."""

_MOVES = re.compile(r'\s*\{\s*"actions"\s*:\s*\[((?:\s*"[UDLR]"\s*,?)*)')

Move = Literal["U", "D", "L", "R"]
Cell = tuple[int, int]


class PlanAnswer(BaseModel):
    """A whole plan."""

    actions: list[Move] = Field(max_length=MAX_PLAN)


class Outcome(BaseModel):
    """The state after a move; ``valid`` is false where the move is invalid."""

    valid: bool
    player: Cell
    boxes: list[Cell]


class RolloutAnswer(BaseModel):
    """The outcome of every move of a plan, in order."""

    outcomes: list[Outcome]


class ActAnswer(BaseModel):
    """A short thought and one move."""

    thought: str = Field(max_length=200)
    action: Move


_SCORES = {"solved": 1.0, "possible": 0.0, "hopeless": -1.0}


class ChatDialect:
    """Implements :class:`tape.lm.dialect.Dialect` with chat messages."""

    def __init__(self, domain: SokobanDomain) -> None:
        self._domain = domain

    def _messages(
        self, state: AbstractState, task: str, remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        text = self._domain.observation(as_state(state)).text
        left = "" if remaining is None else "".join(f"\n{kind} left: {n}" for kind, n in remaining.items())
        return (Message("system", RULES), Message("user", f"{text}{left}\n\n{task}"))

    def plan_request(self, state: AbstractState, remaining: Mapping[str, int]) -> Request:
        """Ask for a JSON list of moves."""
        task = (
            "Write a plan that solves the level with as few moves as possible and within the steps left. "
            'Answer as JSON: {"actions": ["U", ...]}'
        )
        steps = min(remaining.get("steps", MAX_PLAN), MAX_PLAN)
        return Request(
            self._messages(state, task, remaining), 16 + 6 * steps, constraint=JsonSchema(PlanAnswer), role="plan"
        )

    def read_plan(self, text: str) -> Plan:
        """The moves of the JSON answer, or the moves at its beginning where it is malformed."""
        try:
            return Plan(tuple(PlanAnswer.model_validate_json(text).actions))
        except ValidationError:
            head = _MOVES.match(text)
            return Plan(tuple(re.findall(r'"([UDLR])"', head[1])) if head else (), valid=False)

    def rollout_request(self, state: AbstractState, actions: Sequence[Action]) -> Request | None:
        """Ask for all outcomes of a plan at once."""
        task = (
            f"Simulate these moves one after the other: {' '.join(actions) or 'none'}. "
            "For each move say whether it is valid and where the player and the boxes are after it. "
            'Answer as JSON: {"outcomes": [{"valid": true, "player": [r, c], "boxes": [[r, c]]}, ...]}'
        )
        per_move = 24 + 12 * len(as_state(state).boxes)
        tokens = 16 + per_move * max(1, len(actions))
        return Request(self._messages(state, task), tokens, constraint=JsonSchema(RolloutAnswer), role="rollout")

    def read_rollout(self, state: AbstractState, actions: Sequence[Action], text: str) -> list[AbstractState | None]:
        """States up to the first invalid or unreadable outcome; more outcomes than moves are ignored."""
        try:
            outcomes = RolloutAnswer.model_validate_json(text).outcomes
        except ValidationError as error:
            raise InvalidOutputError(f"no rollout: {error.errors()[0]['msg']}") from None
        states: list[AbstractState | None] = []
        for outcome in outcomes[: len(actions)]:
            try:
                after = self._state(state, outcome)
            except InvalidOutputError:
                break
            states.append(after)
            if after is None:
                break
        return states

    def _state(self, before: AbstractState, outcome: Outcome) -> State | None:
        if not outcome.valid:
            return None
        level = self._domain.level
        cells = [(r, c) for r, c in (outcome.player, *outcome.boxes) if 0 <= r < level.rows and 0 <= c < level.cols]
        if len(cells) != len(as_state(before).boxes) + 1:
            raise InvalidOutputError(f"expected a player and {len(as_state(before).boxes)} boxes on the board")
        player, *boxes = (r * level.cols + c for r, c in cells)
        return State(player, tuple(sorted(boxes)))

    def next_request(self, state: AbstractState, action: Action) -> Request:
        """Ask for one outcome."""
        task = (
            f"Say what the single move {action} leads to. "
            'Answer as JSON: {"valid": true, "player": [r, c], "boxes": [[r, c]]}'
        )
        tokens = 40 + 12 * len(as_state(state).boxes)
        return Request(self._messages(state, task), tokens, constraint=JsonSchema(Outcome), role="next")

    def read_next(self, state: AbstractState, text: str) -> State | None:
        """Read one outcome."""
        try:
            return self._state(state, Outcome.model_validate_json(text))
        except ValidationError as error:
            raise InvalidOutputError(f"no outcome: {error.errors()[0]['msg']}") from None

    def score_request(self, state: AbstractState) -> tuple[Request, Mapping[str, float]]:
        """Ask for one word."""
        task = (
            "Judge this state. Answer with one word: solved if every box is on a goal, hopeless if no sequence of "
            "moves can ever solve it, possible otherwise."
        )
        return Request(self._messages(state, task), 4, constraint=Choice(tuple(_SCORES)), role="score"), _SCORES

    def act_request(
        self, state: AbstractState, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a move; with ``action`` the move is fixed and only the thought is free."""
        hint = f" Your plan goes on with {' '.join(plan)}: keep to it while it fits the board." if plan else ""
        answer = 'Answer as JSON: {"thought": "...", "action": "U"}'
        task = f"Think in one sentence, then make the next move.{hint} {answer}"
        constraint = (
            JsonSchema(ActAnswer)
            if action is None
            else Regex(rf'\{{"thought":"[^"\\\x00-\x1f]{{0,200}}","action":"{action}"\}}')
        )
        return Request(self._messages(state, task, remaining), 120, constraint=constraint, role="act")

    def read_act(self, text: str) -> tuple[str, Action]:
        """Read the thought and the move."""
        try:
            answer = ActAnswer.model_validate_json(text)
        except ValidationError as error:
            raise InvalidOutputError(f"no action: {error.errors()[0]['msg']}") from None
        return answer.thought, answer.action

    def select_request(
        self, state: AbstractState, walks: Sequence[Sequence[Action]], remaining: Mapping[str, int]
    ) -> Request:
        """Ask for the number of the best plan."""
        listed = "\n".join(f"{i}: {' '.join(walk)}" for i, walk in enumerate(walks, 1))
        task = f"Which of these plans solves the level within the steps left?\n{listed}\nAnswer with its number."
        options = tuple(str(i) for i in range(1, len(walks) + 1))
        return Request(self._messages(state, task, remaining), 3, constraint=Choice(options), role="select")

"""The ``chat`` prompt format: Sokoban for general instruction-tuned LMs, instructions plus a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from envs.sokoban.domain import SokobanDomain, as_state
from envs.sokoban.state import ACTIONS, State
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Regex, Request
from tape.protocols import Action, Plan
from tape.protocols import State as AbstractState
from tape.protocols.prompt_format import OfferedPath, offered_text, states_along

MAX_PLAN = 60

RULES = """You play Sokoban on a grid. A cell is written (row,col); row 0 is at the top, col 0 at the left.
Moves: U is row-1, D is row+1, L is col-1, R is col+1. The border of the board is wall.
A move into a wall is invalid. A move into a box pushes the box one cell the same way, if the cell behind it
is free of walls and boxes; otherwise the move is invalid. Boxes cannot be pulled. An invalid move changes nothing.
The level is solved when every box is on a goal."""

_MOVES = re.compile(r'\s*\{\s*"actions"\s*:\s*\[((?:\s*"[UDLR]"\s*,?)*)')

_ANSWER = re.compile(r'^\s*\{\s*"thought"\s*:\s*"|"\s*,\s*"action".*$', re.DOTALL)
"""What is around the thought in an answer that was cut off."""

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


class ValidOutcome(Outcome):
    """The state after a move that is valid."""

    valid: Literal[True]


class RolloutAnswer(BaseModel):
    """The outcome of every move of a plan, in order."""

    outcomes: list[Outcome]


class ActAnswer(BaseModel):
    """A short thought and one move."""

    thought: str = Field(max_length=200)
    action: Move


_SCORES = {"solved": 1.0, "possible": 0.0, "hopeless": -1.0}


class ChatFormat:
    """Implements :class:`tape.protocols.prompt_format.PromptFormat` with chat messages."""

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

    def read_plan(self, state: AbstractState, text: str) -> Plan:
        """The moves of the JSON answer, or the moves at its beginning where it is malformed."""
        del state
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
        return states_along(state, outcomes[: len(actions)], lambda _, outcome: self._state(state, outcome))

    def _state(self, before: AbstractState, outcome: Outcome) -> State | None:
        if not outcome.valid:
            return None
        level = self._domain.level
        cells = [(r, c) for r, c in (outcome.player, *outcome.boxes) if 0 <= r < level.rows and 0 <= c < level.cols]
        if len(cells) != len(as_state(before).boxes) + 1:
            raise InvalidOutputError(f"expected a player and {len(as_state(before).boxes)} boxes on the board")
        player, *boxes = (r * level.cols + c for r, c in cells)
        return State(player, tuple(sorted(boxes)))

    def next_request(self, state: AbstractState, action: Action, *, valid: bool = False) -> Request:
        """Ask for one outcome."""
        task = (
            f"Say what the single move {action} leads to{', which is valid' if valid else ''}. "
            'Answer as JSON: {"valid": true, "player": [r, c], "boxes": [[r, c]]}'
        )
        tokens = 40 + 12 * len(as_state(state).boxes)
        return Request(
            self._messages(state, task), tokens, constraint=JsonSchema(ValidOutcome if valid else Outcome), role="next"
        )

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

    def ask(self, state: AbstractState, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(state, question)

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

    def read_act(self, state: AbstractState, text: str) -> tuple[str, Action]:
        """Read the thought and the move."""
        del state
        try:
            answer = ActAnswer.model_validate_json(text)
        except ValidationError as error:
            raise InvalidOutputError(f"no action: {error.errors()[0]['msg']}") from None
        return answer.thought, answer.action

    def read_intention(self, thought: str) -> Action | None:
        """The next move that a sentence announces, by the rule of :func:`announced_move`."""
        return announced_move(_ANSWER.sub("", thought))

    def select_request(
        self, state: AbstractState, paths: Sequence[OfferedPath], remaining: Mapping[str, int]
    ) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        task = f"Which of these plans solves the level within the steps left?\n{listed}\nAnswer with its number."
        options = tuple(str(i) for i in range(1, len(paths) + 1))
        return Request(self._messages(state, task, remaining), 3, constraint=Choice(options), role="select")


_TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
_WORDS = {word + end: word[0].upper() for word in ("up", "down", "left", "right") for end in ("", "ward", "wards")}
_NO_MOVE = re.compile(
    r"[(\[]\s*-?\d+\s*,\s*-?\d+\s*[)\]]"  # coordinates, whose comma would end a clause
    r"|\b[UDLR] (?:of|side|edge|column|wall|corner|end)\b|\b(?:on|from|at) (?:the |its |my )?[UDLR]\b"
    r"|\b(?:goals?|boxe?s?|targets?|player|it|which) (?:is|are|lies) (?:to (?:the|its|my) )?[UDLR]\b|\ball R\b"
    r"|\bR (?:below|above|next|beside|behind|under|there|here|now|away|after|before|where|at|in|on)\b"
    r"|\b(?:lines?|lined|lining|ends?|sets?|uses?|used|catch) U\b"
    r"|\b(?:have|has|with|are|is|only|no|few|enough)(?: \w+)? (?:steps?|moves?) L\b"
)
_LIST = re.compile(r"\b([UDLR])\b(?:(?:\s|,|->|→|;|\bthen\b|\band\b)+\b[UDLR]\b)+")
_DUTY = re.compile(r"\b(needs?|has|have|want|going|plan|decide|try|is|be|best|must|ought|about|time|supposed) to\b")
_CLAUSE = re.compile(
    r"([.;!?,\n—]+|->|→|\b(?:so that|so (?:i|we|it|the box) (?:can|could|may|will)|in order to|and then|instead of"
    r"|rather than|then|before|until|after|once|when|while|if|because|since|as|where|which|not|but|so|therefore|thus"
    r"|hence|and"
    r"|to (?=(?:push|move|go|get|reach|stand|avoid|make|bring|put|solve|keep|place|walk|step|finish|complete)\b))\b)"
)
_ASIDE = {"in order to", "so that", "to", "because", "since", "as", "where", "which", "when", "while", "if"}
_ASIDE |= {"and then", "then", "before", "until", "after", "once"}
_DENIED = re.compile(
    r"\b(?:not|never|no|cannot|\w+n't|cant|unable|avoid\w*|without|block(?:ed|s|ing)|invalid|impossible|illegal|stuck"
    r"|trap(?:ped|s)?|dead\w*)\b"
)
_ANNOUNCED = re.compile(
    r"\b(?:first|now|(?:next|best|immediate|right|only|my)(?: \w+)? (?:move|action|step))\b|\baction\b"
)
_MOTION = re.compile(
    r"\b(?:mov|go|push|step|walk|head|shift|slid|shov|run|travel|proceed|continu|choos|pick|tak|play|do)(?:e|es|s|ing|ping)?\b"
    r"[^UDLR]*\b([UDLR])\b"
)
_HYPOTHETICAL = re.compile(r"\b(?:can|could|may|might|will|would)\b")
_CHOICE = re.compile(r"\b[UDLR] or (?:\w+ )?[UDLR]\b")
_PAST = re.compile(r"\b(?:was|were|went|moved|pushed|stepped|walked)\b")
_OF_BOX = re.compile(r"\bbox(?:es)? (?:must|needs?|has|have|should|goes|moves|go|move)\b")


def announced_move(thought: str) -> str | None:
    """The move that a thought announces as the next one, by words alone.

    The directions up, down, left and right (also ``upwards`` ...) and the capitals U, D, L and R count as moves, but
    not where they say where something is (``left of the box``, ``on the right``, ``right below``) or how much is
    left. A row of moves (``R, R, U``) counts as its first. The text is cut into clauses. A clause that denies its move
    (``not``, ``blocked``, ``instead of`` ...) or leaves a choice (``left or right``) is dropped. Of the others, the
    first kind with a move decides:

    1. clauses that announce it (``first``, ``now``, ``next move``, ``action:``);
    2. conclusions (``so I ...``, ``therefore ...``);
    3. the first clause in which the player moves, goes, pushes ...;
    4. other clauses that name a move;
    5. purposes, reasons, conditions and what comes later or was before (``to push it up``, ``then ...``, ``once ...``).

    Within kinds 1, 2, 4 and 5, and where a clause with ``after``, ``once`` or ``if`` contradicts kind 3, moves that
    differ make the thought ambiguous: no move is read, rather than a guess.
    """
    text = _TOKEN.sub(lambda token: _direction(token[0]), thought.replace("’", "'"))
    text = _DUTY.sub(r"\1", _LIST.sub(r"\1", _NO_MOVE.sub(" ", text)))
    kinds: dict[str, list[str]] = {kind: [] for kind in ("announced", "concluded", "moved", "named", "aside")}
    contradicting: set[str] = set()
    pieces = ["", *_CLAUSE.split(text)]
    for opening, clause in zip(pieces[::2], pieces[1::2], strict=True):
        opening = opening.strip()  # noqa: PLW2901
        directions = re.findall(r"\b[UDLR]\b", clause)
        denied = opening in ("not", "instead of", "rather than") or _DENIED.search(clause)
        if not directions or denied or _CHOICE.search(clause):
            continue
        motion = _MOTION.search(clause)
        moves = directions if motion is None else [motion[1]]
        kinds[_kind(opening, clause, moving=motion is not None)] += moves
        if opening in ("after", "once", "if"):
            contradicting.update(moves)
    if kinds["moved"] and not (kinds["announced"] or kinds["concluded"]):
        first = kinds["moved"][0]
        return first if contradicting <= {first} else None
    for moves in kinds.values():
        if moves:
            return moves[0] if len(set(moves)) == 1 else None
    return None


def _kind(opening: str, clause: str, *, moving: bool) -> str:
    """Which of the five kinds of :func:`announced_move` a clause with a move is."""
    concludes = opening in ("so", "therefore", "thus", "hence")
    if opening in _ASIDE or opening.startswith("so ") or (concludes and _HYPOTHETICAL.search(clause)):
        return "aside"
    if _ANNOUNCED.search(clause):
        return "announced"
    if concludes:
        return "concluded"
    if moving and not _OF_BOX.search(clause) and not _PAST.search(clause):
        return "moved"
    return "aside" if _PAST.search(clause) else "named"


def _direction(word: str) -> str:
    """A direction as its capital letter, any other word in lower case."""
    return word if word in ACTIONS else _WORDS.get(word.lower(), word.lower())

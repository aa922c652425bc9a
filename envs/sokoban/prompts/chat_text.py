"""The texts for general models: the rules of Sokoban, a state in words, and one worked example of each role."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from envs.sokoban.state import ACTIONS, Level, State, step
from envs.sokoban.xsb import parse
from tape.lm.base import Message

RULES = """You play Sokoban on a grid. (r,c) is the cell in row r and column c; row 0 is at the top, column 0 at the
left. All around the board is wall. A move takes the player to the next cell: up is row-1, down is row+1, left is
column-1, right is column+1.
- If nothing is there, the player steps onto it.
- If a box is there and nothing is behind the box, the player pushes the box one cell on and takes its place.
- If a wall is there, or a box with a wall or another box behind it, the move is blocked and changes nothing.
Boxes are pushed, never pulled, so a box in a corner stays there. Players and boxes can be on goals.
The level is solved when every box is on a goal."""

WORDS = {"U": "up", "D": "down", "L": "left", "R": "right"}
"""The moves as they are written for general models."""
MOVES = {word: move for move, word in WORDS.items()}
"""The moves by their words."""

NOTHING, BOX, BLOCKED_BOX, WALL = "nothing", "box that moves", "box that is stuck", "wall"
"""What a move meets."""

OPPOSITE = {"U": "D", "D": "U", "L": "R", "R": "L"}


def in_words(actions: Sequence[str]) -> str:
    """Moves as words, with commas."""
    return ", ".join(WORDS.get(action, action) for action in actions)


def met(level: Level, state: State, action: str) -> str:
    """What a move meets."""
    target = level.neighbours[action][state.player]
    if target < 0:
        return WALL
    if target not in state.boxes:
        return NOTHING
    return BLOCKED_BOX if step(level, state, action) is None else BOX


def board(level: Level, state: State) -> str:
    """A state in words: the board, what is on it, what is around the player, and how boxes lie to goals."""
    lines = [
        f"Board: {level.rows} rows, {level.cols} columns.",
        f"Inner walls: {_cells(level, level.inner_walls)}.",
        f"Player: {level.coordinate(state.player)}.",
        f"{'Box' if len(state.boxes) == 1 else 'Boxes'}: {_cells(level, state.boxes)}.",
        f"{'Goal' if len(level.goals) == 1 else 'Goals'}: {_cells(level, level.goals)}.",
        "Next to the player: "
        + ", ".join(f"{WORDS[action]} {_beside(level, state, action)}" for action in ACTIONS)
        + ".",
    ]
    return "\n".join([*lines, *(_box(level, state, box) for box in state.boxes)])


def _cells(level: Level, cells: Sequence[int]) -> str:
    return " ".join(map(level.coordinate, cells)) or "none"


def _beside(level: Level, state: State, action: str) -> str:
    target = level.neighbours[action][state.player]
    return "wall" if target < 0 else f"box {level.coordinate(target)}" if target in state.boxes else "free"


def _box(level: Level, state: State, box: int) -> str:
    """Where a box lies to its nearest goal, and from where it is pushed that way."""
    if box in level.goals:
        return f"Box {level.coordinate(box)}: on a goal."
    goal = min((goal for goal in level.goals if goal not in state.boxes), key=lambda goal: _distance(level, box, goal))
    ways = _ways(level, box, goal)
    way = " and ".join(f"{count} {WORDS[action]}" for action, count in ways)
    stand = ", ".join(
        f"{WORDS[action]} from {level.coordinate(level.neighbours[OPPOSITE[action]][box])}"
        for action, _ in ways
        if level.neighbours[OPPOSITE[action]][box] >= 0
    )
    pushed = f"; to push it {stand}" if stand else ""
    return f"Box {level.coordinate(box)}: goal {level.coordinate(goal)} is {way} of it{pushed}."


def _distance(level: Level, index: int, other: int) -> int:
    return sum(count for _, count in _ways(level, index, other))


def _ways(level: Level, index: int, other: int) -> list[tuple[str, int]]:
    """Directions and numbers of cells from one cell to another."""
    (row, col), (to_row, to_col) = divmod(index, level.cols), divmod(other, level.cols)
    ways = [("D" if to_row > row else "U", abs(to_row - row)), ("R" if to_col > col else "L", abs(to_col - col))]
    return [(action, count) for action, count in ways if count]


def outcome(level: Level, state: State, action: str) -> dict[str, object]:
    """What a move leads to, as models write it; a blocked one changes nothing."""
    after = step(level, state, action) or state
    return {
        "move": WORDS[action],
        "meets": met(level, state, action),
        "player": level.coordinate(after.player),
        "boxes": [level.coordinate(box) for box in after.boxes],
    }


@cache
def _example() -> Level:
    """The board of the examples; smaller than any that is generated for tests or training."""
    [level] = parse("######\n#   .#\n#  $ #\n# @  #\n######\n")
    return level


def _states() -> tuple[State, State, State]:
    """Of the examples: the start, one with the player beside the box, and one with the box in a corner."""
    level = _example()
    start = level.start
    beside = State(start.player - level.cols, start.boxes)
    return start, beside, State(start.player, (level.cols + 1,))


PLAN_TASK = (
    "Plan all moves that solve the level, as few as possible, {steps} at most. First think in one or two sentences."
)
ACT_TASK = "{hint}Think in one sentence, then make the next move."
FIXED_TASK = "{hint}The next move is {move}. Say in one sentence what it is for."
NEXT_TASK = "Say what the single move {move} meets, and where the player and the boxes are after it."
VALID_TASK = NEXT_TASK + " The move is not blocked."
ROLLOUT_TASK = (
    "Simulate these {count} moves one after the other, each from where the one before has led: {moves}. Of every move "
    "say what it meets, and where the player and the boxes are after it; a move that is blocked changes nothing."
)
SCORE_TASK = (
    "Judge this state in one word: solved if every box is on a goal, hopeless if some box can never be brought to a "
    "goal, possible otherwise."
)
SELECT_TASK = (
    "Which of these plans is best? One that ends at a goal and needs no more than is left comes before all others; of "
    "such plans the shortest is best.\n{listed}\nAnswer with its number."
)


def question(text: str, task: str, left: str = "") -> Message:
    """What a model is asked: a state, what is left of the budget, and the task."""
    return Message("user", f"{text}\n{left}\n{task}")


def left_in_words(remaining: Mapping[str, int] | None) -> str:
    """What is left of the budget, one kind a line; nothing where that is unknown."""
    return "".join(f"{kind.capitalize()} left: {count}.\n" for kind, count in (remaining or {}).items())


def _turn(state: State, task: str, answer: object, left: str = "") -> tuple[Message, Message]:
    written = answer if isinstance(answer, str) else json.dumps(answer)
    return question(board(_example(), state), task, left), Message("assistant", written)


@cache
def examples(role: str) -> tuple[Message, ...]:
    """Worked examples of a role: turns of a user and the answers."""
    level = _example()
    start, beside, corner = _states()
    left = left_in_words({"steps": 9})
    match role:
        case "plan":
            thought = (
                "The box has to go 1 up and 1 right. I step right to (3,3), below it, and push it up; then I go left "
                "and up to (1,2) and push it right."
            )
            plan = {"thought": thought, "actions": ["right", "up", "left", "up", "right"]}
            return _turn(start, PLAN_TASK.format(steps=9), plan, left)
        case "act":
            thought = "The box has to go up, so I have to stand below it at (3,3), which is right of me."
            return _turn(start, ACT_TASK.format(hint=""), {"thought": thought, "action": "right"}, left)
        case "fixed":
            thought = "It brings me to (3,3), below the box, from where I can push it up."
            task = FIXED_TASK.format(hint="", move="right")
            return _turn(start, task, {"thought": thought, "action": "right"}, left)
        case "next":
            pushed = _turn(beside, NEXT_TASK.format(move="right"), outcome(level, beside, "R"))
            return (*_turn(start, NEXT_TASK.format(move="down"), outcome(level, start, "D")), *pushed)
        case "rollout":
            moves, here, outcomes = ("U", "R", "R"), start, {}
            for number, move in enumerate(moves, 1):
                outcomes[str(number)] = outcome(level, here, move)
                here = step(level, here, move) or here
            return _turn(start, ROLLOUT_TASK.format(count=len(moves), moves=in_words(moves)), outcomes)
        case "score":
            solved = State(start.player, level.goals)
            judged = ((start, "possible"), (solved, "solved"), (corner, "hopeless"))
            return tuple(message for state, word in judged for message in _turn(state, SCORE_TASK, word))
        case _:
            return ()

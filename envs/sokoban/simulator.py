"""The transition function of Sokoban: pure functions on immutable states."""

from __future__ import annotations

from envs.sokoban.state import Level, State


def step(level: Level, state: State, action: str) -> State | None:
    """Apply one action.

    Returns:
        The state after, or None where the action is invalid (a wall, or a box that cannot move);
        an invalid action changes nothing in the world, but it costs a step.

    Raises:
        KeyError: ``action`` is not one of the four.
    """
    neighbours = level.neighbours[action]
    target = neighbours[state.player]
    if target < 0:
        return None
    boxes = state.boxes
    if target not in boxes:
        return State(target, boxes)
    beyond = neighbours[target]
    if beyond < 0 or beyond in boxes:
        return None
    if len(boxes) == 1:
        return State(target, (beyond,))
    return State(target, tuple(sorted(beyond if box == target else box for box in boxes)))


def is_push(level: Level, state: State, action: str) -> bool:
    """Whether the action would move a box."""
    after = step(level, state, action)
    return after is not None and after.boxes != state.boxes


def is_solved(level: Level, state: State) -> bool:
    """Whether every box is on a goal."""
    goals = level.goals
    return all(box in goals for box in state.boxes)


def replay(level: Level, actions: list[str] | tuple[str, ...], state: State | None = None) -> list[State]:
    """The states visited from ``state`` (the start by default); invalid actions repeat the state."""
    current = level.start if state is None else state
    states = [current]
    for action in actions:
        current = step(level, current, action) or current
        states.append(current)
    return states

"""What the simulated model predicts: as on the gold path where the action lies ahead there, else by rules of thumb."""

from __future__ import annotations

import random
import re
from typing import Any

from envs.scienceworld.gold import GoldStep, position
from envs.scienceworld.reading import normal
from envs.scienceworld.simulated.reading import Told
from envs.scienceworld.things import read_things

_MOVE = re.compile(r"^(?:go|teleport) to (.+)$")
_ROUTINE = re.compile(r"^(?:look around|inventory|wait1?|\d+)$")
_TAKE = re.compile(r"^(?:pick up|take) (.+?)(?: in .*)?$")


def predicted(
    told: Told, steps: tuple[GoldStep, ...], command: str, *, sure: bool, slip: random.Random | None
) -> dict[str, Any]:
    """A prediction in the form that is asked for.

    Args:
        told: The prompt.
        steps: The gold path.
        command: The command.
        sure: Whether it is understood for certain.
        slip: Draws an error, where there is one.
    """
    same = _same(told, command)
    if slip is not None:
        return same if sure or slip.random() < 0.5 else {"command": command, "valid": False}
    # Looking around and waiting are always understood, although nothing may come of them.
    if command in told.useless and not sure and not _ROUTINE.match(command):
        return {"command": command, "valid": False}
    at = position(steps, told.history, told.dropped)
    here = [step for step in steps[at:] if step.before.room.name == told.room or not told.room]
    step = next((step for step in here if step.action == command), None)
    if step is not None and _fits(told, step):
        return _as_on_path(told, step, same)
    if move := _MOVE.match(command):
        return _moved(steps, at, move[1], same) if move[1] in told.rooms or sure else _invalid(command)
    if not sure and not _ROUTINE.match(command) and not _in_sight(told, command):
        return _invalid(command)
    if (take := _TAKE.match(command)) and any(take[1] in line for line in told.lines):
        return same | {"carry": [*told.carried, take[1]]}
    return same


def _fits(told: Told, step: GoldStep) -> bool:
    """Whether what a gold step changes is there: its action does nothing of the kind before that."""
    lines = [normal(line) for line in told.lines]
    changed = [line for line in step.before.lines if line not in step.after.lines]
    held = [normal(thing) for thing in told.carried]
    lost = [thing for thing in step.before.inventory if thing not in step.after.inventory]
    moved = step.before.room.name != step.after.room.name
    return (moved or all(normal(line) in lines for line in changed)) and all(normal(thing) in held for thing in lost)


def _in_sight(told: Told, command: str) -> bool:
    """Whether a command names something that is listed."""
    listed = read_things((*told.lines, *told.carried))
    return any(inner.name in command.lower() for thing in listed for inner in (thing, *thing.everything()))


def _invalid(command: str) -> dict[str, Any]:
    return {"command": command, "valid": False}


def _same(told: Told, command: str) -> dict[str, Any]:
    """Nothing changes."""
    return {
        "command": command,
        "valid": True,
        "room": told.room,
        "gone": [],
        "new": [],
        "carry": list(told.carried),
        "focus": "",
        "reading": "",
        "score": told.score,
        "over": told.over,
    }


def _as_on_path(told: Told, step: GoldStep, same: dict[str, Any]) -> dict[str, Any]:
    """What the gold step changes, applied to what the prompt tells."""
    before, after = step.before, step.after
    moved = after.room.name != before.room.name
    lost = [thing for thing in before.inventory if thing not in after.inventory]
    won = [thing for thing in after.inventory if thing not in before.inventory]
    return same | {
        "room": after.room.name,
        "gone": [] if moved else [line for line in before.lines if line not in after.lines],
        "new": after.lines if moved else [line for line in after.lines if line not in before.lines],
        "carry": [thing for thing in told.carried if thing not in lost] + won,
        "focus": after.focused[-1] if len(after.focused) > len(before.focused) else "",
        "reading": after.reading if after.reading != before.reading else "",
        "score": max(-100, min(100, told.score + after.score - before.score)),
        "over": after.done,
    }


def _moved(steps: tuple[GoldStep, ...], at: int, room: str, same: dict[str, Any]) -> dict[str, Any]:
    """A room as the path knows it."""
    states = [step.before for step in steps[at:]] + [step.after for step in reversed(steps[:at])]
    known = next((state.lines for state in states if state.room.name == room), [])
    return same | {"room": room, "new": known}

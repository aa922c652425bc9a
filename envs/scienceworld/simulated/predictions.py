"""What the simulated model predicts: as on the gold path where the action lies ahead there, else by rules of thumb."""

from __future__ import annotations

import random
import re
from typing import Any

from envs.scienceworld.gold import GoldStep
from envs.scienceworld.reading import normal
from envs.scienceworld.simulated.moves import place
from envs.scienceworld.simulated.reading import Prompt
from envs.scienceworld.things import read_things

_MOVE = re.compile(r"^(?:go|teleport) to (.+)$")
_ROUTINE = re.compile(r"^(?:look around|inventory|wait1?|\d+)$")
_TAKE = re.compile(r"^(?:pick up|take) (.+?)(?: in .*)?$")


def predicted(
    prompt: Prompt, steps: tuple[GoldStep, ...], command: str, *, sure: bool, slip: random.Random | None
) -> dict[str, Any]:
    """A prediction in the form that is asked for.

    Args:
        prompt: What the model reads.
        steps: The gold path.
        command: The command.
        sure: Whether it is understood for certain.
        slip: Draws an error, where there is one.
    """
    same = _same(prompt, command)
    if slip is not None:
        return same if sure or slip.random() < 0.5 else {"command": command, "valid": False}
    # Looking around and waiting are always understood, although nothing may come of them.
    if command in prompt.useless and not sure and not _ROUTINE.match(command):
        return {"command": command, "valid": False}
    at = place(prompt, steps)
    here = [step for step in steps[at:] if step.before.room.name == prompt.room or not prompt.room]
    step = next((step for step in here if step.action == command), None)
    if step is not None and _fits(prompt, step):
        return _as_on_path(prompt, step, same)
    if move := _MOVE.match(command):
        return _moved(steps, at, move[1], same) if move[1] in prompt.rooms or sure else _invalid(command)
    if not sure and not _ROUTINE.match(command) and not _in_sight(prompt, command):
        return _invalid(command)
    if (take := _TAKE.match(command)) and any(take[1] in line for line in prompt.lines):
        return same | {"carry": [*prompt.carried, take[1]]}
    return same


def _fits(prompt: Prompt, step: GoldStep) -> bool:
    """Whether what a gold step changes is there: its action does nothing of the kind before that."""
    lines = [normal(line) for line in prompt.lines]
    changed = [line for line in step.before.lines if line not in step.after.lines]
    held = [normal(thing) for thing in prompt.carried]
    lost = [thing for thing in step.before.inventory if thing not in step.after.inventory]
    moved = step.before.room.name != step.after.room.name
    return (moved or all(normal(line) in lines for line in changed)) and all(normal(thing) in held for thing in lost)


def _in_sight(prompt: Prompt, command: str) -> bool:
    """Whether a command names something that is listed."""
    listed = read_things((*prompt.lines, *prompt.carried))
    return any(inner.name in command.lower() for thing in listed for inner in (thing, *thing.everything()))


def _invalid(command: str) -> dict[str, Any]:
    return {"command": command, "valid": False}


def _same(prompt: Prompt, command: str) -> dict[str, Any]:
    """Nothing changes."""
    return {
        "command": command,
        "valid": True,
        "room": prompt.room,
        "gone": [],
        "new": [],
        "carry": list(prompt.carried),
        "focus": "",
        "reading": "",
        "score": prompt.score,
        "over": prompt.over,
    }


def _as_on_path(prompt: Prompt, step: GoldStep, same: dict[str, Any]) -> dict[str, Any]:
    """What the gold step changes, applied to what the prompt shows."""
    before, after = step.before, step.after
    moved = after.room.name != before.room.name
    lost = [thing for thing in before.inventory if thing not in after.inventory]
    won = [thing for thing in after.inventory if thing not in before.inventory]
    return same | {
        "room": after.room.name,
        "gone": [] if moved else [line for line in before.lines if line not in after.lines],
        "new": after.lines if moved else [line for line in after.lines if line not in before.lines],
        "carry": [thing for thing in prompt.carried if thing not in lost] + won,
        "focus": after.focused[-1] if len(after.focused) > len(before.focused) else "",
        "reading": after.reading if after.reading != before.reading else "",
        "score": max(-100, min(100, prompt.score + after.score - before.score)),
        "over": after.done,
    }


def _moved(steps: tuple[GoldStep, ...], at: int, room: str, same: dict[str, Any]) -> dict[str, Any]:
    """A room as the path knows it."""
    states = [step.before for step in steps[at:]] + [step.after for step in reversed(steps[:at])]
    known = next((state.lines for state in states if state.room.name == room), [])
    return same | {"room": room, "new": known}

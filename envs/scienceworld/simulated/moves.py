"""What the simulated model would do next: the gold path from where the history has got to, and ways back to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from envs.scienceworld.gold import GoldStep, position
from envs.scienceworld.predicates import meaning
from envs.scienceworld.prompts.chat_schema import MOST_PLANNED
from envs.scienceworld.reading import normal
from envs.scienceworld.simulated.reading import Prompt

MOST_WAITS = 3
"""How often it waits where the next gold action is not understood, before it leaves that action out."""

_AGAIN = 4
"""How many of the last gold actions it repeats where the path has ended and the task has not."""


def place(prompt: Prompt, steps: tuple[GoldStep, ...]) -> int:
    """How many steps of the gold path the prompt shows to be done.

    The history says it (:func:`position`), but what was done in another order, or was not needed, is behind all the
    same: where room, score and what is carried are as before later steps of the path, it is the first of these that
    was not done.
    """
    at = position(steps, prompt.history, prompt.dropped)
    here = (prompt.room, prompt.score, _carried(prompt.carried))
    index = next((i for i, step in enumerate(steps[at:], at) if here == _before(step)), at)
    if index == at:
        return at
    for action in prompt.history:
        if action == steps[index].action and here in map(_before, steps[index + 1 : index + 2]):
            index += 1
    return index + (prompt.history[-1:] == (steps[index].action,))


def _before(step: GoldStep) -> tuple[str, int, list[str]]:
    return step.before.room.name, step.before.score, _carried(step.before.inventory)


def _carried(things: Iterable[str]) -> list[str]:
    return sorted(map(normal, things))


def next_actions(prompt: Prompt, steps: tuple[GoldStep, ...], at: int) -> list[tuple[int, str]]:
    """The actions from here on with the gold steps that they belong to; at least one."""
    if prompt.asked:
        return [(at, "0"), *next_actions(replace(prompt, asked=False), steps, at)]
    while at < len(steps) and steps[at].action in prompt.useless:
        # What is not possible yet may be later: water has to boil before there is steam.
        if not _waited(prompt):
            return [(at, "wait1"), *((i, step.action) for i, step in enumerate(steps[at:], at))][:MOST_PLANNED]
        at += 1
    if at >= len(steps):
        waits = prompt.history[-1:] != ("wait1",)
        return [(len(steps), "wait1")] if waits else [(i, step.action) for i, step in enumerate(steps)][-_AGAIN:]
    pairs = [(i, step.action) for i, step in enumerate(steps[at:], at)]
    room = steps[at].before.room.name
    if prompt.room and prompt.room != room:
        pairs.insert(0, (at, way_to(room, prompt)))
    return pairs[:MOST_PLANNED]


def _waited(prompt: Prompt) -> bool:
    """Whether it has waited as long as it does."""
    last = prompt.history[-MOST_WAITS:]
    return len(last) == MOST_WAITS and set(last) == {"wait1"}


def way_to(room: str, prompt: Prompt) -> str:
    """How to get to a room; without teleporting only to the next one."""
    teleports = any(word in prompt.simplification for word in ("easy", "teleportAction"))
    return f"teleport to {room}" if teleports else f"go to {room}"


def toward(text: str, prompt: Prompt, steps: tuple[GoldStep, ...], at: int) -> str | None:
    """An action toward a predicate that does not lie ahead on the gold path; None where one does.

    Where it lies behind, looking again lets VALIDATE see it; where it is on no gold path, for instance about a wrong
    object, the action is what its words suggest.
    """
    targets = [step.target.text if step.target is not None else "" for step in steps]
    if not text or text in targets[at:] or not (requires := meaning(text)):
        return None
    [(predicate, value)] = requires
    if text in targets[:at]:
        return "look around"
    first, *rest = predicate.args
    match predicate.name:
        case "at":
            return way_to(re.sub("^the ", "", first), prompt)
        case "carries":
            return f"pick up {first}" if value else f"put down {first}"
        case "focused":
            return f"focus on {first}"
        case "active":
            return f"{'activate' if value else 'deactivate'} {first}"
        case "open":
            return f"{'open' if value else 'close'} {first}"
    return f"move {first} to {rest[0]}"

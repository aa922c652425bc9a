"""Applies the changes that a model predicts of a command to what is known, and scores the steps left."""

from __future__ import annotations

from dataclasses import replace

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.prompts.lexicon import MOST_STEPS
from envs.alfworld.state import Knowledge

_FAR = 0.4
"""The score of a state one step from the goal; it falls to 0 with the steps that the model counts."""


def score_of_steps(steps: int) -> float:
    """The score of a state from which the goal is some steps away."""
    return 1.0 if steps == 0 else _FAR * (1 - steps / (MOST_STEPS + 1))


def taken(state: Knowledge, kind: str) -> Knowledge:
    """With an object of a kind in hand, from within reach where there is one."""
    for place in state.at:
        if there := [thing for thing in state.contents(place) if kind_of(thing) == kind]:
            return rules.take(state, rules.meant(state, there), place)
    return replace(state, holding=state.unseen_name(kind))


def switched_on(state: Knowledge, kind: str) -> Knowledge:
    """With a lamp of a kind switched on, one within reach where there is one."""
    lamps = sorted(thing for thing, where in state.inside if kind_of(thing) == kind and where in state.at)
    return replace(state, marks=state.marks | {((lamps or [state.unseen_name(kind)])[0], "lit")})


def hopeless(state: Knowledge, command: AlfworldCommand) -> bool:
    """Whether the agent need only look at its hand, or at the list of furniture, to know that a command fails."""
    if command.place and command.place not in state.layout.number:
        return True
    if command.verb == "take":
        return bool(state.holding)
    handled = command.verb not in ("go", "open", "close", "use")
    return handled and (not state.holding or kind_of(state.holding) != kind_of(command.thing))

"""From an action to the command that the game understands: objects named by kind get their number."""

from __future__ import annotations

from dataclasses import replace

from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.game.oracle import put_command
from envs.alfworld.rules import meant
from envs.alfworld.state import Knowledge


def resolved(state: Knowledge, action: str, put_template: str) -> str:
    """The command for the game.

    An object that is named by its kind is the one in hand, or for ``take`` and ``use`` one of those known to be there:
    of several the one that is treated as the goal asks, else the first by name. Where none is known the kind is passed
    on as it is, and nothing happens.

    Args:
        state: What is known now.
        action: The action.
        put_template: The game's command for putting ``{o}`` into ``{r}``.
    """
    command = read_command(action)
    if command is None:
        return action
    named = command if not command.thing or " " in command.thing else replace(command, thing=_named(state, command))
    if named.verb == "put":
        return put_command(put_template, named.thing, named.place)
    return (replace(named, place="") if named.verb == "use" else named).text


def _named(state: Knowledge, command: AlfworldCommand) -> str:
    if command.verb in ("take", "use"):
        places = (command.place,) if command.place else state.at
        there = [t for t, where in state.inside if where in places and kind_of(t) == command.thing]
        return meant(state, there) if there else command.thing
    return state.holding if state.holding and kind_of(state.holding) == command.thing else command.thing

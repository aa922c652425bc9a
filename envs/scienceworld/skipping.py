"""What a plan may leave out: commands that are known to change nothing where the agent is."""

from __future__ import annotations

from envs.scienceworld.commands import SETS, read_command
from envs.scienceworld.predicates import Shown
from envs.scienceworld.state import ScienceState
from envs.scienceworld.things import plain
from tape.protocols import Action
from tape.protocols.predicates import Predicate


def changes_nothing(state: ScienceState, action: Action) -> bool:
    """Whether the world has refused a command in this very state, or what it is to bring about is so already.

    A number is of use only as the answer to a question; one goes only where a door leads to, and a second focus on the
    same thing adds nothing new (and may be counted as a wrong one).
    """
    if action in state.rejected:
        return True
    command = read_command(action)
    if command is None or state.done:
        return False
    if command.verb == "answer":
        return not state.choices
    if state.choices or not command.things:
        return False
    [first, *_] = command.things
    if command.verb == "focus on":
        return plain(first) in map(plain, state.focused)
    if command.verb == "go":
        doors = [plain(to) for to, _ in state.room.doors]
        return bool(doors) and plain(first) not in doors
    if command.verb in SETS:
        name, value = SETS[command.verb]
        return Shown(state).get(Predicate(name, (plain(first),))) is value
    return False


def optional(action: Action) -> bool:
    """Whether a command answers a question, which the world may not ask."""
    command = read_command(action)
    return command is not None and command.verb == "answer"

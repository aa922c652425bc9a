"""Small cases with known answers for every role that a general model plays in ScienceWorld.

The states are made up: a room with a few things, which no task of the simulator has, and what little of the world
decides the answers (doors, what is carried, what is focused on) is worked out here. No simulator is asked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

from envs.scienceworld.prompts import prompt_format
from envs.scienceworld.reading import write_room
from envs.scienceworld.state import ScienceState, ScienceTask
from tape.protocols import Plan
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import (
    RoleCase,
    choice_case,
    judged_act,
    judged_by,
    judged_plan,
)

_ROOMS = ("attic", "cellar", "pantry", "library", "garage", "studio")
_THINGS = ("green marble", "wooden spoon", "brass key", "wool sock", "tin whistle", "paper kite", "clay pot")
_BOXES = ("yellow box", "white basket", "grey tray", "black bag")


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """Cases of one role; the same for the same seed.

    Raises:
        UnknownNameError: There is no such role or prompt format.
    """
    make = {"plan": _plan, "next": _next, "score": _score, "act": _act}[role]
    written = prompt_format(prompts)
    return [make(f"{n}", random.Random(f"role cases:science:{role}:{seed}:{n}"), written) for n in range(count)]


# --- a small world ------------------------------------------------------------------------------


class _Game:
    """Two rooms with a door between them; a thing in the other one has to be focused on and put into a box here.

    Args:
        rng: Draws names.
        near: The thing is in the room where the game begins.
    """

    def __init__(self, rng: random.Random, *, near: bool) -> None:
        self.here, self.there = rng.sample(_ROOMS, 2)
        self.thing, self.other = rng.sample(_THINGS, 2)
        self.box, place = rng.choice(_BOXES), "" if near else self.there
        where = f" in the {place}" if place else ""
        self.task = ScienceTask(
            "put-away",
            rng.randrange(90),
            "",
            f"Your task is to put the {self.thing}{where} in the {self.box}. First, focus on the {self.thing}. Then, "
            f"move it to the {self.box}.",
        )
        self.near, self.open = near, rng.random() < 0.5

    def start(self) -> ScienceState:
        """The first state."""
        things = [f"a {self.other}", *([f"a {self.thing}"] if self.near else [])]
        state = ScienceState(self.task, "", self._look(self.here, things, is_open=self.open), ())
        return replace(state, rooms=tuple(sorted((self.here, self.there))), visited=(self.here,))

    def _look(self, room: str, things: Sequence[str], *, is_open: bool) -> str:
        box = [f"a {self.box} (containing nothing)"] if room == self.here else []
        to = self.there if room == self.here else self.here
        return write_room(room, [*things, *box, f"A door to the {to} (that is {'open' if is_open else 'closed'})"])

    def path(self) -> list[str]:
        """A way to the end."""
        if self.near:
            return [f"focus on {self.thing}", f"move {self.thing} to {self.box}"]
        door = [] if self.open else [f"open door to {self.there}"]
        out = [*door, f"go to {self.there}", f"focus on {self.thing}", f"pick up {self.thing}"]
        return [*out, f"go to {self.here}", f"move {self.thing} to {self.box}"]

    def after(self, state: ScienceState, command: str) -> ScienceState | None:
        """The state after a command; None where the world does not take it for one."""
        room, carried = state.room, state.inventory
        door = dict(room.doors)
        line, verb = f"a {self.thing}", command.split(maxsplit=1)[0]
        in_sight = line in room.things
        named = next((thing for thing in (self.thing, self.other) if command.endswith(thing)), "")
        here = named and (f"a {named}" in room.things or f"a {named}" in carried)
        gone = replace(state, history=(*state.history, command), path=(*state.path, command))
        lines = list(state.lines)
        if command in (f"open door to {to}" for to in door) and not door[command.removeprefix("open door to ")]:
            return replace(gone, look=write_room(room.name, [name.replace("is closed", "is open") for name in lines]))
        if command in (f"go to {to}" for to in door) and door[command.removeprefix("go to ")]:
            to = command.removeprefix("go to ")
            things = [f"a {self.other}"] if to == self.here else [] if line in carried else [line]
            look = self._look(to, things, is_open=True)
            return replace(gone, look=look, visited=tuple(dict.fromkeys((*state.visited, to))))
        if verb == "focus" and here:
            wrong = named != self.thing
            focused = (*state.focused, named)
            return replace(gone, focused=focused, done=wrong, score=-100 if wrong else 50)
        if command == f"pick up {named}" and f"a {named}" in room.things:
            left = [name for name in lines if name != f"a {named}"]
            return replace(gone, look=write_room(room.name, left), inventory=(*carried, f"a {named}"))
        if command == f"move {self.thing} to {self.box}" and room.name == self.here and (in_sight or line in carried):
            empty = f"a {self.box} (containing nothing)"
            full = f"a {self.box} (containing a {self.thing})"
            left = [full if name == empty else name for name in lines if name != line]
            done = self.thing in state.focused
            put = replace(gone, look=write_room(room.name, left), inventory=tuple(c for c in carried if c != line))
            return replace(put, score=100 if done else state.score, done=done)
        return gone if command in ("look around", "inventory", "wait", "wait1") else None

    def left(self, state: ScienceState) -> list[str]:
        """The commands that are left where the path has been followed so far, detours through looking aside."""
        done = [command for command in state.history if command in self.path()]
        return self.path()[len(done) :]


def _reached(game: _Game, state: ScienceState, commands: Sequence[str]) -> ScienceState | None:
    here: ScienceState | None = state
    for command in commands:
        if here is None or here.done:
            break
        here = game.after(here, command)
    return here


def _moment(rng: random.Random, number: str, most_done: int | None = None) -> tuple[_Game, ScienceState]:
    game = _Game(rng, near=int(number) % 2 == 0)
    path = game.path()
    done = path[: rng.randint(0, min(len(path) - 1, len(path) if most_done is None else most_done))]
    state = _reached(game, game.start(), done)
    assert state is not None
    return game, state


# --- the roles ----------------------------------------------------------------------------------


def _plan(id: str, rng: random.Random, written: PromptFormat) -> RoleCase:
    game, state = _moment(rng, id, 0)

    def right(plan: Plan) -> bool | str:
        end = _reached(game, state, plan.actions)
        return "a command is not understood" if end is None else end.complete or "the task is not done"

    ideal = json.dumps({"thought": "", "actions": game.path()})
    judge = judged_plan(written, state, right)
    return RoleCase("plan", id, written.plan_request(state, {"steps": 12}), judge, ideal)


def _next(id: str, rng: random.Random, written: PromptFormat) -> RoleCase:
    game, state = _moment(rng, id)
    commands = [game.left(state)[0]]
    if rng.random() < 0.4:
        commands = [f"pick up {game.thing if game.thing in game.left(state)[-1] else game.other}", "open drawer"]
        commands += [f"go to {rng.choice(_ROOMS)}", f"activate {game.box}", "look around"]
    command = rng.choice(commands)
    truth = game.after(state, command)

    def right(science_state: object) -> bool | str:
        if science_state is None or truth is None:
            return science_state is truth or ("called valid" if truth is None else "called invalid")
        assert isinstance(science_state, ScienceState)
        return science_state.place == truth.place or "another state"

    request, ideal = written.next_request(state, command), _ideal(state, command, truth)
    return RoleCase("next", id, request, judged_by(lambda text: written.read_next(state, text), right), ideal)


def _ideal(state: ScienceState, command: str, after: ScienceState | None) -> str:
    """The true answer."""
    if after is None:
        return json.dumps({"command": command, "valid": False})
    same = after.room.name == state.room.name
    result = {
        "command": command,
        "valid": True,
        "room": after.room.name,
        "gone": [line for line in state.lines if line not in after.lines] if same else [],
        "new": [line for line in after.lines if line not in state.lines] if same else after.lines,
        "carry": list(after.inventory),
        "focus": after.focused[-1] if len(after.focused) > len(state.focused) else "",
        "reading": "",
        "score": after.score,
        "over": after.done,
    }
    return json.dumps(result)


def _score(id: str, rng: random.Random, written: PromptFormat) -> RoleCase:
    game = _Game(rng, near=True)
    start = game.start()
    at: dict[str, list[str]] = {"nothing": [], "complete": game.path(), "failed": [f"focus on {game.other}"]}
    truth = list(at)[int(id) % len(at)]
    state = _reached(game, start, at[truth])
    assert state is not None
    request, _ = written.score_request(state)
    return choice_case("score", id, request, truth)


def _act(id: str, rng: random.Random, written: PromptFormat) -> RoleCase:
    game, state = _moment(rng, id)
    rest = game.left(state)

    def right(action: str) -> bool | str:
        after = game.after(state, action)
        if after is None:
            return f"not understood: {action}"
        end = _reached(game, after, [command for command in rest if command != action])
        brings = action in rest and end is not None and end.complete
        return brings or f"no nearer to the end: {action}"

    ideal = json.dumps({"thought": "", "action": rest[0]})
    request = written.act_request(state, {"steps": len(rest) + 4}, None, ())
    return RoleCase("act", id, request, judged_act(written, state, right), ideal)

"""What is known of a game: the abstract state of ScienceWorld (SDP appendix A.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from envs.scienceworld.commands import joins, lets_time_pass
from envs.scienceworld.reading import Room, described_lines, normal, read_room, refused
from envs.scienceworld.things import read_things
from tape.protocols import Action

FULL_SCORE = 100
MOST_HISTORY = 100
"""Most actions that are shown of those that were done."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

MOST_REFUSED = 50
"""Most refused texts that are kept."""


@dataclass(frozen=True)
class ScienceTask:
    """What does not change during a game.

    Attributes:
        name: The task, for instance ``boil``.
        variation: Its variation.
        simplification: Simplifications of the simulator, by commas.
        description: The task, in the simulator's words.
    """

    name: str
    variation: int
    simplification: str
    description: str


@dataclass(frozen=True)
class ScienceState:
    """What the agent knows.

    Attributes:
        task: The task.
        observation: The last answer of the simulator.
        look: The description of the room, which does not depend on the last command.
        inventory: What the agent carries.
        score: Partial credit, 0 to 100; negative where the task was failed for good.
        focused: What was focused on, in order.
        path: All that was typed so far; from it the simulator can be brought into this very state.
        history: What of it the simulator took for an action, the latest ``MOST_HISTORY``.
        dropped: How many earlier actions are no longer in the history.
        visited: Rooms the agent has been in, in order.
        rooms: Rooms that can be reached, from the simulator's valid actions.
        done: Whether the task is over.
        rejected: What the simulator did not take for an action in this very state.
        refused: What it did not take for an action so far, wherever that was.
        choices: What it asks to choose from, if its last answer was a question.
        reading: The last thing that was measured or read: latent processes show nowhere else.
        excluded: What may not be written here, although the simulator was not asked (``no_repeat``).
        cut: Whether the list of what is carried breaks off: what is not in it may be carried all the same.
        joined: The commands that have connected something, sorted: only the last answer shows what is connected.
        waited: Commands since anything has changed in sight that may bring something on, as waiting does.
        looks: What every room was like when the agent was last in it: the latest description of each.
        seen: Names of all things that were listed so far, in a room or among what is carried.
    """

    task: ScienceTask
    observation: str
    look: str
    inventory: tuple[str, ...]
    score: int = 0
    focused: tuple[str, ...] = ()
    path: tuple[Action, ...] = ()
    history: tuple[Action, ...] = ()
    dropped: int = 0
    visited: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    done: bool = False
    rejected: tuple[Action, ...] = ()
    refused: tuple[Action, ...] = ()
    choices: tuple[str, ...] = ()
    reading: str = ""
    excluded: tuple[Action, ...] = ()
    cut: bool = False
    joined: tuple[Action, ...] = ()
    waited: int = 0
    seen: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()

    @property
    def room(self) -> Room:
        """The room the agent is in."""
        return read_room(self.look)

    @property
    def lines(self) -> list[str]:
        """The description of the room line by line, doors included."""
        return described_lines(self.look)

    @property
    def complete(self) -> bool:
        """Whether the task is solved."""
        return self.score >= FULL_SCORE

    @property
    def place(self) -> str:
        """Identity: room, what is in it, what is carried, what was focused on, what was read, what is being asked."""
        parts = [*self._sight, self.reading, "; ".join(self.choices)]
        return " | ".join(part or "-" for part in parts) + (" | over" if self.done else "")

    @property
    def _sight(self) -> tuple[str, str, str, str, str]:
        """What shows in room and inventory, and what was focused on; the order of lists does not count."""
        room = self.room
        return (
            room.name,
            "; ".join(sorted(map(normal, room.things))),
            "; ".join(f"{to} {'open' if is_open else 'closed'}" for to, is_open in sorted(room.doors)),
            "; ".join(sorted(map(normal, self.inventory))),
            "; ".join(self.focused),
        )

    @property
    def facts(self) -> str:
        """Identity for planning: what is in sight, and what is not but decides what comes next.

        That is the credit earned, what has been connected, what has been measured but for its numbers, and how long
        nothing has changed. Without these a plan graph takes "wait" and "connect" for steps that lead nowhere, and its
        shortest path leaves them out.
        """
        parts = [
            *self._sight,
            _NUMBER.sub("#", self.reading),
            "; ".join(self.choices),
            "; ".join(self.joined),
            f"waited {self.waited}",
            f"score {self.score}",
        ]
        return " | ".join(part or "-" for part in parts) + (" | over" if self.done else "")

    @property
    def outcome(self) -> str:
        """What has come of a command, as far as the ends of plans go by it."""
        carried = sorted(thing.name.partition(" in the ")[0] for thing in read_things(self.inventory))
        parts = (self.room.name, carried, self.focused, self.joined, self.score, refused(self.observation))
        return " | ".join(map(str, parts))

    def following(self, before: ScienceState, action: Action, *, understood: bool = True) -> ScienceState:
        """This state with what no description shows, brought on from the one before.

        Args:
            before: The state before.
            action: What was typed in it.
            understood: Whether the world carried it out.
        """
        now = before.joined
        if understood and joins(action):
            now = tuple(sorted({*now, action}))
        elif understood and action.startswith("disconnect "):
            parted = action.removeprefix("disconnect ")
            now = tuple(command for command in now if parted not in command)
        others = (look for look in before.looks if read_room(look).name != self.room.name)
        still = before._sight == self._sight and before.score == self.score
        waited = before.waited + (understood and lets_time_pass(action)) if still else 0
        return replace(self, joined=now, waited=waited, looks=(*others, self.look))

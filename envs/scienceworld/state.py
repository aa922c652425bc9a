"""What is known of a game: the abstract state of ScienceWorld (SDP appendix A.3)."""

from __future__ import annotations

from dataclasses import dataclass

from envs.scienceworld.reading import Room, described_lines, normal, read_room
from tape.protocols import Action

FULL_SCORE = 100
MOST_HISTORY = 100
"""Most actions that are shown of those that were done."""

MOST_REFUSED = 50
"""Most refused texts that are kept."""


@dataclass(frozen=True)
class ScienceTask:
    """What does not change during a game.

    Attributes:
        name: The task, for instance ``boil``.
        variation: Its variation.
        simplification: Simplifications of the simulator, by commas.
        description: What is to be done, as the simulator says it.
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
    seen: tuple[str, ...] = ()

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
        room = self.room
        parts = [
            room.name,
            "; ".join(sorted(map(normal, room.things))),
            "; ".join(f"{to} {'open' if is_open else 'closed'}" for to, is_open in sorted(room.doors)),
            "; ".join(sorted(map(normal, self.inventory))),
            "; ".join(self.focused),
            self.reading,
            "; ".join(self.choices),
        ]
        return " | ".join(part or "-" for part in parts) + (" | over" if self.done else "")

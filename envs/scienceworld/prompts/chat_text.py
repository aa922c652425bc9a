"""The texts for general models: the commands of ScienceWorld, what is known, the task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envs.scienceworld.state import ScienceState, ScienceTask
from tape.budget import amount_of
from tape.lm.base import Message
from tape.protocols.prompt_format import turns

NOTHING = "nothing"

LONGEST_HISTORY = 2400
"""Characters of what was done so far that a prompt repeats, the latest; what is earlier shows in the description."""

RULES = """You carry out science experiments in a small world of rooms, by text commands, one step each:
- look around; inventory; examine OBJECT; look in OBJECT; read OBJECT
- go to ROOM (through an open door of the room you are in); open / close OBJECT, for doors: open door to ROOM
- teleport to ROOM, where the task's simplifications allow it (easy does)
- pick up OBJECT; put down OBJECT; move OBJECT to OBJECT; pour OBJECT into OBJECT; dunk OBJECT in OBJECT; mix OBJECT
- activate OBJECT; deactivate OBJECT; use OBJECT on OBJECT; connect OBJECT to OBJECT; disconnect OBJECT; flush OBJECT
- eat OBJECT; focus on OBJECT; wait (10 turns); wait1 (one turn)
Name objects as the descriptions do; say where one is if there are several (orange in inventory, water in metal pot).
"focus on" declares what the task is about: use it only where the task asks for it, for a wrong focus fails the task.
If the world asks which of several things you mean, answer with the number alone.
Heating, cooling, growing and rolling take time: measure or look again, or wait.
A command that the world does not understand changes nothing, and the step is spent."""


def known(state: ScienceState, longest: int | None = None) -> list[tuple[str, str]]:
    """What is known, by name; the last answer of the world is not part of it.

    Args:
        state: The state.
        longest: Characters of what was done so far at most; None: all that is kept.
    """
    done = [f"{number}. {action}" for number, action in enumerate(state.history, state.dropped + 1)]
    while longest is not None and sum(len(item) + 2 for item in done) > longest:
        done.pop(0)
    rows = [
        ("score", f"{state.score} of 100{', and the task is over' if state.done else ''}"),
        ("rooms that can be reached", ", ".join(state.rooms)),
        ("rooms visited", ", ".join(state.visited)),
        ("where you are", state.look.strip()),
        ("you carry", "; ".join(state.inventory) or NOTHING),
        ("focused on", "; ".join(state.focused)),
        ("last measured or read", " ".join(state.reading.split())),
        ("done so far", "; ".join(done)),
        ("of no use just here", "; ".join(dict.fromkeys((*state.rejected, *state.excluded)))),
        ("asked to choose by number", "; ".join(f"{number}: {meant}" for number, meant in enumerate(state.choices))),
    ]
    return [(name, text) for name, text in rows if text]


def task_line(task: ScienceTask) -> str:
    """The task, by name and in words."""
    return (
        f"{task.name}, variation {task.variation}, simplifications: {task.simplification or 'none'}. {task.description}"
    )


def described(state: ScienceState) -> str:
    """What is known, in words."""
    lines = [f"Task: {task_line(state.task)}", *(f"{name}: {text}" for name, text in known(state, LONGEST_HISTORY))]
    if state.observation and not state.choices:
        lines.append(f"the world's last answer: {' '.join(state.observation.split())}")
    return "\n".join(lines)


def messages(
    state: ScienceState,
    ask: str,
    remaining: Mapping[str, int] | None = None,
    examples: Sequence[tuple[str, str]] = (),
) -> tuple[Message, ...]:
    """Rules, worked examples, what is known, what is left of the budget, and the question."""
    left = "".join(f"\n{kind} left: {amount_of(kind, count)}" for kind, count in (remaining or {}).items())
    return turns(RULES, examples, f"{described(state)}{left}\n\n{ask}")

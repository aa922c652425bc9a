"""The texts for general models: the rules of ALFWorld, what is known, the task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.state import BARE, KEPT, NEW, OPEN, SHUT, Knowledge
from tape.lm.base import Message
from tape.protocols.prompt_format import turns

RULES = """You act in a household by text commands, one step each:
- go to PLACE: the only way to get near a place; it shows what is on it, or in it unless it is closed
- open PLACE / close PLACE: for cabinets, drawers, fridges, microwaves and safes, though not every one of them can be
  closed; all that can be are closed at first; opening shows what is inside
- take OBJECT from PLACE: with nothing in your hand, from a place you are at that is not closed
- put OBJECT in/on PLACE: what is in your hand, if you are there, it is not closed and such things are kept there
- clean OBJECT with a sinkbasin, heat OBJECT with a microwave, cool OBJECT with a fridge: while it is in your hand and
  you are there; neither microwave nor fridge need be open
- use LAMP: switches on a desklamp or floorlamp where you are
You hold one object at most. Places have numbers (drawer 2). Name an object by its kind alone (apple) where its number
is not known. A command that is not possible changes nothing, and the step is spent.
To look at something under a lamp, be at the lamp with the object in your hand and the lamp on. To put two things
somewhere, put both into the same place. A thing that has to be clean, hot or cool must be made so before it is put."""

STATUS_TEXT = {NEW: "not looked at yet", SHUT: "closed, contents not seen", KEPT: "closed", OPEN: "open", BARE: ""}


def described(state: Knowledge) -> str:
    """What is known, in words."""
    held = " ".join([*state.marks_of(state.holding), _named(state.holding)]) if state.holding else "nothing"
    lines = [
        f"Your task: {state.layout.goal.sentence()}.",
        f"You are at: {', '.join(state.at) or 'the middle of the room'}.",
        f"In your hand: {held}.",
        "Places:",
        *(_place(state, name, status) for name, status in zip(state.layout.receptacles, state.status, strict=True)),
    ]
    if state.layout.together:
        lines.append("Reached from the same spot: " + "; ".join(", ".join(names) for names in state.layout.together))
    if state.assumed:
        supposed = sorted(f"{kind_of(thing)} in/on {place}" for thing, place in state.assumed)
        lines.append(f"Suppose that there is: {', '.join(supposed)}.")
    return "\n".join(lines)


def _place(state: Knowledge, name: str, status: str) -> str:
    things = [" ".join([*state.marks_of(thing), _named(thing)]) for thing in state.contents(name)]
    seen = ", ".join(things) if things else "nothing" if status in (KEPT, OPEN, BARE) else ""
    return f"- {name}: {'; '.join(part for part in (STATUS_TEXT[status], seen) if part)}"


def _named(thing: str) -> str:
    """An object that nobody has seen has no number."""
    return kind_of(thing) if thing.endswith("?") else thing


def near(state: Knowledge, command: AlfworldCommand) -> str:
    """Of what is known the part that decides whether a command is possible: the line of its place, and the hand."""
    at, held, *places = [line for line in described(state).splitlines()[1:] if line != "Places:"]
    about = [line.removeprefix("- ") for line in places if line.startswith(f"- {command.place}: ")]
    return " ".join([at, held, *(f"{line}." for line in about)])


def messages(
    state: Knowledge,
    ask: str,
    remaining: Mapping[str, int] | None = None,
    examples: Sequence[tuple[str, str]] = (),
) -> tuple[Message, ...]:
    """Rules, worked examples, what is known, what is left of the budget, and the question."""
    left = "".join(f"\n{kind} left: {count}" for kind, count in (remaining or {}).items())
    return turns(RULES, examples, f"{described(state)}{left}\n\n{ask}")

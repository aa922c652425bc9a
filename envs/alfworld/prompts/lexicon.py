"""The words of the bundled household LM: one token each for a kind, a receptacle, a verb or a marker.

A prompt is what is known, followed by one query; what follows the arrow is the model's::

    goal: clean apple countertop at: fridge1 hold: rec: countertop1 new fridge1 open sinkbasin1 new obj: apple fridge1
    ... <plan> -> take apple fridge1 go sinkbasin1 clean apple sinkbasin1 go countertop1 put apple countertop1
    ... <act> -> take apple fridge1
    ... <act> plan: take apple fridge1 go sinkbasin1 ... -> take apple fridge1
    ... <next> take apple fridge1 -> hold apple                                  or: none
    ... <steps> -> 5
    ... <where> apple -> countertop1
    ... <shut> cabinet3 -> yes                                                   or: no

Only objects of the kinds that the goal names are written: the abstract state of TAPE section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.goal import LOOK, TWO, Goal
from envs.alfworld.game.kinds import OBJECTS, RECEPTACLES, TREATMENTS, kind_of
from envs.alfworld.state import BARE, KEPT, NEW, OPEN, SHUT, Knowledge
from tape.errors import ModelError

MANY = frozenset({"cabinet", "drawer", "shelf"})
"""Kinds of receptacles of which there may be up to :data:`MOST_MANY` in a house; of others :data:`MOST`."""

MOST_MANY, MOST = 30, 9
MOST_STEPS = 40

PLAN, ACT, NEXT, STEPS, WHERE, IS_SHUT, LOOK_UP = "<plan>", "<act>", "<next>", "<steps>", "<where>", "<shut>", "<look>"
ARROW, HINT, NONE, YES, NO = "->", "plan:", "none", "yes", "no"
VERBS = ("go", "open", "close", "take", "put", *TREATMENTS, "use")
STATUSES = (NEW, SHUT, KEPT, OPEN, BARE)
MARKS = ("clean", "hot", "cool", "lit")
CHANGES = ("at", "hold", "put", "lit")


def instances(kind: str) -> int:
    """How many receptacles of a kind there are words for."""
    return MOST_MANY if kind in MANY else MOST


RECEPTACLE_WORDS = tuple(f"{kind}{n}" for kind in RECEPTACLES for n in range(1, instances(kind) + 1))

WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *("<pad>", "<eos>", "goal:", "at:", "hold:", "rec:", "obj:"),
            *(PLAN, ACT, NEXT, STEPS, WHERE, IS_SHUT, LOOK_UP, ARROW, HINT, NONE, YES, NO),
            *("two", "look"),
            *VERBS,
            *STATUSES,
            *MARKS,
            *CHANGES,
            *(str(n) for n in range(MOST_STEPS + 1)),
            *OBJECTS,
            *RECEPTACLES,
            *RECEPTACLE_WORDS,
        )
    )
)
"""The vocabulary; the position is the id."""

_KNOWN, _RECEPTACLE_WORDS = frozenset(WORDS), frozenset(RECEPTACLE_WORDS)


def receptacle_word(name: str) -> str:
    """``cabinet 3`` -> ``cabinet3``.

    Raises:
        ModelError: The model has no word for it: ``unsupported``.
    """
    return _known(name.replace(" ", ""))


def _known(word: str) -> str:
    if word not in _KNOWN:
        raise ModelError(
            f"unsupported: the bundled household LM has no word for {word!r}; a general model may, see tape models"
        )
    return word


def receptacle_name(word: str) -> str:
    """``cabinet3`` -> ``cabinet 3``."""
    kind = word.rstrip("0123456789")
    return f"{kind} {word[len(kind) :]}"


def goal_words(goal: Goal) -> list[str]:
    """``clean apple countertop``; ``put``, ``two`` and ``look`` for the others."""
    first = goal.treatment or {TWO: "two", LOOK: "look"}.get(goal.task, "put")
    return [first, _known(goal.thing), _known(goal.target)]


def state_words(state: Knowledge) -> list[str]:
    """What is known, in words.

    Raises:
        ModelError: There is something that the model has no word for: ``unsupported``.
    """
    words = ["goal:", *goal_words(state.layout.goal), "at:", *map(receptacle_word, state.at), "hold:"]
    if state.holding:
        words += [_known(kind_of(state.holding)), *state.marks_of(state.holding)]
    words.append("rec:")
    for name, status in zip(state.layout.receptacles, state.status, strict=True):
        words += [receptacle_word(name), status]
    words.append("obj:")
    for kind, receptacle, marks in state.pairs(state.layout.goal.kinds):
        words += [_known(kind), receptacle_word(receptacle), *marks]
    return words


def command_words(command: AlfworldCommand) -> list[str]:
    """``take apple fridge1``."""
    words = [command.verb]
    if command.thing:
        words.append(_known(kind_of(command.thing)))
    if command.place:
        words.append(receptacle_word(command.place))
    return words


def read_commands(words: Sequence[str]) -> tuple[list[AlfworldCommand], bool]:
    """The commands that words stand for, up to the first that is none; and whether that was all of them."""
    commands: list[AlfworldCommand] = []
    i = 0
    while i < len(words):
        verb = words[i]
        shape = {"go": "p", "open": "p", "close": "p", "use": "t"}.get(verb, "tp" if verb in VERBS else "")
        parts = words[i + 1 : i + 1 + len(shape)]
        if not shape or len(parts) < len(shape) or not all(map(_fits, shape, parts)):
            return commands, False
        thing = parts[0] if shape[0] == "t" else ""
        place = receptacle_name(parts[-1]) if shape[-1] == "p" else ""
        commands.append(AlfworldCommand(verb, place, thing))
        i += 1 + len(shape)
    return commands, True


def _fits(shape: str, word: str) -> bool:
    return word in OBJECTS if shape == "t" else word in _RECEPTACLE_WORDS

"""SDP on ALFWorld: a target is what a command should bring about, and the grounder checks it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.game.sentences import whole
from envs.alfworld.game.textworld_game import Fact
from envs.alfworld.predicates import PLAIN
from envs.alfworld.prompts.chat_text import RULES, described
from envs.alfworld.state import as_state
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.operators import Outcome
from tape.methods.sdp.predicate_adapter import PredicateAdapter
from tape.methods.sdp.target import Fields, Target
from tape.protocols import Action, State
from tape.protocols.predicates import Predicate

CAPS = Caps(attempts=3, replans=50, steps=200)
"""Ours: the paper does not play ALFWorld. A search is replanned at every receptacle that turns out empty."""

_FORMS = (
    "at(PLACE)",
    "shut(PLACE)",
    "holding(KIND)",
    "empty_handed()",
    "made(clean|hot|cool)",
    "in(KIND, PLACE)",
    "stored(KIND, plain|clean|hot|cool, PLACE)",
    "lit(LAMP KIND, PLACE)",
)
_TELLING = ("shut", "holding", "made", "stored", "lit", "in", "empty_handed")


def adapter(domain: AlfworldDomain) -> PredicateAdapter:
    """The adapter of a game."""
    return PredicateAdapter(
        domain,
        CAPS,
        kind=lambda action: action.split()[0],
        goal=domain.layout.goal.sentence(),
        telling=_telling,
        fields=_fields,
        rules=RULES,
        forms=_FORMS,
        rejected=unread,
    )


def unread(outcome: Outcome) -> str | None:
    """An answer that is cut off certifies nothing: the changes that it reported are lost, older facts may be false."""
    return None if whole(outcome.observation.text) else "the answer cannot be read to its end"


def _fields(state: State) -> Fields:
    """Where the agent is, what it holds, and what is known of every receptacle."""
    state = as_state(state)
    places = described(state).partition("Places:\n")[2].splitlines()
    held = " ".join([*state.marks_of(state.holding), state.holding]) if state.holding else "nothing"
    return (("at", state.at), ("in hand", held), ("places", tuple(place.removeprefix("- ") for place in places)))


_MARKS = ("clean", "hot", "cool", "lit")


def _telling(predicate: Predicate, actions: Sequence[Action]) -> bool:
    """What the grounder can show; of receptacles within one reach only those that a command names."""
    if predicate.name == "at":
        return any(f" {predicate.args[0]} " in f"{action} " for action in actions)
    return predicate.name in _TELLING


def truth(target: Target, facts: Collection[Fact], *, won: bool) -> bool | None:
    """Whether a target holds by the engine's own facts: to measure validators by, no agent may see it."""
    if target.goal:
        return won
    if not target.requires:
        return None
    values = [(_holds(predicate, facts), value) for predicate, value in target.requires]
    return None if any(holds is None for holds, _ in values) else all(holds is value for holds, value in values)


def _holds(predicate: Predicate, facts: Collection[Fact]) -> bool | None:
    """The value of one predicate in the engine; None where it is none that targets are made of."""
    held = [thing for name, *rest in facts if name == "holding" for thing in rest]
    match predicate:
        case ("at", (place,)):
            return ("at", place) in facts
        case ("shut", (place,)):
            return ("openable", place) in facts and ("open", place) not in facts
        case ("holding", (kind,)):
            return any(kind_of(thing) == kind for thing in held)
        case ("made", (mark,)):
            return any((mark, thing) in facts for thing in held)
        case ("empty_handed", ()):
            return not held
        case ("in", (kind, place)):
            return bool(_inside(kind, place, facts))
        case ("stored", (kind, mark, place)):
            return any(mark == PLAIN or (mark, thing) in facts for thing in _inside(kind, place, facts))
        case ("lit", (kind, place)):
            return any(("lit", thing) in facts for thing in _inside(kind, place, facts))
    return None


def _inside(kind: str, place: str, facts: Collection[Fact]) -> list[str]:
    return [fact[1] for fact in facts if fact[0] == "in" and fact[2] == place and kind_of(fact[1]) == kind]

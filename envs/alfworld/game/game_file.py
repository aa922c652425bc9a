"""Houses from game files and game files from houses.

A game file (``game.tw-pddl``) is a JSON object with the rules in PDDL, the grammar of all sentences with the task in
it, the house in PDDL, and whether it can be solved. The files that are written have rules and a grammar of our own
(``data/alfworld.pddl`` and ``.twl2``), which give the sentences of the official games.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from os import PathLike

from envs.alfworld.errors import GameError
from envs.alfworld.game.closed_pddl import words
from envs.alfworld.game.game_data import GameData, GameProblem, entity_names, parse_problem, read_game_data
from envs.alfworld.game.goal import LOOK, Goal, read_goal
from envs.alfworld.game.house import House, Receptacle, name_order
from envs.alfworld.game.kinds import CAN_CONTAIN, COOLABLE, HEATABLE, LAMPS, OBJECTS, TREATMENTS, kind_of
from envs.alfworld.game.kinds import CLEANABLE as _CLEANABLE

_VESSELS = frozenset({"bowl", "box", "cup", "mug", "pan", "plate", "pot"})
"""Kinds of objects that are described by what is in them, which hides whether they are clean, hot or cool."""

_CARRIED = frozenset({*OBJECTS, "boots", "papertowelroll", "scrubbrush", "teddybear"}) - frozenset(LAMPS)
"""Kinds of objects that can be picked up; a few fit into no receptacle again."""

_PROPERTIES = {
    "pickupable": _CARRIED,
    "cleanable": _CLEANABLE,
    "heatable": HEATABLE,
    "coolable": COOLABLE,
    "toggleable": frozenset(LAMPS),
    "isReceptacleObject": _VESSELS,
}
_BASINS = {"sinkbasin": "Sink", "bathtubbasin": "Bathtub"}


def read_house(game: str | PathLike[str] | GameData) -> House:
    """Read the house of a game file, with the names that the engine shows.

    Properties that objects have before the game begins (a few official ones are cool) are not part of the house.

    Args:
        game: Path, JSON text, or what was read of it.

    Raises:
        GameError: The file is broken, its task is none of the six, or its goal cannot be satisfied there.
    """
    data = game if isinstance(game, GameData) else read_game_data(game)
    problem = parse_problem(data)
    names = entity_names(argument for fact in problem.facts if fact[0] != "=" for argument in fact[1:])
    openable = problem.having("openable")
    where = dict(problem.pairs("receptacleatlocation"))
    places: dict[str, int] = {}
    receptacles = []
    for identifier in sorted(where, key=lambda each: name_order(names[each])):
        place = places.setdefault(where[identifier], len(places) + 1)
        receptacles.append(Receptacle(names[identifier], identifier in openable, place))
    inside = [(names[o], names[r]) for o, r in problem.pairs("inreceptacle") if r in where]
    inside.sort(key=lambda pair: (name_order(pair[0]), name_order(pair[1])))
    try:
        goal = read_goal(data.task)
    except GameError as error:
        raise GameError(f"{data.source}: {error}") from error
    house = House(tuple(receptacles), tuple(inside), goal)
    _check(data.source, house, problem)
    return house


def _check(source: str, house: House, problem: GameProblem) -> None:
    """Refuse a goal that the house cannot satisfy, or that is not what the sentence says."""
    goal = house.goal
    missing = missing_for(house)
    if missing:
        raise GameError(f"{source}: the goal {goal.sentence()!r} cannot be satisfied: {missing}")
    named = set(words(problem.goal))
    for kind in (goal.thing, goal.target):
        if f"{kind}type" not in named:
            raise GameError(f"{source}: the task says {goal.sentence()!r}, but the PDDL goal does not speak of {kind}")


def missing_for(house: House) -> str | None:
    """What a house lacks for its goal, in words, or None."""
    goal = house.goal
    kinds = {kind_of(r.name) for r in house.receptacles}
    objects = Counter(kind_of(o) for o in {o for o, _ in house.inside})
    if objects[goal.thing] < goal.count:
        return f"it takes {goal.count} {goal.thing}, and there is {objects[goal.thing]} in the receptacles"
    if goal.thing not in _PROPERTIES["pickupable"]:
        return f"a {goal.thing} cannot be picked up"
    if goal.task == LOOK:
        return None if objects[goal.target] else f"there is no {goal.target}"
    if goal.target not in kinds:
        return f"there is no {goal.target}"
    if goal.treatment:
        appliance, treatable = TREATMENTS[goal.treatment]
        if appliance not in kinds:
            return f"there is no {appliance} to {goal.treatment} it"
        if goal.thing not in treatable:
            return f"a {goal.thing} is nothing to {goal.treatment}"
    if goal.thing not in CAN_CONTAIN.get(goal.target, frozenset()):
        return f"a {goal.target} cannot hold a {goal.thing}"
    return None


def game_text(house: House) -> str:
    """The text of a game file with this house.

    Raises:
        GameError: The goal cannot be satisfied, or a name is not a kind with a number.
    """
    missing = missing_for(house)
    if missing:
        raise GameError(f"no game can be made: the goal {house.goal.sentence()!r} cannot be satisfied: {missing}")
    data = files("envs.alfworld") / "data"
    grammar = (data / "alfworld.twl2").read_text(encoding="utf-8")
    game = {
        "pddl_domain": (data / "alfworld.pddl").read_text(encoding="utf-8"),
        "grammar": grammar.replace("THE-TASK", house.goal.sentence()),
        "pddl_problem": _problem(house),
        "solvable": True,
    }
    return json.dumps(game)


def _problem(house: House) -> str:
    """The PDDL of a house and its goal."""
    receptacles = _identifiers(r.name for r in house.receptacles)
    objects = _identifiers(o for o, _ in house.inside)
    kinds = sorted({kind_of(name) for name in receptacles.values()})
    things = sorted({kind_of(name) for name in objects.values()} | {house.goal.thing})
    last = max((r.place for r in house.receptacles), default=0)
    locations = [f"loc_bar_{number:04d}" for number in range(last + 1)]
    by_name = {name: identifier for identifier, name in (receptacles | objects).items()}
    known = {"sinkbasin", "microwave", "fridge"}  # constants of the rules
    declared = [
        "agent1 - agent",
        *(f"{location} - location" for location in locations),
        *(f"{identifier} - receptacle" for identifier in receptacles),
        *(f"{identifier} - item" for identifier in objects),
        *(f"{_type(kind)} - rtype" for kind in kinds if kind not in known),
        *(f"{_type(kind)} - otype" for kind in things),
    ]
    facts = [f"(receptacleType {i} {_type(kind_of(name))})" for i, name in receptacles.items()]
    facts += [f"(objectType {i} {_type(kind_of(name))})" for i, name in objects.items()]
    facts += [f"(canContain {_type(r)} {_type(o)})" for r in kinds for o in things if o in CAN_CONTAIN.get(r, ())]
    for name, kinds_with in _PROPERTIES.items():
        facts += [f"({name} {i})" for i, each in objects.items() if kind_of(each) in kinds_with]
    # The last location in the alphabet is shown as the first: the numbers are those of the places.
    facts += [f"(receptacleAtLocation {by_name[r.name]} {locations[last - r.place + 1]})" for r in house.receptacles]
    facts += [f"(openable {by_name[r.name]})" for r in house.receptacles if r.openable]
    facts += [f"(inReceptacle {by_name[o]} {by_name[r]})" for o, r in house.inside]
    facts.append(f"(atLocation agent1 {locations[0]})")
    lines = ["(define (problem household)", "(:domain household)", "(:objects", *declared, ")", "(:init", *facts, ")"]
    return "\n".join([*lines, f"(:goal {_goal(house.goal)})", ")"])


def _goal(goal: Goal) -> str:
    """The PDDL of a goal."""
    thing, target = _type(goal.thing), _type(goal.target)
    if goal.task == LOOK:
        return (
            f"(and (exists (?a - agent ?l - location ?r - receptacle ?lamp - item) (and (objectType ?lamp {target}) "
            "(isToggled ?lamp) (inReceptacle ?lamp ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l))) "
            f"(exists (?a - agent ?o - item) (and (objectType ?o {thing}) (holds ?a ?o))))"
        )
    if goal.count == 2:
        return (
            f"(exists (?r - receptacle ?o - item ?other - item) (and (receptacleType ?r {target}) (not (= ?o ?other)) "
            f"(objectType ?o {thing}) (objectType ?other {thing}) (inReceptacle ?o ?r) (inReceptacle ?other ?r)))"
        )
    state = {"clean": "(isClean ?o) ", "heat": "(isHot ?o) ", "cool": "(isCool ?o) ", None: ""}[goal.treatment]
    return (
        f"(exists (?r - receptacle ?o - item) (and (receptacleType ?r {target}) (objectType ?o {thing}) {state}"
        "(inReceptacle ?o ?r)))"
    )


def _identifiers(named: Iterable[str]) -> dict[str, str]:
    """Identifiers that the engine will show by the given names, with fillers where numbers are left out."""
    highest: Counter[str] = Counter()
    for name in named:
        kind, number = name_order(name)
        if number < 1 or not kind.isalpha() or not kind.islower():
            raise GameError(f"no game can be made: {name!r} is not a kind and a number, like 'cabinet 3'")
        highest[kind] = max(highest[kind], number)
    made = {}
    for kind, most in sorted(highest.items()):
        stem, tail = (_BASINS[kind], f"_bar_{kind}") if kind in _BASINS else (kind.capitalize(), "")
        for number in range(most, 0, -1):
            made[f"{stem}_bar_{most - number:04d}{tail}"] = f"{kind} {number}"
    return made


def _type(kind: str) -> str:
    """The PDDL name of a kind."""
    return {"sinkbasin": "SinkBasinType"}.get(kind, f"{kind.capitalize()}Type")

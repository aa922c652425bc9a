"""What commands need and change, which things their words name, and what of a state decides what comes next."""

from __future__ import annotations

from dataclasses import replace

from envs.scienceworld.commands import NEVER, reach, read_command
from envs.scienceworld.domain import ScienceWorldDomain
from envs.scienceworld.mismatch import PathNeeds
from envs.scienceworld.prompts.chat import ChatFormat, predicted
from envs.scienceworld.prompts.chat_schema import NextAnswer
from envs.scienceworld.reading import write_room
from envs.scienceworld.state import ScienceState, ScienceTask
from tape.protocols.predicates import Predicate

TASK = ScienceTask("boil", 0, "easy", "Boil water.")
DOOR = "A door to the hallway (that is open)"
POT = "a metal pot (containing a substance called water)"
TREE = "a flower pot 8 (containing a apple tree in the adult stage, soil)"
KITCHEN = write_room("kitchen", ["a stove, which is turned off", POT, TREE, DOOR])
HALL = write_room("hallway", ["a picture", "A door to the kitchen (that is open)"])
ROOMS = ("foundry", "hallway", "kitchen")
HERE = ScienceState(TASK, "", KITCHEN, ("a thermometer",), rooms=ROOMS, visited=("kitchen",), looks=(KITCHEN,))
DOMAIN = ScienceWorldDomain(TASK)


def then(state: ScienceState, command: str, **changes: object) -> ScienceState:
    """What a command is predicted to lead to."""
    said = {"room": state.room.name, "carry": list(state.inventory), "score": state.score, **changes}
    return predicted(state, NextAnswer.model_validate({"command": command, "valid": True, **said}))


def test_words_name_what_is_listed_and_nothing_else() -> None:
    known = DOMAIN.ground(HERE)
    for words in (
        *("metal pot", "water in metal pot", "metal pot containing water in kitchen", "adult apple tree"),
        *("apple tree in the adult stage in flower pot 8", "flower pot 8 containing apple tree and soil"),
        *("thermometer in inventory", "cathode in stove"),
    ):
        assert known[reach(words)] is True, words
    for words in ("steam", "pea plant", "thermometer in metal pot", "water in flower pot 8"):
        assert known[reach(words)] is False, words


def test_some_commands_need_nothing_and_an_unknown_form_needs_what_never_holds() -> None:
    for command in ("wait1", "look around", "teleport to foundry", "open door to hallway"):
        assert DOMAIN.preconditions(command) == {}
    assert read_command("sing") is None
    assert DOMAIN.preconditions("sing") == {NEVER: True}
    assert DOMAIN.ground(HERE)[NEVER] is False


def test_the_domain_is_open_and_arriving_brings_what_was_seen_there() -> None:
    assert not DOMAIN.complete
    away = replace(HERE, look=HALL, looks=(KITCHEN, HALL), visited=("kitchen", "hallway"))
    known = dict(DOMAIN.ground(away))
    effects = DOMAIN.effects("go to kitchen", known)
    assert effects[reach("metal pot")] is True
    assert effects[reach("thermometer")] is True
    assert effects[reach("picture")] is False
    assert effects[Predicate("open", ("door to hallway",))] is True
    unseen = DOMAIN.effects("teleport to foundry", known)
    assert unseen[reach("picture")] is None
    assert unseen[reach("thermometer")] is True


def test_a_query_looks_into_rooms_until_none_is_left() -> None:
    macro = DOMAIN.query(HERE, reach("picture"))
    assert macro is not None
    assert macro.actions == ("teleport to foundry",)
    assert DOMAIN.query(replace(HERE, visited=HERE.rooms), reach("picture")) is None
    assert DOMAIN.query(HERE, Predicate("carries", ("picture",))) is None


def test_waiting_connecting_and_credit_are_part_of_the_key_and_measured_numbers_are_not() -> None:
    keys = [DOMAIN.key(state) for state in (HERE, then(HERE, "wait1"), then(then(HERE, "wait1"), "wait1"))]
    assert len(set(keys)) == 3
    waited = then(then(HERE, "wait1"), "wait1")
    assert (waited.waited, then(waited, "wait1", new=["steam"]).waited) == (2, 0)  # a change in sight ends the waiting
    one, two = "connect battery anode to black wire terminal 1", "connect battery cathode to red wire terminal 1"
    both = then(then(HERE, one), two)
    assert both.joined == (one, two)
    assert DOMAIN.key(both) == DOMAIN.key(then(then(HERE, two), one)) != DOMAIN.key(then(HERE, two))
    assert then(both, "disconnect black wire terminal 1").joined == (two,)
    assert DOMAIN.key(then(HERE, "eat", score=10)) != DOMAIN.key(HERE)
    cold, hot = (replace(HERE, reading=f"measures {n} degrees") for n in (3, 30))
    assert DOMAIN.key(cold) == DOMAIN.key(hot)
    assert DOMAIN.key(then(HERE, "look around")) == DOMAIN.key(HERE)


def test_nothing_is_predicted_of_a_task_that_is_over() -> None:
    text = '{"command": "wait1", "valid": true, "room": "kitchen"}'
    assert ChatFormat().read_next(HERE, text) is not None
    assert ChatFormat().read_next(replace(HERE, done=True), text) is None


def test_a_wrong_detail_is_no_mismatch_and_what_the_path_needs_is_one() -> None:
    actions = ["pick up metal pot", "teleport to hallway"]
    start = then(HERE, "look around")
    taken = then(start, actions[0], gone=[POT], carry=["a thermometer", POT])
    path = [start, taken, then(taken, actions[1], room="hallway", new=["a picture"], carry=["a thermometer", POT])]
    seedling = TREE.replace("adult", "seedling")
    older = replace(HERE, look=KITCHEN.replace(TREE, seedling), reading="measures 9 degrees")
    assert DOMAIN.key(older) != DOMAIN.key(start)
    still_good = PathNeeds(DOMAIN).still_good
    assert still_good(path, older, actions)
    assert not still_good(path, replace(HERE, look=KITCHEN.replace(f"\t{POT}\n", "")), actions)
    assert not still_good(path, replace(older, inventory=()), actions)  # what the end is to have
    assert not still_good([replace(state, score=10) for state in path], older, actions)  # credit is missing
    assert not still_good(path, older, ["sing", actions[1]])


def test_what_the_last_action_was_to_do_must_not_be_seen_undone() -> None:
    actions = ["teleport to hallway"]
    off, on = HERE, replace(HERE, look=KITCHEN.replace("turned off", "turned on"))
    predicted = [on, then(on, actions[0], room="hallway", new=["a picture"])]
    still_off = replace(off, reading="measures 9 degrees")
    assert Predicate("active", ("stove",)) in DOMAIN.effects("activate stove", DOMAIN.ground(off))
    taken, still_good = (off, "activate stove"), PathNeeds(DOMAIN).still_good
    assert still_good(predicted, still_off, actions)
    assert not still_good(predicted, still_off, actions, taken=taken)
    assert still_good(predicted, replace(on, reading="measures 9 degrees"), actions, taken=taken)


def test_what_a_model_guesses_of_what_nobody_has_seen() -> None:
    prompts = ChatFormat()
    asked = prompts.predict_request(HERE, [reach("picture"), Predicate("carries", ("picture",))])
    [(request, settled)] = asked
    assert request.role == "predict"
    assert prompts.read_predict(HERE, settled, " yes") == {reach("picture"): True}

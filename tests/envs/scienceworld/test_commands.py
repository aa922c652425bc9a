"""What commands need and change, which things their words name, and which commands of a plan are left out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from envs.scienceworld.commands import NEVER, reach, read_command
from envs.scienceworld.domain import ScienceWorldDomain
from envs.scienceworld.mismatch import PathNeeds
from envs.scienceworld.prompts.chat import ScienceChatFormat, predicted
from envs.scienceworld.prompts.chat_schema import NextAnswer
from envs.scienceworld.reading import write_room
from envs.scienceworld.state import ScienceState, ScienceTask
from tape.budget import Ledger
from tape.engine.context import RoleContext
from tape.engine.predict import EVEN, LmWorldModel
from tape.lm.accounting import AccountedLM
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Prediction
from tape.protocols.predicates import Predicate
from tape.trace import TraceWriter

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
    fields = {"room": state.room.name, "carry": list(state.inventory), "score": state.score, **changes}
    return predicted(state, NextAnswer.model_validate({"command": command, "valid": True, **fields}))


def test_words_name_what_is_listed_and_nothing_else() -> None:
    known = DOMAIN.ground(HERE)
    for words in (
        *("metal pot", "water in metal pot", "metal pot containing water in kitchen", "adult apple tree"),
        *("apple tree in the adult stage in flower pot 8", "flower pot 8 containing apple tree and soil"),
        *("thermometer in inventory", "cathode in stove"),
    ):
        assert known[reach(words)] is True, words
    elsewhere = DOMAIN.ground(replace(HERE, seen=("pea plant",)))
    for words in ("steam", "pea plant", "thermometer in metal pot", "water in flower pot 8"):
        assert reach(words) not in known, words  # the world may have a name for a thing that is not listed
        assert elsewhere.get(reach(words)) is (False if words == "pea plant" else None), words


def test_some_commands_need_nothing_and_an_unknown_form_needs_what_never_holds() -> None:
    for command in ("wait1", "look around"):
        assert DOMAIN.preconditions(command) == {}
    assert DOMAIN.preconditions("teleport to foundry") == {Predicate("asked"): False}
    assert DOMAIN.preconditions("open door to hallway") == {
        Predicate("asked"): False,
        Predicate("door", ("hallway",)): True,
    }
    assert read_command("sing") is None
    assert DOMAIN.preconditions("sing") == {NEVER: True}
    assert DOMAIN.ground(HERE)[NEVER] is False
    # AEC takes for facts what the grounding lists, and every command needs that no question is open
    assert dict(DOMAIN.ground(HERE))[Predicate("asked")] is False
    assert dict(DOMAIN.ground(ASKED))[Predicate("asked")] is True


def test_the_domain_is_open_and_arriving_brings_what_was_seen_there() -> None:
    assert not DOMAIN.complete
    away = replace(HERE, look=HALL, looks=(KITCHEN, HALL), visited=("kitchen", "hallway"))
    known = dict(DOMAIN.ground(away))
    effects = DOMAIN.effects("go to kitchen", known)
    assert effects[reach("stove")] is True
    assert effects[reach("thermometer")] is True
    assert effects[reach("picture")] is None  # another one may be there by now
    assert reach("apple tree") not in effects  # it grows
    assert effects[Predicate("open", ("door to hallway",))] is True
    unseen = DOMAIN.effects("teleport to foundry", known)
    assert unseen[reach("picture")] is None
    assert unseen[reach("thermometer")] is True


def test_a_query_looks_into_rooms_until_none_is_left() -> None:
    macro = DOMAIN.query(HERE, reach("picture"))
    assert macro.actions == ("teleport to foundry",)
    assert DOMAIN.query(replace(HERE, visited=HERE.rooms), reach("picture")) is None
    assert DOMAIN.query(HERE, Predicate("carries", ("picture",))) is None


def test_waiting_connecting_and_credit_are_part_of_the_key_and_measured_numbers_are_not() -> None:
    keys = [DOMAIN.key(state) for state in (HERE, then(HERE, "wait1"), then(then(HERE, "wait1"), "wait1"))]
    assert len(set(keys)) == 3
    waited = then(then(HERE, "wait1"), "wait1")
    assert (waited.waited, then(waited, "wait1", new=["steam"]).waited) == (2, 0)  # a change in sight ends the waiting
    name, two = "connect battery anode to black wire terminal 1", "connect battery cathode to red wire terminal 1"
    both = then(then(HERE, name), two)
    assert both.joined == (name, two)
    assert DOMAIN.key(both) == DOMAIN.key(then(then(HERE, two), name)) != DOMAIN.key(then(HERE, two))
    assert then(both, "disconnect black wire terminal 1").joined == (two,)
    assert DOMAIN.key(then(HERE, "eat", score=10)) != DOMAIN.key(HERE)
    cold, hot = (replace(HERE, reading=f"measures {n} degrees") for n in (3, 30))
    assert DOMAIN.key(cold) == DOMAIN.key(hot)
    assert DOMAIN.key(then(HERE, "look around")) == DOMAIN.key(HERE)


def test_nothing_is_predicted_of_a_task_that_is_over() -> None:
    text = '{"command": "wait1", "valid": true, "room": "kitchen"}'
    assert ScienceChatFormat().read_next(HERE, text) is not None
    assert ScienceChatFormat().read_next(replace(HERE, done=True), text) is None


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
    assert still_good([replace(state, score=10) for state in path], older, actions)  # credit is value, no need
    assert not still_good(path, older, ["sing", actions[1]])


def test_what_the_last_action_was_to_do_must_not_be_seen_undone() -> None:
    actions = ["teleport to hallway"]
    off, on = HERE, replace(HERE, look=KITCHEN.replace("turned off", "turned on"))
    predicted = [off, then(off, actions[0], room="hallway", new=["a picture"])]
    still_on = replace(on, reading="measures 9 degrees")
    taken, still_good = (on, "deactivate stove"), PathNeeds(DOMAIN).still_good
    assert still_good(predicted, still_on, actions)
    assert not still_good(predicted, still_on, actions, taken=taken)
    assert still_good(predicted, replace(off, reading="measures 9 degrees"), actions, taken=taken)
    assert DOMAIN.effects("activate stove", {}) == {Predicate("active", ("stove",)): None}  # it may be broken


def test_what_a_model_guesses_of_the_unseen() -> None:
    prompts = ScienceChatFormat()
    asked = prompts.predict_request(HERE, [reach("picture"), Predicate("carries", ("picture",))])
    [(request, about)] = asked
    assert request.role == "predict"
    assert prompts.read_predict(HERE, about, " yes") == {reach("picture"): True}


LIT = replace(HERE, look=KITCHEN.replace("turned off", "turned on"))
ASKED = replace(HERE, choices=("pot in kitchen", "pot in cupboard"))
FOCUSED = replace(HERE, focused=("metal pot",))


@pytest.mark.parametrize(
    ("state", "command", "no_op"),
    [
        (HERE, "wait1", False),
        (replace(HERE, rejected=("eat stove",)), "eat stove", True),
        (HERE, "eat stove", False),
        (HERE, "0", True),
        (ASKED, "0", False),
        (LIT, "activate stove", False),  # what is broken cannot be turned on, so it is not certain
        (HERE, "activate stove", False),
        (HERE, "deactivate stove", True),
        (HERE, "open door to hallway", True),
        (HERE, "close door to hallway", False),
        (HERE, "go to hallway", False),
        (HERE, "go to foundry", False),  # it is refused once, and the model sees it
        (HERE, "teleport to foundry", False),
        (replace(HERE, look=""), "go to foundry", False),  # where no door is listed, nothing is known of doors
        (FOCUSED, "focus on metal pot", True),
        (FOCUSED, "focus on pot", False),  # it may be another one
        (HERE, "focus on metal pot", False),
    ],
)
def test_no_ops_are_what_is_known_to_change_nothing(state: object, command: str, no_op: bool) -> None:
    assert DOMAIN.is_no_op(state, command) is no_op


def test_what_seems_to_change_nothing_is_no_step_back_to_the_same_state() -> None:
    """Else the shortest path of a plan graph leaves it out, and with it what the plan does it for."""
    moved = then(HERE, "move metal pot to stove")
    assert DOMAIN.key(moved) != DOMAIN.key(HERE)
    refused = HERE.following(HERE, "eat stove", understood=False)
    assert DOMAIN.key(refused) == DOMAIN.key(HERE)


def test_an_answer_is_needed_where_the_world_asks_and_else_needs_nothing() -> None:
    moved = then(HERE, "move metal pot to stove")
    actions = ["0", "pick up metal pot"]
    answered = then(moved, "0")
    path = [moved, answered, then(answered, actions[1], gone=[POT], carry=["a thermometer", POT])]
    asked, still_good = replace(moved, choices=ASKED.choices), PathNeeds(DOMAIN).still_good
    assert still_good(path, replace(moved, waited=7), actions)
    assert still_good(path, asked, actions)
    assert not still_good(path, replace(moved, look=KITCHEN.replace(f"\t{POT}\n", "")), actions)
    assert not still_good(path[1:], asked, actions[1:])  # the question holds up all else


def answer(command: str, *, valid: bool = True, room: str = "kitchen", **more: object) -> str:
    return json.dumps({"command": command, "valid": valid, "room": room, "carry": ["a thermometer"], **more})


def foretold(command: Action, first: str, second: str, threshold: float = 0.9) -> tuple[Prediction, Sequence[Request]]:
    """The prediction taken from a model that writes one thing first and another one when asked again."""
    lm = ScriptedLM([first, second])
    trace = TraceWriter("test")
    roles = RoleContext(AccountedLM(lm, Ledger(), trace), ScienceChatFormat(), DOMAIN, trace)
    [prediction] = asyncio.run(LmWorldModel(roles, threshold).predict([(HERE, command)]))
    return prediction, lm.requests


TAKE = "pick up metal pot"
TAKEN = answer(TAKE, gone=[POT], carry=["a thermometer", POT])
"""Carried twice over would be read all the same."""


@pytest.mark.parametrize("first", [answer(TAKE), answer(TAKE, valid=False)])
def test_a_prediction_that_denies_what_is_declared_is_asked_for_again(first: str) -> None:
    prediction, requests = foretold(TAKE, first, TAKEN)
    assert len(requests) == 2
    assert prediction.state is not None
    assert DOMAIN.ground(prediction.state).get(next(iter(DOMAIN.effects(TAKE, {}))), None) is True
    kept, once = foretold(TAKE, first, TAKEN, threshold=0.0)  # the paper's algorithm has no second thoughts
    assert len(once) == 1
    assert kept != prediction


def test_a_plan_goes_on_with_half_the_confidence_where_the_world_model_calls_its_command_invalid() -> None:
    absent = answer("pick up hammer", valid=False)
    prediction, requests = foretold("pick up hammer", absent, answer("pick up hammer"))
    assert len(requests) == 2
    assert prediction.state is not None
    assert prediction.confidence == EVEN


def test_what_denies_nothing_is_asked_for_once_and_a_second_denial_changes_nothing() -> None:
    assert len(foretold(TAKE, TAKEN, TAKEN)[1]) == 1
    stays = answer(TAKE, score=3)
    prediction, requests = foretold(TAKE, stays, answer(TAKE, score=9))
    assert len(requests) == 2
    assert prediction.state is not None
    assert prediction.state == ScienceChatFormat().read_next(HERE, stays)


def test_what_is_missing_is_established_by_the_way_to_it() -> None:
    away = replace(HERE, look=HALL, looks=(KITCHEN, HALL), visited=("kitchen", "hallway"))
    stove, door = reach("stove"), Predicate("open", ("door to kitchen",))
    assert DOMAIN.establishing(away, stove, True) == ["teleport to kitchen"]
    on_foot = replace(away, task=replace(TASK, simplification=""))
    assert DOMAIN.establishing(on_foot, stove, True) == ["go to kitchen"]
    assert DOMAIN.establishing(away, door, True) == ["open door to kitchen"]
    assert DOMAIN.establishing(HERE, Predicate("at", ("kitchen",)), True) == []
    assert DOMAIN.establishing(away, reach("unicorn"), True) is None
    assert DOMAIN.establishing(away, stove, False) is None


def test_an_outcome_is_what_plans_rest_on_and_a_situation_has_no_counter() -> None:
    assert DOMAIN.situation(HERE) == DOMAIN.situation(replace(HERE, waited=7))
    assert DOMAIN.key(HERE) != DOMAIN.key(replace(HERE, waited=7))
    assert DOMAIN.outcome_key(HERE) == DOMAIN.outcome_key(
        replace(HERE, look=KITCHEN.replace("turned off", "turned on"))
    )
    for changed in ({"inventory": ()}, {"score": 3}, {"look": HALL}, {"focused": ("metal pot",)}):
        assert DOMAIN.outcome_key(HERE) != DOMAIN.outcome_key(replace(HERE, **changed))
    refused = replace(HERE, observation="No known action matches that input.")
    assert DOMAIN.outcome_key(refused) != DOMAIN.outcome_key(HERE)


def test_a_door_is_there_or_is_not_and_is_known_of_a_room_that_was_seen() -> None:
    known = DOMAIN.ground(HERE)
    assert known[Predicate("door", ("hallway",))] is True
    assert known.get(Predicate("door", ("foundry",))) is False  # there is such a room, and no door to it here
    away = replace(HERE, look=HALL, looks=(KITCHEN, HALL), visited=("kitchen", "hallway"))
    effects = DOMAIN.effects("go to kitchen", dict(DOMAIN.ground(away)))
    assert effects[Predicate("door", ("hallway",))] is True


def seeing(*lines: str, inventory: tuple[str, ...] = (), seen: str = "", joined: tuple[str, ...] = ()) -> ScienceState:
    """A kitchen with these things."""
    room = write_room("kitchen", [*lines, DOOR])
    return replace(HERE, look=room, looks=(room,), inventory=inventory, seen=(seen,) if seen else (), joined=joined)


TABLE = "a table. On the table is: a red wire, a blue light bulb, which is off."
PLANE = "an inclined plane with a wood surface, with:  a {} approximately 37% down the plane, a stopwatch"
ON_PLANE = Predicate("in", ("brick", "inclined plane with a wood surface"))
JAR = "a glass jar (containing a substance called sodium chloride)"
TITLE = "instructions to make soapy water"
AWAY = replace(HERE, look=HALL, looks=(KITCHEN, HALL), visited=("kitchen", "hallway"))
BURNING = KITCHEN.replace("A door to", "a chair (on fire)\n\tA door to", 1)
STANDS = Predicate("stands", ("stove", "kitchen"))
CARRIED = ("a table. On the table is:", "a glass cup (containing nothing)")
BOOK = replace(HERE, focused=("book (The Foundations of the Origin of Species)",))
BLOCK = seeing("an inclined plane E, with:  a wood block at the top of the plane")
ON_E = Predicate("in", ("block", "inclined plane e"))


@pytest.mark.parametrize(
    ("state", "thing", "there"),
    [
        pytest.param(seeing(TABLE), "blue light bulb", True, id="contents"),
        pytest.param(seeing(TABLE), "table containing red wire", True, id="called-by-its-contents"),
        pytest.param(seeing(TABLE), "red light bulb", None, id="words-of-several-contents-make-up-no-name"),
        pytest.param(seeing(PLANE.format("brick")), "stopwatch", True, id="on-a-plane"),
        pytest.param(seeing(PLANE.format("brick")), "brick", True, id="first-on-a-plane"),
        pytest.param(seeing(PLANE.format("brick")), ON_PLANE, True, id="in-a-plane"),
        pytest.param(BLOCK, ON_E, True, id="at-the-top-of-a-plane"),
        pytest.param(BOOK, Predicate("focused", ("book",)), True, id="a-book-whatever-its-title"),
        pytest.param(seeing(JAR, seen="sodium chloride"), "sodium chloride", None, id="out-of-reach-in-a-jar"),
        pytest.param(seeing(JAR), "glass jar containing sodium chloride", True, id="a-jar-with-its-contents"),
        pytest.param(seeing(f"A recipe titled {TITLE}", seen=f"recipe titled {TITLE}"), "soapy water", None,
                     id="a-recipe-is-not-what-it-makes"),
        pytest.param(seeing(f"A recipe titled {TITLE}"), "recipe", True, id="a-recipe"),
        pytest.param(seeing(f"A recipe titled {TITLE}"), TITLE, True, id="a-recipe-by-its-title"),
        pytest.param(seeing("a sink, which is turned off", seen="drain"), "drain", None, id="a-drain-not-listed"),
        pytest.param(seeing("a toilet. In the toilet is: A drain, which is closed"), "drain", True, id="a-drain"),
        pytest.param(seeing("a desk. On the desk is: a drawer.", seen="pea plant"), "pea plant", None,
                     id="a-drawer-may-hold-it"),
        pytest.param(seeing(PLANE.format("table"), seen="pea plant"), "pea plant", None, id="so-may-a-table"),
        pytest.param(seeing("a desk. On the desk is: nothing.", seen="pea plant"), "pea plant", False,
                     id="nothing-holds-it"),
        pytest.param(seeing("a stove", inventory=CARRIED, seen="orange"), Predicate("in", ("orange", "table")), None,
                     id="where-a-carried-table-ends-is-not-known"),
        pytest.param(AWAY, STANDS, True, id="what-stands-in-another-room"),
        pytest.param(replace(AWAY, looks=(BURNING, HALL)), STANDS, None, id="nothing-stands-in-a-house-on-fire"),
    ],
)  # fmt: skip
def test_what_is_known_of_what_is_seen(state: ScienceState, thing: str | Predicate, there: bool | None) -> None:
    known = DOMAIN.ground(state)
    asked = reach(thing) if isinstance(thing, str) else thing
    assert known.get(asked) is there
    assert (asked in known) == (there is not None)


CUPS = seeing("a wood cup (containing red paint)", "a wood cup (containing blue paint)", "a stove, which is turned off")
CLAMP = "connect battery cathode to blue wire terminal {}"
WIRED = seeing(
    "a battery", "a blue wire", "a red wire", joined=("connect terminal 1 on blue wire to red wire terminal 2",)
)


@pytest.mark.parametrize(
    ("state", "command", "thing", "certain"),
    [
        pytest.param(HERE, "pick up juvenile parrot", "juvenile parrot", None, id="it-grows-once-picked-up"),
        pytest.param(HERE, "pick up metal pot", "metal pot", True, id="a-pot-does-not"),
        pytest.param(HERE, "move adult bee to bathtub", Predicate("in", ("adult bee", "bathtub")), None,
                     id="it-grows-where-it-is-put"),
        pytest.param(CUPS, "connect stove to paint", "", None, id="several-contents-of-a-name"),
        pytest.param(CUPS, "focus on paint", "", None, id="focus-on-one-of-several"),
        pytest.param(CUPS, "move cup to stove", "", None, id="several-things-of-a-name"),
        pytest.param(CUPS, "connect paint on wood cup to stove", "", None, id="in-one-of-several"),
        pytest.param(CUPS, "connect stove to red paint", "", True, id="one-of-the-name"),
        pytest.param(replace(WIRED, joined=()), CLAMP.format(1), "", True, id="a-free-terminal"),
        pytest.param(WIRED, CLAMP.format(1), "", None, id="a-terminal-takes-one-wire"),
        pytest.param(WIRED, CLAMP.format(2), "", True, id="the-other-terminal"),
    ],
)  # fmt: skip
def test_which_effects_are_certain(
    state: ScienceState, command: str, thing: str | Predicate, certain: bool | None
) -> None:
    """Of one thing, or all of them where none is named."""
    effects = DOMAIN.effects(command, DOMAIN.ground(state))
    asked = reach(thing) if isinstance(thing, str) else thing
    assert ({effects[asked]} if thing else {*effects.values()}) == {certain}


def test_a_command_is_split_at_the_word_that_no_name_has() -> None:
    command = read_command("dunk flower pot 1 into banana seed in cup")
    assert command.things == ("flower pot 1", "banana seed in cup")

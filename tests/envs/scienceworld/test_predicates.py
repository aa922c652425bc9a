"""Descriptions of ScienceWorld: how they are read, and which predicates they show."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.scienceworld import changes, reading
from envs.scienceworld.changes import target_of
from envs.scienceworld.predicates import ShownState, meaning, sentence
from envs.scienceworld.state import ScienceState, ScienceTask
from envs.scienceworld.things import read_things, same
from tape.methods.sdp.operators import check_required
from tape.protocols.predicates import Predicate
from tests.envs.scienceworld.recorded import recorded, states

KITCHEN = """This room is called the kitchen. In it, you see: 
	the agent
	a substance called air
	a counter. On the counter is: a bowl (containing a red apple, a banana), a drawer.
	a cupboard. The cupboard door is open. In the cupboard is: a tin cup (containing nothing), a drawer.
	a fridge. The fridge door is closed. 
	a stove, which is turned on. On the stove is: a metal pot (containing a substance called water).
	a light bulb, which is off
	a thermometer, currently reading a temperature of 10 degrees celsius
You also see:
	A door to the hallway (that is open)
	A door to the outside (that is closed)
"""  # noqa: W291
TASK = ScienceTask("boil", 0, "easy", "Boil water.")
STATE = ScienceState(TASK, "", KITCHEN, ("an orange", "a wood cup (containing red paint)"), focused=("water",))
NAMES = st.sampled_from(["kitchen", "metal pot", "unknown substance b", "self watering flower pot 7", "red wire"])


@given(st.sampled_from(["at", "carries", "active", "open", "in"]), NAMES, NAMES, st.booleans())
def test_a_sentence_means_its_predicate(name, thing, where, value):
    predicate = Predicate(name, (thing, where) if name == "in" else (thing,))
    assert meaning(sentence(predicate, value=value)) == ((predicate, value),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The agent's inventory contains a metal pot.", (("carries", "metal pot"), True)),
        ("The metal pot is in the agent's inventory", (("carries", "metal pot"), True)),
        ("The fridge door is closed", (("open", "fridge"), False)),
        ("The stove is not turned on", (("active", "stove"), False)),
        ("The sink contains a metal pot", (("in", "metal pot", "sink"), True)),
        ("The agent's inventory includes a metal pot", (("carries", "metal pot"), True)),
        ("The agent's inventory now contains a metal pot", (("carries", "metal pot"), True)),
        ("The agent's inventory no longer contains a metal pot", (("carries", "metal pot"), False)),
    ],
)
def test_other_wordings(text, expected):
    (name, *args), value = expected
    assert meaning(text) == ((Predicate(name, tuple(args)), value),)


@pytest.mark.parametrize(
    "text",
    [
        "The water has been heated to a boil", "The agent's inventory contains a metal pot and a thermometer",
        "The metal pot, or the tin cup, is open", "The living thing has been found", "The agent's inventory is empty",
        "The agent's inventory does not contain any metal pot", "The agent has focused on nothing",
        "The fridge contains nothing", "No apple is in the fridge", "",
    ],
)  # fmt: skip
def test_other_sentences_are_left_to_a_model(text):
    assert meaning(text) == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The location of the metal pot is known to the agent.", "explore"),
        ("The agent knows where the metal pot is", "explore"),
        ("The agent knows where the metal pot is located", "explore"),
        ("The agent has explored the greenhouse", "explore"), ("The kitchen has been visited by the agent", "explore"),
        ("A living thing has been found", "explore"), ("The metal pot is located in the kitchen", "other"),
        ("The metal pot has been located in the kitchen", "other"),
        ("The plant has entered the reproducing stage", "other"), ("The thermometer has not been found", "other"),
        ("No thermometer has been found", "other"),
        ("The location of the thermometer is not known to the agent", "other"),
        ("The fork was found to be a conductor", "other"), ("The fork has been found to be a conductor", "other"),
        ("The water has been heated", "other"), ("The stove is turned on", "device"),
    ],
)  # fmt: skip
def test_kinds_of_targets(text, kind):
    assert target_of(text).kind == kind


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The agent is in the kitchen", True),
        ("The agent is in the hallway", False),
        ("The agent's inventory contains the orange", True),
        ("The agent's inventory contains the red paint", True),
        ("The agent's inventory contains the metal pot", False),  # the right room, the wrong place
        ("The agent has focused on the water", True),
        ("The agent has focused on the stove", False),
        ("The stove is turned on", True),
        ("The light bulb is turned on", False),
        ("The fridge is open", False),
        ("The door to the outside is open", False),
        ("The cupboard is open", True),
        ("The banana is in the bowl", True),
        ("The banana is in the cupboard", False),
        ("The metal pot is on the stove", True),
        ("The water is in the stove", True),
        ("The metal pot is in the tin cup", False),
        ("The milk is in the fridge", None),  # it is closed
        ("The sofa is turned on", None),  # there is none
        ("The metal pot is in the sink", None),  # out of sight
        ("The drawer is open", None),  # which of the two?
        ("The agent has focused on the steam", None),  # none was seen
    ],
)
def test_what_is_shown(text, value):
    [(predicate, _)] = meaning(text)
    assert ShownState(STATE).get(predicate) is value
    assert check_required(meaning(text), ShownState(STATE)).holds is (value is True)


DENIALS = [
    "The agent's inventory does not contain any orange", "The agent's inventory does not contain fruit",
    "The agent is not in possession of an orange", "The agent is not in the same room as the stove",
    "The agent is not in the kitchen room", "The agent is not at the stove", "Any tin cup is not in the cupboard",
    "No tin cup is in the counter", "The food is not in the bowl", "The first aid kit is not in the cupboard",
]  # fmt: skip
"""All are false, or about what was not seen."""


@pytest.mark.parametrize("text", DENIALS)
def test_a_denial_is_not_certified_of_words_that_name_nothing(text):
    assert not meaning(text) or not check_required(meaning(text), ShownState(STATE)).holds


def test_a_denial_is_certified_of_what_was_seen_in_the_episode():
    text = "The agent's inventory does not contain the beaker"
    assert not check_required(meaning(text), ShownState(STATE)).holds
    assert check_required(meaning(text), ShownState(replace(STATE, seen=("glass beaker",)))).holds
    assert check_required(
        meaning("The agent is not in the greenhouse"), ShownState(replace(STATE, rooms=("greenhouse",)))
    ).holds
    assert not check_required(meaning("The agent is not in the greenhouse"), ShownState(STATE)).holds


def test_what_was_seen_is_remembered():
    path = states("boil")
    for before, after in pairwise(path):
        assert set(before.seen) <= set(after.seen)
    assert "metal pot" in path[-1].seen


def test_absence_from_a_list_that_breaks_off_is_unknown():
    orange, dropped = Predicate("carries", ("orange",)), replace(STATE, inventory=(), seen=("orange",))
    assert ShownState(replace(dropped, cut=True)).get(orange) is None
    assert ShownState(replace(dropped, cut=False)).get(orange) is False


@given(st.integers(0, len(KITCHEN)))
def test_a_description_that_breaks_off_shows_nothing_new(cut):
    whole, part = ShownState(STATE), ShownState(replace(STATE, look=KITCHEN[:cut]))
    texts = ["The agent is in the kitchen", "The stove is turned on", "The fridge is open", "The banana is in the bowl"]
    texts += ["The metal pot is in the stove", "The red apple is in the drawer", "The light bulb is turned on"]
    for [(predicate, _)] in map(meaning, texts):
        if predicate in part:
            assert part[predicate] is whole[predicate]


@pytest.mark.parametrize("task", sorted(recorded()))
def test_what_a_step_brings_about_is_shown_after_it_and_not_before(task):
    path, count = states(task), 0
    assert len(changes.along(path)) == len(path) - 1
    for before, after in pairwise(path):
        target = changes.brought_about(before, after)
        if target is None or not target.requires:
            continue
        assert check_required(target.requires, ShownState(after)).holds
        assert not check_required(target.requires, ShownState(before)).holds or target.kind == "focus"
        assert meaning(target.text) == target.requires
        count += 1
    assert count >= 3


def test_a_room_is_read():
    room = reading.read_room(KITCHEN)
    assert room.name == "kitchen"
    assert room.doors == (("hallway", True), ("outside", False))
    assert len(room.things) == 6
    assert not any("air" in line or "agent" in line for line in room.things)
    assert reading.read_room("You move to the kitchen.").name == ""


def test_a_name_is_met_by_a_longer_one_but_not_by_a_part_of_it():
    for name in (("pot", "metal pot"), ("the metal pot", "a metal pot"), ("picture", "a picture of a cow")):
        assert same(*name)
    for name in (("metal pot", "pot"), ("pot", "teapot"), ("", "pot")):
        assert not same(*name)


@given(st.randoms(use_true_random=False))
def test_the_order_of_lists_does_not_show_in_a_normal_line(rng: random.Random):
    cups = ["a red cup (containing water, soap)", "a blue lamp, which is off", "a green lamp, which is on", "a drawer"]
    shuffled = rng.sample(cups, len(cups))
    lines = [f"a table. On the table is: {', '.join(items)}." for items in (cups, shuffled)]
    assert reading.normal(lines[0]) == reading.normal(lines[1])


def test_a_normal_line_keeps_together_what_belongs_together_and_leaves_out_measurements():
    name = "a table. On the table is: a red lamp, which is on, a blue lamp, which is off."
    other = "a table. On the table is: a red lamp, which is off, a blue lamp, which is on."
    assert reading.normal(name) != reading.normal(other)
    lines = [f"a thermometer, currently reading a temperature of {n} degrees celsius" for n in (10, -3)]
    assert reading.normal(lines[0]) == reading.normal(lines[1])


def test_a_description_that_breaks_off_loses_its_last_line_only():
    cut = KITCHEN[: KITCHEN.index("metal pot") + 5]
    names = [thing.name for thing in read_things(reading.read_room(cut).things)]
    assert names == ["counter", "cupboard", "fridge"]
    assert reading.read_inventory("In your inventory, you see:\n\tan orange\n\ta metal p") == ("an orange",)


def test_what_is_written_is_read_again():
    for task in recorded():
        for state in states(task):
            again = reading.read_room(reading.write_room(state.room.name, state.lines))
            assert again == state.room


def test_refusals_questions_focus_and_measurements():
    asked = "Ambiguous request: Please enter the number for the action you intended:\n0:\topen a\n1:\topen b\n"
    assert reading.choices(asked) == ("open a", "open b")
    assert reading.choices("0:\topen a") == ()
    assert reading.refused("No known action matches that input.")
    assert not reading.refused("The door is already open.")
    assert reading.focus("You focus on the blue jay egg.") == "blue jay egg"
    assert reading.focus("You decide to focus on the egg.") is None
    assert reading.measured("the thermometer measures a temperature of 13 degrees celsius")
    assert reading.measured("a stopwatch, which is deactivated. The time reads 21 ticks.")
    assert reading.measured("You move to the kitchen.") is None


def test_the_rooms_come_from_valid_actions():
    valid = [
        "teleport to kitchen", "go to door to hallway", "open door to hallway", "open green box door", "look around",
    ]  # fmt: skip
    assert reading.rooms_of(valid) == ("hallway", "kitchen")

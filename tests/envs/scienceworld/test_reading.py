import random

from hypothesis import given
from hypothesis import strategies as st

from envs.scienceworld import reading
from envs.scienceworld.things import find, read_things, same
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


def test_a_room_is_read():
    room = reading.read_room(KITCHEN)
    assert room.name == "kitchen"
    assert room.doors == (("hallway", True), ("outside", False))
    assert len(room.things) == 6
    assert not any("air" in line or "agent" in line for line in room.things)
    assert reading.read_room("You move to the kitchen.").name == ""


def test_things_have_states_and_contents():
    things = {thing.name: thing for thing in read_things(reading.read_room(KITCHEN).things)}
    assert things["cupboard"].open is True
    assert things["fridge"].open is False
    assert things["stove"].active is True
    assert things["light bulb"].active is False
    assert [thing.name for thing in things["counter"].inside] == ["bowl", "drawer"]
    assert [thing.name for thing in find("water", things.values())] == ["water"]
    assert not things["cupboard"].inside[0].inside
    assert things["cupboard"].inside[0].listed
    assert not things["fridge"].listed


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
    one = "a table. On the table is: a red lamp, which is on, a blue lamp, which is off."
    other = "a table. On the table is: a red lamp, which is off, a blue lamp, which is on."
    assert reading.normal(one) != reading.normal(other)
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
        "teleport to kitchen",
        "go to door to hallway",
        "open door to hallway",
        "open green box door",
        "look around",
    ]
    assert reading.rooms_of(valid) == ("hallway", "kitchen")

"""The sentences of all six kinds of tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import LOOK, TASK_TYPES, TWO, Goal, read_goal
from envs.alfworld.game.kinds import LAMPS, OBJECTS, RECEPTACLES


@given(
    st.sampled_from(TASK_TYPES),
    st.sampled_from([o for o in OBJECTS if o not in LAMPS]),
    st.sampled_from(RECEPTACLES),
    st.sampled_from(LAMPS),
)
def test_a_goal_is_read_back_from_its_sentence(task: str, thing: str, receptacle: str, lamp: str) -> None:
    goal = Goal(task, thing, lamp if task == LOOK else receptacle)
    assert read_goal(goal.sentence()) == goal
    assert read_goal(f"You are in a room.\n\nYour task is to: {goal.sentence()}.\n") == goal


@pytest.mark.parametrize(
    ("sentence", "task", "thing", "target"),
    [
        ("put a clean mug in shelf", "pick_clean_then_place_in_recep", "mug", "shelf"),
        ("put a hot apple in fridge.", "pick_heat_then_place_in_recep", "apple", "fridge"),
        ("cool some pan and put it in stoveburner", "pick_cool_then_place_in_recep", "pan", "stoveburner"),
        ("put some  book on sofa", "pick_and_place_simple", "book", "sofa"),
        ("find two pen and put them in drawer", TWO, "pen", "drawer"),
        ("put two cd in/on safe", TWO, "cd", "safe"),
        ("examine the book with the desklamp", LOOK, "book", "desklamp"),
        ("look at cd under the floorlamp", LOOK, "cd", "floorlamp"),
    ],
)
def test_the_official_templates(sentence: str, task: str, thing: str, target: str) -> None:
    assert read_goal(sentence.upper()) == Goal(task, thing, target)


@pytest.mark.parametrize("sentence", ["", "wash the mug", "put a mug in the desklamp", "look at mug under the shelf"])
def test_other_sentences_are_refused_by_name(sentence: str) -> None:
    with pytest.raises(GameError, match="none of the six"):
        read_goal(sentence)

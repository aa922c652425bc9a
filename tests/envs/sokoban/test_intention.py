"""The intended action, parsed from thoughts in both prompt formats."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts.chat import SokobanChatFormat
from envs.sokoban.prompts.chat_text import WORDS as SPELT
from envs.sokoban.prompts.compact import CompactFormat
from envs.sokoban.prompts.intention import announced_move
from envs.sokoban.state import ACTIONS
from tape.lm.base import Request
from tape.lm.scripted import obeys
from tests.tape.helpers import ROOM

CHAT = SokobanChatFormat(SokobanDomain(ROOM))
COMPACT = CompactFormat(SokobanDomain(ROOM))
WORDS = {"U": "up", "D": "down", "L": "left", "R": "right"}

# None: no move is named, or several without an order.
THOUGHTS = [
    ("I go R", "R"), ("R", "R"), ("right", "R"), ("Move up.", "U"), ("Push the box right.", "R"),
    ("Pushing the box right onto the goal.", "R"), ("move left to get behind the box", "L"),
    ("I should move down to get below the box, then push it up.", "D"), ("To push the box right, I first go up.", "U"),
    ("I need to go up to push the box right.", "U"), ("I need to push right", "R"),
    ("The box is to the right of me, so I push right.", "R"), ("The box is on my right; go down.", "D"),
    ("The goal is left of the box, so I must get to its right side: move up first.", "U"),
    ("I cannot push right because of the wall, so I go up.", "U"), ("Moving left is blocked, go down.", "D"),
    ("Go up instead of pushing right.", "U"), ("Go up, not right.", "U"), ("Instead of going left, go down.", "D"),
    ("Before pushing right, go up.", "U"), ("Go up before pushing right.", "U"), ("Push right after going up.", "U"),
    ("Push left after going up.", None), ("R, R, U", "R"), ("R R U solves it", "R"), ("My plan is up, up, right.", "U"),
    ("up -> right -> right", "U"), ("The next move is L.", "L"),
    ("The player is at (3, 4), right below the box at (2, 4); push it up.", "U"), ("next: push L", "L"),
    ("Action: U", "U"), ("I follow the plan.", None), ("", None), ("The box must move up, so I walk down.", "D"),
    ("left or right?", None), ("The box must move up but I stand on its left, so I walk down first", "D"),
    ("I have 3 moves left, go up", "U"), ("With 2 steps left I push down.", "D"),
    ("The box lines up with the goal, push it left.", "L"), ("I'd make a U-turn.", None),
    ("I moved up, so now I push right.", "R"), ("The box was pushed right; go up next.", "U"),
    ("I go down so that the box can be pushed up.", "D"), ("I go down so I can push the box up later.", "D"),
    ("keep to the plan and push right", "R"), ("Your plan goes on with R R: keep to it", "R"), ("Step upwards", "U"),
    ("If I go left the box is stuck, so go up.", "U"), ("The best action is to push down.", "D"),
    ("I choose R because R moves the box to the goal.", "R"),
    ("Pushing the box left would trap it in the corner; move down.", "D"), ("R would push it", "R"), ("'U'", "U"),
    ('{"thought":"I push the box right and', "R"), ('{"thought":"no idea","action":"R"', None),
    ('{"thought":"go up","action":"R"', "U"), ("Left.", "L"), ("DOWN", "D"), ("Therefore, R.", "R"),
    ("The box at (2,3) needs to go left, so I need to be right of it: go up.", "U"), ("the goal is right", None),
    ("It's right below", None), ("We walk two cells up to reach the box", "U"),
    ("I continue right along the wall", "R"), ("push it to the right", "R"), ("push it to the left side", None),
    ("I will head down, then left", "D"), ("Let's go up", "U"), ("Don't go up", None), ("I don’t go up but left", "L"),
    ("Keep pushing right.", "R"), ("Right is free.", "R"), ("Up is free, right is blocked", "U"), ("Take R", "R"),
    ("I push the box one cell down onto the goal at (5,3), which solves the level.", "D"),
    ("Going left gets me next to the box.", "L"),
]  # fmt: skip


@pytest.mark.parametrize(("thought", "intended"), THOUGHTS)
def test_chat_thoughts(thought: str, intended: str | None) -> None:
    assert CHAT.read_intention(thought) == intended


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", ["move", "push"])
def test_compact_thoughts(kind: str, action: str) -> None:
    other = "U" if action != "U" else "D"
    thought, written = COMPACT.read_act(None, f" next: {kind} {action} action: {other}")
    assert (COMPACT.read_intention(thought), written) == (action, other)


@pytest.mark.parametrize(
    "text", ["", "next:", "next: move", "next: move X", "next: hop U", "next: move Up", "U", "push U"]
)
def test_compact_thoughts_of_another_form_intend_nothing(text: str) -> None:
    assert COMPACT.read_intention(text) is None


TEMPLATES = (
    "{}", "I push the box {}.", "Move {} to reach the goal at (1,7).", "(3,4) is free, so I go {}.", "next: push {}",
)  # fmt: skip


@given(st.sampled_from(TEMPLATES), st.sampled_from(ACTIONS), st.booleans())
def test_words_and_letters_in_the_answers_of_both_formats(template: str, action: str, spelt: bool) -> None:
    thought = template.format(WORDS[action] if spelt else action)
    other = "U" if action != "U" else "D"
    answer = json.dumps({"thought": thought, "action": SPELT[other]}, separators=(",", ":"))
    free: Request = CHAT.act_request(ROOM.start, {"steps": 5}, None, [])
    fixed = CHAT.act_request(ROOM.start, {"steps": 5}, other, [])
    assert obeys(free, answer)
    assert obeys(fixed, answer)
    read, written = CHAT.read_act(None, answer)
    assert written == other
    assert CHAT.read_intention(read) == action
    # An answer cut off before its action is kept whole by the actor.
    assert CHAT.read_intention(answer[: answer.index('","action')]) == action
    assert CHAT.read_intention(answer[:-3]) == action, "the written action is no part of the thought"


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["up", "right", "L", "go", "not", "then", "so", "to", ",", ".", "after", "box"])).map(
        " ".join
    )
)
def test_any_text_gives_a_move_that_it_names_or_none(text: str) -> None:
    found = announced_move(text)
    if found is not None:
        assert found in text or WORDS[found] in text.lower()


@given(st.sampled_from([thought for thought, _ in THOUGHTS]))
def test_case_of_words_and_curly_apostrophes_make_no_difference(thought: str) -> None:
    spelt = all(token not in ACTIONS for token in thought.replace(",", " ").replace(".", " ").split())
    if spelt and "'" not in thought and '"' not in thought:
        assert announced_move(thought.lower()) == announced_move(thought)
    assert announced_move(thought.replace("'", "’")) == announced_move(thought)

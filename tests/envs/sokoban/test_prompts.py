"""Both prompt formats: what they ask, what they read, and TAPE played through the chat one."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.generator import generate
from envs.sokoban.prompts import compact_text as compact
from envs.sokoban.prompts.chat import SokobanChatFormat
from envs.sokoban.prompts.chat_text import WORDS, outcome
from envs.sokoban.prompts.compact import CompactFormat
from envs.sokoban.state import ACTIONS, State, step
from tape.agents.tape import TapeAgent
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Request, Usage
from tape.lm.scripted import obeys
from tape.protocols import PromptFormat
from tests.tape.chat_player import ChatPlayer
from tests.tape.helpers import ROOM, SimulatedModel, bundled_tokenizer

TWO = generate(5, 8, boxes=2, rows=8, cols=8)
COMPACT, CHAT = CompactFormat(SokobanDomain(ROOM)), SokobanChatFormat(SokobanDomain(ROOM))


def test_every_prompt_and_answer_is_in_the_vocabulary() -> None:
    assert len(set(compact.vocabulary())) == len(compact.vocabulary())
    tokenizer = bundled_tokenizer()
    for level in (ROOM, TWO, generate(1, 10), generate(2, 12, rows=10, cols=10)):
        prompt_format = CompactFormat(SokobanDomain(level))
        requests = [
            prompt_format.plan_request(level.start, {"steps": 9}),
            prompt_format.plan_request(level.start, {}),
            prompt_format.act_request(level.start, {"steps": 999}, "U", ["U", "D"]),
            prompt_format.next_request(level.start, "L"),
            prompt_format.score_request(level.start)[0],
        ]
        for request in requests:
            assert isinstance(request.prompt, str)
            ids = tokenizer.encode(request.prompt, add_special_tokens=False)
            assert tokenizer.decode(ids) == request.prompt
            assert len(ids) == len(request.prompt.split())


@given(st.sampled_from(ACTIONS), st.integers(0, 20))
def test_outcomes_read_back(action: str, seed: int) -> None:
    level = generate(seed, 5)
    prompt_format = CompactFormat(SokobanDomain(level))
    after = step(level, level.start, action)
    text = compact.text(compact.outcome_words(level, after))
    assert prompt_format.read_next(level.start, text) == after
    assert obeys(prompt_format.next_request(level.start, action), text)


@pytest.mark.parametrize("text", ["", " (1,1)", " (1,1) (1,2) (1,3)", " (9,9) (1,1)", " U D", "invalid (1,1)"])
def test_unreadable_outcomes_are_invalid_output(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        COMPACT.read_next(ROOM.start, text)


@pytest.mark.parametrize(
    ("prompt_format", "text", "kept"),
    [
        (COMPACT, " U D banana L", ("U", "D")),
        (COMPACT, "", ()),
        (CHAT, '{"actions": ["right", "right", "le', ("R", "R")),
        (CHAT, '{"thought": "x", "actions": ["right", "right", "jump", "up"]}', ("R", "R")),
    ],
)
def test_a_plan_keeps_its_readable_beginning(prompt_format: PromptFormat, text: str, kept: tuple[str, ...]) -> None:
    plan = prompt_format.read_plan(None, text)
    assert (plan.actions, plan.valid) == (kept, False)


def write_compact(action: str) -> str:
    return f" next: push {action} action: {action}"


def write_chat(action: str) -> str:
    return json.dumps({"thought": "so", "action": WORDS[action]})


@pytest.mark.parametrize(
    ("prompt_format", "write", "plan"),
    [(COMPACT, write_compact, " R U"), (CHAT, write_chat, "Your plan goes on with right, up:")],
)
def test_a_fixed_action_leaves_no_other_and_a_plan_only_hints(
    prompt_format: PromptFormat, write: Callable[[str], str], plan: str
) -> None:
    fixed = prompt_format.act_request(ROOM.start, {"steps": 5}, "R", ["R", "R"])
    assert [action for action in ACTIONS if obeys(fixed, write(action))] == ["R"]
    alone = prompt_format.act_request(ROOM.start, {"steps": 5}, None, [])
    hinted = prompt_format.act_request(ROOM.start, {"steps": 5}, None, ["R", "U"])
    assert all(obeys(alone, write(action)) for action in ACTIONS)
    assert alone.constraint == hinted.constraint
    assert plan in str(hinted.prompt)
    assert plan not in str(alone.prompt)


def test_boards_beyond_the_vocabulary_are_refused_at_the_start() -> None:
    level = generate(3, 6, rows=12, cols=12)
    with pytest.raises(ConfigError, match="12x12"):
        SokobanEnvironment(level).prompt_format("compact")
    assert SokobanEnvironment(level).prompt_format("chat")


def test_the_projector_reads_the_observation_text_alone() -> None:
    domain = SokobanDomain(TWO)
    seen = domain.observation(TWO.start)
    assert domain.project(type(seen)(seen.text)) == TWO.start


class Player(ChatPlayer):
    """A model that answers the chat prompts of a small room right."""

    def __init__(self) -> None:
        super().__init__(SimulatedModel(ROOM))

    def scoring_tokens(self, request: Request) -> int:
        return 1

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        answers = zip(requests, await self.generate(requests), strict=True)
        return [(tuple(float(o == a.texts[0]) for o in r.constraint.options), a.usage) for r, a in answers]  # type: ignore[union-attr]


@pytest.mark.parametrize("execution", ["constrained", "forced", "free"])
def test_tape_plays_through_the_chat_format(execution: str) -> None:
    result = TapeAgent(Player(), execution=execution).run(SokobanEnvironment(ROOM, 8))
    assert result.success
    assert result.malformed == 0
    assert result.lm_calls["rollout"] == 1, "equal plans are rolled out once, in one request"


def test_a_plan_has_at_least_one_move_and_no_more_than_steps() -> None:
    request = CHAT.plan_request(ROOM.start, {"steps": 2})
    admitted = [n for n in range(5) if obeys(request, json.dumps({"thought": "", "actions": ["up"] * n}))]
    assert admitted == [1, 2]


def test_a_rollout_has_the_outcomes_of_exactly_the_moves_asked_for() -> None:
    request = CHAT.rollout_request(ROOM.start, ["U", "R"])
    assert request is not None
    outcomes = {str(i): outcome(ROOM, ROOM.start, a) for i, a in enumerate("URU", 1)}
    kept = [n for n in range(4) if obeys(request, json.dumps({k: outcomes[k] for k in list(outcomes)[:n]}))]
    assert kept == [2]
    swapped = {"1": outcomes["2"], "2": outcomes["1"]}
    assert not obeys(request, json.dumps(swapped))


@given(st.integers(0, 400), st.integers(1, 3))
def test_of_a_rollout_that_was_cut_off_the_beginning_is_kept(at: int, indent: int) -> None:
    states, outcomes, here = [], {}, ROOM.start
    for number, action in enumerate("UDR", 1):
        outcomes[str(number)] = outcome(ROOM, here, action)
        here = step(ROOM, here, action) or here
        states.append(here)
    text = json.dumps(outcomes, indent=indent)
    try:
        read = CHAT.read_rollout(ROOM.start, "UDR", text[:at])
    except InvalidOutputError:
        read = []
    assert read == states[: len(read)]
    assert len(read) >= text[:at].count("},")


def test_a_chat_rollout_that_stops_too_early_is_counted() -> None:
    class Short(Player):
        async def _rollout(self, state: str, words: list[str]) -> dict[str, Any]:
            return {}

    result = TapeAgent(Short(), ablations={"probe": False}).run(SokobanEnvironment(ROOM, 8))
    assert result.malformed > 0
    assert not result.success


def test_chat_answers_about_cells_off_the_board_are_invalid_output() -> None:
    good = outcome(ROOM, ROOM.start, "U")
    with pytest.raises(InvalidOutputError):
        CHAT.read_next(ROOM.start, json.dumps(good | {"player": "(99,0)"}))
    assert CHAT.read_next(ROOM.start, json.dumps(good | {"meets": "wall"})) is None
    assert CHAT.read_next(ROOM.start, json.dumps(good)) == step(ROOM, ROOM.start, "U")
    lost = {"1": good, "2": good | {"move": "down", "player": "(99,3)"}}
    [state] = CHAT.read_rollout(ROOM.start, ["U", "D", "U"], json.dumps(lost))
    assert isinstance(state, State)

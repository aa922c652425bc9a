"""Typed predicates: written by general models, required by targets, and checked by the grounder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from envs.sokoban.state import step
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Tools
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.chat_prompts import read_literal
from tape.methods.sdp.events import ChainEvent, ValidatedEvent
from tape.methods.sdp.operators import Outcome, check_required
from tape.methods.sdp.predicate_adapter import PredicateValidate, in_words
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Target
from tape.methods.sdp.writing import WritingRealize
from tape.protocols import Acted, Action, Observation, State
from tape.protocols.predicates import Predicate
from tape.protocols.result import EpisodeResult
from tape.seeds import derive
from tape.trace import Event, TraceWriter

WORD = st.from_regex(r"[a-z]+ [0-9]{1,2}", fullmatch=True) | st.from_regex(r"\([0-9],[0-9]\)", fullmatch=True)


@given(st.sampled_from(["at", "holding"]), st.lists(WORD, max_size=3), st.booleans())
def test_what_is_written_of_a_predicate_is_read_again(name: str, args: Sequence[str], value: bool) -> None:
    predicate = Predicate(name, tuple(args))
    arity = {"at": len(args), "holding": len(args)}
    assert read_literal(in_words(((predicate, value),)), arity) == (predicate, value)


@pytest.mark.parametrize("text", ["", "the box is home", "near(fridge 1)", "at(fridge 1", "at(fridge 1) or at(sink 1)"])
def test_what_is_no_predicate_is_refused(text: str) -> None:
    with pytest.raises(InvalidOutputError, match="is not a predicate; there is: at"):
        read_literal(text, {"at": 1})


@pytest.mark.parametrize("text", ["at()", "at(fridge 1, sink 1)", "not holding(apple)"])
def test_a_predicate_speaks_of_as_many_things_as_its_form(text: str) -> None:
    with pytest.raises(InvalidOutputError, match="takes"):
        read_literal(text, {"at": 1, "holding": 2})


def play(script: dict[str, list[str]]) -> tuple[EpisodeResult, list[Event]]:
    """One easy level by a scripted general model with a list of replies per role."""
    left = {role: list(replies) for role, replies in script.items()}

    def reply(request: Request, sample: int) -> str:
        del sample
        return left[request.role].pop(0)

    [level, *_] = load_set("easy")
    writer = TraceWriter("test")
    agent = SdpAgent(ScriptedLM(reply), temperature=0.0, sdp={"chain": "adapter", "attempts": 2})
    result = agent.run(SokobanEnvironment(level, 8), trace=writer)
    return result, list(writer.events)


def test_a_chain_of_a_general_model_is_checked_and_not_believed() -> None:
    chain = json.dumps({"predicates": ["player_at((9,9))"]})
    move = json.dumps({"thought": "this does it", "action": "up"})
    result, events = play({"propose": [chain], "replan": [chain] * 9, "realize": [move] * 9})
    seen = [event for event in events if isinstance(event, ValidatedEvent)]
    assert seen
    assert all(event.k == 0 and event.checks[0].how == "deterministic" for event in seen)
    assert [event.failed for event in seen[:4]] == [0, 1, 0, 1]
    assert result.method["certified"] == 0
    assert result.end_state == "budget:steps"


def test_an_unknown_predicate_makes_the_chain_unreadable() -> None:
    result, events = play({"propose": [json.dumps({"predicates": ["the box feels at home"]})]})
    assert result.end_state == "invalid_output"
    assert result.malformed == 1
    assert [event.targets for event in events if isinstance(event, ChainEvent)] == [[]]


def test_models_that_know_the_tasks_roles_alone_have_no_operators_of_their_own() -> None:
    [level, *_] = load_set("easy")
    agent = SdpAgent(ScriptedLM([""], prompt_format="compact"), sdp={"chain": "adapter"})
    with pytest.raises(ConfigError, match="use another model, or chain='walk' or 'sample'"):
        agent.run(SokobanEnvironment(level, 8))


[LEVEL, *_] = load_set("easy")
DOMAIN = SokobanDomain(LEVEL)
OPEN = Target("'U' has changed something", "move", by="U")
GOAL = Target("solved", "goal", goal=True)


def outcomes() -> tuple[Outcome, Outcome]:
    """A move that changes something, and one that does not."""
    moved = next((move, after) for move in "UDLR" if (after := step(LEVEL, LEVEL.start, move)) is not None)
    seen = Observation("")
    return Outcome(LEVEL.start, moved[0], seen, moved[1]), Outcome(LEVEL.start, "U", seen, LEVEL.start)


def test_a_target_that_requires_nothing_is_certified_by_a_change_and_by_its_own_action_alone() -> None:
    changed, unchanged = outcomes()
    validate = PredicateValidate(DOMAIN).validate
    assert asyncio.run(validate((OPEN, OPEN, GOAL), changed)).k == 1
    assert asyncio.run(validate((OPEN, OPEN, GOAL), unchanged)).k == 0
    assert not check_required((), {}).holds


def test_an_attempt_after_an_unreadable_one_is_another_sample() -> None:
    seeds: list[int] = []

    class Mute:
        async def act(
            self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
        ) -> Acted:
            del state, remaining, action, plan
            seeds.append(seed)
            return Acted(None)

    tools = Tools(cast(Any, None), TapeConfig(), lambda *parts: derive(0, *parts))
    realize = WritingRealize(DOMAIN, Mute(), tools, invents=True)
    state = CertifiedState((), (), LEVEL.start)

    for failed in (0, 0, 1):
        at = MarkovState(state, (OPEN, GOAL), (Attempt(OPEN, None, "unreadable"),) * failed)
        assert asyncio.run(realize.realize(at)).counts_if_none
    first, again, later = (seeds[i * len(seeds) // 3 : (i + 1) * len(seeds) // 3] for i in range(3))
    assert first == again
    assert not set(first) & set(later)

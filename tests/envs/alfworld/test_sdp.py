"""SDP on households, and agents that do nothing twice in an identical state."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from envs.alfworld.game.sentences import whole
from envs.alfworld.plugin import PLUGIN
from envs.alfworld.sdp import adapter, truth, unread
from envs.alfworld.state import as_state
from experiments.studies.sdp.revalidation import revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.agents.react import ReactAgent
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import JsonSchema, OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.chat_prompts import PredicatePrompts
from tape.methods.sdp.events import ChainEvent
from tape.methods.sdp.operators import Outcome
from tape.methods.sdp.target import Target
from tape.protocols import Observation
from tape.protocols.predicates import Predicate
from tape.protocols.result import EpisodeResult
from tape.trace import ActedEvent, ObservedEvent, TraceWriter, read_trace
from tests.envs.alfworld.helpers import needs_engine
from tests.envs.alfworld.played import PlayedAlfworld
from tests.envs.alfworld.worlds import KITCHEN, STUDY, domain_of, known, world_of

ANSWERS = [
    "Nothing happens.", "You arrive at loc 12. On countertop 1, you see bowl 3, glassbottle 1, and mug 2.",
    "You arrive at drawer 1. The drawer 1 is closed.",
    "You arrive at fridge 1. The fridge 1 is open. In it, you see nothing.",
    "You open the fridge 1. The fridge 1 is open. In it, you see a mug 1.",
    "You open fridge 1. In fridge 1, you see nothing.", "You close fridge 1.",
    "You pick up the apple 1 from the fridge 1.", "You put apple 1 in/on fridge 1.",
    "You move the egg 1 to the fridge 1.", "You heat the egg 1 using the microwave 1.", "You turn on the desklamp 1.",
    "You are carrying: egg 1.", "You are not carrying anything.",
    "You are facing the cabinet 1. Next to it, you see nothing.", "This is a hot and clean egg 1.",
    "This is a normal mug 1. In it, you see nothing.", "There's nothing special about apple 1.",
]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_whole_and_none_of_its_beginnings_is(answer: str) -> None:
    assert whole(answer)
    assert whole(f"{answer}\n")
    assert not [answer[:cut] for cut in range(len(answer)) if whole(answer[:cut])]
    assert not whole(f"{answer} Also, {answer}")
    assert not whole(re.sub(r"[.]$", ", or so it seems.", answer)), "negated or hedged at its end"


@pytest.mark.parametrize("text", ["", "You pick up the apple", "You don't pick up the apple 1 from the fridge 1."])
def test_what_is_known_from_before_certifies_nothing_with_an_answer_that_is_cut_off(text: str) -> None:
    """The agent took something, as it may be: what was known of its hand is not what is true of it."""
    domain, state = domain_of(world_of(KITCHEN)), known(KITCHEN)
    wanted = Target("empty_handed()", "take", ((Predicate("empty_handed"), True),))
    validator = adapter(domain).validator(cast(Any, None))
    outcome = Outcome(state, "take apple from fridge 1", Observation(text), state)
    verdict = asyncio.run(validator.validate((wanted,), outcome))
    assert (verdict.k, verdict.reason) == (0, unread(outcome))
    read = asyncio.run(validator.validate((wanted,), Outcome(state, "take", Observation("Nothing happens."), state)))
    assert read.k == 1


def test_a_phrase_that_contradicts_itself_is_refused() -> None:
    prompts = PredicatePrompts("t", Target("g", "goal", goal=True), rules="", forms=("shut(PLACE)", "at(PLACE)"))
    assert prompts.target("shut(fridge 1) and shut(fridge 1)").requires == ((Predicate("shut", ("fridge 1",)), True),)
    with pytest.raises(InvalidOutputError, match="contradicts itself"):
        prompts.target("shut(fridge 1) and not shut(fridge 1)")


@needs_engine
@pytest.mark.parametrize("cascade", [True, False])
def test_one_command_certifies_several_single_predicates(cascade: bool, tmp_path: Path) -> None:
    task = next(task for task in PLUGIN.tasks({"games": "dev"}) if task.id == "dev-pick_two_obj_and_place-1")
    env, sdp = PLUGIN.make(task), {"chain": "sample", "grain": "predicate", "cascade": cascade}
    result = SdpAgent("bundled:household", no_repeat=True, sdp=sdp).run(env, budget=task.budget, trace=tmp_path / "t")
    env.close()
    assert result.success
    made = CertifiedTrajectory.from_trace(tmp_path / "t")
    assert revalidate(made) == []
    chains = [event for event in read_trace(tmp_path / "t") if isinstance(event, ChainEvent)]
    assert all(len(target.requires) <= 1 for event in chains for target in event.targets)
    assert (result.method["cascades"] > 1) is cascade
    with pytest.raises(ConfigError, match="grain='predicate' is for chain='sample'"):
        SdpAgent("bundled:household", sdp={"grain": "predicate"})


def test_an_unknown_truth_is_no_fault() -> None:
    odd = Target("lit(desklamp)", "lit", ((Predicate("lit", ("desklamp",)), True),))
    assert truth(odd, frozenset(), won=False) is None


def chat(request: Request, sample: int) -> str:
    """Writes its favourite command for as long as it may, then the first that is left."""
    assert isinstance(request.constraint, JsonSchema)
    left = request.constraint.model.model_json_schema()["properties"]["action"].get("enum", [FAVOURITE["chat"]])
    action = FAVOURITE["chat"] if FAVOURITE["chat"] in left else left[0]
    return json.dumps({"thought": "", "action": action})


def compact_words(request: Request, sample: int) -> str:
    """The same in the household prompt format."""
    if not isinstance(request.constraint, OneOf):
        return FAVOURITE["household"]
    left = request.constraint.options
    return FAVOURITE["household"] if FAVOURITE["household"] in left else left[0]


FAVOURITE = {"chat": "take book from desk 2", "household": "take book desk2 "}


def played(prompt_format: str, *, no_repeat: bool) -> tuple[EpisodeResult, list[tuple[str, str]]]:
    """An episode and the pairs of state and action in it."""
    script = chat if prompt_format == "chat" else compact_words
    trace = TraceWriter("test")
    agent = ReactAgent(ScriptedLM(script, prompt_format=prompt_format, obey=True), no_repeat=no_repeat)
    result = agent.run(PlayedAlfworld(world_of(STUDY), steps=12), trace=trace)
    seen = [event.key for event in trace.events if isinstance(event, ObservedEvent)]
    done = [event.action for event in trace.events if isinstance(event, ActedEvent)]
    return result, list(zip(seen, done, strict=False))


@pytest.mark.parametrize("prompt_format", ["chat", "household"])
def test_nothing_is_done_twice_in_an_identical_state(prompt_format: str) -> None:
    result, pairs = played(prompt_format, no_repeat=False)  # a useless command is repeated for ever
    assert (result.end_state, result.steps, len(set(pairs))) == ("budget:steps", 12, 1)
    result, pairs = played(prompt_format, no_repeat=True)
    assert (result.end_state, result.steps, result.malformed) == ("budget:steps", 12, 0)
    assert len(set(pairs)) == len(pairs) == 12
    assert pairs[0][1] == "take book from desk 2"
    assert len({key for key, _ in pairs}) > 2  # the favourite is tried again in every new state


def test_what_was_done_elsewhere_may_be_done_here() -> None:
    house = PlayedAlfworld(world_of(STUDY), steps=9)
    assert house.domain.choices is not None
    state = as_state(house.reset(0).data)
    twin = house.domain.without(state, ["take book 1 from desk 2", "go to bed 1", "look"])
    assert as_state(twin).tried == {"take book from desk 2", "go to bed 1"}
    assert house.domain.key(twin) == house.domain.key(state)
    assert as_state(house.domain.without(twin, [])).tried == frozenset()

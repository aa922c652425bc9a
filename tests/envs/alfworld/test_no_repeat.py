"""``no_repeat``: a free choice never repeats what was done in an identical state, where the domain can leave it out."""

import json

import pytest

from envs.alfworld.state import as_state
from tape.agents.react import ReactAgent
from tape.lm.base import JsonSchema, OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.trace import ActedEvent, ObservedEvent, TraceWriter
from tests.envs.alfworld.played import PlayedAlfworld
from tests.envs.alfworld.worlds import STUDY, world_of


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

"""Equal typed inputs give equal outputs of the operators, whatever came before (SDP proposition 1).

What is tested is what the engine can keep to: PROPOSE and REALIZE depend on (s, plan tail, attempts) alone, VALIDATE on
(plan tail, outcome) alone. The proposition assumes more, of the environment: that its response to an action depends on
what came before only through (s, plan tail). No engine can give that, and nothing here claims it. It holds where the
projector keeps all that the environment's rules read, as the whole board in Sokoban.
"""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tape.methods.sdp
from envs.sokoban.environment import SokobanEnvironment
from tape.budget import Budget, Ledger
from tape.engine.act import LmActor
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.predict import LmWorldModel
from tape.engine.sample import LmProposer
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, Request
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.chat_prompts import ChatPrompts
from tape.methods.sdp.lm_operators import LmPropose, LmRealize, LmValidate
from tape.methods.sdp.operators import Check, Outcome, Realized, Verdict
from tape.methods.sdp.path import SampleChain
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.methods.sdp.writing import WritingRealize
from tape.protocols import Observation
from tape.seeds import derive
from tape.trace import TraceWriter
from tests.envs.alfworld.played import PlayedAlfworld
from tests.envs.alfworld.worlds import KITCHEN, world_of
from tests.tape.helpers import ROOM
from tests.tape.methods.sdp.flags import Script, chain, play

PREFIXES = [(), ("L", "R"), ("U", "D"), ("D", "U", "U", "L", "D", "R")]
"""Ways to the same board in a room: the typed state at their ends is the same, what happened before is not."""


async def after(env: Any, model: LanguageModel, prefix: Sequence[str], **settings: Any) -> tuple[Episode, Tools]:
    """An episode after a prefix, and what its operators use."""
    ledger, trace, config = Ledger(Budget({"usd": 10**9})), TraceWriter("prefix"), TapeConfig.make(**settings)
    lm = AccountedLM(model, ledger, trace)
    roles = RoleContext(lm, env.prompt_format(lm.prompt_format), env.domain, trace)
    episode = Episode(env, config, ledger, trace, roles, derive(0, "agent"), None)
    await episode.reset(0)
    for action in prefix:
        await episode.step(action)
    return episode, Tools(roles, config, lambda *parts: episode.seed_for("sdp", *parts))


def typed(episode: Episode, certified: Chain = ()) -> CertifiedState:
    fields = episode.env.sdp().fields(episode.state)  # type: ignore[attr-defined]
    return CertifiedState(certified, fields, episode.state, tuple(sorted(episode.remaining().items())))


def same(outputs: list[Any]) -> None:
    assert all(output == outputs[0] for output in outputs[1:])


def everything(env: Any, model: LanguageModel, prefix: Sequence[str], act: str, **settings: Any) -> list[Any]:
    """What the operators on a sampled plan make of the state after a prefix."""

    async def run() -> list[Any]:
        episode, tools = await after(env, model, prefix, **settings)
        domain, adapter, state = env.domain, env.sdp(), typed(episode)
        actor = LmActor(episode.roles, "constrained", 0.7)
        sample = SampleChain(domain, adapter, LmProposer(episode.roles, 0.7), LmWorldModel(episode.roles), tools.seed)
        proposed = await sample.propose(state)
        failed = (Attempt(proposed[0], act, "nothing has changed"),)
        values: list[Any] = [state, proposed, await sample.replan(MarkovState(state, proposed, failed), failed)]
        for invents in (True, False):
            realize = WritingRealize(domain, actor, tools, invents=invents)
            values += [await realize.realize(MarkovState(state, proposed, attempts)) for attempts in ((), failed)]
        outcome = Outcome(episode.state, act, Observation("as it was"), episode.state)
        return [*values, await adapter.validator(tools).validate(proposed, outcome)]

    return asyncio.run(run())


@pytest.mark.slow
def test_operators_on_sokoban_do_not_see_the_prefix() -> None:
    opened = open_model("bundled:nano")
    same([everything(SokobanEnvironment(ROOM), opened, prefix, "R") for prefix in (PREFIXES[0], PREFIXES[-1])])


@pytest.mark.slow
def test_operators_on_alfworld_do_not_see_the_prefix() -> None:
    opened = open_model("bundled:household")
    ways = [
        ("go to countertop 1", "go to cabinet 2", "go to fridge 1"),
        ("go to cabinet 2", "go to countertop 1", "go to cabinet 2", "open fridge 1", "go to fridge 1"),
    ]
    same([everything(PlayedAlfworld(world_of(KITCHEN), 99), opened, way, "open fridge 1") for way in ways])


def reply(request: Request, sample: int) -> str:
    """An answer that depends on all of a request: whatever leaks into it shows."""
    number = derive(0, request.prompt, request.seed, request.temperature, request.max_tokens, sample)
    if request.role in ("propose", "replan"):
        return json.dumps({"predicates": [f"p{number % 97}", f"p{number % 89}"]})
    if request.role == "realize":
        return json.dumps({"thought": str(number), "action": "UDLR"[number % 4]})
    return json.dumps({"reason": str(number), "k": number % 3})


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_operators_of_a_language_model_do_not_see_the_prefix(temperature: float) -> None:
    prompts = ChatPrompts("push the box", Target("the box is on the goal", "goal", goal=True))

    async def run(prefix: Sequence[str]) -> list[Any]:
        model = ScriptedLM(reply)
        episode, tools = await after(SokobanEnvironment(ROOM), model, prefix, temperature=temperature)
        state = typed(episode, (Target("p", "predicate"),))
        propose, realize = LmPropose(prompts, tools), LmRealize(prompts, tools)
        chain_ = await propose.propose(state)
        failed = (Attempt(chain_[0], "R", "no"), Attempt(chain_[0], None, "unreadable"))
        at = MarkovState(state, chain_, failed)
        outcome = Outcome(episode.state, "R", Observation("a box moves"), episode.state)
        result = [chain_, await realize.realize(MarkovState(state, chain_)), await realize.realize(at)]
        result += [await propose.replan(at, failed), await LmValidate(prompts, tools).validate(chain_, outcome)]
        return [*result, [(request.prompt, request.seed) for request in model.requests]]

    outputs = [asyncio.run(run(prefix)) for prefix in PREFIXES]
    same(outputs)
    assert outputs[0][1] != outputs[0][2], "the attempts at the target are part of the state"


def test_whole_episodes_go_on_alike_from_equal_states() -> None:
    """Two episodes of the loop with different beginnings are the same from the equal typed state on."""
    asked = []
    for first in (["+a -b"], ["+c", "-c +b", "+a -b"]):
        script = Script([chain("a", "b")], [*map(Realized, first), Realized("+c"), Realized("+b"), Realized("win")])
        play(script, Caps(9, 0, 99))
        asked.append([(at.state, at.tail) for at in script.realized[len(first) :]])
    assert asked[0] == asked[1]


FOLDER = Path(str(tape.methods.sdp.__file__)).parent


@pytest.mark.parametrize("name", ["path", "writing", "lm_operators", "predicate_adapter", "chat_prompts"])
def test_no_operator_takes_the_observation_from_the_episode(name: str) -> None:
    """An episode holds the last observation for the loop; operators that hold an episode leave it alone."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "observation"]
    assert all(isinstance(node.value, ast.Name) and node.value.id == "outcome" for node in read)


def test_a_state_holds_no_observation() -> None:
    with pytest.raises(TypeError, match="never the observation"):
        CertifiedState((), (), Observation("a door"))
    for smuggled in (Observation("a door"), ("here", Observation("a door")), ["a door"], None):
        with pytest.raises(TypeError, match="'seen'"):
            CertifiedState((), (("seen", smuggled),))  # type: ignore[arg-type]
    assert CertifiedState((), (("n", 1), ("deep", (("a", 2.5), True)))).fields


def test_a_verdict_ends_with_the_first_predicate_that_does_not_hold() -> None:
    good, bad = Check(True, "lm"), Check(False, "lm")
    assert [Verdict(checks).k for checks in [(), (bad,), (good, bad), (good, good)]] == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="first"):
        Verdict((bad, good))

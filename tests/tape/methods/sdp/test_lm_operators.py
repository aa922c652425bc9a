"""The operators of a language model with a scripted one: shortcuts before any call, and answers of every kind."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError
from tape.lm.accounting import AccountedLM
from tape.lm.base import JsonSchema
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.chat_prompts import ChatPrompts
from tape.methods.sdp.events import ValidatedEvent
from tape.methods.sdp.lm_operators import SAMPLES, LmPropose, LmRealize, LmValidate
from tape.methods.sdp.operators import Outcome, Realized, Verdict
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Target
from tape.protocols import Observation
from tape.seeds import derive
from tape.trace import MalformedEvent, TraceWriter
from tests.profiles import examples
from tests.tape.methods.sdp.flags import GOAL, FlagDomain, FlagWorld, Script, play, target

PROMPTS = ChatPrompts("win", GOAL, rules="Actions are words.")
STATE = CertifiedState((), (("room", "hall"),))
SEEN = Outcome(frozenset(), "open the door", Observation("The door is open."), frozenset("a"))
SAID, OTHER = Target("the door is open", "predicate"), Target("the lamp is lit", "predicate")


def k(value: Any, reason: str = "so it is") -> str:
    return json.dumps({"reason": reason, "k": value})


def tools(*answers: str, ledger: Ledger | None = None, temperature: float = 0.0) -> tuple[Tools, ScriptedLM]:
    model, trace = ScriptedLM(answers), TraceWriter("lm")
    lm = AccountedLM(model, ledger or Ledger(), trace)
    world: Any = FlagWorld()
    roles = RoleContext(lm, world.prompt_format("chat"), world.domain, trace)
    return Tools(roles, TapeConfig.make(temperature=temperature), lambda *parts: derive(0, *parts)), model


def judged(tail: Chain, *answers: str, outcome: Outcome = SEEN, **options: Any) -> tuple[Verdict, ScriptedLM, Tools]:
    used, model = tools(*answers)
    verdict = asyncio.run(LmValidate(PROMPTS, used, **options).validate(tail, outcome))
    return verdict, model, used


YES, NO, MODEL = (True, "deterministic"), (False, "deterministic"), (True, "lm")
NO_MODEL, ROOM = (False, "lm"), (True, "visited_room")
KNOWN: dict[str, Any] = {"ground": FlagDomain().ground}
CREDIT: dict[str, Any] = {"credit": lambda *_: "a new room"}
REJECTED: dict[str, Any] = {"rejected": lambda outcome: f"unknown: {outcome.action}"}
UNKNOWN: dict[str, Any] = {"unknown": "ask"}


@pytest.mark.parametrize(
    ("tail", "options", "answers", "checks", "calls", "reason"),
    [
        # A rejected action needs no verdict, and goes before the goal and before credit.
        ((SAID, GOAL), REJECTED | CREDIT, [1], [], 0, "unknown: open the door"),
        # Typed predicates are checked; unknown values are judged, and flagged, only on request.
        ((target("a"), target("b"), SAID, GOAL), KNOWN, [1], [YES, NO], 0, "flag(b) is false"),
        ((target("a"), GOAL), {}, [1], [NO], 0, "flag(a) is unknown"),
        ((target("a"), GOAL), UNKNOWN, [0], [NO_MODEL], 1, "so it is"),
        ((target("a"), GOAL), UNKNOWN, [1], [MODEL, NO], 1, "the environment does not report the task as done"),
        ((target("b"), GOAL), UNKNOWN | KNOWN, [1], [NO], 0, "flag(b) is false"),
        # A step is credited once, without a call, and only to the head.
        ((SAID, OTHER, GOAL), CREDIT, [0], [ROOM, NO_MODEL], 1, "so it is"),
        ((target("a"), SAID, GOAL), CREDIT | KNOWN, [0], [YES, NO_MODEL], 1, "so it is"),
        ((SAID, GOAL), CREDIT, [1], [ROOM, NO], 0, "the environment does not report the task as done"),
        # The model's k never reaches the goal; it is asked again after a typed predicate, never after a false one.
        ((SAID, OTHER, GOAL), {}, [0], [NO_MODEL], 1, "so it is"),
        ((SAID, OTHER, GOAL), {}, [1], [MODEL, NO_MODEL], 1, "so it is"),
        ((SAID, OTHER, GOAL), {}, [2], [MODEL, MODEL, NO], 1, "the environment does not report the task as done"),
        ((SAID, target("a"), OTHER, GOAL), KNOWN, [1, 1], [MODEL, YES, MODEL, NO], 2, "the environment does not"),
        ((SAID, target("b"), OTHER, GOAL), KNOWN, [1], [MODEL, NO], 1, "flag(b) is false"),
    ],
)
def test_verdicts(
    tail: Chain, options: dict[str, Any], answers: list[int], checks: list[Any], calls: int, reason: str
) -> None:
    verdict, model, _ = judged(tail, *map(k, answers), **options)
    assert [(check.holds, check.how) for check in verdict.checks] == checks
    assert verdict.reason.startswith(reason)
    assert (verdict.counts, len(model.requests)) == (True, calls)
    for request in model.requests:
        assert isinstance(request.constraint, JsonSchema)
        asked = request.prompt[-1].content  # type: ignore[union-attr]
        assert "The door is open." in asked
        assert GOAL.text not in asked.splitlines()


def test_no_model_is_asked_where_the_task_is_done() -> None:
    used, model = tools(k(0))
    script = Script([(SAID, GOAL)], [Realized("win")])
    played = play(script, Caps(1, 0, 9), validate=LmValidate(PROMPTS, used))
    [event] = [event for event in played.events if isinstance(event, ValidatedEvent)]
    assert [check.how for check in event.checks] == ["completion", "completion"]
    assert model.requests == []


BAD = [k(3), k(99), k(-1), k(1.5), k("two"), k(None), "1", "", "{", '{"k": 1}', '{"reason": "r", "k": 1, "x": 0}', "[]"]


@pytest.mark.parametrize("answer", BAD)
def test_a_verdict_that_cannot_be_read_certifies_nothing(answer: str) -> None:
    verdict, model, used = judged((SAID, OTHER, GOAL), answer)
    assert (verdict.k, len(model.requests), used.roles.malformed) == (0, 1, 1)
    assert "could not be read" in verdict.reason
    assert [event.type for event in used.roles.trace.events if isinstance(event, MalformedEvent)] == ["malformed"]


@examples(200)
@given(st.text(max_size=60) | st.integers(-3, 6).map(k), st.lists(st.sampled_from("ptv"), max_size=5))
def test_no_answer_certifies_what_it_must_not(answer: str, kinds: list[str]) -> None:
    """p: judged; t: typed and false; v: typed and true. The goal is never certified, nor what is behind a false one."""
    made = {"p": SAID, "t": target("b"), "v": target("a")}
    tail = (*(made[kind] for kind in kinds), GOAL)
    verdict, model, _ = judged(tail, answer, ground=FlagDomain().ground)
    assert verdict.k < len(tail)
    assert "t" not in kinds[: verdict.k]
    for wanted, check in zip(tail, verdict.checks, strict=False):
        assert check.how == ("deterministic" if wanted.goal or wanted.requires else "lm")
    if "p" not in kinds:
        assert model.requests == []


def predicates(*texts: str) -> str:
    return json.dumps({"predicates": list(texts)})


def test_a_chain_ends_with_the_goal_and_a_later_sample_may_be_readable() -> None:
    used, model = tools("no", predicates("the door is open", " ", "the lamp is lit "), temperature=0.5)
    chain = asyncio.run(LmPropose(PROMPTS, used).propose(STATE))
    assert [result.text for result in chain] == ["the door is open", "the lamp is lit", "won"]
    assert chain[-1] is GOAL
    assert "room: hall" in model.requests[0].prompt[-1].content  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", ["", "open it", predicates(), '{"predicates": "p"}', json.dumps({"steps": ["p"]})])
@pytest.mark.parametrize(("temperature", "asked"), [(0.0, 1), (0.5, SAMPLES)])
def test_no_chain_where_none_can_be_read(answer: str, temperature: float, asked: int) -> None:
    used, model = tools(answer, temperature=temperature)
    assert asyncio.run(LmPropose(PROMPTS, used).propose(STATE)) == ()
    assert len(model.requests) == used.roles.malformed == asked
    assert len({request.seed for request in model.requests}) == asked


def test_an_action_that_cannot_be_read_is_a_failed_attempt() -> None:
    used, _ = tools("I would open the door")
    realized = asyncio.run(LmRealize(PROMPTS, used).realize(MarkovState(STATE, (SAID, GOAL))))
    assert (realized.action, realized.counts_if_none, used.roles.malformed) == (None, True, 1)


def test_attempts_are_shown_to_realize_and_the_history_to_replan() -> None:
    answer = json.dumps({"thought": "t", "action": " open the door "})
    used, model = tools(answer, answer, predicates("p"))
    here = Attempt(SAID, "kick the door", "it stays shut")
    old = Attempt(OTHER, "rub the lamp", "no genie")
    at = MarkovState(STATE, (SAID, GOAL), (here,))
    assert asyncio.run(LmRealize(PROMPTS, used).realize(at)) == Realized("open the door", "t")
    asyncio.run(LmRealize(PROMPTS, used).realize(MarkovState(STATE, (SAID, GOAL))))
    asyncio.run(LmPropose(PROMPTS, used).replan(at, (old, here)))
    first, fresh, replan = (request.prompt[-1].content for request in model.requests)  # type: ignore[union-attr]
    assert ["kick the door" in prompt for prompt in (first, fresh, replan)] == [True, False, True]
    assert ["rub the lamp" in prompt for prompt in (first, fresh, replan)] == [False, False, True]


@pytest.mark.parametrize("most", range(0, 200, 40))
def test_retries_keep_the_budget(most: int) -> None:
    ledger, targets = Ledger(Budget({"tokens": most})), None
    used, model = tools("no chain", ledger=ledger, temperature=0.5)
    with suppress(BudgetExceededError):
        targets = asyncio.run(LmPropose(PROMPTS, used).propose(STATE))
    assert (ledger.used["tokens"] or 0) <= most
    assert targets == (() if len(model.requests) == SAMPLES else None)


def test_an_unreadable_world_of_words_keeps_to_algorithm_1() -> None:
    """The whole loop on a model that answers nothing readable: caps hold, and nothing is certified."""
    used, _ = tools(predicates("p", "q"), "??", "??", predicates("r"), "??", "??", predicates("s"))
    propose, realize = LmPropose(PROMPTS, used), LmRealize(PROMPTS, used)
    script = Script([()], [Realized("+a")])
    script.propose, script.replan, script.realize = propose.propose, propose.replan, realize.realize  # type: ignore[method-assign]
    played = play(script, Caps(2, 1, 50), world=FlagWorld())
    assert (played.result.end_state, played.result.method["certified"], played.result.steps) == ("replan_limit", 0, 0)
    assert (played.result.replans, played.result.method["rejections"]) == (1, 4)

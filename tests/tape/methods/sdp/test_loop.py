"""The loop with fake operators, drawn at random, against algorithm 1 written once more (:mod:`algorithm`)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget
from tape.errors import (
    BudgetExceededError,
    ConfigError,
    ConstraintError,
    EnvironmentFaultError,
    InvalidOutputError,
    ModelError,
)
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.agent import AlwaysPass
from tape.methods.sdp.events import ChainEvent, ConcludedEvent, ValidatedEvent
from tape.methods.sdp.operators import Check, Outcome, Realized, Verdict
from tape.methods.sdp.target import Target
from tape.protocols import Observation
from tape.protocols.result import END_STATES
from tape.trace import FinishedEvent, read_trace
from tests.profiles import examples
from tests.tape.methods.sdp.algorithm import check
from tests.tape.methods.sdp.flags import GOAL, NAMES, NOTHING, UNREADABLE, Played, Script, chain, holds, play, target

CAPS = Caps(2, 2, 50)

words = st.lists(st.sampled_from([f"{sign}{name}" for sign in "+-" for name in NAMES]), min_size=1, max_size=3).map(
    " ".join
)
rare = st.sampled_from(["win", "end", "boom"])
moves = st.lists(
    st.one_of(words, words, words, rare, st.none()).map(lambda a: UNREADABLE if a is None else Realized(a))
    | st.just(NOTHING),
    min_size=1,
    max_size=8,
)
texts = st.lists(st.sampled_from([*NAMES, "-a", "-b"]), min_size=1, max_size=2, unique=True).map(" ".join)
chains = st.lists(
    st.one_of(*[st.lists(texts, max_size=4).map(lambda t: chain(*t))] * 5, st.just(())), min_size=1, max_size=5
)
verdicts = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["lm", "visited_room"]), st.booleans()), min_size=1, max_size=6
)
caps = st.builds(Caps, st.integers(1, 3), st.integers(0, 3), st.integers(1, 15))


def of(played: Played, kind: type[Any]) -> list[Any]:
    return [event for event in played.events if isinstance(event, kind)]


SETTINGS = st.fixed_dictionaries(
    {
        "ablations": st.fixed_dictionaries({"replan": st.booleans()}),
        "horizon": st.none() | st.integers(1, 6),
        "max_replans": st.integers(0, 5),
        "sdp": st.fixed_dictionaries({"strict_algorithm1": st.booleans(), "cascade": st.booleans()}),
    }
)


@examples(100)
@given(chains, moves, st.just([]) | verdicts, caps, SETTINGS, st.none() | st.integers(0, 6), st.booleans())
def test_every_episode_is_one_of_algorithm_1(
    tmp_path_factory: pytest.TempPathFactory, chains: Any, moves: Any, verdicts: Any, caps: Caps,
    settings: dict[str, Any], steps: int | None, unseen: bool,
) -> None:  # fmt: skip
    trace = tmp_path_factory.mktemp("trace") / "t.jsonl"
    budget = Budget() if steps is None else Budget({"steps": steps})
    validate = AlwaysPass() if unseen else None
    played = play(Script(chains, moves, verdicts), caps, validate=validate, trace=trace, budget=budget, **settings)
    assert list(read_trace(trace)) == played.events
    check(played, caps, strict=settings["sdp"]["strict_algorithm1"], cascade=settings["sdp"]["cascade"])
    result, verdicts = played.result, [event.k for event in of(played, ValidatedEvent)]
    assert result.replans <= settings["max_replans"] * settings["ablations"]["replan"]
    assert result.steps <= min(caps.steps, steps if steps is not None else 99, settings["horizon"] or 99)
    assert result.success == played.world.success(), "the environment alone decides success"
    assert result.method["certified"] == sum(verdicts)
    assert result.method["cascades"] == sum(k > 1 for k in verdicts)


@examples(80)
@given(chains, moves, caps, st.booleans(), st.booleans())
def test_k_never_skips_a_false_predicate(chains: Any, moves: Any, caps: Caps, strict: bool, cascade: bool) -> None:
    """The truth is taken from what the environment remembers, not from what the loop received."""
    played = play(Script(chains, moves), caps, sdp={"strict_algorithm1": strict, "cascade": cascade})
    tail: list[Any] = []
    for event in played.events:
        if isinstance(event, ChainEvent) and event.targets:
            tail = event.targets
        if isinstance(event, ValidatedEvent):
            true = played.world.seen[event.step]
            for record, verdict in zip(tail, event.checks, strict=False):
                wanted = GOAL if record.goal else target(*record.text.split())
                really = holds(wanted, true)
                assert verdict.truth == really, "the truth that is logged is the environment's"
                if verdict.how == "deterministic":
                    assert verdict.holds == really
                elif verdict.holds:
                    assert verdict.how == "completion", "what the validator did not check is flagged"
            tail = tail[event.k :]


def test_a_cascade_certifies_several_and_no_cascade_one_at_a_time() -> None:
    several = play(Script([chain("a", "b", "a b")], [Realized("+a +b"), Realized("win")]), CAPS)
    assert [event.k for event in of(several, ValidatedEvent)] == [3, 1]
    single = play(Script([chain("a", "b", "a b")], [Realized("+a +b"), Realized("win")]), CAPS, sdp={"cascade": False})
    assert [event.k for event in of(single, ValidatedEvent)] == [1, 3]  # what completes the task certifies all
    assert [check.how for check in of(single, ValidatedEvent)[1].checks] == ["completion"] * 3


@pytest.mark.parametrize(
    ("chains", "actions", "caps", "settings", "end", "why", "certified", "replans"),
    [
        ([chain("a")], ["+b"], Caps(1, 9, 99), {"max_replans": 3}, "replan_limit", "limit", 0, 3),
        ([chain("a")], ["+b"], Caps(2, 99, 7), {"max_replans": 99}, "failure", "step_cap", 0, 3),
        ([chain("a")], [UNREADABLE], Caps(2, 99, 7), {"max_replans": 99}, "failure", "step_cap", 0, 3),
        ([chain("a")], [NOTHING], Caps(2, 99, 7), {"max_replans": 99}, "failure", "step_cap", 0, 7),
        ([chain("a")], ["+b"], CAPS, {"ablations": {"replan": False}}, "replan_limit", "replan_cap", 0, 0),
        ([()], ["+b"], CAPS, {}, "invalid_output", "no_chain", 0, 0),
        ([chain("a"), ()], ["+b"], CAPS, {}, "invalid_output", "no_chain", 0, 1),
        ([chain("a", "b")], ["win"], CAPS, {}, "success", "goal", 3, 0),
        ([chain("a", "b")], ["end"], CAPS, {}, "failure", "environment", 0, 0),
        ([chain("a", "b")], ["boom"], CAPS, {}, "env_error", "environment", 0, 0),
        ([chain("a", "b", "c")], ["+a", "+b"], CAPS, {"budget": Budget({"steps": 2})}, "budget:steps", "limit", 2, 0),
        ([chain("a")], ["+b"], CAPS, {"budget": Budget({"wall_seconds": 0})}, "budget:wall_seconds", None, 0, 0),
    ],
)
def test_how_the_loop_ends(
    chains: Any, actions: Any, caps: Caps, settings: Any, end: str, why: str | None, certified: int, replans: int
) -> None:
    moves = [Realized(action) if isinstance(action, str) else action for action in actions]
    played = play(Script(chains, moves), caps, **settings)
    result, concluded = played.result, of(played, ConcludedEvent)
    assert (result.end_state, result.method["certified"], result.replans) == (end, certified, replans)
    assert [event.why for event in concluded] == ([] if why is None else [why])
    check(played, caps)


@pytest.mark.parametrize("bad", [(target("a"),), (GOAL, GOAL), (GOAL, target("a"))])
def test_a_chain_without_its_goal_at_the_end_is_refused(bad: tuple[Target, ...]) -> None:
    with pytest.raises(ConfigError, match="ends with its one goal"):
        play(Script([bad], [Realized("+a")]), CAPS)


FAULTS = [
    (ModelError("down"), "model_error"), (ConstraintError("no such constraint"), "model_error"),
    (InvalidOutputError("garbage"), "invalid_output"), (EnvironmentFaultError("gone"), "env_error"),
    (BudgetExceededError("tokens", 5, 4, 3, "episode"), "budget:tokens"), (RuntimeError("a bug"), "interrupted"),
    (KeyboardInterrupt(), "interrupted"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "end"), FAULTS, ids=[type(error).__name__ for error, _ in FAULTS])
@pytest.mark.parametrize("where", ["propose", "realize", "validate", "replan"])
def test_an_operator_that_raises_ends_in_an_allowed_state(
    where: str, error: BaseException, end: str, tmp_path: Path
) -> None:
    moves: list[Any] = [Realized("+x"), error] if where == "realize" else [Realized("+x")]
    chains = {"propose": [error], "replan": [chain("a"), error]}.get(where, [chain("a")])
    script = Script(chains, moves, [error] if where == "validate" else [])
    played = play(script, CAPS, trace=tmp_path / "t.jsonl", raises=(RuntimeError, KeyboardInterrupt))
    events = list(read_trace(tmp_path / "t.jsonl"))
    finished = next(event for event in events if isinstance(event, FinishedEvent))
    assert finished.result["end_state"] == end
    assert end.partition(":")[0] in END_STATES
    [concluded] = [event for event in events if isinstance(event, ConcludedEvent)]
    limited = end.startswith("budget") or isinstance(error, KeyboardInterrupt)
    assert concluded.why == ("limit" if limited else "environment")
    assert not [event for event in events if isinstance(event, ValidatedEvent) and event.k]
    check(played, CAPS)


def test_a_validator_that_certifies_more_than_there_is_is_a_fault_of_its_own() -> None:
    class Boaster:
        async def validate(self, tail: Any, outcome: Any) -> Verdict:
            return Verdict(tuple(Check(True, "lm") for _ in range(len(tail) + 1)))

    with pytest.raises(ConfigError, match="certified 3 of 2"):
        play(Script([chain("a")], [Realized("+b")]), CAPS, validate=Boaster())


class Voiding:
    """Finds the tail void after every step."""

    def saw(self, outcome: Any, verdict: Any, tail: Any) -> str | None:
        assert tail, "an empty tail is never void"
        return "void"


def test_a_watch_may_have_the_tail_replanned_before_b_failures() -> None:
    moves = [Realized("+a"), Realized("+b"), Realized("win")]
    script = Script([chain("a", "b")], moves)
    played = play(script, Caps(3, 1, 99), watch=Voiding())
    assert [len(at.attempts) for at, _ in script.replanned] == [0, 0]
    assert played.result.success
    assert [t.text for t in script.realized[-1].state.certified] == ["a", "a", "b"]


A, B = Target("a", "x", by="go"), Target("b", "x", by="go on")
REACHED, BEYOND = Target("done", "goal", goal=True, by="finish"), Target("done", "goal", goal=True)


@pytest.mark.parametrize(
    ("tail", "k"), [((A, B, REACHED), 1), ((A, REACHED), 1), ((REACHED,), 1), ((A, B, BEYOND), 1), ((B, BEYOND), 2)]
)
def test_a_goal_with_an_action_of_its_own_waits_for_it(tail: tuple[Target, ...], k: int) -> None:
    verdict = asyncio.run(AlwaysPass().validate(tail, Outcome(None, "go", Observation(""), None)))
    assert verdict.k == k
    assert {check.how for check in verdict.checks} == {"always"}

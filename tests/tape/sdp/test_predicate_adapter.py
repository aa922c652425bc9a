"""Targets that require nothing, attempts that follow an unreadable one, and truths that nobody can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from envs.alfworld.sdp import truth
from envs.sokoban.domain import SokobanDomain
from envs.sokoban.level_sets import load_set
from envs.sokoban.simulator import step
from tape.protocols import Acted, Action, Observation, State
from tape.protocols.predicates import Predicate
from tape.sdp.operators import Outcome, check_required
from tape.sdp.predicate_adapter import PredicateValidate
from tape.sdp.state import Attempt, CertifiedState, MarkovState
from tape.sdp.target import Target
from tape.sdp.writing import WritingRealize
from tape.seeds import derive

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


def test_no_requirement_is_no_evidence() -> None:
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

    realize = WritingRealize(DOMAIN, Mute(), lambda *parts: derive(0, *parts), invents=True)
    state = CertifiedState((), (), LEVEL.start)

    def attempt(failed: int) -> list[int]:
        seeds.clear()
        at = MarkovState(state, (OPEN, GOAL), (Attempt(OPEN, None, "unreadable"),) * failed)
        assert asyncio.run(realize.realize(at)).counts_if_none
        return list(seeds)

    first = attempt(0)
    assert first == attempt(0)
    assert not set(first) & set(attempt(1))


def test_truth_that_cannot_be_told_is_unknown_and_no_fault() -> None:
    odd = Target("lit(desklamp)", "lit", ((Predicate("lit", ("desklamp",)), True),))
    assert truth(odd, frozenset(), won=False) is None

"""Predictions in the agent: what is logged, and where plans come from."""

from __future__ import annotations

from tape.methods.aec.events import JudgedEvent
from tape.protocols.predicates import Predicate
from tests.tape.methods.aec.toy import BoxDomain, BoxModel, BoxWorld, gem_in, play

OPEN = (False, False)


def test_revealed_values_are_judged_once() -> None:
    _, trace = play(BoxWorld(0, OPEN), BoxModel(1, OPEN, 0.2))
    judged = [event for event in trace if isinstance(event, JudgedEvent)]
    about = {Predicate(event.predicate, tuple(event.args)): event for event in judged}
    assert len(about) == len(judged) > 0
    gem = about[gem_in(0)]
    assert gem.value
    assert 0.0 < gem.mu < 1.0
    assert f"revealed: gem_in(0) is true, predicted {gem.mu:.2f}" in gem.description()


def test_plans_may_come_from_the_search_instead_of_the_model() -> None:
    class Listed(BoxDomain):
        def admissible(self, state: object) -> list[str]:
            return [f"{verb} {i}" for verb in ("unlock", "open", "take", "rattle") for i in range(2)]

    model = BoxModel(0, OPEN)
    result, _ = play(BoxWorld(0, OPEN, Listed(2)), model, proposer="two_frontier", aec={"gate": "query_all"})
    assert "plan" not in result.lm_calls
    assert result.success

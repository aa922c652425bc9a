"""Active epistemic control, played in a small world of boxes."""

from collections.abc import Sequence
from typing import Any

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.engine.replan import most_replans
from tape.engine.settings import TapeConfig
from tape.lm.base import Request
from tape.methods.aec.events import (
    CommittedEvent,
    JudgedEvent,
    PredictedEvent,
    QueriedEvent,
    RefusedEvent,
    VerifiedEvent,
)
from tape.protocols import Action, State
from tape.protocols.predicates import Assignment, Predicate, QueryMacro
from tape.trace import PlansSampledEvent
from tests.tape.methods.aec.toy import (
    HOLDING,
    OPEN,
    BoxDomain,
    BoxModel,
    BoxWorld,
    begun,
    gem_in,
    of_type,
    open_,
    parsed,
    play,
)


class Asking(BoxDomain):
    """Has the same query for every predicate; without actions, none."""

    asked: tuple[Action, ...] = ()

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        return QueryMacro(predicate, self.asked) if self.asked else None


class Rattling(Asking):
    asked = ("rattle 2",)


class Far(Asking):
    asked = ("rattle 1", "open 0")

    def cost(self, state: State, action: Action) -> Resources:
        return Resources({"steps": 1})


def test_an_unknown_is_queried_and_the_path_continues_after_what_the_query_has_done() -> None:
    result, events = play(BoxWorld(0, OPEN), BoxModel(0, OPEN, plans=["open 0; take 0"]), aec={"ensemble": 1})
    assert (result.end_state, result.steps, result.replans) == ("success", 3, 0)
    assert result.actions == ["rattle 0", "open 0", "take 0"]
    counters = ("queries", "commitments", "infeasible_commitments")
    assert [result.method[name] for name in counters] == [2, 1, 0]
    assert len(of_type(events, PlansSampledEvent)) == 1  # nothing was sampled again
    [committed] = of_type(events, CommittedEvent)
    assert committed.actions == ["take 0"]
    assert committed.evidence["gem_in(0)"] == "true, query at step 2: gem_in(0) by open 0"
    assert set(committed.grounded_later) == {"locked(0)", "gem_in(0)"}


def test_a_hypothesis_that_a_query_contradicts_is_refused_and_the_next_one_goes_on() -> None:
    model = BoxModel(1, OPEN, plans=["open 0; take 0", "unlock 1; open 1; take 1"])
    result, events = play(BoxWorld(1, OPEN), model, num_plans=2, aec={"gate": "query_all"})
    assert (result.end_state, result.replans, result.method["refusals"]) == ("success", 0, 1)
    refused = next(e for e in of_type(events, VerifiedEvent) if not e.accepted)
    assert refused.witnesses == ["at step 1: gem_in(0) must be true; by the facts it is false"]


def test_sure_predictions_save_queries_of_what_is_predicted_otherwise() -> None:
    """The model plans for box 0 first, but predicts rightly that the gem is in box 2."""
    model = BoxModel(2, OPEN, plans=["unlock 0; open 0; take 0", "unlock 2; open 2; take 2"])
    result, events = play(BoxWorld(2, OPEN), model, num_plans=2)
    assert result.end_state == "success"
    assert [e.predicate for e in of_type(events, QueriedEvent)] == ["gem_in(2)"]
    simulated = [(e.predicate, e.simulated) for e in of_type(events, PredictedEvent) if e.simulated is not None]
    assert simulated[:2] == [("gem_in(0)", False), ("gem_in(2)", True)]
    assert result.method["simulations"] == 2
    again = BoxModel(2, OPEN, plans=list(model.plans or ()))
    without, _ = play(BoxWorld(2, OPEN), again, num_plans=2, aec={"gate": "query_all"})
    assert without.method["queries"] > result.method["queries"]
    assert without.lm_calls.get("predict", 0) == without.method["simulations"] == 0


@pytest.mark.parametrize("believed", [0, 1])
def test_a_belief_is_queried_before_a_commitment_and_never_ends_a_round(believed: int) -> None:
    """A simulated precondition is no longer unresolved, but coverage needs a fact, also against a sure belief."""
    result, events = play(BoxWorld(0, OPEN), BoxModel(believed, OPEN, plans=["unlock 0; open 0; take 0"]))
    assert of_type(events, PredictedEvent)[0].simulated is (believed == 0)
    assert [(e.predicate, e.value) for e in of_type(events, QueriedEvent)] == [("gem_in(0)", True)]
    assert (result.end_state, result.replans, result.method["commitments"]) == ("success", 0, 1)


def test_a_query_that_shows_nothing_is_not_asked_again_in_the_same_state() -> None:
    world = BoxWorld(0, OPEN, Rattling(3))
    result, events = play(world, BoxModel(0, OPEN, plans=["unlock 0; open 0; take 0"]), aec={"gate": "query_all"})
    asked = of_type(events, QueriedEvent)
    # The first rattle is heard, so the box is asked about once more from there.
    assert [(e.predicate, e.value) for e in asked] == [("gem_in(0)", None)] * 2
    assert (result.end_state, result.detail) == ("not_certified", "no query for gem_in(0) is known and affordable")
    assert len(of_type(events, RefusedEvent)) == TapeConfig().ablations.resample + 1


@pytest.mark.parametrize("settings", [{"aec": {"query_budget": 0}}, {"steps": 1}, {"horizon": 1}])
def test_where_no_query_fits_nothing_is_committed_to(settings: dict[str, Any]) -> None:
    world = BoxWorld(0, OPEN, Far(3))
    steps = settings.pop("steps", 30)
    plan = "open 0" if steps == 1 or "horizon" in settings else "unlock 0; open 0; take 0"
    result, events = play(world, BoxModel(0, OPEN, plans=[plan]), steps=steps, **settings)
    assert result.end_state == "not_certified"
    assert (result.steps, result.method["queries"], result.method["commitments"]) == (0, 0, 0)
    assert all(e.witnesses or e.reason for e in of_type(events, VerifiedEvent))


def test_an_action_that_fails_unexpectedly_ends_the_path_and_is_counted() -> None:
    world = BoxWorld(0, (True, True), tricks=("unlock 0",), shown=True)
    model = BoxModel(0, (True, True), plans=["unlock 0; open 0; take 0", "unlock 1; open 1; take 1"])
    result, _ = play(world, model, num_plans=1, max_replans=1, aec={"commit": "belief", "gate": "simulate_all"})
    assert result.method["counterexamples"] == {"effect unlock 0": 1}
    assert result.actions[:2] == ["unlock 0", "unlock 1"]
    assert result.method["infeasible_commitments"] == 2  # the gem is not in box 1

    # Nothing changed, and nothing that was seen shows that the lid is locked.
    result, _ = play(BoxWorld(0, (True,), tricks=("unlock 0",)), BoxModel(0, (True,), careful=1.0), max_replans=0)
    assert (result.actions, result.end_state) == (["unlock 0"], "replan_limit")
    assert result.method["infeasible_commitments"] == 1
    assert not result.method["counterexamples"]  # nothing that was seen says that the lid is locked


def test_a_path_goes_on_while_it_stays_certified_whatever_state_was_predicted() -> None:
    """The model's picture of the next state is wrong, but nothing that was declared is."""

    class Vague(BoxModel):
        def _after(self, seen: Any, action: str) -> str:
            text = super()._after(seen, action)
            return text.replace("[false]", "[null]", 1) if action.startswith("open") else text

    def episode(commit: str) -> tuple[bool, int, bool]:
        result, _ = play(BoxWorld(0, (True,)), Vague(0, (True,), careful=1.0), aec={"commit": commit})
        return result.success, result.replans, result.mismatches > 0

    assert episode("grounded") == (True, 0, True)
    assert episode("belief") == (True, 1, True)


def test_with_replanning_after_every_step_every_step_is_certified() -> None:
    result, events = play(
        BoxWorld(0, (True,)), BoxModel(0, (True,), careful=1.0), ablations={"replan_every_step": True}, horizon=20
    )
    assert result.success
    assert result.method["commitments"] == result.steps == 3
    assert all(event.certified for event in of_type(events, CommittedEvent))


def test_refusals_count_as_replanning_rounds_up_to_their_limit() -> None:
    def ended(**settings: Any) -> tuple[str, int, bool]:
        result, _ = play(BoxWorld(0, OPEN, Asking(3)), BoxModel(0, OPEN), **settings)
        return result.end_state, result.replans, result.method["refusals"] > 0

    assert (
        ended(ablations={"replan": False})
        == ended(ablations={"resample": 9}, max_replans=0)
        == ("not_certified", 0, True)
    )
    assert ended(ablations={"resample": 9}, max_replans=2) == ("not_certified", 2, True)
    assert play(BoxWorld(0, OPEN), BoxModel(0, OPEN), ablations={"replan": False})[0].success


def test_by_default_replanning_lasts_as_long_as_the_steps_do() -> None:
    episode = begun(BoxWorld(0, OPEN), BoxModel(0, OPEN), steps=30)

    def most(**settings: Any) -> int:
        episode.config = TapeConfig.make(**settings)
        return most_replans(episode)

    assert (most(), most(horizon=12), most(horizon=5), most(max_replans=3)) == (30, 12, 10, 3)
    episode.ledger = Ledger(Budget({"tokens": 99}))
    assert most() == 10


def test_revealed_values_are_judged_once() -> None:
    _, events = play(BoxWorld(0, OPEN), BoxModel(1, OPEN, 0.2))
    judged = of_type(events, JudgedEvent)
    about = {Predicate(event.predicate, tuple(event.args)): event for event in judged}
    assert len(about) == len(judged) > 0
    gem = about[gem_in(0)]
    assert gem.value
    assert 0.0 < gem.mu < 1.0
    assert f"revealed: gem_in(0) is true, predicted {gem.mu:.2f}" in gem.description()


def test_a_prefix_is_committed_to_where_the_rest_is_not_certain_yet() -> None:
    class Both(BoxDomain):
        def goals(self) -> Sequence[Assignment]:
            return [{open_(1): True, HOLDING: True}]

    model = BoxModel(0, OPEN, plans=["unlock 1; open 1; unlock 0; open 0; take 0", "unlock 0; open 0; take 0"])
    result, events = play(BoxWorld(0, OPEN, Both(3)), model, num_plans=2, aec={"gate": "query_all"})
    first = of_type(events, CommittedEvent)[0]
    assert (first.actions, first.certified, first.grounded_later) == (["unlock 1", "open 1"], True, [])
    assert set(first.evidence) == {"open(1)"}
    assert result.actions[:2] == first.actions
    assert (result.success, result.partial_walk, result.method["infeasible_commitments"]) == (True, True, 0)


def test_where_every_plan_is_refuted_the_likeliest_alternative_is_asked_before_plans_are_sampled_again() -> None:
    class Elsewhere(BoxDomain):
        def alternatives(self, state: Any, predicate: Predicate) -> list[Predicate]:
            matches = predicate.name != "gem_in" or any(state.gem)
            return [] if matches else [gem_in(i) for i in range(3) if state.gem[i] is None]

    def asked(domain: BoxDomain) -> list[str]:
        model = BoxModel(2, (False,) * 4, plans=["unlock 0; open 0; take 0"])
        _, events = play(BoxWorld(2, (False,) * 4, domain), model, max_replans=0)
        assert len(of_type(events, PlansSampledEvent)) == 1
        return [event.predicate for event in of_type(events, QueriedEvent)]

    assert asked(BoxDomain(4)) == ["gem_in(0)"]
    assert asked(Elsewhere(4)) == ["gem_in(0)", "gem_in(2)"]


def test_the_prompt_of_a_prediction_shows_observed_facts_only() -> None:
    model = BoxModel(2, OPEN, skill=0.5)
    _, events = play(BoxWorld(0, OPEN), model)
    keys = {e.key for e in events if e.type == "observed"}  # type: ignore[attr-defined]
    asked: list[Request] = [request for request in model.requests if request.role == "predict"]
    assert asked
    assert all(BoxDomain(3).key(parsed(str(request.prompt).split("|")[1])) in keys for request in asked)

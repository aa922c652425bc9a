"""Active epistemic control, played in a small world of boxes."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.aec.events import (
    CommittedEvent,
    PredictedEvent,
    QueriedEvent,
    RefusedEvent,
    RuleDisabledEvent,
    VerifiedEvent,
)
from tape.budget import Budget, Resources
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Request
from tape.protocols import Action, State
from tape.protocols.predicates import Assignment, Effects, Predicate, QueryMacro
from tape.show.replay import describe
from tape.trace import ActedEvent, Event, LedgerEvent, PlansSampledEvent
from tests.profiles import examples
from tests.tape.aec.toy import (
    HOLDING,
    BoxDomain,
    BoxFormat,
    BoxModel,
    BoxWorld,
    gem_in,
    locked,
    open_,
    play,
)

OPEN = (False, False, False)


def of_type(events: Sequence[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_an_unknown_is_queried_and_the_walk_goes_on_past_what_the_query_has_done() -> None:
    result, events = play(BoxWorld(0, OPEN), BoxModel(0, OPEN, plans=["open 0; take 0"]), aec={"ensemble": 1})
    assert (result.end_state, result.steps, result.replans) == ("success", 3, 0)
    assert result.actions == ["rattle 0", "open 0", "take 0"]
    assert (result.queries, result.commitments, result.infeasible_commitments) == (2, 1, 0)
    assert len(of_type(events, PlansSampledEvent)) == 1  # nothing was sampled again
    [committed] = of_type(events, CommittedEvent)
    assert committed.actions == ["take 0"]
    assert committed.evidence["gem_in(0)"] == "true, query at step 2: gem_in(0) by open 0"
    assert set(committed.grounded_later) == {"locked(0)", "gem_in(0)"}


def test_a_hypothesis_that_a_query_contradicts_is_refused_and_the_next_one_goes_on() -> None:
    model = BoxModel(1, OPEN, plans=["open 0; take 0", "unlock 1; open 1; take 1"])
    result, events = play(BoxWorld(1, OPEN), model, num_plans=2, aec={"gate": "query_all"})
    assert (result.end_state, result.replans, result.refusals) == ("success", 0, 1)
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
    assert result.simulations == 2
    without, _ = play(
        BoxWorld(2, OPEN), BoxModel(2, OPEN, plans=list(model.plans or ())), num_plans=2, aec={"gate": "query_all"}
    )
    assert without.queries > result.queries
    assert without.lm_calls.get("predict", 0) == without.simulations == 0


def test_what_is_believed_is_queried_before_it_is_committed_to() -> None:
    """The trap: a simulated precondition is no longer unresolved, but coverage needs a fact."""
    result, events = play(BoxWorld(0, OPEN), BoxModel(0, OPEN, plans=["unlock 0; open 0; take 0"]))
    assert of_type(events, PredictedEvent)[0].simulated is True
    assert [e.predicate for e in of_type(events, QueriedEvent)] == ["gem_in(0)"]
    assert (result.end_state, result.commitments) == ("success", 1)


def test_belief_alone_never_ends_a_round() -> None:
    """The model is sure of box 1, yet plans for box 0, where the gem is."""
    result, events = play(BoxWorld(0, OPEN), BoxModel(1, OPEN, plans=["unlock 0; open 0; take 0"]))
    assert (result.end_state, result.replans) == ("success", 0)
    [queried] = of_type(events, QueriedEvent)
    assert (queried.predicate, queried.value) == ("gem_in(0)", True)


def test_a_belief_committed_without_a_verifier_fails_where_it_is_wrong() -> None:
    model = BoxModel(1, OPEN, plans=["unlock 1; open 1; take 1", "unlock 0; open 0; take 0"])
    result, events = play(BoxWorld(0, OPEN), model, num_plans=1, aec={"commit": "belief", "gate": "simulate_all"})
    assert result.end_state == "success"
    assert result.queries == 0
    assert result.infeasible_commitments >= 1
    assert not any(e.certified for e in of_type(events, CommittedEvent))
    assert not of_type(events, VerifiedEvent)


def test_a_query_that_shows_nothing_is_not_asked_again_in_the_same_state() -> None:
    class Mute(BoxDomain):
        def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
            return QueryMacro(predicate, ("rattle 2",))

    world = BoxWorld(0, OPEN, Mute(3))
    result, events = play(world, BoxModel(0, OPEN, plans=["unlock 0; open 0; take 0"]), aec={"gate": "query_all"})
    asked = of_type(events, QueriedEvent)
    # The first rattle is heard, so the box is asked about once more from there.
    assert [(e.predicate, e.value) for e in asked] == [("gem_in(0)", None)] * 2
    assert result.end_state == "not_certified"
    assert result.detail == "no query for gem_in(0) is known and affordable"
    assert len(of_type(events, RefusedEvent)) == TapeConfig().resample + 1


def test_the_domain_may_know_another_query_from_where_the_first_has_led() -> None:
    locks = (True, False, False)
    result, events = play(BoxWorld(0, locks), BoxModel(0, locks, plans=["unlock 0; open 0; take 0"]))
    assert [e.actions for e in of_type(events, QueriedEvent)] == [["open 0"], ["unlock 0", "open 0"]]
    assert result.end_state == "success"


@pytest.mark.parametrize("settings", [{"aec": {"query_budget": 0}}, {"steps": 1}, {"horizon": 1}])
def test_where_no_query_fits_nothing_is_committed_to(settings: dict[str, Any]) -> None:
    class Far(BoxDomain):
        def query(self, state: Any, predicate: Predicate) -> QueryMacro | None:
            return QueryMacro(predicate, ("rattle 1", "open 0"))

        def cost(self, state: State, action: Action) -> Resources:
            return Resources({"steps": 1})

    world = BoxWorld(0, OPEN, Far(3))
    steps = settings.pop("steps", 30)
    plan = "open 0" if steps == 1 or "horizon" in settings else "unlock 0; open 0; take 0"
    result, events = play(world, BoxModel(0, OPEN, plans=[plan]), steps=steps, **settings)
    assert result.end_state == "not_certified"
    assert (result.steps, result.queries, result.commitments) == (0, 0, 0)
    assert all(e.witnesses or e.reason for e in of_type(events, VerifiedEvent))


def test_an_action_that_fails_unexpectedly_ends_the_walk_and_is_counted() -> None:
    world = BoxWorld(0, (True, True), tricks=("unlock 0",), shown=True)
    model = BoxModel(0, (True, True), plans=["unlock 0; open 0; take 0", "unlock 1; open 1; take 1"])
    result, _ = play(world, model, num_plans=1, max_replans=1, aec={"commit": "belief", "gate": "simulate_all"})
    assert result.counterexamples == {"effect unlock 0": 1}
    assert result.actions[:2] == ["unlock 0", "unlock 1"]
    assert result.infeasible_commitments == 2  # the gem is not in box 1


def test_an_action_after_which_nothing_has_changed_has_failed() -> None:
    result, _ = play(BoxWorld(0, (True,), tricks=("unlock 0",)), BoxModel(0, (True,), careful=1.0), max_replans=0)
    assert (result.actions, result.end_state) == (["unlock 0"], "replan_limit")
    assert result.infeasible_commitments == 1
    assert not result.counterexamples  # nothing that was seen says that the lid is locked


class Wrong:
    """Says that no lid is locked."""

    name = "never locked"

    def __call__(self, known: Assignment) -> Assignment:
        return {locked(i): False for i in range(3)}


def test_a_rule_that_keeps_failing_is_disabled_and_reported() -> None:
    locks = (True, True, False)
    domain = BoxDomain(3, extra_rules=(Wrong(),))
    model = BoxModel(2, locks, plans=["open 0; take 0", "open 1; take 1", "open 2; take 2"])
    result, events = play(BoxWorld(2, locks, domain), model, num_plans=3, aec={"gate": "query_all"})
    assert result.disabled_rules == ["never locked"]
    [disabled] = of_type(events, RuleDisabledEvent)
    assert len(disabled.counterexamples) == 2
    assert result.counterexamples["rule never locked"] == 2
    assert result.success
    at = events.index(disabled)
    later = [e for e in events[at:] if isinstance(e, CommittedEvent)]
    assert not any("never locked" in text for e in later for text in e.evidence.values())


def test_a_walk_goes_on_while_it_stays_certified_whatever_state_was_predicted() -> None:
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


class Admitting(BoxDomain):
    """Says what is admissible; taking where nothing is to be taken is not."""

    def admissible(self, state: Any) -> Sequence[Action] | None:
        verbs = [f"{verb} {i}" for verb in ("open", "unlock", "rattle") for i in range(3)]
        return verbs + [f"take {i}" for i in range(3) if state.gem[i]]


def test_what_the_environment_does_not_admit_ends_the_walk_not_the_episode() -> None:
    model = BoxModel(1, OPEN, plans=["unlock 1; open 1; take 1", "unlock 0; open 0; take 0"])
    world = BoxWorld(0, OPEN, Admitting(3))
    result, _ = play(world, model, num_plans=1, aec={"commit": "belief", "gate": "simulate_all"})
    assert result.success
    assert result.infeasible_commitments == 1


def test_the_replay_tells_what_was_asked_refused_and_committed_to() -> None:
    locks = (True, True, False)
    domain = BoxDomain(3, extra_rules=(Wrong(),))
    model = BoxModel(2, locks, plans=["open 0; take 0", "open 1; take 1"])
    _, events = play(BoxWorld(2, locks, domain), model, num_plans=2, max_replans=1)
    text = "\n".join(describe(events))
    for part in ("QUERIED", "REFUSED", "predicts", "nothing can be committed to", "RULE DISABLED: never locked"):
        assert part in text
    _, events = play(BoxWorld(0, OPEN), BoxModel(0, OPEN))
    text = "\n".join(describe(events))
    assert "accepted: take" in text
    assert "COMMITS to take" in text
    assert "gem_in(0): true, query at step" in text


# --- refused at the start -----------------------------------------------------------------


def test_where_something_is_to_be_predicted_the_format_must_be_able_to_ask() -> None:
    class Plain:
        """A prompt format with the methods that every prompt format has, and no others."""

        def __init__(self, prompt_format: BoxFormat) -> None:
            for name in dir(BoxFormat):
                if not name.startswith("_") and "predict" not in name:
                    setattr(self, name, getattr(prompt_format, name))

    class Unasked(BoxWorld):
        def prompt_format(self, name: str) -> Any:
            return Plain(BoxFormat(self.domain))

    with pytest.raises(ConfigError, match=r"there are unknown predicates to predict, but Plain has no predict_request"):
        play(Unasked(0, OPEN), BoxModel(0, OPEN))
    result, _ = play(Unasked(0, OPEN), BoxModel(0, OPEN), aec={"gate": "query_all"})
    assert result.success


def test_a_domain_without_predicates_is_refused_by_name() -> None:
    class Silent:
        deterministic = True

    for name in ("key", "render", "project", "admissible", "cost"):
        setattr(Silent, name, getattr(BoxDomain, name))
    silent: Any = Silent()
    silent.boxes = 3
    with pytest.raises(
        ConfigError, match=r"verification \(aec\) needs an environment that declares predicates, and Silent"
    ):
        play(BoxWorld(0, OPEN, silent), BoxModel(0, OPEN))
    result, _ = play(BoxWorld(0, OPEN, silent), BoxModel(0, OPEN), aec=False)
    assert result.success


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"selector": "lm"}, "selector='solver'"),
        ({"execution": "free"}, "execution='constrained' or 'forced'"),
        ({"aec": {"margin": 0.6}}, "setting aec.margin = 0.6"),
        ({"aec": {"hypotheses": 0}}, "setting aec.hypotheses = 0"),
        ({"aec": {"gate": "guess"}}, "setting aec.gate = 'guess'"),
        ({"aec": {"gates": "joint"}}, "there is no setting 'aec.gates'; did you mean 'gate'?"),
        ({"gate": "joint"}, "gate is a setting of aec: give aec={'gate': ...}"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TapeConfig.make(**{"aec": True, **settings})


# --- properties ---------------------------------------------------------------------------

worlds = st.integers(2, 5).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.tuples(*[st.booleans()] * n)))
VERIFICATION = st.fixed_dictionaries(
    {
        "gate": st.sampled_from(["thresholds", "query_all", "simulate_all", "joint"]),
        "hypotheses": st.integers(1, 6),
        "margin": st.sampled_from([0.0, 0.2, 0.4, 0.5]),
        "uncertainty": st.sampled_from([0.0, 0.1, 0.2, 1.0]),
        "query_budget": st.sampled_from([None, None, 0, 1, 3]),
        "ensemble": st.integers(1, 8),
    }
)
ROUNDS = st.fixed_dictionaries(
    {
        "num_plans": st.integers(1, 6),
        "max_replans": st.integers(0, 6),
    }
)


@given(worlds, st.integers(0, 99), st.floats(0, 1), st.integers(1, 25), VERIFICATION, ROUNDS)
@examples(80)
def test_commitments_are_covered_and_execute_and_no_budget_is_exceeded(
    world: tuple[int, tuple[bool, ...]],
    seed: int,
    skill: float,
    steps: int,
    verification: dict[str, Any],
    rounds: dict[str, int],
) -> None:
    gem, locks = world
    model = BoxModel(gem, locks, skill)
    result, events = play(BoxWorld(gem, locks), model, steps=steps, seed=seed, aec=verification, **rounds)
    assert result.infeasible_commitments == 0
    assert result.used.get("steps", 0) <= steps
    assert not result.budget_violations
    if verification["query_budget"] is not None:
        assert result.queries <= verification["query_budget"]
    domain = BoxDomain(len(locks))
    refused = [e for e in of_type(events, VerifiedEvent) if not e.accepted]
    assert len(refused) == result.refusals
    assert all(e.witnesses for e in refused)
    committed = of_type(events, CommittedEvent)
    assert len(committed) == result.commitments
    for event in committed:
        own: set[Predicate] = set()
        for action in event.actions:
            for predicate in domain.preconditions(action):
                assert predicate in own or str(predicate) in event.evidence
            own |= set(domain.effects(action, {}))
    if committed:
        # A certified path ends at the goal, so nothing comes after the first one.
        assert len(committed) == 1
        done = [e.action for e in events[events.index(committed[0]) :] if isinstance(e, ActedEvent)]
        assert done == committed[0].actions
        assert result.end_state == "success"
    assert len([e for e in events if isinstance(e, ActedEvent)]) == result.steps


@given(worlds, st.integers(0, 99), st.floats(0, 1), st.integers(0, 6))
@examples(40)
def test_no_sequence_of_simulations_changes_a_verdict(
    world: tuple[int, tuple[bool, ...]], seed: int, skill: float, count: int
) -> None:
    """The verifier is asked before and after any number of beliefs, of whatever values, in a real episode's state."""
    from tape.aec.state import EpistemicState
    from tests.tape.aec.episodes import begun

    gem, locks = world
    rng = random.Random(f"{seed}")
    episode = begun(BoxWorld(gem, locks), BoxModel(gem, locks, skill))
    state = EpistemicState(episode, BoxDomain(len(locks)))
    plans = [[f"unlock {i}", f"open {i}", f"take {i}"] for i in range(len(locks))] + [["open 0", "take 0"], []]
    before = [state.verify(plan) for plan in plans]
    facts = dict(state.grounded)
    predicates = [kind(i) for kind in (gem_in, locked, open_) for i in range(len(locks))] + [HOLDING]
    for _ in range(count):
        predicate = rng.choice(predicates)
        state.beliefs.predicted(predicate, rng.random(), rng.random())
        state.beliefs.simulate(predicate)
        after = [state.verify(plan) for plan in plans]
        assert [(v.accepted, v.witnesses, v.evidence) for v in after] == [
            (v.accepted, v.witnesses, v.evidence) for v in before
        ]
    assert dict(state.grounded) == facts


def many(episodes: int) -> tuple[Counter[str], Counter[str]]:
    """Commitments, and how many of them the environment showed to be infeasible, with a verifier and without."""
    commitments: Counter[str] = Counter()
    infeasible: Counter[str] = Counter()
    for seed in range(episodes):
        rng = random.Random(f"commitments/{seed}")
        boxes = rng.randint(2, 5)
        gem, locks = rng.randrange(boxes), tuple(rng.random() < 0.4 for _ in range(boxes))
        model = BoxModel(rng.randrange(boxes), locks, skill=0.7)
        for commit, gate in {"grounded": "thresholds", "belief": "simulate_all"}.items():
            settings = {"commit": commit, "gate": gate}
            result, _ = play(BoxWorld(gem, locks), model, steps=40, seed=seed, aec=settings)
            commitments[commit] += result.commitments
            infeasible[commit] += result.infeasible_commitments
    return commitments, infeasible


@pytest.mark.slow
def test_certified_commitments_execute_and_belief_commitments_often_do_not() -> None:
    commitments, infeasible = many(150)
    assert commitments["grounded"] > 120
    assert infeasible["grounded"] == 0
    assert infeasible["belief"] > 20


@pytest.mark.soak
def test_all_of_many_certified_commitments_execute() -> None:
    commitments, infeasible = many(2500)
    assert commitments["grounded"] > 2000
    assert infeasible["grounded"] == 0


@given(worlds, st.integers(0, 99), st.integers(0, 4000), st.integers(0, 20))
@examples(40)
def test_caps_on_tokens_hold_for_queries_and_predictions_too(
    world: tuple[int, tuple[bool, ...]], seed: int, tokens: int, reserve: int
) -> None:
    gem, locks = world
    result, events = play(
        BoxWorld(gem, locks),
        BoxModel(gem, locks, skill=0.5),
        budget=Budget({"steps": 20, "tokens": tokens}),
        seed=seed,
        execution="constrained",
        planning_reserve={"tokens": reserve},
    )
    assert not result.budget_violations
    assert not result.broken_declarations
    assert (result.used.get("tokens") or 0) <= tokens
    assert result.end_state in ("success", "budget:tokens", "infeasible", "not_certified", "replan_limit")
    assert result.infeasible_commitments == 0
    assert len(of_type(events, ActedEvent)) == result.steps


def test_with_replanning_after_every_step_every_step_is_certified() -> None:
    result, events = play(BoxWorld(0, (True,)), BoxModel(0, (True,), careful=1.0), replan_every_step=True, horizon=20)
    assert result.success
    assert result.commitments == result.steps == 3
    assert all(event.certified for event in of_type(events, CommittedEvent))


def test_without_replanning_a_refusal_is_the_end() -> None:
    class Mute(BoxDomain):
        def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
            return None

    result, _ = play(BoxWorld(0, OPEN, Mute(3)), BoxModel(0, OPEN), replan=False)
    assert (result.end_state, result.replans, result.refusals > 0) == ("not_certified", 0, True)
    result, _ = play(BoxWorld(0, OPEN), BoxModel(0, OPEN), replan=False)
    assert result.success


def test_refusals_count_as_replanning_rounds_up_to_their_limit() -> None:
    class Mute(BoxDomain):
        def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
            return None

    ends = [play(BoxWorld(0, OPEN, Mute(3)), BoxModel(0, OPEN), resample=9, max_replans=most)[0] for most in (0, 2)]
    assert [(end.end_state, end.replans) for end in ends] == [("not_certified", 0), ("not_certified", 2)]


def test_episodes_are_the_same_again() -> None:
    first, second = (play(BoxWorld(2, OPEN), BoxModel(2, OPEN, skill=0.4), seed=5) for _ in range(2))
    assert first[0].actions == second[0].actions
    assert [e.type for e in first[1]] == [e.type for e in second[1]]


def test_a_query_is_paid_from_the_ledger_like_any_step() -> None:
    _, events = play(BoxWorld(0, OPEN), BoxModel(0, OPEN))
    acted = of_type(events, ActedEvent)
    settled = [e for e in of_type(events, LedgerEvent) if e.what == "settle" and e.purpose.startswith("step:")]
    assert [e.purpose.removeprefix("step:") for e in settled] == [e.action for e in acted]
    assert of_type(events, QueriedEvent)


def test_an_answer_that_cannot_be_read_is_no_vote() -> None:
    class Mumbling(BoxModel):
        def _predict(self, seen: Any, what: str, rng: random.Random) -> str:
            return "hm" if rng.random() < 0.5 else super()._predict(seen, what, rng)

    result, _ = play(BoxWorld(0, OPEN), Mumbling(0, OPEN))
    assert result.success
    assert result.malformed > 0
    with pytest.raises(InvalidOutputError):
        BoxFormat(BoxDomain(1)).read_predict(None, [], "hm")


def test_constrained_execution_takes_the_same_actions_as_forced() -> None:
    forced, constrained = (
        play(BoxWorld(1, OPEN), BoxModel(1, OPEN, skill=0.5), seed=3, execution=execution)[0]
        for execution in ("forced", "constrained")
    )
    assert forced.actions == constrained.actions
    assert constrained.lm_calls["act"] == constrained.steps
    assert "act" not in forced.lm_calls


def test_the_prompt_of_a_prediction_shows_observed_facts_only() -> None:
    model = BoxModel(2, OPEN, skill=0.5)
    _, events = play(BoxWorld(0, OPEN), model)
    keys = {e.key for e in events if e.type == "observed"}  # type: ignore[attr-defined]
    asked: list[Request] = [request for request in model.requests if request.role == "predict"]
    assert asked
    from tests.tape.aec.toy import untold

    assert all(BoxDomain(3).key(untold(str(request.prompt).split("|")[1])) in keys for request in asked)


class Contrary(BoxDomain):
    """Declares that opening does what it does not."""

    def effects(self, action: Action, known: Assignment) -> Effects:
        return {**super().effects(action, known), **({HOLDING: True} if action.startswith("open") else {})}


def test_a_wrong_declaration_is_found_and_counted() -> None:
    result, _ = play(BoxWorld(0, OPEN, Contrary(3)), BoxModel(0, OPEN, plans=["unlock 0; open 0"]), max_replans=2)
    assert result.counterexamples["effect open 0"] == 1
    assert result.infeasible_commitments == 1
    assert not result.success


def test_where_everything_is_seen_nothing_is_asked_and_every_walk_is_certified() -> None:
    """Sokoban: its prompt format cannot predict, and need not."""
    from tests.tape.helpers import ROOM, SimulatedModel
    from tests.tape.helpers import play as play_sokoban

    plain, _ = play_sokoban(level=ROOM, model=SimulatedModel(ROOM))
    result, events = play_sokoban(level=ROOM, model=SimulatedModel(ROOM), aec=True)
    assert result.success
    assert (result.actions, result.queries, result.commitments) == (plain.actions, 0, 1)
    [committed] = of_type(events, CommittedEvent)
    assert committed.evidence == {"clear(R)": "true, observation at step 0: what was seen first"}


def test_a_walk_that_the_model_gets_wrong_is_refused_before_a_step_is_taken() -> None:
    """Sokoban: the model believes that it can push a box through a wall; the declared rules know better."""
    from tests.tape.helpers import CORRIDOR, SimulatedModel, state_of
    from tests.tape.helpers import play as play_sokoban

    start = state_of(CORRIDOR, "wall: player: (2,1) box: (2,3) goal: (2,5)")
    wrong = {(start, "U"): " (2,1) (2,5)"}
    model = SimulatedModel(CORRIDOR, wrong, plans=[" U"])
    trusting, _ = play_sokoban(model=model, num_plans=1, max_replans=0)
    model = SimulatedModel(CORRIDOR, wrong, plans=[" U"])
    result, events = play_sokoban(model=model, num_plans=1, max_replans=0, aec=True)
    assert trusting.actions == ["U"]
    assert (result.end_state, result.actions) == ("not_certified", [])
    refused = next(e for e in of_type(events, VerifiedEvent) if not e.accepted)
    assert "at step 1: clear(U) must be true; by the facts it is false" in refused.witnesses


def test_the_joint_choice_asks_for_what_is_likeliest_and_not_for_what_the_first_hypothesis_misses() -> None:
    plans = [f"unlock {i}; open {i}; take {i}" for i in range(4)]
    lids = (False,) * 4

    def queried(gate: str) -> list[str]:
        model = BoxModel(3, lids, plans=plans)
        result, events = play(BoxWorld(3, lids), model, aec={"gate": gate})
        assert result.success
        return [event.predicate for event in of_type(events, QueriedEvent)]

    assert queried("joint") == ["gem_in(3)"]
    assert queried("query_all")[0] == "gem_in(0)"


class Murky(BoxDomain):
    """Cannot declare what unlocking does to a lid."""

    def effects(self, action: Action, known: Assignment) -> Effects:
        found = dict(super().effects(action, known))
        return {p: None if p.name == "locked" else value for p, value in found.items()}

    def purpose(self, state: State) -> Assignment:
        return {}

    def credit(self, state: State) -> float:
        return 0.0


def test_what_an_open_domain_leaves_unknown_on_the_way_is_believed_where_nothing_is_verified() -> None:
    world = BoxWorld(0, (True, False), Murky(2))
    plans = ["unlock 0; open 0; take 0"]
    result, _ = play(world, BoxModel(0, (True, False), plans=plans), aec={"commit": "belief", "gate": "simulate_all"})
    assert (result.success, result.actions) == (True, ["unlock 0", "open 0", "take 0"])

"""Active epistemic control on domains that declare too little, too much or something wrong, and its settings."""

from collections.abc import Sequence
from typing import Any

import pytest

from tape.errors import ConfigError
from tape.methods.aec.events import CommittedEvent, QueriedEvent, RuleDisabledEvent, VerifiedEvent
from tape.protocols import Action, PromptFormat
from tape.protocols.predicates import Assignment, Effects
from tape.show.replay import describe
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, state_of
from tests.tape.helpers import play as play_sokoban
from tests.tape.methods.aec.toy import OPEN, BoxDomain, BoxFormat, BoxModel, BoxWorld, locked, of_type, play


def test_the_domain_may_know_another_query_from_where_the_first_has_led() -> None:
    locks = (True, False, False)
    result, events = play(BoxWorld(0, locks), BoxModel(0, locks, plans=["unlock 0; open 0; take 0"]))
    assert [e.actions for e in of_type(events, QueriedEvent)] == [["open 0"], ["unlock 0", "open 0"]]
    assert result.end_state == "success"


class Wrong:
    """Claims that no lid is locked."""

    name = "never locked"

    def __call__(self, known: Assignment) -> Assignment:
        return {locked(i): False for i in range(3)}


def test_a_rule_that_keeps_failing_is_disabled_and_reported() -> None:
    locks = (True, True, False)
    domain = BoxDomain(3, extra_rules=(Wrong(),))
    model = BoxModel(2, locks, plans=["open 0; take 0", "open 1; take 1", "open 2; take 2"])
    result, events = play(BoxWorld(2, locks, domain), model, num_plans=3, aec={"gate": "query_all"})
    assert result.method["disabled_rules"] == ["never locked"]
    [disabled] = of_type(events, RuleDisabledEvent)
    assert len(disabled.counterexamples) == 2
    text = "\n".join(describe(events))
    assert all(part in text for part in ("QUERIED", "REFUSED", "RULE DISABLED: never locked"))
    assert result.method["counterexamples"]["rule never locked"] == 2
    assert result.success
    at = events.index(disabled)
    later = [e for e in events[at:] if isinstance(e, CommittedEvent)]
    assert not any("never locked" in text for e in later for text in e.evidence.values())


class Admitting(BoxDomain):
    """Says what is admissible; taking where nothing is to be taken is not."""

    def admissible(self, state: Any) -> Sequence[Action] | None:
        verbs = [f"{verb} {i}" for verb in ("open", "unlock", "rattle") for i in range(3)]
        return verbs + [f"take {i}" for i in range(3) if state.gem[i]]


def test_what_the_environment_does_not_admit_ends_the_path_not_the_episode() -> None:
    model = BoxModel(1, OPEN, plans=["unlock 1; open 1; take 1", "unlock 0; open 0; take 0"])
    world = BoxWorld(0, OPEN, Admitting(3))
    result, _ = play(world, model, num_plans=1, aec={"commit": "belief", "gate": "simulate_all"})
    assert result.success
    assert result.method["infeasible_commitments"] == 1


def test_the_replay_describes_predictions_refusals_and_commitments() -> None:
    refused = play(BoxWorld(0, OPEN), BoxModel(1, OPEN, plans=["open 1; take 1"]), max_replans=1)[1]
    text = "\n".join([*describe(refused), *describe(play(BoxWorld(0, OPEN), BoxModel(0, OPEN))[1])])
    parts = ("predicts", "nothing can be committed to", "accepted: take", "COMMITS to take", "true, query at step")
    assert [part for part in parts if part not in text] == []


def test_where_everything_is_seen_nothing_is_asked_and_every_path_is_certified() -> None:
    """Sokoban: its prompt format cannot predict, and need not."""
    plain, _ = play_sokoban(level=ROOM, model=SimulatedModel(ROOM))
    result, events = play_sokoban(level=ROOM, model=SimulatedModel(ROOM), aec=True)
    assert result.success
    assert (result.actions, result.method["queries"], result.method["commitments"]) == (plain.actions, 0, 1)
    [committed] = of_type(events, CommittedEvent)
    assert committed.evidence == {"clear(R)": "true, observation at step 0: what was seen first"}


def test_a_path_that_the_model_predicts_wrongly_is_refused_before_a_step_is_taken() -> None:
    """Sokoban: the model believes that it can push a box through a wall; the declared rules know better."""
    start = state_of(CORRIDOR, "wall: player: (2,1) box: (2,3) goal: (2,5)")
    wrong = {(start, "U"): " (2,1) (2,5)"}
    (trusting, _), (result, events) = (
        play_sokoban(model=SimulatedModel(CORRIDOR, wrong, plans=[" U"]), num_plans=1, max_replans=0, **settings)
        for settings in ({}, {"aec": True})
    )
    assert trusting.actions == ["U"]
    assert (result.end_state, result.actions) == ("not_certified", [])
    refused = next(e for e in of_type(events, VerifiedEvent) if not e.accepted)
    assert "at step 1: clear(U) must be true; by the facts it is false" in refused.witnesses


class Murky(BoxDomain):
    """Cannot declare what unlocking does to a lid."""

    def effects(self, action: Action, known: Assignment) -> Effects:
        mapping = dict(super().effects(action, known))
        return {p: None if p.name == "locked" else value for p, value in mapping.items()}


def test_what_an_open_domain_leaves_unknown_on_the_way_is_believed_where_nothing_is_verified() -> None:
    world = BoxWorld(0, (True, False), Murky(2))
    plans = ["unlock 0; open 0; take 0"]
    result, _ = play(world, BoxModel(0, (True, False), plans=plans), aec={"commit": "belief", "gate": "simulate_all"})
    assert (result.success, result.actions) == (True, ["unlock 0", "open 0", "take 0"])


def test_where_something_is_to_be_predicted_the_format_must_be_able_to_ask() -> None:
    class Plain(BoxFormat):
        predict_request, read_predict = PromptFormat.predict_request, PromptFormat.read_predict

    class Unasked(BoxWorld):
        def prompt_format(self, name: str) -> BoxFormat:
            return Plain(self.domain)

    with pytest.raises(ConfigError, match=r"there are unknown predicates to predict, but Plain has no predict_request"):
        play(Unasked(0, OPEN), BoxModel(0, OPEN))
    result, _ = play(Unasked(0, OPEN), BoxModel(0, OPEN), aec={"gate": "query_all"})
    assert result.success

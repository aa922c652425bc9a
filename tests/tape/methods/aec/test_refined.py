"""Calibration and learned rules in the agent: what is read, what is predicted, what is logged, what keys depend on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.methods.aec.calibration import SCHEMA, IsotonicCalibration
from tape.methods.aec.events import CommittedEvent, JudgedEvent
from tape.methods.aec.overrides import Override, OverrideRule, Overrides, features_of
from tape.methods.aec.predictor import EnsemblePredictor
from tape.methods.aec.settings import AecSettings
from tape.methods.aec.state import EpistemicState
from tape.protocols.predicates import Predicate
from tests.tape.methods.aec.test_parts import spec_of
from tests.tape.methods.aec.toy import BoxDomain, BoxModel, BoxWorld, begun, gem_in, play

OPEN = (False, False)
NEVER = Override(OverrideRule("gem_in", (("argument 1", "0"),), False), 8, 8)
HALVING = IsotonicCalibration(((0.0, 0.2, 0.0), (0.8, 1.0, 0.5)), 10)


def test_rules_are_read_as_they_were_written() -> None:
    found = Overrides((NEVER,))
    assert Overrides.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["rules"] == [["gem_in", [["argument 1", "0"]], False, 8, 8]]
    features = [features_of(BoxDomain(2), predicate) for predicate in (gem_in(0), gem_in(1), Predicate("dark"))]
    assert features[1:] == [(("argument 1", "1"),), (("predicate", "dark"),)]
    assert [found.mu(gem_in(i), features[i], 0.9) for i in range(2)] == pytest.approx([0.1, 0.9])
    for text in ("{}", "[]", "nonsense", found.to_json().replace("8, 8", "8, 9")):
        with pytest.raises(ConfigError, match="not rules"):
            Overrides.from_json(text)


def test_a_file_counts_by_its_content(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(Overrides((NEVER,)).to_json())
    (tmp_path / "calibration").write_text(HALVING.to_json())
    one, two = (TapeConfig.make(aec={"learned_rules": str(tmp_path / name)}) for name in ("one", "two"))
    assert one == two == TapeConfig.make(aec={"learned_rules": Overrides((NEVER,)).to_json()})
    assert Overrides.from_json(AecSettings.of(one).learned_rules).items == (NEVER,)
    calibrated = TapeConfig.make(aec={"calibration": str(tmp_path / "calibration")})
    assert AecSettings.of(calibrated).calibration == HALVING.to_json()
    assert TapeConfig.make(**one.model_dump()) == one  # what was kept is read again
    assert spec_of(one).config != spec_of(TapeConfig()).config


@pytest.mark.parametrize("name", ["calibration", "learned_rules"])
@pytest.mark.parametrize("given", ["no/such/file", '{"schema": "other"}', "{" + "x" * 10000])
def test_an_unreadable_file_names_the_setting(name: str, given: str) -> None:
    with pytest.raises(ConfigError, match=rf"setting aec\.{name} = ") as caught:
        TapeConfig.make(aec={name: given})
    assert len(str(caught.value)) < 600


def test_first_calibration_then_rules() -> None:
    episode = begun(BoxWorld(0, OPEN), ScriptedLM(lambda request, sample: "0"))
    facts = EpistemicState(episode, BoxDomain(2)).grounded
    plain = EnsemblePredictor(episode.roles, 4, 0)
    refined = EnsemblePredictor(episode.roles, 4, 0, HALVING, Overrides((NEVER,)))
    [zero, one] = asyncio.run(plain.predict([gem_in(0), gem_in(1)], facts))
    [ruled, calibrated] = asyncio.run(refined.predict([gem_in(0), gem_in(1)], facts))
    assert (zero.mu, zero.raw) == (0.9, 0.9)
    assert (ruled.mu, ruled.raw) == (pytest.approx(0.1), 0.9)
    assert (calibrated.mu, calibrated.raw, calibrated.sigma) == (HALVING(one.mu), one.mu, one.sigma)


def test_revealed_values_are_judged_once_with_the_models_own_probability() -> None:
    model = BoxModel(1, OPEN, 0.2)
    _, trace = play(BoxWorld(0, OPEN), model, aec={"learned_rules": Overrides((NEVER,)).to_json()})
    judged = [event for event in trace if isinstance(event, JudgedEvent)]
    about = {Predicate(event.predicate, tuple(event.args)): event for event in judged}
    assert len(about) == len(judged) > 0
    gem = about[gem_in(0)]
    assert (gem.value, gem.mu, gem.features) == (True, pytest.approx(0.1), [["argument 1", "0"]])
    assert gem.raw != gem.mu
    assert "revealed: gem_in(0) is true, predicted 0.10" in gem.description()


def test_plans_may_come_from_the_search_instead_of_the_model() -> None:
    class Listed(BoxDomain):
        def admissible(self, state: object) -> list[str]:
            return [f"{verb} {i}" for verb in ("unlock", "open", "take", "rattle") for i in range(2)]

    model = BoxModel(0, OPEN)
    result, _ = play(BoxWorld(0, OPEN, Listed(2)), model, proposer="two_frontier", aec={"gate": "query_all"})
    assert "plan" not in result.lm_calls
    assert result.success


def test_establishing_actions_save_a_path_whose_precondition_does_not_hold() -> None:
    model = BoxModel(0, OPEN, plans=["open 0; take 0"])
    (asked, _), (result, trace) = (
        play(BoxWorld(0, (True, False)), model, aec={"gate": "query_all", "bridges": bridges})
        for bridges in (False, True)
    )
    assert (asked.success, result.success) == (False, True)
    assert "unlock 0" in result.actions
    assert [event.certified for event in trace if isinstance(event, CommittedEvent)] == [True]


def test_establishing_actions_have_to_leave_fewer_witnesses() -> None:
    episode = begun(BoxWorld(0, OPEN), BoxModel(0, OPEN))
    edited = EpistemicState(episode, BoxDomain(2)).with_establishing_actions
    whole = ("unlock 0", "open 0", "take 0")
    assert (edited(whole[1:]), edited(whole), edited(())) == (whole, whole, ())

    class Useless(BoxDomain):
        def establishing(self, state: object, predicate: Predicate, value: bool) -> list[str]:
            return ["rattle 1"]

    assert EpistemicState(episode, Useless(2)).with_establishing_actions(("open 0", "take 0")) == ("open 0", "take 0")


def test_a_calibration_is_level_on_its_blocks_and_linear_between_them() -> None:
    held = IsotonicCalibration(((0.1, 0.1, 0.0), (0.2, 0.3, 0.5), (0.6, 0.8, 1.0)), 5)
    assert [held(mu) for mu in (0.0, 0.25, 0.45, 1.0)] == pytest.approx([0.0, 0.5, 0.75, 1.0])
    assert IsotonicCalibration()(0.3) == 0.3
    assert IsotonicCalibration.from_json(held.to_json()) == held


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("", "not a calibration"),
        ([], "not a calibration"),
        ({"schema": "other/1", "n": 1, "blocks": []}, "expected schema"),
        ({"schema": SCHEMA, "blocks": []}, "not a calibration"),
        ({"schema": SCHEMA, "n": 1, "blocks": [[0, 1]]}, "not a calibration"),
        ({"schema": SCHEMA, "n": 1, "blocks": [[0, 0.5, 0.9], [0.6, 1, 0.1]]}, "ascend"),
        ({"schema": SCHEMA, "n": 1, "blocks": [[0, 2, 0.9]]}, "ascend"),
    ],
)
def test_other_files_are_refused(record: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        IsotonicCalibration.from_json(record if isinstance(record, str) else json.dumps(record))

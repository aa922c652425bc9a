"""The experiments on active epistemic control: parts on tiny fakes, and each script once where the engine is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import held_out, load_games
from envs.alfworld.game.textworld_game import installed
from experiments.harness.episodes import read_rows, write_rows
from experiments.harness.matrix import Options, own_options, split, tasks_of, unopened
from experiments.studies.aec import aec, baselines, theorem
from experiments.studies.aec import errors as aec_errors
from experiments.studies.aec import refine as aec_refine
from experiments.studies.aec import refinement as aec_refinement
from experiments.studies.aec.bound import check_bound
from experiments.studies.aec.cases import calibration_of, cases_in
from experiments.studies.aec.errors import Commitment, commitments_of, feasible
from experiments.studies.aec.injected import Case, injected
from experiments.studies.aec.methods import CALIBRATED_LABEL, NAMES, REMOVED, RULES_LABEL, methods, named
from experiments.studies.aec.refinement import Refined
from tape.aec.calibration import IsotonicCalibration
from tape.aec.events import CommittedEvent
from tape.aec.noisy_environment import NoisyDomain, NoisyEnvironment
from tape.aec.overrides import Overrides
from tape.aec.settings import AecSettings
from tape.errors import ConfigError
from tape.lm.bundled import sizes
from tape.protocols.predicates import Predicate
from tape.runner.directory import RunDirectory
from tape.show.document import markdown
from tape.trace import ActedEvent
from tests.tape.aec.toy import BoxDomain, BoxWorld

needs_model = pytest.mark.skipif(
    not installed() or "household" not in sizes("household"), reason="needs the extra alfworld and its bundled model"
)


def acted(action: str) -> ActedEvent:
    return ActedEvent(step=1, action=action, text="", planned=None, cost={})


def test_a_commitment_is_judged_by_the_environment_alone() -> None:
    def committed(*actions: str) -> CommittedEvent:
        return CommittedEvent(step=0, actions=list(actions), certified=True, evidence={}, grounded_later=["a", "b"])

    events = [acted("rattle 0"), committed("open 0", "take 0"), acted("open 0"), committed("take 1")]
    found = commitments_of(events)
    assert found == [
        Commitment(("rattle 0",), ("open 0", "take 0"), 2),
        Commitment(("rattle 0", "open 0"), ("take 1",), 2),
    ]
    assert [feasible(BoxWorld(0, (False, False)), one) for one in found] == [True, False]


def test_a_noisy_environment_has_the_optional_parts_of_its_domain_and_no_others() -> None:
    env: Any = AlfworldEnvironment(load_games("packaged")[0])
    noisy = NoisyEnvironment(env, 0.5, 1).domain
    bare = NoisyDomain(BoxDomain(2), 0.5, 1)
    for part in ("unseen", "goal_test", "contexts"):
        assert getattr(noisy, part) is not None
        assert getattr(bare, part) is None
    assert noisy.features(Predicate("in", ("apple", "bed 1"))) == [("object", "apple"), ("receptacle", "bed")]


def test_training_games_are_fresh_and_always_the_same() -> None:
    games = [game for i in (1, 2) for game in aec_refine.training_games(i, 6)]
    digests = [game.house.digest() for game in games]
    assert len(set(digests)) == 12
    assert not set(digests) & held_out()
    assert digests[:6] == [game.house.digest() for game in aec_refine.training_games(1, 6)]
    assert len({game.house.goal.task for game in games}) == 6


def test_further_baselines_have_the_budget_that_their_names_say() -> None:
    learned = Refined("alfworld", "", 1, 0, IsotonicCalibration(), Overrides())
    [task] = tasks_of("alfworld", own_options("alfworld", ("--count", "1")))
    where = {"environment": "alfworld", "setting": "s", "own": own_options("alfworld")}
    options = Options(1, ("bundled:household",), identify=unopened)
    found = baselines.configurations("bundled:household", options, learned, [task], where)
    by_name = {split(one.name)[2]: one for one in found}
    assert [*by_name] == [baselines.REFLEXION, baselines.REFLEXION_TRIALS, baselines.WKM, baselines.WALL_E]
    steps = {name: (one.tasks[0].budget["steps"], one.spec.config.horizon) for name, one in by_name.items()}
    assert [*steps.values()] == [(50, 30), (150, 50), (50, None), (50, None)]
    wkm, wall_e = (AecSettings.of(by_name[name].spec.config) for name in (baselines.WKM, baselines.WALL_E))
    assert (wkm.commit, wkm.gate, wkm.learned_rules) == ("belief", "simulate_all", "")
    assert wall_e == wkm.model_copy(update={"learned_rules": learned.rules.to_json()})


def test_what_was_removed_is_explained_where_it_has_rows() -> None:
    played = [method.label for method in methods(None)]
    assert named(played) == NAMES
    [removed, other] = REMOVED
    assert not {removed, other} & {*played}
    shown = named([*played, removed]).removeprefix(NAMES)
    assert removed in shown
    assert other not in shown


needs_engine = pytest.mark.skipif(not installed(), reason="needs the extra alfworld")


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> theorem.Found:
    """Every case of the test of the theorem on eight development games."""
    return theorem.play("dev", 8, tmp_path_factory.mktemp("injected") / "injected.jsonl")


@pytest.mark.slow
@needs_engine
def test_without_errors_every_commitment_wins_and_what_was_played_is_kept(tmp_path: Path) -> None:
    games, file, cases = load_games("dev")[::30], tmp_path / "injected.jsonl", (Case(0.0), Case(0.3))
    found = injected(games, cases, 2, file)
    clean = found[Case(0.0)].values()
    assert len(clean) == 4
    assert all(one.committed and one.feasible and one.bound == one.rested == 1.0 for one in clean)
    assert any(one.committed and not one.feasible for one in found[Case(0.3)].values())
    kept = file.read_text(encoding="utf-8")
    file.write_text(kept + '{"key": "cut', encoding="utf-8")
    assert injected(games, cases, 2, file) == found
    assert file.read_text(encoding="utf-8") == kept
    file.write_text('{"key": "of another version"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"injected\.jsonl was written by another version"):
        injected(games, cases, 2, file)


@pytest.mark.slow
@needs_engine
def test_the_test_of_the_theorem_finds_broken_verifiers_and_passes_the_sound_one(tested: theorem.Found) -> None:
    def contradicted(case: Case) -> bool:
        return not check_bound([(one.bound, one.feasible) for one in tested[case].values() if one.committed]).holds

    assert not any(contradicted(case) for case in theorem.SOUND if case.rate == 0)
    assert contradicted(Case(0.0, leak=1.0))
    assert contradicted(Case(0.0, leak=0.1))
    leaky = theorem.BROKEN[-1]  # also where errors are allowed for
    failed = {case: sum(one.committed and not one.feasible for one in tested[case].values()) for case in tested}
    assert failed[leaky] > failed[leaky._replace(leak=0.0)]
    for case in theorem.SOUND:
        assert all(one.rested >= one.bound for one in tested[case].values())


@pytest.mark.slow
@needs_engine
def test_the_tables_of_the_theorem_are_made_of_published_rows_alone(tested: theorem.Found, tmp_path: Path) -> None:
    write_rows(tmp_path / "injected.parquet", theorem.rows_of(tested))
    again = theorem.found_in(read_rows(tmp_path / "injected.parquet")[0])
    assert again == tested
    shown = markdown("", theorem.sections(again))
    assert shown == markdown("", theorem.sections(tested))
    assert "8 games, 1 times each" in shown
    assert "| 1 | - | 0 | 8 |" in shown


@pytest.mark.slow
@needs_model
@pytest.mark.usefixtures("undrawn")
def test_the_comparison_runs_and_names_what_is_left_out(tmp_path: Path) -> None:
    arguments = ["--limit", "1", "--quiet", "--out", str(tmp_path / "run"), "--refinement", str(tmp_path / "none")]
    assert aec.run(arguments) == 0
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert f"Left out: {RULES_LABEL} and {CALIBRATED_LABEL}" in report
    assert len(RunDirectory(tmp_path / "run").episodes()) == len(methods(None))
    assert aec.run(arguments) == 0
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8") == report


@pytest.mark.slow
@needs_model
@pytest.mark.usefixtures("undrawn")
def test_refinement_learns_from_what_it_plays_and_the_comparison_uses_it(tmp_path: Path) -> None:
    out, published = tmp_path / "refine", tmp_path / "published"
    arguments = ["--iterations", "1", "--count", "1", "--limit", "1", "--quiet", "--out", str(out)]
    assert aec_refine.main([*arguments, "--publish", str(published)]) == 0
    [kept] = aec_refinement.read(published / "aec_refinement.json")
    cases = cases_in(RunDirectory(out / "1-training"))
    assert kept.cases == len(cases) > 0
    assert kept.calibration == calibration_of(cases)
    assert (published / "aec_refine" / "report.md").is_file()
    assert aec_refine.main(arguments) == 0


@pytest.mark.slow
@needs_model
@pytest.mark.usefixtures("undrawn")
def test_errors_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aec_errors, "RATES", (0.0, 0.2))
    monkeypatch.setattr(theorem, "SOUND", (Case(0.0), Case(0.0, theorem.PLACES), Case(0.05, theorem.PLACES)))
    assert aec_errors.run(["--limit", "1", "--count", "1", "--quiet", "--out", str(tmp_path / "errors")]) == 0
    report = (tmp_path / "errors" / "report.md").read_text(encoding="utf-8")
    assert "Simulated query errors" in report
    assert "Agents whose grounder errs" in report

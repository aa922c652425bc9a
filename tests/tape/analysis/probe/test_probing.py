"""Models of known accuracy are found to be just that; money and time are kept; what was measured is not asked again."""

import shutil
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from envs.sokoban.plugin import SokobanPlugin
from tape.analysis.probe.measuring import ProbeLimits, Prober
from tape.analysis.probe.own import cases_of
from tape.analysis.probe.probing import ProbeWanted, Probing, probe
from tape.analysis.probe.record import Probe, ProbeError, file_of, keep, kept
from tape.analysis.probe.report import as_json, report
from tape.errors import ModelError, UnknownCostError
from tape.lm.base import LanguageModel, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.protocols import Task
from tape.protocols.role_cases import RoleCase
from tape.testing.line import LineModel
from tape.waiting import run_sync
from tests.tape.analysis.probe.models import Guessing, Ideal, LinePlugin

CASES = 10


class Remembering(SokobanPlugin):
    """Makes each set of cases once."""

    made: ClassVar[dict[Any, list[RoleCase]]] = {}

    def role_cases(self, prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
        """As Sokoban makes them."""
        asked = (prompts, role, count, seed)
        if asked not in self.made:
            self.made[asked] = super().role_cases(*asked)
        return self.made[asked]


PLUGIN = Remembering()
MICRO = TokenPrice(Decimal("1e-6"), Decimal("1e-6"))
"""A millionth of a dollar per token."""


@cache
def cases() -> Mapping[str, list[RoleCase]]:
    return cases_of(PLUGIN, (), "chat", CASES)


@cache
def tasks() -> list[Task]:
    return PLUGIN.tasks({"levels": "easy", "slack": 2})[:2]


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def wanted(model: LanguageModel, **more: Any) -> ProbeWanted:
    settings: dict[str, Any] = {"limits": ProbeLimits(CASES, 600.0), "episode": False, **more}
    return ProbeWanted(model, "scripted:x", PLUGIN, "sokoban", tasks(), **settings)


def measured(model: LanguageModel, **more: Any) -> Probing:
    probing = Probing(wanted(model, **more))
    probing.run()
    return probing


def test_an_ideal_model_is_good_at_everything() -> None:
    probing = measured(Ideal(cases()))
    counts = {role: (r.n, r.valid, r.right) for role, r in probing.probe.roles.items()}
    assert counts == dict.fromkeys(cases(), (CASES,) * 3)
    assert not probing.advice().settings
    assert probing.probe.first
    assert "keep the default settings" in report(probing.probe, probing.advice())


def test_a_guessing_scorer_is_no_better_than_chance() -> None:
    model = Guessing(cases_of(PLUGIN, (), "chat", 24))
    probing = measured(model, limits=ProbeLimits(24, 600.0))
    score = probing.probe.roles["score"]
    assert (score.valid, score.interval[0] <= score.chance) == (24, True)
    advice = probing.advice()
    assert advice.settings["scorer"] == "declared"
    assert "better than chance" in advice.reasons["scorer"]
    assert "proposer" not in advice.settings, "it plans ideally"


def test_what_the_model_is_no_good_at_goes_to_what_is_declared_and_an_episode_shows_it() -> None:
    model = Ideal(cases(), wrong=cases())
    probing = measured(model, episode=True)
    assert all(r.right == 0 and r.valid > 0 for r in probing.probe.roles.values())
    advice = probing.advice()
    every = {"proposer": "two_frontier", "world_model": "simulator", "scorer": "declared", "execution": "forced"}
    assert advice.settings == every
    assert any("decides nothing any more" in note for note in advice.notes)
    played = probing.probe.episode
    assert (played.success, played.calls, played.settings) == (True, 0, every), "nothing of it depends on the model"
    shown = report(probing.probe, advice)
    assert "tape run sokoban --model scripted:x --world-model simulator" in shown
    assert "success after" in shown
    advice = measured(model, given=frozenset({"scorer"})).advice()
    assert "scorer" not in advice.settings
    assert any(note.startswith("scorer is left as it was given") for note in advice.notes)


def test_money_is_a_hard_cap() -> None:
    cap = 4000
    model = Ideal(cases(), price=MICRO)
    probing = measured(model, limits=ProbeLimits(CASES, 600.0, cap), episode=True)
    assert 0 < probing.probe.usd <= cap
    assert 0 < probing.probe.measured < CASES * len(cases())
    assert ("no more money" in probing.probe.stopped, probing.probe.episode) == (True, None)
    before = probing.probe.usd
    again = measured(model, limits=ProbeLimits(CASES, 600.0, cap))
    assert before < again.probe.usd <= before + cap, "each call of the command has a cap of its own"
    assert again.probe.measured > probing.before


def test_a_model_of_unknown_price_is_refused_under_a_cap() -> None:
    with pytest.raises(UnknownCostError, match="the price of scripted:x is unknown"):
        Probing(wanted(Ideal(cases(), price=None), limits=ProbeLimits(usd=1)))
    assert measured(Ideal(cases(), price=None)).probe.usd is None


def test_environments_that_are_probed_together_share_time_and_money() -> None:
    for limits, by, expected in (
        (ProbeLimits(CASES, 600.0, 100), 8, (75.0, 12)),
        (ProbeLimits(CASES, 600.0), 2, (300.0, None)),
    ):
        probing = Probing(wanted(Ideal(cases()), limits=limits))
        probing.share(by)
        assert (probing.wanted.limits.seconds, probing.wanted.limits.usd) == expected


def test_no_batch_is_begun_that_would_not_be_finished_in_time() -> None:
    now = [0.0]
    probe = Probe(environment="sokoban", model="x", identity="x", prompts="chat")
    prober = Prober(Ideal(cases()), probe, ProbeLimits(CASES, 100.0), clock=lambda: now[0])

    def noted() -> None:
        now[0] += 10.0
        for record in probe.roles.values():
            record.seconds = 10.0 * record.n  # a batch of four would take forty seconds

    prober._noted = noted
    run_sync(prober.ask(cases()))
    counts = {role: record.n for role, record in probe.roles.items()}
    assert all(n >= 1 for n in counts.values()), "every role has its turn before any has its second"
    assert probe.measured < CASES * len(cases())
    assert probe.stopped == "the time for it was over"
    assert now[0] <= 100.0


def test_an_interrupt_keeps_what_is_measured_and_the_rest_is_asked_later() -> None:
    model = Ideal(cases())
    first = Probing(wanted(model))

    def interrupt(probe: Probe) -> None:
        if probe.measured >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.run(interrupt)
    done, all_cases = first.probe.measured, CASES * len(cases())
    assert 20 <= done < all_cases
    for before in (done, all_cases):
        model.requests.clear()
        later = Probing(wanted(model))
        assert (later.before, later.complete) == (before, before == all_cases)
        later.run()
        assert (len(model.requests), later.complete) == (all_cases - before, True)


def test_answers_to_other_prompts_do_not_count() -> None:
    probing = measured(Ideal(cases()))
    for answer in probing.probe.roles["plan"].answers:
        answer.request = "of another prompt"
    keep(probing.probe)
    later = Probing(wanted(Ideal(cases())))
    assert later.before == CASES * (len(cases()) - 1)
    later.run()
    assert later.probe.roles["plan"].n == CASES


def test_fewer_cases_than_were_measured_are_not_asked_again() -> None:
    [a, b, c, d, *_] = cases()["plan"]
    probe = Probe(environment="sokoban", model="x", identity="x", prompts="chat", seed=0, date="2026-01-01", usd=0)
    model = Ideal(cases())
    run_sync(Prober(model, probe, ProbeLimits(6, 600.0)).ask({"plan": [a, b, a, c, a, d]}))
    answers = list(probe.roles["plan"].answers)
    assert len(answers) == 4
    run_sync(Prober(model, probe, ProbeLimits(4, 600.0)).ask({"plan": [a, b, a, c]}))
    assert probe.roles["plan"].answers == answers


def test_a_cache_that_cannot_be_read_is_measured_anew_and_one_that_cannot_be_written_is_an_error(cached: Path) -> None:
    model = Ideal(cases())
    measured(model)
    file_of(model.identity, "sokoban", 0).write_text("{")
    assert kept(model.identity, "sokoban") is None
    assert Probing(wanted(model)).before == 0
    shutil.rmtree(cached)
    cached.write_text("a file")
    with pytest.raises(ProbeError, match="let XDG_CACHE_HOME name a folder"):
        measured(Ideal(cases()))


def test_a_model_that_answers_nowhere_is_an_error_that_says_why() -> None:
    class Dead(ScriptedLM):
        async def generate(self, requests: Any) -> Any:
            raise ModelError("no server listens at this address")

        score_options = generate

    with pytest.raises(ProbeError, match="answers in no role of sokoban: no server listens"):
        measured(Dead([""]))


def test_an_endpoint_is_not_paid_for_the_same_call_twice_and_may_fail_once() -> None:
    class Remote(Ideal):
        remote = True
        failures = 1

        async def generate(self, requests: Any) -> Any:
            if requests[0].role == "plan" and self.failures:
                self.failures -= 1
                raise ModelError("too many requests")
            return await super().generate(requests)

    model = Remote(cases())
    probing = measured(model)
    assert probing.probe.first.again is None
    assert len(model.requests) == probing.probe.measured == CASES * len(cases())
    assert not any(record.failure for record in probing.probe.roles.values())


def test_an_environment_without_cases_is_played_instead() -> None:
    result, advice = probe(LineModel(), LinePlugin(), cases=8, minutes=1)
    counts = {role: (r.n, r.right) for role, r in result.roles.items()}
    assert counts == {"plan": (7, 7), "next": (8, 8)}, "a plan for each task"
    assert (result.episode.success, advice.settings) == (True, {})
    model = LineModel({("plan", 0): "left", **{("next", cell): "0" for cell in range(1, 9)}})
    worse, advice = probe(model, LinePlugin(), cases=8, minutes=1)
    assert worse.roles["plan"].right == 0
    assert worse.roles["next"].right < 8
    assert any("nothing declared here can plan in its place" in note for note in advice.notes)


def test_an_environment_that_may_act_on_the_world_is_not_played() -> None:
    class Real(LinePlugin):
        replayable = False

    with pytest.raises(ProbeError, match="not declared `replayable`"):
        probe(LineModel(), Real(), cases=8)


def test_the_figures_are_there_for_programs_too() -> None:
    probing = measured(Guessing(cases()))
    data = as_json(probing.probe, probing.advice())
    assert (data["roles"]["plan"]["right"], data["roles"]["plan"]["good_enough"]) == (CASES, True)
    assert data["roles"]["score"]["good_enough"] is None, "better than chance, and too few cases to be sure"
    assert data["advice"]["command"].startswith("tape run sokoban --model scripted:x")

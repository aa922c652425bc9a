"""When a model is good enough for a role."""

from typing import Any

import pytest

from envs.gsm_hard.plugin import PLUGIN as GSM
from envs.gsm_hard.profiles import DEFAULT
from envs.sokoban.plugin import PLUGIN as SOKOBAN
from envs.tool_chains.plugin import PLUGIN as CHAINS
from experiments.harness.matrix import own_options
from tape.analysis.probe.advice import advise, knows_no_more, verdict
from tape.analysis.probe.record import CaseAnswer, Probe, RoleRecord
from tape.analysis.probe.report import overview
from tape.engine.settings import TapeConfig
from tests.tape.analysis.probe.models import LinePlugin


def record(role: str, right: int, n: int, *, valid: int | None = None, chance: float | None = None) -> RoleRecord:
    valid = n if valid is None else valid
    answers = [CaseAnswer(request=str(i), valid=i < valid, right=i < right, chance=chance) for i in range(n)]
    return RoleRecord(role=role, answers=answers)


@pytest.mark.parametrize(
    ("found", "good"),
    [
        (None, None),
        (record("plan", 0, 0), None),
        (record("plan", 0, 4), None),
        (record("plan", 0, 24), False),
        (record("plan", 3, 24), False),  # 1 - (1 - .125)^4 = .41
        (record("plan", 4, 24), True),  # 1 - (1 - .167)^4 = .52
        (record("next", 18, 24), False),
        (record("next", 20, 24), True),
        (record("rollout", 11, 24), False),
        (record("rollout", 12, 24), True),
        (record("score", 12, 24, chance=1 / 3), False),  # lower bound .31
        (record("score", 14, 24, chance=1 / 3), True),  # .39
        (record("score", 24, 24, chance=1.0), None),
        (record("act", 11, 24, chance=0.25), False),
        (record("act", 14, 24, chance=0.25), True),
        (record("score", 4, 8, chance=1 / 3), None),
        (record("score", 7, 8, chance=1 / 3), True),
        (record("whatever", 0, 24), False),
        (record("whatever", 1, 24), True),
    ],
)
def test_good_enough(found: RoleRecord | None, good: bool | None) -> None:
    assert verdict(found).good is good


def test_more_plans_a_round_need_fewer_right_ones() -> None:
    assert verdict(record("plan", 2, 24), plans=4).good is False
    assert verdict(record("plan", 2, 24), plans=16).good is True


def test_a_role_in_which_the_model_fails_is_none_that_it_is_good_at() -> None:
    role_verdict = verdict(RoleRecord(role="score", failure="it shows no probabilities"))
    assert role_verdict.good is False
    assert "it shows no probabilities" in role_verdict.why


SOKOBAN_TASK = SOKOBAN.tasks({"levels": "easy", "slack": 2})[0]
GSM_TASK = GSM.tasks({"data": None, "problems": "dev", "profile": DEFAULT, "tightness": "none"})[0]


def probed(environment: str, *records: RoleRecord) -> Probe:
    roles = {record.role: record for record in records}
    return Probe(environment=environment, model="x", identity="x", prompts="chat", roles=roles)


def test_only_where_nothing_is_hidden_is_an_exact_world_model_given() -> None:
    assert knows_no_more(SOKOBAN, SOKOBAN.make(SOKOBAN_TASK))
    lines = LinePlugin()
    assert not knows_no_more(lines, lines.make(lines.tasks({})[0]))


def test_tools_need_no_world_model_and_their_calls_are_forced_anyway() -> None:
    bad = [record("plan", 0, 24), record("act", 0, 24), record("score", 0, 24, chance=0.5)]
    advice = advise(probed("gsm_hard", *bad), GSM, GSM_TASK)
    assert dict(advice.settings) == {"scorer": "declared"}
    assert any("nothing declared here can plan" in note for note in advice.notes)


@pytest.mark.parametrize(
    ("agent", "methods", "settings"),
    [
        ("react", {}, set()),
        ("tape", {"aec": True}, set()),
        ("sdp", {"sdp": {"chain": "adapter"}}, set()),
        ("sdp", {"sdp": {"chain": "sample"}}, {"proposer", "world_model"}),
        ("sdp", {"sdp": {"chain": "walk"}}, {"proposer", "world_model", "scorer"}),
    ],
)
def test_only_roles_that_the_model_plays_are_given_away(
    agent: str, methods: dict[str, Any], settings: set[str]
) -> None:
    bad = [record(role, 0, 24) for role in ("plan", "next", "score")]
    advice = advise(probed("sokoban", *bad), SOKOBAN, SOKOBAN_TASK, TapeConfig.make(**methods), agent=agent)
    assert {*advice.settings} == settings
    assert any(f"'{agent}' here has no role" in note for note in advice.notes) == (not settings)


def test_the_weakest_role_that_is_left_to_the_model_decides_about_the_environment() -> None:
    bad = record("plan", 0, 24)
    advice = advise(probed("gsm_hard", bad, record("answer", 0, 24)), GSM, GSM_TASK)
    assert advice.environment.good is False
    assert "weakest role is plan: 0 of 24" in advice.environment.why
    good = advise(probed("gsm_hard", record("plan", 12, 24), record("act", 0, 24)), GSM, GSM_TASK)
    assert good.environment.good is True  # acting is forced, since calls are written already
    unknown = advise(probed("gsm_hard", record("plan", 12, 24), record("score", 2, 2, chance=0.5)), GSM, GSM_TASK)
    assert unknown.environment.good is None


def test_where_an_exact_planner_is_declared_reading_decides() -> None:
    tasks = CHAINS.tasks(own_options("tool_chains"))
    roles = [record("plan", 0, 24), record("score", 12, 24, chance=0.5)]
    for right, good in ((20, True), (3, False)):
        advice = advise(probed("tool_chains", record("project", right, 24, chance=0.08), *roles), CHAINS, tasks[0])
        assert dict(advice.settings) == {"proposer": "declared", "scorer": "declared"}
        assert advice.environment.good is good
        assert "project" in advice.environment.why


def test_a_probe_of_several_environments_ends_with_those_that_the_model_is_good_enough_for() -> None:
    probes = [probed("gsm_hard", record("plan", right, 24)) for right in (12, 0)]
    lines = overview([(probe, advise(probe, GSM, GSM_TASK)) for probe in probes]).splitlines()
    assert [[part for part in line.split("  ") if part][1].strip() for line in lines[-2:]] == [
        "good enough",
        "not good enough",
    ]
    assert "weakest role is plan: 0 of 24" in lines[-1]

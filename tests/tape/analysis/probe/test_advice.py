"""When a model is good enough for a role."""

from __future__ import annotations

import pytest

from envs.gsm_hard.plugin import PLUGIN as GSM
from envs.gsm_hard.profiles import DEFAULT
from envs.sokoban.plugin import PLUGIN as SOKOBAN
from tape.analysis.probe.advice import advise, knows_no_more, verdict
from tape.analysis.probe.record import Answer, Probe, RoleRecord
from tape.engine.settings import TapeConfig
from tape.protocols import Environment, EnvironmentPlugin
from tests.tape.analysis.probe.models import LinePlugin


def record(role: str, right: int, n: int, *, valid: int | None = None, chance: float | None = None) -> RoleRecord:
    valid = n if valid is None else valid
    answers = [Answer(request=str(i), valid=i < valid, right=i < right, chance=chance) for i in range(n)]
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
        (record("select", 9, 24, chance=1 / 3), False),
        (record("select", 4, 8, chance=1 / 3), None),
        (record("select", 2, 8, chance=1 / 3), False),
        (record("select", 7, 8, chance=1 / 3), True),
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
    found = verdict(RoleRecord(role="score", failure="it shows no probabilities"))
    assert found.good is False
    assert "it shows no probabilities" in found.why


def first(plugin: EnvironmentPlugin, **options: object) -> tuple[Probe, Environment]:
    probe = Probe(environment=plugin.name, model="x", identity="x", prompts="chat")
    return probe, plugin.make(plugin.tasks(options)[0])


def test_only_where_nothing_is_hidden_is_an_exact_world_model_given() -> None:
    _, sokoban = first(SOKOBAN, levels="easy", slack=2)
    assert knows_no_more(SOKOBAN, sokoban)
    lines = LinePlugin()
    assert not knows_no_more(lines, first(lines)[1])


def test_tools_need_no_world_model_and_their_calls_are_forced_anyway() -> None:
    tasks = GSM.tasks({"data": None, "problems": "dev", "profile": DEFAULT, "tightness": "none"})
    probe = Probe(environment="gsm_hard", model="x", identity="x", prompts="chat")
    for role in ("plan", "act", "score"):
        probe.roles[role] = record(role, 0, 24, chance=0.5 if role == "score" else None)
    advice = advise(probe, GSM, tasks[0])
    assert dict(advice.settings) == {"scorer": "declared"}
    assert any("nothing declared here can plan" in note for note in advice.notes)


def test_the_model_as_selector_gives_way_to_the_solver() -> None:
    tasks = SOKOBAN.tasks({"levels": "easy", "slack": 2})
    probe = Probe(environment="sokoban", model="x", identity="x", prompts="chat")
    probe.roles["select"] = record("select", 8, 24, chance=1 / 3)
    asked = TapeConfig(selector="lm")
    assert advise(probe, SOKOBAN, tasks[0], asked).settings == {"selector": "solver"}
    kept = advise(probe, SOKOBAN, tasks[0], asked, frozenset({"selector"}))
    assert not kept.settings
    assert any("leave selecting to the solver" in note for note in kept.notes)


def test_an_agent_without_such_roles_gets_no_settings() -> None:
    tasks = SOKOBAN.tasks({"levels": "easy", "slack": 2})
    probe = Probe(environment="sokoban", model="x", identity="x", prompts="chat")
    probe.roles["plan"] = record("plan", 0, 24)
    advice = advise(probe, SOKOBAN, tasks[0], agent="react")
    assert not advice.settings
    assert any("'react' here has no role" in note for note in advice.notes)

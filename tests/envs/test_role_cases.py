"""Every role of every environment, asked of an ideal model: right answers are admitted, read back and judged right."""

from __future__ import annotations

import asyncio
import re
from functools import cache

import pytest

from tape.analysis.probe.measuring import answers_to
from tape.errors import UnknownNameError
from tape.lm.base import JsonSchema, OneOf
from tape.lm.scripted import ScriptedLM, obeys
from tape.plugins import load, names
from tape.protocols.role_cases import JudgedAnswer, RoleCase

ENVIRONMENTS = "tape.environments"
PLUGINS = {name: plugin for name in names(ENVIRONMENTS) if (plugin := load(ENVIRONMENTS, name)).roles}
ROLES = [(name, role) for name, plugin in PLUGINS.items() for role in plugin.roles]
LONGEST = 2048
"""Tokens that a prompt has at most."""
COUNT = 4


@cache
def cases(name: str, role: str, count: int = COUNT, seed: int = 3) -> tuple[RoleCase, ...]:
    return tuple(PLUGINS[name].role_cases("chat", role, count, seed))


def pieces(text: str) -> int:
    """As many tokens as a text has at most for usual tokenizers: digits and signs each, words by seven letters."""
    return len(re.findall(r"\d|[^\W\d_]{1,7}|[^\w\s]|_|\n+", text))


@pytest.mark.parametrize(("name", "role"), ROLES)
def test_an_ideal_model_is_right_in_every_case(name: str, role: str) -> None:
    made = cases(name, role)
    assert len({case.id for case in made}) == len(made) == COUNT
    answers = {case.request: case.ideal for case in made}
    model = ScriptedLM(lambda request, _: answers[request], obey=True)
    if not made[0].scored:
        judged = [answer for _, answer, _ in asyncio.run(answers_to(model, made))]
        assert all(answer.right for answer in judged), [answer.why for answer in judged]
    for case in made:
        assert case.role == role == case.request.role
        assert obeys(case.request, case.ideal)
        assert case.judge(case.ideal) == JudgedAnswer(True, True, case.judge(case.ideal).why)


@pytest.mark.parametrize(("name", "role"), ROLES)
def test_prompts_fit_and_answers_have_room_however_they_are_laid_out(name: str, role: str) -> None:
    for case in cases(name, role):
        assert not isinstance(case.request.prompt, str)
        assert case.request.prompt[-1].role == "user"
        assert sum(pieces(message.content) + 8 for message in case.request.prompt) <= LONGEST
        assert pieces(case.ideal) * 1.5 <= case.request.max_tokens or isinstance(case.request.constraint, OneOf)


@pytest.mark.parametrize(("name", "role"), ROLES)
def test_what_is_no_answer_is_not_valid(name: str, role: str) -> None:
    for case in cases(name, role)[:2]:
        for text in ("", "{", "null", "banana", "[]", "{}"):
            assert not case.judge(text).right
        if isinstance(case.request.constraint, JsonSchema):
            assert not case.judge("").valid


@pytest.mark.parametrize("name", PLUGINS)
def test_the_same_seed_makes_the_same_cases_and_another_makes_others(name: str) -> None:
    plugin = PLUGINS[name]
    role = plugin.roles[0]
    role_cases, again, other = (plugin.role_cases("chat", role, 2, seed) for seed in (5, 5, 6))
    assert [case.request.fingerprint("m") for case in role_cases] == [case.request.fingerprint("m") for case in again]
    assert [case.ideal for case in role_cases] == [case.ideal for case in again]
    assert {case.request.fingerprint("m") for case in role_cases}.isdisjoint(c.request.fingerprint("m") for c in other)
    with pytest.raises(UnknownNameError, match="fly"):
        plugin.role_cases("chat", "fly", 1, 0)


def test_judges_of_plans_acts_and_choices_give_the_reason() -> None:
    [plan], [act], [score] = (cases("sokoban", role, 1) for role in ("plan", "act", "score"))
    assert plan.judge('{"thought": "", "actions": ["sing"]}').valid is False
    assert "not a whole plan" in plan.judge('{"thought": "", "actions": ["sing"]}').why
    other = plan.judge('{"thought": "", "actions": ["left", "right"]}')
    assert (other.valid, other.right, other.why) == (True, False, "L; R")
    assert act.judge('{"thought": "", "action": "sing"}').valid is False
    assert score.judge("7").why == "none of the options: '7'"
    assert score.judge(f" {score.ideal}\n") == JudgedAnswer(True, True, "")
    wrong = next(option for option in ("solved", "possible", "hopeless") if option != score.ideal)
    assert score.judge(wrong) == JudgedAnswer(True, False, f"said {wrong}, is {score.ideal}")


def test_cases_for_general_models_have_no_other_prompts() -> None:
    for name in ("sokoban", "gsm_hard", "musique", "hotpotqa"):
        with pytest.raises(UnknownNameError, match="compact"):
            PLUGINS[name].role_cases("compact", PLUGINS[name].roles[0], 1, 0)

"""What the bench of constraints asks of environments, and that it says what it does not ask."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from experiments.benches.constraints import ROLES, requests_of
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.plugins import load


def test_every_role_is_asked_or_said_to_be_left_out() -> None:
    asked = dict(requests_of("sokoban"))
    assert tuple(asked) == ROLES
    assert {role for role, request in asked.items() if isinstance(request, str)} == {"project"}
    assert asked["project"] == "its prompts have no such role"
    tools = dict(requests_of("gsm_hard"))
    assert {role: what for role, what in tools.items() if isinstance(what, str)} == {
        "rollout": "no action is listed at the start",
        "fixed act": "no action is listed at the start",
        "next": "no action is listed at the start",
        "project": "it asks nothing at the start of a task",
    }


def test_an_environment_without_its_data_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def tasks(*_: object) -> list[object]:
        raise ConfigError("no file here; name one")

    monkeypatch.setattr(type(load("tape.environments", "sokoban")), "tasks", tasks)
    assert list(requests_of("sokoban")) == [("all", "no file here; name one")]


def test_a_fault_of_a_prompt_is_no_role_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from envs.sokoban.prompts.chat import ChatFormat

    def broken(*_: object) -> Request:
        raise KeyError("a defect")

    monkeypatch.setattr(ChatFormat, "act_request", broken)
    with pytest.raises(KeyError, match="a defect"):
        list(requests_of("sokoban"))

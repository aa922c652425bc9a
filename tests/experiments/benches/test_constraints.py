"""What the bench of constraints asks of environments, and that it says what it does not ask."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import numpy as np

from experiments.benches.constraints import ROLES, Judge, regex, requests_of
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


class FakeTokenizer:
    """Letters, an end and a part of a letter."""

    all_special_ids = (3,)
    texts = ("a", "b", "ab", "<end>", "\ufffd")

    def __len__(self) -> int:
        return len(self.texts)

    def get_added_vocab(self) -> dict[str, int]:
        return {}

    def decode(self, tokens: list[int]) -> str:
        return "".join(self.texts[token] for token in tokens)


@pytest.mark.parametrize(
    ("before", "allowed", "wrong"),
    [
        ("", [1, 0, 1, 0, 0], (3, 0, 0)),  # a and ab begin "abb", b does not
        ("", [1, 1, 1, 0, 0], (3, 1, 0)),
        ("", [1, 0, 0, 1, 1], (3, 0, 1)),  # what is no text is not judged
        ("ab", [0, 1, 0, 0, 0], (3, 0, 0)),
        ("ab", [1, 0, 0, 0, 0], (3, 1, 1)),
    ],
)
def test_wrong_masks_are_found(before: str, allowed: list[int], wrong: tuple[int, int, int]) -> None:
    judge = Judge(FakeTokenizer())
    assert judge.wrong(regex.compile("abb"), before, np.array(allowed, bool)) == wrong

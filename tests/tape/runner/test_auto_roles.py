"""What ``--auto-roles`` has decided is in a run's label and configuration, and no part of an episode's key."""

from __future__ import annotations

from typing import Any

import pytest

from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.protocols import Task
from tape.runner.spec import RunSpec

GIVEN = {"proposer": "two_frontier", "scorer": "declared", "world_model": "simulator"}
TASK = Task(id="t", level_set="s", budget=Budget({"steps": 3}), digest="d")


def spec(reasons: dict[str, str], **settings: Any) -> RunSpec:
    config = TapeConfig.make(**settings)
    return RunSpec(
        environment="sokoban", agent="tape", config=config, model="m", model_identity="m", auto_roles=reasons
    )


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ([], "tape"),
        (["scorer"], "tape [declared scorer]"),
        (["world_model"], "tape [simulator world model]"),
        (["world_model", "scorer", "proposer"], "tape [two_frontier proposer, declared scorer, simulator world model]"),
    ],
)
def test_every_role_that_was_taken_from_the_model_is_in_the_label(names: list[str], label: str) -> None:
    assert spec(dict.fromkeys(names, "why"), **{name: GIVEN[name] for name in names}).label() == label


def test_what_somebody_chose_by_name_is_labelled_as_before() -> None:
    assert spec({}, **GIVEN).label() == "tape [simulator world model]"


def test_who_has_chosen_the_settings_is_no_part_of_an_episode() -> None:
    chosen, auto = spec({}, **GIVEN), spec(dict.fromkeys(GIVEN, "why"), **GIVEN)
    assert chosen.episode_key(TASK, 0) == auto.episode_key(TASK, 0) != spec({}).episode_key(TASK, 0)


def test_a_run_that_knows_nothing_of_it_can_be_read() -> None:
    written = spec({}).model_dump(mode="json")
    del written["auto_roles"]
    assert RunSpec.model_validate(written) == spec({})

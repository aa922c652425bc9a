"""Which commands of a plan are left out, what a plan may not lose, and predictions that deny what is declared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from envs.scienceworld.mismatch import PathNeeds
from envs.scienceworld.prompts.chat import ChatFormat
from tape.budget import Ledger
from tape.engine.context import RoleContext
from tape.engine.predict import LmWorldModel
from tape.lm.accounting import AccountedLM
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Prediction
from tape.trace import TraceWriter
from tests.envs.scienceworld.test_commands import DOMAIN, HERE, KITCHEN, POT, then

LIT = replace(HERE, look=KITCHEN.replace("turned off", "turned on"))
ASKED = replace(HERE, choices=("pot in kitchen", "pot in cupboard"))
FOCUSED = replace(HERE, focused=("metal pot",))


@pytest.mark.parametrize(
    ("state", "command", "futile"),
    [
        (HERE, "wait1", False),
        (replace(HERE, rejected=("eat stove",)), "eat stove", True),
        (HERE, "eat stove", False),
        (HERE, "0", True),
        (ASKED, "0", False),
        (LIT, "activate stove", True),
        (HERE, "activate stove", False),
        (HERE, "deactivate stove", True),
        (HERE, "open door to hallway", True),
        (HERE, "close door to hallway", False),
        (HERE, "go to hallway", False),
        (HERE, "go to foundry", True),
        (HERE, "teleport to foundry", False),
        (replace(HERE, look=""), "go to foundry", False),  # where no door is listed, nothing is known of doors
        (FOCUSED, "focus on metal pot", True),
        (FOCUSED, "focus on pot", False),  # it may be another one
        (HERE, "focus on metal pot", False),
    ],
)
def test_futile_is_what_is_known_to_change_nothing(state: object, command: str, futile: bool) -> None:
    assert DOMAIN.is_no_op(state, command) is futile


def test_what_seems_to_change_nothing_is_no_step_back_to_the_same_state() -> None:
    """Else the shortest path of a plan graph leaves it out, and with it what the plan does it for."""
    moved = then(HERE, "move metal pot to stove")
    assert DOMAIN.key(moved) != DOMAIN.key(HERE)
    refused = HERE.following(HERE, "eat stove", understood=False)
    assert DOMAIN.key(refused) == DOMAIN.key(HERE)


def test_an_answer_is_needed_where_the_world_asks_and_else_needs_nothing() -> None:
    moved = then(HERE, "move metal pot to stove")
    actions = ["0", "pick up metal pot"]
    answered = then(moved, "0")
    path = [moved, answered, then(answered, actions[1], gone=[POT], carry=["a thermometer", POT])]
    asked, still_good = replace(moved, choices=ASKED.choices), PathNeeds(DOMAIN).still_good
    assert still_good(path, replace(moved, waited=7), actions)
    assert still_good(path, asked, actions)
    assert not still_good(path, replace(moved, look=KITCHEN.replace(f"\t{POT}\n", "")), actions)
    earned = [moved, *(replace(state, score=5) for state in path[1:])]
    assert not still_good(earned, moved, actions)  # what it was to bring is not there
    assert still_good(earned, asked, actions)  # it may still come


def answer(command: str, *, valid: bool = True, room: str = "kitchen", **more: object) -> str:
    return json.dumps({"command": command, "valid": valid, "room": room, "carry": ["a thermometer"], **more})


def foretold(command: Action, first: str, second: str, doubt: float = 0.9) -> tuple[Prediction, Sequence[Request]]:
    """What a model is taken to predict that says one thing first and another one when asked again."""
    lm = ScriptedLM([first, second])
    trace = TraceWriter("test")
    roles = RoleContext(AccountedLM(lm, Ledger(), trace), ChatFormat(), DOMAIN, trace)
    [found] = asyncio.run(LmWorldModel(roles, doubt).predict([(HERE, command)]))
    return found, lm.requests


TAKE = "pick up metal pot"
TAKEN = answer(TAKE, gone=[POT], carry=["a thermometer", POT])
"""Carried twice over would be read all the same."""


@pytest.mark.parametrize("first", [answer(TAKE), answer(TAKE, valid=False)])
def test_a_prediction_that_denies_what_is_declared_is_asked_for_again(first: str) -> None:
    found, requests = foretold(TAKE, first, TAKEN)
    assert len(requests) == 2
    assert found.state is not None
    assert DOMAIN.ground(found.state).get(next(iter(DOMAIN.effects(TAKE, {}))), None) is True
    kept, once = foretold(TAKE, first, TAKEN, doubt=0.0)  # the paper's algorithm has no second thoughts
    assert len(once) == 1
    assert kept != found


def test_what_denies_nothing_is_asked_for_once_and_a_second_denial_changes_nothing() -> None:
    assert len(foretold(TAKE, TAKEN, TAKEN)[1]) == 1
    assert len(foretold("pick up hammer", answer("pick up hammer", valid=False), TAKEN)[1]) == 1  # it is not in reach
    assert len(foretold("deactivate stove", answer("deactivate stove", valid=False), TAKEN)[1]) == 1  # it is off
    stays = answer(TAKE, score=3)
    found, requests = foretold(TAKE, stays, answer(TAKE, score=9))
    assert len(requests) == 2
    assert found.state is not None
    assert found.state == ChatFormat().read_next(HERE, stays)

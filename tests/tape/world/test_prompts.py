"""The prompts of a world: what is asked, under which constraint, and how answers are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from tape.errors import InvalidOutputError, UnknownNameError
from tape.lm.base import JsonSchema, OneOf, Request
from tape.protocols import Plan
from tape.world import World
from tape.world.prompts import WorldFormat
from tape.world.state import WorldState
from tests.tape.lm import decoded
from tests.tape.offers import offers
from tests.tape.world.worlds import Round, make_courier

WALK, FORD, DELIVER = 'Walk(to="mill")', 'Walk(to="ford")', "Deliver()"
START = WorldState('{"at": "depot", "delivered": [], "log": ["began"]}')


@pytest.fixture
def prompts() -> WorldFormat:
    layout = make_courier().environment(Round(), task="Deliver at the mill.").prompt_format("chat")
    assert isinstance(layout, WorldFormat)
    return layout


def text(request: Request | None) -> str:
    return "\n".join(message.content for message in request.prompt)  # type: ignore[union-attr]


def admits(request: Request | None, answer: Any) -> bool:
    assert isinstance(request.constraint, JsonSchema)
    return decoded.admits(request.constraint, json.dumps(answer)) == [True]


def step(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_every_question_shows_rules_actions_costs_task_and_state(prompts: WorldFormat) -> None:
    asked = [
        prompts.plan_request(START, {"steps": 3, "coins": 1}),
        prompts.rollout_request(START, [WALK, DELIVER]),
        prompts.next_request(START, WALK),
        prompts.score_request(START)[0],
        prompts.act_request(START, {"steps": 3, "coins": 1}, None, ()),
        prompts.select_request(START, offers([[WALK], [FORD]]), {"steps": 3, "coins": 1}),
    ]
    for request in asked:
        shown = text(request)
        for part in (
            "Roads: depot to mill (2 coins)",
            '- Walk(to: "depot" | "ford" | "mill"): Walk along a road. Costs at most 1 step, coins that',
            "- Deliver(): Hand over the parcel for this place. Costs at most 1 step.",
            "- at: where the courier is",
            "Task: Deliver at the mill.",
            f"State: {START.text}",
        ):
            assert part in shown
        assert ("Left of the budget: 3 steps, 1 coin" in shown) == (request.role in ("plan", "act", "select"))  # type: ignore[union-attr]


def test_plans_are_constrained_and_read(prompts: WorldFormat) -> None:
    request = prompts.plan_request(START, {})
    walk, deliver = step("Walk", to="mill"), step("Deliver")
    assert admits(request, {"thought": "By the ford.", "actions": [walk, deliver]})
    for actions in ([step("Walk", to="sea")], [walk] * 21, []):
        assert not admits(request, {"thought": "", "actions": actions})
    assert not admits(request, {"actions": [walk]})
    assert prompts.read_plan(START, json.dumps({"actions": [walk, deliver]})) == Plan((WALK, DELIVER))
    assert prompts.read_plan(START, '{"actions": []}') == Plan((), valid=False)
    assert prompts.plan_request(START, {"steps": 2}).max_tokens < request.max_tokens


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        (json.dumps({"actions": [step("Walk", to="mill"), step("Swim"), step("Deliver")]}), (WALK,)),
        (json.dumps({"actions": [step("Walk", to="mill"), step("Deliver")]})[:-9], (WALK,)),
        (json.dumps({"actions": [step("Walk", to="mill"), "Deliver( )"]})[:-1], (WALK, DELIVER)),
        (json.dumps({"actions": [step("Deliver")] * 21}), (DELIVER,) * 20),
        ('{"actions": 3}', ()),
        ("[3", ()),
    ],
)
def test_a_malformed_plan_keeps_what_can_be_read_of_its_beginning(
    prompts: WorldFormat, answer: str, actions: tuple[str, ...]
) -> None:
    assert prompts.read_plan(START, answer) == Plan(actions, valid=False)


def test_outcomes_are_states_without_context_or_null(prompts: WorldFormat) -> None:
    after = {"at": "mill", "delivered": []}
    free, valid = prompts.next_request(START, WALK), prompts.next_request(START, WALK, valid=True)
    assert admits(free, {"state": after})
    assert admits(free, {"state": None})
    assert not admits(valid, {"state": None})
    assert not admits(free, {"state": {**after, "log": []}})
    assert not admits(free, {"state": {"at": "mill"}})
    assert prompts.read_next(START, '{"state": null}') is None
    read = prompts.read_next(START, json.dumps({"state": after}))
    assert read == WorldState('{"at": "mill", "delivered": [], "log": ["began"]}')
    twice = json.dumps({"state": {"at": "mill", "delivered": ["mill", "depot", "mill"]}})
    read = prompts.read_next(START, twice)
    assert read == WorldState('{"at": "mill", "delivered": ["depot", "mill"], "log": ["began"]}')
    for answer in ('{"state": {"at": "sea", "delivered": []}}', '{"state": {"at": "mill"}}', '{"state": 3}', "mill"):
        with pytest.raises(InvalidOutputError):
            prompts.read_next(START, answer)


def test_rollouts_are_read_up_to_what_is_invalid_or_unreadable(prompts: WorldFormat) -> None:
    request = prompts.rollout_request(START, [FORD, WALK, DELIVER])
    ford, mill = {"at": "ford", "delivered": []}, {"at": "mill", "delivered": []}
    assert admits(request, {"states": [ford, mill, None]})
    for states in ([], [ford, mill], [ford, mill, mill, None]):
        assert not admits(request, {"states": states})
    assert prompts.rollout_request(START, []) is None
    assert f"1. {FORD}\n2. {WALK}\n3. {DELIVER}" in text(request)

    def read(states: list[Any], cut: int = 0) -> list[str | None]:
        answer = json.dumps({"states": states})
        rollout = prompts.read_rollout(START, [FORD, WALK, DELIVER], answer[: len(answer) - cut])
        assert all(state is None or isinstance(state, WorldState) for state in rollout)
        return [None if state is None else json.loads(state.text)["at"] for state in rollout]  # type: ignore[attr-defined]

    assert read([ford, mill, mill]) == ["ford", "mill", "mill"]
    assert read([ford, None, mill]) == ["ford", None]
    assert read([ford, {"at": "sea"}, mill]) == ["ford"]
    assert read([ford] * 9) == ["ford"] * 3
    assert read([ford, mill], cut=4) == ["ford"]
    with pytest.raises(InvalidOutputError):
        prompts.read_rollout(START, [FORD], "none")


def test_an_action_is_free_or_the_planned_one(prompts: WorldFormat) -> None:
    free = prompts.act_request(START, {}, None, ())
    answer = {"thought": "The ford is free.", "action": step("Walk", to="ford")}
    assert admits(free, answer)
    assert prompts.read_act(START, json.dumps(answer)) == ("The ford is free.", FORD)
    fixed = prompts.act_request(START, {}, DELIVER, [DELIVER, FORD])
    assert f"\n{DELIVER}\n{FORD}" in text(fixed)
    assert admits(fixed, {"thought": "", "action": DELIVER})
    assert not admits(fixed, {"thought": "", "action": FORD})
    assert prompts.read_act(START, json.dumps({"thought": "So.", "action": DELIVER})) == ("So.", DELIVER)
    for wrong in ({"thought": ""}, {"action": step("Swim")}, {"action": {"name": "Walk", "to": "ford"}}, {"action": 1}):
        with pytest.raises(InvalidOutputError):
            prompts.read_act(START, json.dumps(wrong))


def test_choices_have_one_option_each(prompts: WorldFormat) -> None:
    request, values = prompts.score_request(START)
    assert request.constraint == OneOf(("solved", "possible", "hopeless"))
    assert list(values.values()) == [1.0, 0.0, -1.0]
    assert prompts.select_request(START, offers([[WALK], [FORD, WALK]]), {}).constraint == OneOf(("1", "2"))


def test_what_is_read_out_of_a_text_is_a_state(prompts: WorldFormat) -> None:
    seen = WorldState(START.text, seen="You stand at the ford.", action=FORD)
    request = prompts.project_request(seen)
    assert "You stand at the ford." in text(request)
    assert admits(request, {"quote": "You stand at the ford.", "state": {"at": "ford", "delivered": []}})
    assert not admits(request, {"quote": "", "state": None})
    read = prompts.read_project(seen, '{"state": {"at": "ford", "delivered": []}}')
    assert read == WorldState('{"at": "ford", "delivered": [], "log": ["began"]}')
    assert prompts.project_request(read) is None
    with pytest.raises(InvalidOutputError):
        prompts.read_project(seen, '{"state": null}')


def test_other_formats_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match=r"there is no prompt format of the world courier 'tools'.*chat"):
        make_courier().environment(Round()).prompt_format("tools")


class Dice(BaseModel):
    eyes: int = 0


class Roll(BaseModel):
    """Roll."""


def test_of_chance_the_likeliest_is_asked_for() -> None:
    def roll(dice: Dice, action: Roll) -> Dice:
        return dice

    for deterministic in (True, False):
        made = World("dice", rules="Roll.", deterministic=deterministic)
        made.action(roll)
        made.goal(lambda dice: False)
        layout = made.environment(Dice()).prompt_format("chat")
        state = WorldState('{"eyes": 0}')
        for request in (layout.next_request(state, "Roll()"), layout.rollout_request(state, ["Roll()"])):
            assert ("most likely" in text(request)) is not deterministic

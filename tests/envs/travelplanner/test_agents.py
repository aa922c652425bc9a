"""The agents of the engine on trips, without a model and with a scripted one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envs.travelplanner.declared_lm import DeclaredLM
from envs.travelplanner.environment import TripEnvironment
from envs.travelplanner.offers import Flight, Ground
from envs.travelplanner.prompts.chat import ChatTripFormat, field_name
from envs.travelplanner.trip import Trip, TripState
from tape import TapeAgent
from tape.agents.react import ReactAgent
from tape.errors import ConstraintError, InvalidOutputError, UnknownNameError
from tape.lm.base import JsonSchema, OneOf, Request
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM, obeys
from tape.plugins import load
from tape.protocols import Plan
from tests.envs.travelplanner.trips import actions_of, complete, trip, with_query


def rich(seed: str = "agents", days: int = 3) -> Trip:
    return with_query(trip(seed, days, "easy", "loose"), budget=10**8)


def formatted(made: Trip) -> tuple[ChatTripFormat, TripState]:
    """The prompt format of a trip, and its first state."""
    return ChatTripFormat(TripEnvironment(made.query, made.world).domain), TripState(spent=0)


@pytest.mark.parametrize("agent", ["tape", "react", "plan_and_act", "plan_and_act_replan"])
@pytest.mark.parametrize("execution", ["constrained", "free"])
def test_any_chat_model_can_play(agent: str, execution: str) -> None:
    made = rich()
    env, actions = TripEnvironment(made.query, made.world), actions_of(made)

    def script(request: Request, sample: int) -> str:
        del sample
        if request.role == "plan":
            return planned(made, actions[len(env._state.booked) :])
        if request.role == "act":
            assert isinstance(request.constraint, JsonSchema)
            fixed = request.constraint.model.model_json_schema()["properties"]["action"].get("const")
            return json.dumps({"thought": "on we go", "action": fixed or actions[len(env._state.booked)]})
        assert isinstance(request.constraint, OneOf)
        return request.constraint.options[0]

    settings = {"horizon": 40, "num_plans": 1, "execution": execution}
    result = load("tape.agents", agent)(ScriptedLM(script, obey=True), **settings).run(env)
    assert (result.end_state, result.malformed) == ("success", 0)
    if agent != "tape":  # which takes the solver's path, not the model's plan
        assert list(env._state.booked) == list(complete(made).booked)


def test_one_plan_is_enough_and_a_dead_end_of_it_is_repaired() -> None:
    """Who drives out has to drive back, and no car goes back: the plan stays but for how the trip travels."""
    made = rich()
    out, back = made.slots[0], made.slots[made.last_way]
    flights = tuple(
        Flight(f"F{number}", slot.origin, slot.city, made.query.date_of(slot.day), 100)
        for number, slot in enumerate((out, back))
    )
    world = replace(made.world, grounds=(Ground("self-driving", out.origin, out.city, 50),), flights=flights)
    broken = Trip(made.query, world)
    actions = actions_of(broken)
    wish = [f"{out.name}: self-driving", *actions[1:]]
    asked: list[Request] = []

    def script(request: Request, sample: int) -> str:
        asked.append(request)
        return planned(broken, wish)

    result = TapeAgent(ScriptedLM(script, obey=True)).run(TripEnvironment(broken.query, world))
    assert (result.end_state, [request.n for request in asked]) == ("success", [1])
    assert result.actions[0] == f"{out.name}: F0"
    assert result.lm_calls == {"plan": 1}


def test_constrained_execution_admits_the_planned_action_alone() -> None:
    made = rich()
    prompt_format, state = formatted(made)
    [first, *_] = actions_of(made)
    request = prompt_format.act_request(state, {}, first, [first])
    assert isinstance(request.constraint, JsonSchema)
    request.constraint.model.model_validate({"thought": "", "action": first})
    assert request == prompt_format.act_request(state, {}, first, [first])  # one schema, made once
    with pytest.raises(ValueError, match="action"):
        request.constraint.model.model_validate({"thought": "", "action": "outbound: taxi2"})


def test_prompts_name_the_task_the_options_and_what_was_refused() -> None:
    made = trip("prompt", 5, "hard")
    env = TripEnvironment(made.query, made.world)
    env.reset(0)
    env.step("outbound: F0")
    prompt_format = ChatTripFormat(env.domain)
    text = prompt_format.act_request(env._state, {}, None, []).prompt[-1].content
    assert "refused: there is no 'F0'" in text
    assert made.query.origin in text
    assert all(f"- {choice.partition(': ')[2]} (" in text for choice in prompt_format.choices(env._state))
    plan = prompt_format.plan_request(env._state, {}).prompt[-1].content
    assert all(field_name(slot) in plan for slot in made.slots[:-2])
    for cuisine in made.query.constraints.cuisines:
        assert cuisine in plan


def planned(made: Trip, actions: list[str]) -> str:
    """A plan of bookings as a model writes it: one field a slot, the checks at the end left out."""
    names = {slot.name: field_name(slot) for slot in made.slots[:-2]}
    booked = (action.partition(": ") for action in actions)
    return json.dumps({"thought": "", **{names[slot]: option for slot, _, option in booked if slot in names}})


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_plan_names_one_of_the_listed_options_of_every_slot(days: int) -> None:
    made = trip("schema", days, "hard", "loose")
    prompt_format, state = formatted(made)
    request, actions = prompt_format.plan_request(state, {}), actions_of(made)
    text = planned(made, actions)
    assert obeys(request, text)
    plan = prompt_format.read_plan(state, text)
    assert (list(plan.actions), plan.valid) == (actions, True)
    fields = json.loads(text)
    for change in ({"outbound": "SLOT"}, {"day_1_lunch": "OPTION"}, {"more": "x"}, {"thought": "x" * 201}):
        assert not obeys(request, json.dumps(fields | change))
    assert not obeys(request, json.dumps({name: option for name, option in fields.items() if name != "return"}))


def test_of_a_plan_that_breaks_off_the_beginning_is_kept() -> None:
    made = rich()
    prompt_format, state = formatted(made)
    text = json.dumps(json.loads(planned(made, actions_of(made))), indent=2)
    plan = prompt_format.read_plan(state, text[: text.index("day_1_lunch") + 20])
    assert (list(plan.actions), plan.valid) == (actions_of(made)[:4], False)
    for text in ("", "{", "[]", '{"outbound": 3}', '{"outbound": " "}'):
        assert prompt_format.read_plan(state, text) == Plan((), valid=False)
        with pytest.raises(InvalidOutputError):
            prompt_format.read_act(state, text)


def test_a_restaurant_that_is_named_twice_gives_way_to_the_cheapest_that_is_not() -> None:
    made = rich()
    prompt_format, state = formatted(made)
    fields = json.loads(planned(made, actions_of(made)))
    meals = [name for name in fields if name.startswith("day_") and not name.endswith("attraction")]
    plan = prompt_format.read_plan(state, json.dumps(fields | dict.fromkeys(meals, fields[meals[0]])))
    eaten = [action.partition(": ")[2] for action in plan.actions if "attraction" not in action and "day" in action]
    assert eaten[0] == fields[meals[0]]
    assert len(set(eaten)) == len(eaten) == len(meals)
    assert set(eaten) <= {option.name for option in made.options(made.slots[made.meal_slots[0]])}


def test_where_no_option_is_left_one_can_be_named_all_the_same_and_is_refused() -> None:
    poor = with_query(trip("poor", 3, "easy", "loose"), budget=0)
    prompt_format, state = formatted(poor)
    assert not prompt_format.choices(state)
    request = prompt_format.act_request(state, {}, None, [])
    assert isinstance(request.constraint, JsonSchema)
    field = request.constraint.model.model_json_schema()["properties"]["action"]
    for action in field.get("enum", [field.get("const")]):
        assert poor.refusal(state, action)


def test_the_declared_model_answers_where_options_are_listed_and_nowhere_else() -> None:
    lm = open_model("declared:random")
    assert isinstance(lm, DeclaredLM)
    assert lm.prompt_format == "declared"
    with pytest.raises(UnknownNameError, match="declared"):
        open_model("declared:best")
    made = rich()
    with pytest.raises(ConstraintError, match="use a language model"):
        lm._one(Request("tell me a story", 10), 0)
    results = [
        ReactAgent("declared:random", horizon=40).run(TripEnvironment(made.query, made.world), seed=seed).actions
        for seed in (0, 0, 1)
    ]
    assert results[0] == results[1] != results[2]

"""A world that is played: steps, refusals, costs, chance, hidden fields, texts that have to be read."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.lm.scripted import ScriptedLM
from tape.world import InvalidActionError, World, WorldEnvironment
from tape.world.scripted import ScriptedPlayer
from tape.world.state import WorldState, as_state
from tests.tape.world.worlds import Lamp, Round, make_courier, make_lamp

WALK, DELIVER = 'Walk(to="mill")', "Deliver()"


def seen(env: WorldEnvironment) -> WorldState:
    return env.domain.project(env.reset(0))


class Die(BaseModel):
    eyes: int = 0


class Roll(BaseModel):
    """Roll the die."""


def die(step: Callable[..., Any], **amounts: Any) -> WorldEnvironment:
    made = World("die", rules="Roll a six.", deterministic=False)
    made.action(**amounts)(step)
    made.goal(lambda die: die.eyes == 6)
    return made.environment(Die())


def test_a_step_changes_the_state_and_costs_what_is_declared() -> None:
    env = make_courier().environment(Round())
    state = seen(env)
    assert env.domain.cost(state, WALK) == Resources({"steps": 1, "coins": 2})
    observation, used = env.step(WALK)
    assert used == Resources({"steps": 1, "coins": 2})
    assert observation.text == 'at: "mill"\ndelivered: []\nlog: ["walked to mill"]'
    assert env.domain.key(env.domain.project(observation)) == '{"at": "mill", "delivered": []}'
    assert not env.success()
    observation, used = env.step(" Deliver ( )")
    assert used == Resources({"steps": 1})
    assert env.success()
    assert env.state == Round(at="mill", delivered=frozenset({"mill"}), log=["walked to mill"])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ('Walk(to="depot")', "no road leads from depot to depot"),
        ('Walk(to="sea")', "Walk: to: Input should be"),
        ("Walk()", "Walk: to: Field required"),
        ('Walk(to="mill", by="boat")', "Walk has no argument 'by'"),
        ("Swim()", "there is no action 'Swim'; there is: Walk, Deliver"),
        ("over the bridge", "is no action; one is written NAME(ARGUMENT=VALUE, ...): Walk, Deliver"),
        ("Walk(to=#1)", "Walk: to: Input should be"),
    ],
)
def test_a_refused_action_changes_nothing_costs_a_step_and_gives_its_reason(action: str, message: str) -> None:
    env = make_courier().environment(Round())
    before = seen(env)
    observation, used = env.step(action)
    after = env.domain.project(observation)
    assert used == Resources({"steps": 1})
    assert env.domain.key(after) == env.domain.key(before)
    assert message in after.note
    assert message in observation.text
    assert env.state == Round()
    prompts = env.prompt_format("chat")
    asked = [prompts.plan_request(state, {}).prompt[-1].content for state in (before, after)]  # type: ignore[union-attr]
    assert [message in text for text in asked] == [False, True]
    assert prompts.score_request(before)[0] == prompts.score_request(after)[0], "a refusal is no part of a state"


def test_a_refused_action_costs_its_own_steps() -> None:
    def roll(die: Die, action: Roll) -> Die:
        raise InvalidActionError("it is nailed down")

    env = die(roll, steps=3, coins=2)
    assert env.step("Roll()")[1] == Resources({"steps": 3})
    free = die(roll, steps=0)
    assert free.step("Roll()")[1] == free.domain.cost(seen(free), "Roll()") == Resources()


def test_a_world_survives_steps_that_change_what_they_get() -> None:
    env = make_courier().environment(start := Round())
    for _ in range(2):
        env.reset(0)
        env.step(WALK)
        assert env.state.log == ["walked to mill"]  # type: ignore[attr-defined]
    assert start == Round()


def test_chance_depends_on_the_seed_and_the_number_of_the_step() -> None:
    def roll(die: Die, action: Roll, rng: random.Random) -> Die:
        return Die(eyes=rng.randint(1, 6))

    env = die(roll)

    def rolls(seed: int) -> list[str]:
        env.reset(seed)
        return [env.step("Roll()")[0].text for _ in range(12)]

    assert rolls(1) == rolls(1) != rolls(2)
    assert len(set(rolls(1))) > 2


def test_less_may_be_used_than_declared() -> None:
    def roll(die: Die, action: Roll) -> tuple[Die, dict[str, Any]]:
        return Die(eyes=6), {"coins": 1}

    env = die(roll, coins=3)
    assert env.domain.cost(seen(env), "Roll()") == Resources({"steps": 1, "coins": 3})
    assert env.step("Roll()")[1] == Resources({"steps": 1, "coins": 1})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "a state of this world is a Die, got None"),
        ((Die(), {"seconds": 1}), r"Roll used seconds, which it does not declare: @world.action\(seconds=AT_MOST\)"),
        ((Die(), 1), "a step returns a state, or"),
        ((Die(), {}, 1), "a step returns a state, or"),
        (Die.model_construct(eyes=2.5), "is no Die: eyes: Input should be a valid integer"),
    ],
)
def test_a_step_that_breaks_its_declaration_ends_the_episode(answer: Any, message: str) -> None:
    def roll(die: Die, action: Roll) -> Any:
        return answer

    env = die(roll)
    model = ScriptedLM(['{"thought": "", "action": {"name": "Roll", "arguments": {}}}'])
    result = ReactAgent(model).run(env, budget=Budget.of(steps=2))
    assert result.end_state == "env_error"
    assert re.search(message, result.detail)
    with pytest.raises(ValueError, match=message):
        env.step("Roll()")


def test_steps_may_be_asynchronous() -> None:
    async def roll(die: Die, action: Roll) -> Die:
        await asyncio.sleep(0)
        if die.eyes:
            raise InvalidActionError("once is enough")
        return Die(eyes=6)

    env = die(roll)
    env.step("Roll()")
    assert env.success()
    assert "once is enough" in env.step("Roll()")[0].text
    with pytest.raises(ValueError, match="must not be async"):
        ScriptedPlayer(env.world)


class Room(BaseModel):
    warm: Annotated[float, AfterValidator(lambda value: round(value, 1))] = 0


def test_validators_may_round_what_is_measured() -> None:
    def heat(room: Room, action: Roll) -> Room:
        return room.model_copy(update={"warm": room.warm + 0.1234})

    made = World("room", rules="Heat.", deterministic=True)
    made.action(heat)
    made.goal(lambda room: room.warm > 9)
    env = made.environment(Room())
    keys = [env.domain.key(env.domain.project(env.step("Roll()")[0])) for _ in range(7)]
    assert (keys[0], keys[6]) == ('{"warm": 0.1}', '{"warm": 0.9}'), "the room itself is not rounded"


class Board(BaseModel):
    row: str = "x."

    def __str__(self) -> str:
        return f"[{self.row}]"


def test_pictures_are_those_of_the_class_where_it_has_its_own() -> None:
    def step(board: Board, action: Roll) -> Board:
        raise InvalidActionError("full")

    made = World("board", rules="Roll.", deterministic=True)
    made.action(step)
    made.goal(lambda board: False)
    env = made.environment(Board())
    assert env.reset(0).text == "[x.]"
    assert env.step("Roll()")[0].text == "[x.]\n(refused: full)"


def test_destructive_actions_are_marked() -> None:
    domain = make_courier().environment(Round()).domain
    assert [domain.destructive(action) for action in (WALK, DELIVER, "nonsense")] == [False, True, False]


def test_hidden_fields_are_kept_by_the_environment_alone() -> None:
    env = make_lamp().environment(Lamp(fuse=7))
    assert "fuse" not in seen(env).text
    env.step("Press()")
    assert env.state == Lamp(lit=True, fuse=6)
    prompts = env.prompt_format("chat")
    assert "fuse" not in str(prompts.next_request(seen(env), "Press()"))


def test_what_is_only_described_is_read_by_the_model() -> None:
    made = make_lamp()
    model = ScriptedPlayer(made)
    env = made.environment(Lamp(), budget=Budget.of(steps=3))
    result = TapeAgent(model).run(env)
    assert (result.end_state, result.actions, result.mismatches) == ("success", ["Press()"], 0)
    asked = [request for request in model.requests if request.role == "project"]
    assert result.lm_calls["project"] == len(asked) == 1
    text = asked[0].prompt[-1].content  # type: ignore[union-attr]
    assert "Press()" in text
    assert "It is bright." in text
    assert made.reads


def test_a_text_that_cannot_be_read_leaves_what_was_known_and_is_shown() -> None:
    made = make_lamp()
    env = made.environment(Lamp(fuse=0))
    prompts = env.prompt_format("chat")
    state = env.domain.project(env.step("Press()")[0])
    assert state.seen == "It is bright."
    kept = as_state(prompts.unread(state))  # type: ignore[attr-defined]
    assert kept == WorldState('{"lit": false, "burnt": false}', note="It is bright.")
    env.projected(kept)
    assert "It is bright." in prompts.plan_request(kept, {}).prompt[-1].content  # type: ignore[union-attr]
    assert env.ended()
    assert not env.success()


def test_reading_is_part_of_what_a_step_is_reserved_for() -> None:
    made = make_lamp()
    env = made.environment(Lamp())
    prompts = env.prompt_format("chat")
    state = seen(env)
    longest = prompts.longest_project_request(state, "Press()")  # type: ignore[attr-defined]
    asked = prompts.project_request(env.domain.project(env.step("Press()")[0]))  # type: ignore[attr-defined]
    assert len(str(longest.prompt)) > len(str(asked.prompt))
    assert longest.max_tokens >= asked.max_tokens
    courier = make_courier().environment(Round()).prompt_format("chat")
    assert courier.longest_project_request(WorldState("{}"), DELIVER) is None  # type: ignore[attr-defined]


def test_an_observer_that_returns_no_text_is_a_fault() -> None:
    made = make_lamp()
    made.observe(lambda lamp: None)
    env = made.environment(Lamp())
    with pytest.raises(ValueError, match="returns a str, got None"):
        env.step("Press()")


class Far(BaseModel):
    """Go far."""

    miles: int = Field(ge=0)


def test_actions_with_open_arguments_are_not_listed_and_need_no_horizon() -> None:
    def go(die: Die, action: Far) -> Die:
        return Die(eyes=action.miles)

    env = die(go, coins=lambda die, far: far.miles)
    assert env.domain.admissible(seen(env)) is None
    assert env.domain.cost(seen(env), "Far(miles=4)") == Resources({"steps": 1, "coins": 4})
    player = ScriptedPlayer(env.world, plans=[["Far(miles=1)", "Far(miles=6)"]])
    for agent in (TapeAgent, ReactAgent):
        result = agent(player).run(env, budget=Budget.of(steps=2, coins=7))
        assert result.end_state == "success" if agent is TapeAgent else "budget:steps"

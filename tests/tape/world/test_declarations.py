"""What is declared wrongly is refused at once, by its name, with what to do."""

from __future__ import annotations

import inspect
import random
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, PlainSerializer

from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.errors import ConfigError, EnvironmentFaultError, UnknownCostError
from tape.world import Context, World, WorldError
from tape.world.scripted import ScriptedPlayer
from tests.tape.world.worlds import Deliver, Round, Walk, make_courier


class Spot(BaseModel):
    at: int = 0


class Go(BaseModel):
    """Go on."""


class Undescribed(BaseModel):
    far: int


class OnlyLog(BaseModel):
    log: Annotated[list[str], Context] = []


class HiddenNeeded(BaseModel):
    at: int
    secret: int = Field(exclude=True)


class Lavish(BaseModel):
    model_config = {"extra": "allow"}
    at: int = 0


class Inner(BaseModel):
    noise: Annotated[int, Context] = 0


class Deep(BaseModel):
    inner: Inner = Inner()


class OneWay(BaseModel):
    at: Annotated[int, PlainSerializer(lambda value: value + 1)] = 0


class NotANumber(BaseModel):
    at: float = float("nan")


Odd = type("Go[int]", (BaseModel,), {"__doc__": "Go.", "__module__": __name__})


def plain(state: Spot, action: Go) -> Spot:
    return state


def world(**changes: Any) -> World:
    return World(**{"name": "w", "rules": "Go.", "deterministic": True, **changes})


def declared(hints: dict[str, Any], **settings: Any) -> World:
    def step(*arguments: Any) -> Any: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in hints]
    step.__annotations__, step.__signature__ = hints, inspect.Signature(parameters)  # type: ignore[attr-defined]
    made = world()
    made.action(**settings)(step) if settings else made.action(step)
    return made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "needs a name"),
        ({"rules": " \n "}, "rules are missing"),
        ({"rules": None}, "rules are missing"),
        ({"deterministic": None}, "deterministic is True or False"),
        ({"longest_plan": 0}, "longest_plan is a whole number from 1"),
    ],
)
def test_a_world_needs_a_name_rules_and_whether_it_is_deterministic(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        world(**changes)


@pytest.mark.parametrize(
    ("hints", "settings", "message"),
    [
        ({"state": Spot}, {}, "step: a step function takes a state and an action"),
        ({"state": int, "action": Go}, {}, "step: a state is a pydantic model, got <class 'int'>"),
        ({"state": Spot, "action": str}, {}, "step: an action is a pydantic model"),
        ({"state": Spot, "action": Go | str}, {}, "or a union of them, got <class 'str'>"),
        ({"state": Spot, "action": "Nowhere"}, {}, "its type hints cannot be read: name 'Nowhere'"),
        ({"state": Spot, "action": Go, "rng": int}, {}, "the third parameter is rng: random.Random"),
        ({"state": Spot, "action": Go, "rng": random.Random}, {}, "draws at random, but the world is declared det"),
        ({"state": Spot, "action": Undescribed}, {}, "Undescribed needs a docstring"),
        ({"state": Spot, "action": Odd}, {}, "names of actions and of their fields have letters"),
        ({"state": Spot, "action": Go | Go | Annotated[Go, 1]}, {}, "there is an action Go already"),
        ({"state": OnlyLog, "action": Go}, {}, "OnlyLog has no field that distinguishes its states"),
        ({"state": HiddenNeeded, "action": Go}, {}, "HiddenNeeded.secret is hidden .* so it needs a default"),
        ({"state": Lavish, "action": Go}, {}, "Lavish takes fields that it does not name"),
        ({"state": Deep, "action": Go}, {}, "Deep.inner: only fields of Deep itself"),
        ({"state": Spot, "action": Go}, {"gold_coins": 1}, "resource 'gold_coins' is not declared"),
        ({"state": Spot, "action": Go}, {"usd": -1}, "usd"),
    ],
)
def test_a_step_is_read_from_its_type_hints(hints: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        declared(hints, **settings)


def test_a_parameter_without_a_hint_is_named_and_so_is_another_state() -> None:
    def step(state: Spot, action) -> Spot:  # type: ignore[no-untyped-def]
        return state

    with pytest.raises(WorldError, match="the parameter action needs a type hint"):
        world().action(step)
    with pytest.raises(WorldError, match="plain: the state of this world is Round, got Spot"):
        make_courier().action(plain)


def test_what_is_missing_is_named_when_it_is_to_be_played() -> None:
    made = world()
    with pytest.raises(WorldError, match="no action is declared"):
        made.environment(Spot())
    made.action(plain)
    with pytest.raises(WorldError, match="no goal is declared"):
        made.environment(Spot())
    made.goal(lambda spot: spot.at == 1)
    with pytest.raises(WorldError, match="a state of this world is a Spot, got 3"):
        made.environment(3)  # type: ignore[arg-type]
    with pytest.raises(WorldError, match="the goal is reached at the start"):
        made.environment(Spot(at=1))
    made.goal(lambda spot: None)
    with pytest.raises(WorldError, match="returns a bool, got None"):
        made.environment(Spot())


@pytest.mark.parametrize(
    ("model", "message"), [(OneWay, "does not survive JSON"), (NotANumber, "cannot be written as JSON")]
)
def test_a_start_that_is_no_json_is_refused(model: type[BaseModel], message: str) -> None:
    made = declared({"state": model, "action": Go})
    made.goal(lambda state: False)
    with pytest.raises(WorldError, match=message):
        made.environment(model())


def test_a_cap_on_what_no_action_declares_is_refused_before_anything_is_spent() -> None:
    made = make_courier()
    with pytest.raises(WorldError, match="the budget caps seconds, and no action declares what it costs in it"):
        made.environment(Round(), budget=Budget.of(seconds=1))
    model = ScriptedPlayer(made)
    for agent in (TapeAgent, ReactAgent):
        with pytest.raises(UnknownCostError, match="seconds"):
            agent(model).run(made.environment(Round()), budget=Budget.of(seconds=1, steps=3))
    assert not model.requests


def test_an_unknown_amount_is_refused_under_a_cap() -> None:
    made = declared({"state": Spot, "action": Go}, coins=None)
    made.goal(lambda spot: spot.at > 9)
    model = ScriptedPlayer(made)
    with pytest.raises(UnknownCostError, match="coins"):
        TapeAgent(model).run(made.environment(Spot(), budget=Budget.of(coins=1)))
    assert not model.requests


@pytest.mark.parametrize(
    ("amount", "message"),
    [(lambda here, go: here.nowhere, "AttributeError"), (lambda here, go: -1, "must be a finite number >= 0")],
)
def test_a_cost_that_cannot_be_computed_ends_the_episode_and_names_its_action(amount: Any, message: str) -> None:
    made = world()
    made.action(coins=amount)(plain)
    made.goal(lambda spot: spot.at > 9)
    env = made.environment(Spot())
    with pytest.raises(EnvironmentFaultError, match=message):
        env.domain.cost(env.domain.project(env.reset(0)), "Go()")
    result = TapeAgent(ScriptedPlayer(made, plans=[["Go()"]])).run(env, budget=Budget.of(steps=2))
    assert result.end_state == "env_error"
    assert message in result.detail
    assert result.steps == 0


def test_tasks_have_digests_of_their_own_and_are_found() -> None:
    made = make_courier()
    with pytest.raises(WorldError, match="courier has no tasks"):
        made.tasks()
    made.add_task("one", Round(), budget=Budget.of(coins=2))
    with pytest.raises(WorldError, match="there is a task 'one' already"):
        made.add_task("one", Round())
    with pytest.raises(WorldError, match="caps seconds"):
        made.add_task("two", Round(), budget=Budget.of(seconds=2))
    made.add_task("two", Round(at="ford"))
    task, two = made.tasks()
    assert task.digest != two.digest
    assert (dict(task.budget), task.level_set) == ({"coins": 2}, "courier")
    elsewhere = make_courier()
    elsewhere.add_task("three", Round())
    with pytest.raises(WorldError, match="courier has no task 'one'; it has three"):
        elsewhere.make(task)


def test_prompts_are_versioned_by_rules_and_models() -> None:
    versions = {make_courier().prompt_version for _ in range(2)}
    for rules, actions in (("A", Walk), ("B", Walk), ("B", Deliver), ("B", Walk | Deliver)):
        made = world(rules=rules)

        def step(state: Round, action: Any) -> Round:
            return state

        step.__annotations__["action"] = actions
        made.action(step)
        versions.add(made.prompt_version)
    assert len(versions) == 5


def test_a_discriminated_union_declares_all_its_members() -> None:
    class Left(BaseModel):
        """Go left."""

        kind: Literal["left"] = "left"

    class Right(BaseModel):
        """Go right."""

        kind: Literal["right"] = "right"
        far: bool = False

    made = declared({"state": Spot, "action": Annotated[Left | Right, Field(discriminator="kind")]})
    rights = ('Right(kind="right", far=false)', 'Right(kind="right", far=true)')
    assert made.actions.all == ('Left(kind="left")', *rights)

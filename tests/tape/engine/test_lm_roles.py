"""The model's roles that the paper has and the defaults leave to what is declared: costs, merging, the goal test."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.plugin import PLUGIN as SOKOBAN
from tape.agents.base import Agent
from tape.agents.best_of_n import BestOfNReactAgent, GoalTestScorer
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger, Resources
from tape.engine.ablations.cost_model import LmCostModel
from tape.engine.ablations.merger import LmMerger
from tape.engine.context import RoleContext
from tape.engine.result import EpisodeResult
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.accounting import AccountedLM
from tape.lm.base import Choice, Message, Request, Usage
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Score, State
from tape.protocols.parts import GoalTest
from tape.runner.checks import check_before
from tape.runner.configurations import Configuration
from tape.runner.spec import RunSpec
from tape.sdp.agent import SdpAgent
from tape.testing.line import Line, LineDomain, LineFormat, LineModel
from tape.tools import Tool, ToolEnvironment, tool
from tape.trace import ActedEvent, LedgerEvent, TraceWriter
from tape.world import World
from tape.world.scripted import ScriptedPlayer
from tests.tape.helpers import CORRIDOR

STEP = Resources({"steps": 1})


class Told(LineFormat):
    """A format that can ask."""

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        return (Message("user", f"State: {state}\n{question}"),)


class Ways:
    """A domain of texts; what is done costs what the action says."""

    def key(self, state: State) -> str:
        return str(state)

    def cost(self, state: State, action: Action) -> Resources:
        del state
        return Resources({"steps": 1, "usd": int(action)})


class Weighing(ScriptedLM):
    """Gives the options of every choice these weights."""

    def __init__(self, weights: Callable[[Request, int], Sequence[float]]) -> None:
        super().__init__([""])
        self._weights = weights

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        self.requests += requests
        return [(tuple(self._weights(one, len(options(one)))), Usage(1, 1)) for one in requests]


def options(request: Request) -> tuple[str, ...]:
    assert isinstance(request.constraint, Choice)
    return request.constraint.options


def context(lm: ScriptedLM, budget: Mapping[str, int] | None = None) -> RoleContext:
    return RoleContext(
        AccountedLM(lm, Ledger(Budget(dict(budget or {})))),
        Told(LineDomain(3)),
        Ways(),  # type: ignore[arg-type]
        TraceWriter("test", None),
    )


# --- C_theta --------------------------------------------------------------------------------


def predicted(lm: ScriptedLM, *actions: str, kinds: Sequence[str] = ("usd",)) -> list[Resources]:
    return asyncio.run(LmCostModel(context(lm)).predict([("here", action) for action in actions], kinds))


def test_a_predicted_cost_is_the_expected_one_rounded_up() -> None:
    lm = Weighing(lambda request, count: [0.5, *[0.0] * (count - 2), 0.5])
    assert predicted(lm, "80", "1") == [Resources({"steps": 1, "usd": 40}), Resources({"steps": 1, "usd": 1})]
    assert options(lm.requests[0])[::8] == ("$0", "$0.00008")
    assert options(lm.requests[1]) == ("$0", "$0.000001")


@settings(max_examples=40)
@given(st.integers(0, 10**7), st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_no_prediction_is_above_the_declared_worst_case(worst: int, weights: list[float]) -> None:
    lm = Weighing(lambda request, count: weights[:count])
    [cost] = predicted(lm, str(worst))
    assert 0 <= (cost["usd"] or 0) <= worst
    if len(lm.requests) == 1 and not any(weights[: len(options(lm.requests[0]))]):
        assert cost["usd"] == worst


def test_only_what_is_capped_and_open_is_asked_about_once() -> None:
    lm = Weighing(lambda request, count: [1.0, *[0.0] * (count - 1)])
    model = LmCostModel(context(lm))
    pairs = [("here", "0"), ("here", "5"), ("here", "5"), ("there", "5")]
    first = asyncio.run(model.predict(pairs, ("usd",)))
    assert [cost["usd"] for cost in first] == [0, 0, 0, 0]
    assert [cost["steps"] for cost in first] == [1] * 4
    assert len(lm.requests) == 2  # nothing of what costs nothing, and no pair twice
    assert asyncio.run(model.predict(pairs, ("usd",))) == first
    assert len(lm.requests) == 2


def test_an_unreadable_cost_leaves_the_worst_case_and_counts() -> None:
    lm = Weighing(lambda request, count: [0.0] * count)
    roles = context(lm)
    [cost] = asyncio.run(LmCostModel(roles).predict([("here", "7")], ("usd", "steps")))
    assert cost == Resources({"steps": 1, "usd": 7})
    assert roles.malformed == 2


CENT = 10_000  # micro-dollars


@dataclass(frozen=True)
class Drawn:
    """A cost model: $0.05 at most, whatever it really is."""

    cents: Sequence[int]

    def worst(self) -> Resources:
        return Resources({"usd": 5 * CENT})

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        del result, rng
        return Resources({"usd": self.cents[int(arguments["part"]) % len(self.cents)] * CENT})


def look_up(cents: Sequence[int]) -> Tool:
    @tool(cost=Drawn(cents))
    def look(part: int) -> str:
        """Look a part up."""
        return f"part {part}"

    return look


def looking(cents: Sequence[int], says: str, calls: int = 3, **switches: Any) -> tuple[EpisodeResult, TraceWriter]:
    """Some calls of a tool that declares $0.05 and really costs something else, under $0.12."""
    plan = [{"tool": "look", "arguments": {"part": part}} for part in range(calls)]

    def reply(request: Request, sample: int) -> str:
        del sample
        if request.role == "cost":
            return says
        if request.role == "score":
            return "right"
        upcoming = re.search(r"next result will be #(\d+)", str(request.prompt))
        assert upcoming is not None, request
        done = int(upcoming[1]) - 1
        return json.dumps({"calls": plan[done:], "answer": f"#{calls}"})

    trace = TraceWriter("test", None)
    agent = TapeAgent(ScriptedLM(reply), num_plans=1, max_replans=3, **switches)
    env = ToolEnvironment("look up", [look_up(cents)], judge=lambda answer: answer == f"part {calls - 1}")
    return agent.run(env, budget=Budget.of(usd="$0.12"), trace=trace), trace


def test_plans_that_the_worst_case_rules_out_are_followed_where_costs_are_predicted() -> None:
    refused, _ = looking([1], "$0.00625")
    assert (refused.end_state, refused.steps) == ("infeasible", 0)
    found, _ = looking([1], "$0.00625", costs="lm")
    assert (found.end_state, found.used["usd"]) == ("success", 3 * CENT)
    assert found.lm_calls["cost"] >= 3


def test_what_no_longer_fits_at_its_worst_is_planned_again_and_not_executed() -> None:
    result, _ = looking([5], "$0.00625", costs="lm")
    assert result.end_state == "infeasible"  # $0.02 are left, and every call may take $0.05
    assert result.steps == 2
    assert result.used["usd"] == 10 * CENT
    assert result.replans == 1
    assert result.detail.endswith(", by predicted costs")


@settings(max_examples=12)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.sampled_from(["$0", "$0.0125", "$0.05"]))
def test_whatever_is_predicted_nothing_is_executed_that_does_not_fit_at_its_worst(cents: list[int], says: str) -> None:
    result, trace = looking(cents, says, costs="lm")
    assert result.used.get("usd", 0) <= 12 * CENT
    assert not result.budget_violations
    left = 12 * CENT
    for event in trace.events:
        if isinstance(event, LedgerEvent) and event.purpose.startswith("step:look"):
            if event.what == "reserve":
                assert (event.amounts.get("usd") or 0) == 5 * CENT <= left
            elif event.what == "settle":
                left -= event.amounts.get("usd") or 0
    assert sum(isinstance(event, ActedEvent) for event in trace.events) == result.steps


# --- f_theta --------------------------------------------------------------------------------


def same_number(request: Request, sample: int) -> str:
    """A merger that takes texts with the same number for the same."""
    del sample
    asked = str(request.prompt[-1].content)  # type: ignore[union-attr]
    own = re.search(r"this state is:\n.*?(\d+)", asked)
    assert own is not None
    listed = re.findall(r"^(\d+)\. .*?(\d+)$", asked, re.MULTILINE)
    return next((number for number, told in listed if told == own[1]), "none")


def test_a_new_state_becomes_one_with_the_known_one_that_the_model_names() -> None:
    lm = ScriptedLM(same_number)
    merger = LmMerger(context(lm))
    asyncio.run(merger.merge(["cup 1", "cup 1", "mug 1", "cup 2", "a mug 2", "a cup 1"]))
    keys = {text: merger.key(text) for text in ("cup 1", "mug 1", "cup 2", "a mug 2", "a cup 1")}
    assert keys == {"cup 1": "cup 1", "mug 1": "cup 1", "cup 2": "cup 2", "a mug 2": "cup 2", "a cup 1": "cup 1"}
    assert len(lm.requests) == 4  # the first has nothing to be compared with, and no text is asked about twice
    asyncio.run(merger.merge(["cup 2", "mug 1"]))
    assert len(lm.requests) == 4
    assert merger.key("nobody has asked about 1") == "nobody has asked about 1"


def test_the_expected_node_is_offered_first_and_few_others() -> None:
    lm = ScriptedLM(lambda request, sample: "1" if "unlike" in str(request.prompt) else "none")
    merger = LmMerger(context(lm))
    known = [f"cup {number} on the table" for number in range(10)]
    asyncio.run(merger.merge(["wholly different", *known]))
    asyncio.run(merger.merge(["unlike cup 3 on the table"], "wholly different"))
    assert merger.key("unlike cup 3 on the table") == "wholly different"
    assert len(options(lm.requests[-1])) == 7
    assert "2. cup 3 on the table" in str(lm.requests[-1].prompt)


def test_an_unreadable_answer_merges_nothing_and_counts() -> None:
    roles = context(ScriptedLM(["perhaps 1"]))
    merger = LmMerger(roles)
    asyncio.run(merger.merge(["a", "b"]))
    assert (merger.key("a"), merger.key("b"), roles.malformed) == ("a", "b", 1)


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from("ab 1"), max_size=9), max_size=12), st.randoms(use_true_random=False))
def test_nodes_are_states_that_came_before_and_stay(states: list[str], chance: random.Random) -> None:
    merger = LmMerger(context(ScriptedLM(lambda request, sample: chance.choice(options(request)))))
    before: dict[str, str] = {}
    for state in states:
        asyncio.run(merger.merge([state]))
        before.setdefault(state, merger.key(state))
        assert merger.key(merger.key(state)) == merger.key(state)
    assert {state: merger.key(state) for state in before} == before


def test_a_merging_request_takes_no_more_than_its_worst_case() -> None:
    lm = ScriptedLM(["none"])
    roles = context(lm)
    merger = LmMerger(roles)
    worst = merger.worst_case("x")["tokens"] or 0
    asyncio.run(merger.merge([f"{'word ' * 500}{number}" for number in range(9)]))
    assert len(lm.requests) == 8
    body = [roles.lm.worst_case(request)["tokens"] or 0 for request in lm.requests]
    assert max(body) - 500 <= worst  # the state in full is what the actor is shown as well


class Room(BaseModel):
    door: str = "shut"
    told: str = "a shut door"


class Open(BaseModel):
    """Open the door."""


class Leave(BaseModel):
    """Go through the open door."""


def room() -> World:
    world = World("room", rules="A door can be opened and gone through.", deterministic=True)

    @world.action
    def open_it(here: Room, action: Open) -> Room:
        return Room(door="open", told="the door stands open")

    @world.action
    def leave(here: Room, action: Leave) -> Room:
        return Room(door="behind" if here.door == "open" else here.door, told=here.told)

    @world.goal
    def out(here: Room) -> bool:
        return here.door == "behind"

    world.add_task("out", Room(), budget=Budget.of(steps=4), task="Leave the room.")
    return world


class Merging(ScriptedPlayer):
    """Tells states apart by the door alone; predicts other words than will be seen."""

    def __init__(self, world: World) -> None:
        super().__init__(world, wrong={"Open()": {"told": "an open door"}})

    def _answered(self, state: str, question: str, sample: int) -> Any:
        if "Which of them is the same state" not in question:
            return super()._answered(state, question, sample)
        listed = re.findall(r"^(\d+)\. (\{.*\})$", question, re.MULTILINE)
        door = json.loads(state)["door"]
        return next((number for number, told in listed if json.loads(told)["door"] == door), "none")


def leaving(**switches: Any) -> EpisodeResult:
    world = room()
    [task] = world.tasks()
    return TapeAgent(Merging(world), **switches).run(world.make(task), budget=task.budget)


def test_words_alone_are_no_mismatch_where_the_model_merges_states() -> None:
    apart, merged = leaving(), leaving(projector="lm")
    assert (apart.end_state, apart.mismatches) == ("success", 1)
    assert (merged.end_state, merged.mismatches, merged.replans) == ("success", 0, 0)
    assert merged.lm_calls["merge"] == 3  # the two predicted states, and what was seen once it was opened
    assert "merge" not in apart.lm_calls


def test_merging_is_part_of_what_a_step_may_cost() -> None:
    world = room()
    [task] = world.tasks()
    caps = Budget.of(steps=4, tokens=10**6)
    graphs = []
    for projector in ("declared", "lm"):
        agent = TapeAgent(Merging(world), execution="forced", projector=projector)
        planned = agent.plan(world.make(task), budget=caps)
        graphs.append(next(planned.graph.edges()).cost["tokens"] or 0)
    assert graphs[0] == 0 < graphs[1]


# --- switches -------------------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "role"), [("costs", "cost"), ("projector", "merge")])
def test_a_role_that_prompts_do_not_have_is_refused_at_the_start(switch: str, role: str) -> None:
    agent = TapeAgent(ScriptedLM([""], prompt_format="compact"), **{switch: "lm"})
    with pytest.raises(ConfigError, match=f"{switch}='lm': the prompts that scripted reads have no {role} role"):
        agent.run(SokobanEnvironment.with_slack(CORRIDOR, 2))


@pytest.mark.parametrize("agent", [ReactAgent, BestOfNReactAgent, SdpAgent])
@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_agents_without_the_role_refuse_it(agent: type[Agent], switch: str) -> None:
    with pytest.raises(ConfigError, match="means nothing to the agent"):
        agent(ScriptedLM([""]), **{switch: "lm"})


@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_verification_goes_by_what_is_declared(switch: str) -> None:
    with pytest.raises(ConfigError, match=f"needs {switch}='declared'"):
        TapeAgent(ScriptedLM([""]), aec=True, **{switch: "lm"})


def test_where_outcomes_are_declared_nothing_is_merged() -> None:
    with pytest.raises(ConfigError, match="nothing to merge"):
        looking([1], "$0", projector="lm")


# --- R_theta beside the declared goal test --------------------------------------------------


class Scored:
    def __init__(self, score: Score) -> None:
        self.asked: list[State] = []
        self._score = score

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        del remaining
        self.asked += states
        return [self._score for _ in states]


class Knows(Ways):
    def satisfied(self, state: State) -> bool:
        return state == "goal"


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_the_declared_test_goes_before_the_score(likely: float, mean: float) -> None:
    scorer = Scored(Score(likely, mean))
    found = asyncio.run(GoalTestScorer(scorer, Knows()).score(["a", "goal", "b"], {}))  # type: ignore[arg-type]
    assert scorer.asked == ["a", "b"]
    assert found[1] == Score(1.0, 1.0)
    assert found[0] == found[2]
    assert found[0].likely < 0.5 > found[0].mean
    assert found[0].likely == likely or likely > 0.49


class KnownLine(Line):
    """A line whose domain knows its goal."""

    def __init__(self, last: int = 3) -> None:
        super().__init__(last, steps=2 * last)

        class Knowing(LineDomain, GoalTest):
            @property
            def goal_test(self) -> GoalTest:
                return self

            def satisfied(self, state: State) -> bool:
                return state == self.last

        self.domain = Knowing(last)


@pytest.mark.parametrize(
    ("goal_test", "wrong", "goals"),
    [
        ("declared", {("score", 3): "far", ("score", 1): "solved"}, {"3"}),
        ("lm", {("score", 3): "far", ("score", 1): "solved"}, {"1"}),
        ("lm", {}, {"3"}),
    ],
)
def test_who_says_which_nodes_are_goals(goal_test: str, wrong: dict[tuple[str, int], str], goals: set[str]) -> None:
    agent = TapeAgent(LineModel(wrong), goal_test=goal_test, extend=0, num_plans=1)
    planned = agent.plan(KnownLine())
    assert {node for node in planned.graph.nodes if planned.graph.attributes(node)["goal"]} == goals
    assert len(planned.path) == int(min(goals))


@pytest.mark.parametrize(("goal_test", "chosen"), [("declared", "right"), ("lm", "left")])
def test_best_of_n_keeps_to_the_same_goal_test(goal_test: str, chosen: str) -> None:
    class Torn(LineModel):
        def _reply(self, request: Request, sample: int) -> str:
            if request.role == "act" and sample > 0:
                return "left"
            return super()._reply(request, sample)

    model = Torn({("score", 1): "far", ("score", 0): "far"})
    result = BestOfNReactAgent(model, goal_test=goal_test, num_plans=3).run(KnownLine(1), budget=Budget({"steps": 1}))
    assert result.actions == [chosen]  # two of three samples go left, which leads nowhere
    assert result.success is (goal_test == "declared")


@pytest.mark.parametrize("switch", ["costs", "projector"])
def test_a_run_is_refused_before_it_begins(switch: str) -> None:
    options = {"levels": "hard-dev", "slack": 2, "limit": 1}
    config = TapeConfig.make(**{switch: "lm"})
    spec = RunSpec(environment="sokoban", options=options, agent="tape", config=config, model="m", model_identity="m")
    runs = [Configuration("one", spec, tuple(SOKOBAN.tasks(options)[:1]))]
    with pytest.raises(ConfigError, match=f"{switch}='lm': the prompts that scripted reads"):
        check_before(runs, {"m": ScriptedLM([""], prompt_format="compact")}, Budget(), "1")
    check_before(runs, {"m": ScriptedLM([""])}, Budget(), "1")


@pytest.mark.parametrize("costs", ["declared", "lm"])
def test_a_path_that_the_model_takes_without_looking_at_its_costs_is_begun(costs: str) -> None:
    plan = [{"tool": "look", "arguments": {"part": part}} for part in range(3)]

    def reply(request: Request, _sample: int) -> str:
        if isinstance(request.constraint, Choice) and request.role in ("cost", "select"):
            return (
                max(request.constraint.options, key=len) if request.role == "select" else request.constraint.options[-1]
            )
        if request.role == "score":
            return "right"
        found = re.search(r"next result will be #(\d+)", str(request.prompt))
        assert found
        return json.dumps({"calls": plan[int(found[1]) - 1 :], "answer": "#3"})

    agent = TapeAgent(
        ScriptedLM(reply), num_plans=2, max_replans=3, selector="lm", costs=costs, on_infeasible="partial", resample=0
    )
    env = ToolEnvironment("look up", [look_up([1])], judge=lambda answer: answer == "part 2")
    result = agent.run(env, budget=Budget.of(usd="$0.12"))
    assert (result.success, result.steps, result.budget_violations) == (True, 4, [])

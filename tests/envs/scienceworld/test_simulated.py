import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.scienceworld.environment import ScienceWorldEnvironment
from envs.scienceworld.gold import gold_path, position, predicates
from envs.scienceworld.prompts.chat import ScienceChatFormat
from envs.scienceworld.simulated.errors import ScienceErrorRates
from envs.scienceworld.simulated.model import SimulatedScienceLM, open_simulated
from envs.scienceworld.simulated.reading import read_prompt
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.errors import ConfigError, ModelError, UnknownNameError
from tape.lm.base import Message, Request
from tape.lm.registry import open_model
from tape.lm.scripted import obeys
from tape.methods.sdp.agent import SdpAgent
from tests.envs.scienceworld.recorded import recorded, states

pytestmark = pytest.mark.usefixtures("no_java")
EXACT = "scienceworld?errors=0"
TASKS = ("find-living-thing", "power-component", "use-thermometer")


def ask(model, request):
    [completion] = asyncio.run(model.generate([request]))
    return completion.texts


def play(agent, task, model=EXACT, steps=60):
    env = ScienceWorldEnvironment(task, recorded()[task]["variation"])
    return agent.run(env, budget=Budget({"steps": steps}), seed=1)


@pytest.mark.parametrize(
    ("agent", "switches", "task"),
    [
        *((ReactAgent, {}, task) for task in TASKS), (PlanAndActAgent, {}, TASKS[0]),
        (PlanAndActReplanAgent, {}, TASKS[2]), (SdpAgent, {"sdp": {"chain": "adapter"}}, TASKS[1]),
        (SdpAgent, {"sdp": {"chain": "sample"}}, TASKS[0]), (SdpAgent, {"sdp": {"chain": "walk"}}, TASKS[0]),
        (TapeAgent, {}, TASKS[0]),  # a task without hidden processes
    ],
)  # fmt: skip
def test_without_errors_every_agent_solves_the_task(agent, switches, task):
    result = play(agent(open_simulated(EXACT), **switches), task)
    assert result.end_state == "success"
    assert result.measures == {"completed": 1.0, "score": 1.0}
    assert (result.malformed, result.mismatches) == (0, 0)


class GoesNowhere(SimulatedScienceLM):
    """Plans nothing but to look around; acts along the gold path."""

    def _reply(self, request, prompt, rng):
        if request.role == "plan":
            return json.dumps({"thought": "", "actions": ["look around"]})
        return super()._reply(request, prompt, rng)


@pytest.mark.parametrize(("probe", "end"), [(True, "success"), (False, "infeasible")])
def test_where_planning_leads_back_tape_takes_the_step_that_the_model_takes_of_its_own_accord(probe, end):
    model = GoesNowhere(ScienceErrorRates(errors=0, predictions=0, verdicts=0))
    result = play(TapeAgent(model, execution="forced", ablations={"probe": probe}), "find-living-thing")
    assert result.end_state == end
    assert bool(result.lm_calls.get("act")) is probe


def test_it_is_called_simulated_wherever_it_is_shown():
    model = open_model("simulated:scienceworld?errors=0.2&seed=3")
    assert model.name == "simulated:scienceworld?errors=0.2&seed=3"
    assert model.identity.startswith("simulated:")
    assert model.identity != open_model("simulated:scienceworld").identity


def test_equal_requests_have_equal_answers_in_every_object():
    request = replace(ScienceChatFormat().plan_request(states("boil")[0], {"steps": 60}), temperature=0.7, n=4, seed=5)
    item, other = (ask(SimulatedScienceLM(ScienceErrorRates(errors=0.3)), request) for _ in range(2))
    assert item == other
    assert len(set(item)) > 1
    assert ask(SimulatedScienceLM(ScienceErrorRates(errors=0.3, seed=9)), request) != item
    greedy = ask(SimulatedScienceLM(ScienceErrorRates(errors=0.3)), replace(request, temperature=0.0))
    assert len(set(greedy)) == 1


def test_a_part_of_the_errors_is_the_same_in_every_sample():
    request = replace(ScienceChatFormat().plan_request(states("boil")[0], {}), temperature=0.7, n=40)
    plans = [json.loads(text)["actions"] for text in ask(SimulatedScienceLM(ScienceErrorRates(errors=0.4)), request)]
    gold = [step.action for step in gold_path("boil", 0, "easy")]
    always = set.intersection(*map(set, plans)) - set(gold)
    once = set.union(*map(set, plans)) - set(gold)
    assert always
    assert once - always


def test_every_answer_has_the_form_that_is_asked_for():
    model, prompt_format = SimulatedScienceLM(ScienceErrorRates(errors=0.5)), ScienceChatFormat()
    for state in states("boil")[::4]:
        requests = [
            prompt_format.plan_request(state, {"steps": 9}),
            prompt_format.act_request(state, {}, None, ()),
            prompt_format.act_request(state, {}, "focus on water", ()),
            prompt_format.next_request(state, "go to hallway"),
            prompt_format.next_request(state, "flarb", valid=True),
            prompt_format.score_request(state)[0],
        ]
        for request in requests:
            [text] = ask(model, request)
            assert obeys(request, text), (request.role, text)


def test_predictions_on_the_gold_path_are_exact_without_errors():
    model, prompt_format, path = (
        SimulatedScienceLM(ScienceErrorRates(errors=0, predictions=0, verdicts=0)),
        ScienceChatFormat(),
        states("boil"),
    )
    for before, after in pairwise(path):
        [text] = ask(model, prompt_format.next_request(before, after.path[-1]))
        prediction = prompt_format.read_next(before, text)
        assert prediction.place == after.place
        assert prediction.score == after.score


@given(st.lists(st.sampled_from(["wait1", "look in fridge", "eat orange", "go to workshop"]), max_size=6), st.data())
def test_detours_do_not_lead_it_astray(detours, data):
    steps = gold_path("boil", 0, "easy")
    count = data.draw(st.integers(0, len(steps)))
    history = [step.action for step in steps[:count]]
    for detour in detours:
        history.insert(data.draw(st.integers(0, len(history))), detour)
    assert position(steps, tuple(history)) == count


def test_it_finds_its_place_in_a_history_whose_beginning_is_not_shown():
    steps = gold_path("boil", 0, "easy")
    done = [step.action for step in steps]
    assert position(steps, tuple(done[9:14]), 9) == 14


def test_it_goes_on_from_what_it_sees_where_the_history_is_of_no_help():
    steps, path = gold_path("boil", 0, "easy"), states("boil")
    result = []
    for state in path[:-1]:
        [text] = ask(
            SimulatedScienceLM(ScienceErrorRates(errors=0)),
            ScienceChatFormat().act_request(replace(state, history=()), {}, None, ()),
        )
        alike = [step for step in steps if (step.before.room.name, step.before.score) == (state.room.name, state.score)]
        result.append(json.loads(text)["action"])
        assert result[-1] in {step.action for step in alike if step.before.inventory == state.inventory}
    assert len({*result}) > 5


def test_from_a_wrong_room_it_goes_back():
    here = states("boil")[3]
    away = replace(here, look=here.look.replace("called the kitchen", "called the workshop"))
    [text] = ask(SimulatedScienceLM(ScienceErrorRates(errors=0)), ScienceChatFormat().act_request(away, {}, None, ()))
    assert json.loads(text)["action"] == "teleport to kitchen"


def test_an_error_that_the_prompt_shows_is_not_made_again():
    here, prompt_format, model = (
        states("boil")[2],
        ScienceChatFormat(),
        SimulatedScienceLM(ScienceErrorRates(errors=1.0)),
    )
    [first] = ask(model, prompt_format.act_request(here, {}, None, ()))
    wrong = json.loads(first)["action"]
    [second] = ask(model, prompt_format.act_request(replace(here, rejected=(wrong,)), {}, None, ()))
    assert json.loads(second)["action"] != wrong


def test_a_chain_has_one_change_each_and_ways_are_one_predicate():
    chain = [target.text for _, target in predicates(gold_path("use-thermometer", 270, "easy"), 0)]
    assert len(chain) == len(set(chain))
    kinds = [target.kind for _, target in predicates(gold_path("boil", 0, "easy"), 0)]
    assert not any(a == b == "navigate" or a == b == "measure" for a, b in pairwise(kinds))
    assert len(kinds) < len(gold_path("boil", 0, "easy")) / 2


@pytest.mark.parametrize("query", ["errors=2", "errors=-1", "errors=x", "wrong=0.1", "seed=-1", "alike=2"])
def test_bad_options_are_refused(query):
    with pytest.raises(ConfigError, match="simulated:scienceworld"):
        open_simulated(f"scienceworld?{query}")


def test_nothing_else_is_simulated():
    with pytest.raises(UnknownNameError, match="simulated model 'sokoban'"):
        open_simulated("sokoban")
    request = Request((Message("user", "Task: write a poem"),), 10, role="plan")
    with pytest.raises(ModelError, match="plays ScienceWorld alone"):
        read_prompt(request)


@pytest.mark.parametrize("task", TASKS)
def test_where_all_roles_err_alike_a_plan_begins_with_what_would_be_done(task):
    prompts, erred = ScienceChatFormat(), 0
    for seed, state in ((seed, state) for seed in range(2) for state in states(task)[:-1]):
        model = open_simulated(f"scienceworld?errors=0.2&predictions=0&alike=1&seed={seed}")
        [plan] = ask(model, replace(prompts.plan_request(state, {}), seed=1, temperature=1.0))
        [act] = ask(model, replace(prompts.act_request(state, {}, None, ()), seed=2, temperature=1.0))
        done = json.loads(act)["action"]
        assert json.loads(plan)["actions"][0] == done
        [right] = ask(open_simulated(EXACT), prompts.act_request(state, {}, None, ()))
        if done != json.loads(right)["action"]:
            erred += 1
            [expected] = ask(model, prompts.next_request(state, done))
            assert json.loads(expected)["valid"]  # it expects its error to come out
    assert erred

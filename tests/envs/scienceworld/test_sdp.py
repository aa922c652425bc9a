import asyncio
from dataclasses import replace

import pytest

from envs.scienceworld import changes, prompts
from envs.scienceworld.changes import target_of
from envs.scienceworld.domain import ScienceWorldDomain
from envs.scienceworld.sdp import ScienceAdapter, credit, rejected
from envs.scienceworld.simulated.model import open_simulated
from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Tools
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.events import ConcludedEvent, ValidatedEvent
from tape.methods.sdp.operators import Outcome
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.protocols import Observation
from tape.seeds import derive
from tape.trace import TraceWriter
from tests.envs.scienceworld.recorded import states

REFUSED = "No known action matches that input."
POT = target_of("The agent's inventory contains the metal pot")
HEATED = target_of("The water has been heated")
KNOWN = target_of("The location of the metal pot is known to the agent")
NEW_ROOM = target_of("A room with a stove has been found")


def tools(script, task):
    model = script if not isinstance(script, list) else ScriptedLM(script)
    domain, writer = ScienceWorldDomain(task), TraceWriter("test")
    roles = RoleContext(AccountedLM(model, Ledger(Budget()), writer), prompts.prompt_format("chat"), domain, writer)
    return Tools(roles, TapeConfig.make(temperature=0.0), lambda *parts: derive(0, *parts))


def judge(tail, before, after, *, action="look around", text="", script=(), completed=False):
    shown = replace(after, observation=text or after.observation)
    outcome = Outcome(before, action, Observation(shown.observation, shown), shown, completed)
    validator = ScienceAdapter(after.task).validator(tools(list(script) or ["{}"], after.task))
    return asyncio.run(validator.validate(tail, outcome))


def verdict(k):
    return f'{{"reason": "it says so", "k": {k}}}'


@pytest.fixture
def path():
    return states("boil")


def test_shortcut_1_completion_certifies_all_that_is_left(path):
    result = judge((HEATED, POT, changes.GOAL), path[-2], path[-1], completed=True)
    assert result.k == 3
    assert {check.how for check in result.checks} == {"completion"}


def test_shortcut_2_a_refused_action_is_a_failed_attempt_whatever_else_is_true(path):
    assert judge((POT, changes.GOAL), path[6], path[6]).k == 1
    result = judge((POT, changes.GOAL), path[6], path[6], action="pick up metal pot", text=REFUSED)
    assert result.k == 0
    assert "pick up metal pot" in result.reason
    assert result.counts


def test_shortcut_3_the_goal_is_certified_by_the_world_alone(path):
    result = judge((changes.GOAL,), path[4], path[5], script=[verdict(1)])
    assert result.k == 0
    assert result.checks[0].how == "deterministic"


def test_typed_predicates_are_checked_and_no_model_is_asked(path):
    result = judge((POT, changes.GOAL), path[4], path[5], script=["no model should be asked"])
    assert (result.k, result.checks[0].how, result.checks[0].holds) == (0, "deterministic", False)


LEFT_OPEN = ("metal pot is in a liquid state", "agent is at the stove", "agent's inventory is empty")


def test_what_descriptions_leave_open_is_judged_by_the_model_up_to_the_goal(path):
    for text in (*LEFT_OPEN, "fridge contains nothing"):
        result = judge((target_of(f"The {text}"), changes.GOAL), path[4], path[5], script=[verdict(1)])
        assert [(check.holds, check.how) for check in result.checks] == [(True, "lm"), (False, "deterministic")]
    result = judge((HEATED, HEATED, changes.GOAL), path[4], path[5], script=[verdict(2)])
    assert result.k == 2
    assert [check.how for check in result.checks] == ["lm", "lm", "deterministic"]
    result = judge((HEATED, POT, changes.GOAL), path[5], path[6], script=[verdict(1)])
    assert [check.how for check in result.checks] == ["lm", "deterministic", "deterministic"]
    assert judge((HEATED, changes.GOAL), path[4], path[5], script=["not JSON"]).k == 0


def test_a_new_room_is_credited_to_exploring_and_flagged(path):
    result = judge((NEW_ROOM, changes.GOAL), replace(path[1], visited=("hallway",)), path[2])
    assert [check.how for check in result.checks] == ["visited_room", "deterministic"]
    result = judge(
        (NEW_ROOM, KNOWN, changes.GOAL), replace(path[1], visited=("hallway",)), path[2], script=[verdict(0)]
    )
    assert [(check.holds, check.how) for check in result.checks] == [(True, "visited_room"), (False, "lm")]
    known = replace(path[1], visited=("hallway", "kitchen"))
    assert judge((NEW_ROOM, changes.GOAL), known, path[2], script=[verdict(0)]).k == 0


def test_a_named_room_is_credited_only_where_it_was_entered(path):
    before, after = replace(path[1], visited=()), replace(path[2], rooms=("greenhouse", "kitchen"))
    outcome = Outcome(before, "go to kitchen", Observation("", after), after)
    assert credit(target_of("The kitchen has been explored"), outcome)
    assert credit(target_of("The greenhouse has been explored"), outcome) is None
    assert credit(HEATED, outcome) is None
    assert rejected(outcome) is None


def test_a_path_has_a_target_per_edge_and_the_goal(path):
    chain = ScienceAdapter(path[0].task).along(path, [state.path[-1] for state in path[1:]])
    assert len(chain) == len(path)
    assert [target.goal for target in chain] == [False] * (len(path) - 1) + [True]


def test_fields_are_plain_values_without_the_last_answer(path):
    fields = dict(ScienceAdapter(path[0].task).fields(replace(path[6], observation="something only just said")))
    assert all(isinstance(value, str) for value in fields.values())
    assert "something only just said" not in str(fields)
    assert {"score", "where you are", "you carry", "done so far"} <= set(fields)


def test_propose_reads_the_rooms_and_replan_what_was_refused_and_failed(path):
    asked = []

    def reply(request, sample):
        del sample
        asked.append(request.prompt[-1].content)
        return '{"predicates": ["The stove is turned on"]}'

    here = replace(path[3], rooms=("hallway", "kitchen"), refused=("pick up unicorn",))
    adapter = ScienceAdapter(here.task)
    operators = adapter.operators(tools(ScriptedLM(reply), here.task))
    state = CertifiedState((), adapter.fields(here), here)
    chain = asyncio.run(operators.propose.propose(state))
    assert [target.kind for target in chain] == ["device", "goal"]
    assert "hallway, kitchen" in asked[0]
    attempt = Attempt(POT, "pick up unicorn", "the world does not understand it")
    asyncio.run(operators.replan.replan(MarkovState(state, chain, (attempt,)), (attempt,)))
    assert "pick up unicorn" in asked[1]
    assert "the world does not understand it" in asked[1]


@pytest.mark.usefixtures("no_java")
def test_equal_typed_inputs_give_equal_outputs_whatever_the_prefix(path):
    here = replace(path[6], rooms=("kitchen",))
    others = replace(here, observation="another answer", path=("a", "b"))
    adapter, pairs = ScienceAdapter(here.task), []
    for state in (here, others):
        operators = adapter.operators(tools(open_simulated("scienceworld?errors=0.3"), here.task))
        at = MarkovState(CertifiedState((), adapter.fields(state), state), (POT, changes.GOAL))
        pairs.append((asyncio.run(operators.propose.propose(at.state)), asyncio.run(operators.realize.realize(at))))
    assert pairs[0] == pairs[1]


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("errors", ["0", "0.2"])
def test_an_episode_keeps_its_caps_and_its_trace_names_the_judges(errors):
    from envs.scienceworld.environment import ScienceWorldEnvironment

    env = ScienceWorldEnvironment("boil", 0)
    writer = TraceWriter("test")
    agent = SdpAgent(
        open_simulated(f"scienceworld?errors={errors}"), sdp={"chain": "adapter", "attempts": 4, "step_cap": 50}
    )
    result = agent.run(env, budget=Budget({"steps": 60}), trace=writer)
    seen = [event for event in writer.events if isinstance(event, ValidatedEvent)]
    assert seen
    assert len(seen) <= 50
    assert max(event.failed for event in seen) < 4
    [end] = [event for event in writer.events if isinstance(event, ConcludedEvent)]
    assert (result.end_state == "success") is end.goal_certified
    if errors == "0":
        assert result.end_state == "success"
        hows = {check.how for event in seen for check in event.checks if check.holds}
        assert hows == {"deterministic", "lm", "completion"}

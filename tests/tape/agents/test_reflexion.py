"""Reflexion: trials under one budget, what is remembered of failed ones, and its records."""

from __future__ import annotations

import json

import pytest

from envs.alfworld.plugin import PLUGIN
from tape.agents.reflexion import RULE_BASED, ReflexionAgent, futile
from tape.budget import Budget
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Task
from tape.tools import ToolEnvironment, tool
from tape.trace import ObservedEvent, TraceWriter, TrialEvent
from tests.envs.alfworld.helpers import needs_engine


def game(name: str) -> Task:
    return next(task for task in PLUGIN.tasks({"games": "dev"}) if task.id == name)


class Writer(ScriptedLM):
    """Goes to one place for ever, and says after every trial that it learned something."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.asked: list[Request] = []

    def _answer(self, request: Request, sample: int) -> str:
        del sample
        self.asked.append(request)
        if request.role == "reflect":
            return f"lesson {sum(item.role == 'reflect' for item in self.asked)}\nwas learned"
        return json.dumps({"thought": "", "action": "go to desk 1"})


@needs_engine
def test_what_was_written_is_remembered_and_all_trials_share_the_budget() -> None:
    model, trace, task = Writer(), TraceWriter("reflexion"), game("dev-look_at_obj_in_light-8")
    env = PLUGIN.make(task)
    result = ReflexionAgent(model, horizon=2).run(env, budget="9 steps", trace=trace)
    env.close()
    assert (result.end_state, result.steps, result.measures["trials"]) == ("budget:steps", 9, 5.0)
    trials = [event for event in trace.events if isinstance(event, TrialEvent)]
    assert [event.step for event in trials] == [2, 4, 6, 8]
    assert trials[0].reflection == "lesson 1 was learned"
    acts = [request for request in model.asked if request.role == "act"]
    for number, request in enumerate(acts):
        assert not isinstance(request.prompt, str)
        text, trial = request.prompt[-1].content, number // 2
        shown = [lesson for lesson in range(1, 9) if f"- lesson {lesson} was learned" in text]
        assert shown == list(range(1, trial + 1))[-3:]
    first, *others = (event.key for event in trace.events if isinstance(event, ObservedEvent))
    assert others.count(first) >= len(trials)  # each began anew


@needs_engine
def test_a_repeated_action_ends_a_trial() -> None:
    trace, env = TraceWriter("reflexion"), PLUGIN.make(game("dev-look_at_obj_in_light-8"))
    ReflexionAgent(Writer()).run(env, budget="9 steps", trace=trace)
    env.close()
    steps = [event.step for event in trace.events if isinstance(event, TrialEvent)]
    assert steps == [4, 8]  # it arrives, and then three times nothing changes


@needs_engine
def test_a_model_without_words_wins_a_later_trial() -> None:
    trace, task = TraceWriter("reflexion"), game("dev-look_at_obj_in_light-8")
    agent = ReflexionAgent("bundled:household", horizon=50, no_repeat=True)
    env, budget = PLUGIN.make(task), Budget({"steps": 150})
    result = agent.run(env, budget=budget, trace=trace)
    env.close()
    assert (result.success, result.measures["trials"]) == (True, 2.0)
    assert 50 < result.steps <= 100
    assert {event.reflection for event in trace.events if isinstance(event, TrialEvent)} == {RULE_BASED}


def test_only_what_led_nowhere_is_left_out() -> None:
    tried = [("a", "on"), ("b", "bump"), ("b", "back"), ("a", "aside"), ("c", "end")]
    assert [*futile(tried, "d", over=False)] == [("b", "bump"), ("b", "back")]
    assert [*futile(tried, "d", over=True)] == [("b", "bump"), ("b", "back"), ("c", "end")]


def test_what_reaches_the_world_outside_is_not_begun_anew() -> None:
    @tool(steps=1)
    def send(text: str) -> str:
        """Send a text."""
        return text

    with pytest.raises(ConfigError, match="begins a failed task anew"):
        ReflexionAgent(Writer()).run(ToolEnvironment("send it", [send]), budget="3 steps")

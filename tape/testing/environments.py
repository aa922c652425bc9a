"""The conformance suite of environments."""

from __future__ import annotations

import argparse
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from tape.budget import Budget, Resources
from tape.errors import ConfigError, InvalidOutputError, TapeError, UnknownNameError
from tape.lm.base import OneOf, Request
from tape.protocols import Action, Environment, EnvironmentPlugin, Observation, Plan, State, Task
from tape.protocols.prompt_format import OfferedPath, PromptFormat
from tape.testing.garbage import GARBAGE
from tape.waiting import run_sync

REMAINING = {"steps": 3, "tokens": 1000}
SEED = 7


class EnvironmentConformance:
    """The suite, to inherit from.

    Attributes:
        plugin: The environment's plugin, the object of its entry point.
        arguments: Options as on the command line; they select the tasks.
        prompt_formats: Its prompt formats.
        most_tasks: The most tasks of which episodes are played, spread over all.
        most_steps: The most actions of a played episode.

    Examples:
        >>> from tape.plugins import load
        >>> from tape.testing import EnvironmentConformance
        >>> class TestSokoban(EnvironmentConformance):
        ...     plugin = load("tape.environments", "sokoban")
        ...     arguments = ("--levels", "easy")
        ...     prompt_formats = ("chat", "compact")
        >>> TestSokoban().test_the_plugin_is_whole()  # pytest calls this and all the others
    """

    plugin: EnvironmentPlugin
    arguments: Sequence[str] = ()
    prompt_formats: Sequence[str] = ("chat",)
    most_tasks = 2
    most_steps = 8

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        """Actions that can be taken in the environment's present state; override it if they cannot be listed."""
        return environment.domain.admissible(state) or ()

    @pytest.fixture
    def tasks(self) -> list[Task]:
        """All tasks of the arguments, made once."""
        if type(self) not in _MADE:
            _MADE[type(self)] = _tasks(type(self))
        return _MADE[type(self)]

    @pytest.fixture
    def some(self, tasks: list[Task]) -> list[Task]:
        """A few of them, the first and the last among them."""
        count = min(self.most_tasks, len(tasks))
        return [tasks[i * (len(tasks) - 1) // max(1, count - 1)] for i in range(count)]

    def test_the_plugin_is_whole(self) -> None:
        """It has the attributes that the command line and the runner need."""
        assert isinstance(self.plugin, EnvironmentPlugin)
        assert all(isinstance(text, str) and text for text in (self.plugin.name, self.plugin.model))
        version = self.plugin.prompt_version
        versions = [version] if isinstance(version, str) else [*version.values()]
        assert versions
        assert all(isinstance(name, str) for name in versions)
        assert isinstance(self.plugin.reads, bool)

    def test_tasks_are_distinct(self, tasks: list[Task]) -> None:
        """Ids are unique, and different contents have different digests."""
        assert tasks
        assert len({(task.level_set, task.id) for task in tasks}) == len(tasks)
        assert len({task.digest for task in tasks}) == len(tasks)
        assert all(isinstance(task.budget, Budget) for task in tasks)

    def test_the_same_options_select_the_same_tasks(self, tasks: list[Task]) -> None:
        """A run is resumed by ids, digests and budgets."""
        again = _tasks(type(self))
        assert [(t.id, t.digest, dict(t.budget)) for t in again] == [(t.id, t.digest, dict(t.budget)) for t in tasks]

    def test_tasks_survive_pickling(self, some: list[Task]) -> None:
        """Worker processes get them pickled."""
        for task in some:
            copy = pickle.loads(pickle.dumps(task))  # noqa: S301 - our own
            assert (copy.id, copy.level_set, copy.digest) == (task.id, task.level_set, task.digest)
            assert dict(copy.budget) == dict(task.budget)
            first, second = self.plugin.make(task), self.plugin.make(copy)
            assert first.reset(SEED).text == second.reset(SEED).text

    def test_a_reset_starts_the_same_episode_again(self, some: list[Task]) -> None:
        """In a fresh environment and in one that was played."""
        for task in some:
            environment = self.plugin.make(task)
            started = environment.reset(SEED)
            self._play(environment, started)
            for other in (environment, self.plugin.make(task)):
                again = other.reset(SEED)
                assert again.text == started.text
                assert _key(other, again) == _key(environment, started)
                assert other.success() is environment.success() is False

    def test_states_have_keys_and_pictures(self, some: list[Task]) -> None:
        """A key is a text that depends on the state only; a state can be hashed and rendered."""
        for task in some:
            environment = self.plugin.make(task)
            observation = environment.reset(SEED)
            for state in [environment.domain.project(observation), *self._play(environment, observation).states]:
                key = environment.domain.key(state)
                assert isinstance(key, str)
                assert environment.domain.key(state) == key
                assert hash(state) == hash(state)
                assert isinstance(environment.domain.render(state), str)

    def test_every_action_costs_at_most_its_declared_bound(self, some: list[Task]) -> None:
        """The declared worst case is never exceeded, and no cost is unknown."""
        for task in some:
            environment = self.plugin.make(task)
            played = self._play(environment, environment.reset(SEED))
            assert played.actions, "no action could be taken; override actions()"
            for action, declared, used in zip(played.actions, played.declared, played.used, strict=True):
                assert declared, f"{action!r} is declared to cost nothing"
                assert None not in declared.values(), f"the cost of {action!r} is unknown"
                for kind in used:
                    worst, real = declared[kind], used[kind]
                    assert real is not None
                    assert worst is not None
                    assert real <= worst, f"{action!r} took {real} {kind}, declared at most {worst}"

    def test_the_same_actions_give_the_same_episode(self, some: list[Task]) -> None:
        """If the domain is deterministic."""
        for task in some:
            environment, two = self.plugin.make(task), self.plugin.make(task)
            if not environment.domain.deterministic:
                continue
            first = self._play(environment, environment.reset(SEED))
            second = self._play(two, two.reset(SEED), first.actions)
            assert [environment.domain.key(s) for s in first.states] == [two.domain.key(s) for s in second.states]
            assert [dict(used) for used in first.used] == [dict(used) for used in second.used]
            assert environment.success() is two.success()

    def test_what_is_no_action_is_refused(self, some: list[Task]) -> None:
        """By an observation or by an error of TAPE; the episode can go on."""
        for task in some[:1]:
            environment = self.plugin.make(task)
            environment.reset(SEED)
            for text in ("", "no such action at all", "\x00", "(((", "x" * 2000):
                try:
                    observation, used = _step(environment, text)
                except TapeError as error:
                    str(error).encode()  # it is written to traces
                else:
                    assert isinstance(observation, Observation)
                    assert isinstance(used, Resources)
                assert type(environment.success()) is bool

    def test_optional_answers_have_their_types(self, some: list[Task]) -> None:
        """Success and ending are truth values, measures are numbers."""
        for task in some:
            environment = self.plugin.make(task)
            self._play(environment, environment.reset(SEED))
            assert type(environment.ended()) is bool
            assert type(environment.conclude()) is bool
            assert type(environment.success()) is bool
            assert all(isinstance(value, int | float) for value in environment.measures().values())

    def test_the_simulator_agrees_or_is_refused(self, some: list[Task]) -> None:
        """It predicts one outcome per pair, and every rollout begins with the plan's first action."""
        for task in some[:1]:
            environment = self.plugin.make(task)
            observation = environment.reset(SEED)
            try:
                simulator = self.plugin.simulator(environment)
            except ConfigError as error:
                pytest.skip(str(error))
            state = environment.domain.project(observation)
            actions = list(self.actions(environment, state))[:3]
            predicted = run_sync(simulator.predict([(state, action) for action in actions]))
            assert len(predicted) == len(actions)
            [rolled] = run_sync(simulator.rollout([(state, actions[:1])]))
            assert len(rolled) == len(actions[:1])

    def test_an_unknown_prompt_format_is_refused_by_name(self, some: list[Task]) -> None:
        """The error names it."""
        environment = self.plugin.make(some[0])
        with pytest.raises(UnknownNameError, match="esperanto"):
            environment.prompt_format("esperanto")

    def test_every_role_can_be_asked(self, some: list[Task]) -> None:
        """Each request can be built twice, with equal results, and choices offer options."""
        for prompt_format, environment, state in self._formats(some):
            actions = list(self.actions(environment, state))[:2]
            builders: list[Callable[[], Request | None]] = [
                partial(prompt_format.plan_request, state, REMAINING),
                partial(prompt_format.act_request, state, REMAINING, None, ()),
                *(partial(prompt_format.act_request, state, REMAINING, action, [action]) for action in actions),
                lambda f=prompt_format, s=state: f.score_request(s)[0],  # type: ignore[misc]
            ]
            if len(actions) > 1 and type(prompt_format).select_request is not PromptFormat.select_request:
                paths = [OfferedPath((a,), (f"s{i}",), (0.0,), False, 1.0, REMAINING) for i, a in enumerate(actions)]
                builders.append(partial(prompt_format.select_request, state, paths, REMAINING))
            if environment.domain.outcomes is None:
                builders += [partial(prompt_format.next_request, state, action) for action in actions]
                builders += [partial(prompt_format.next_request, state, action, valid=True) for action in actions]
                builders.append(partial(prompt_format.rollout_request, state, actions))
            builders.append(partial(prompt_format.project_request, state))
            for build in builders:
                request, again = build(), build()
                if request is None:
                    assert again is None
                    continue
                assert isinstance(request, Request)
                assert isinstance(again, Request)
                assert request.fingerprint("model") == again.fingerprint("model")
                assert request.prompt
            request, values = prompt_format.score_request(state)
            assert isinstance(request.constraint, OneOf)
            assert set(values) == set(request.constraint.options)
            assert all(-1 <= value <= 1 for value in values.values())

    def test_a_question_in_words_can_be_asked_about_a_state(self, some: list[Task]) -> None:
        """If a prompt format supports ``ask``: the question comes last, after the state, in equal prompts."""
        asking = [(layout.ask, state) for layout, _, state in self._formats(some) if layout.ask is not None]
        if not asking:
            pytest.skip("no prompt format takes questions in words, so costs='lm' and projector='lm' are refused")
        for ask, state in asking:
            asked = ask(state, "Is it so? Answer yes or no.")
            assert asked == ask(state, "Is it so? Answer yes or no.")
            assert asked[-1].role == "user"
            assert asked[-1].content.endswith("Is it so? Answer yes or no.")
            assert len(asked[-1].content) > len("Is it so? Answer yes or no.")

    def test_garbage_is_read_or_refused(self, some: list[Task]) -> None:
        """Readers return their type or raise `InvalidOutputError`, for every text."""
        for prompt_format, environment, state in self._formats(some):
            actions = list(self.actions(environment, state))[:2]
            readers: dict[str, Callable[[str], Any]] = {
                "plan": partial(prompt_format.read_plan, state),
                "act": partial(prompt_format.read_act, state),
            }
            if environment.domain.outcomes is None:
                readers["next"] = partial(prompt_format.read_next, state)
                if prompt_format.rollout_request(state, actions) is not None:
                    readers["rollout"] = partial(prompt_format.read_rollout, state, actions)
            if prompt_format.project_request(state) is not None:
                readers["project"] = partial(prompt_format.read_project, state)
            for text in GARBAGE:
                for role, read in readers.items():
                    try:
                        result = read(text)
                    except InvalidOutputError as error:
                        str(error).encode()  # it is written to traces
                    else:
                        _check_read(role, result)

    def test_final_answers_can_be_asked_for(self, some: list[Task]) -> None:
        """If the environment accepts them: no request is longer than the longest, and garbage is refused."""
        for task in some[:1]:
            environment = self.plugin.make(task)
            answers = environment.answers_at_limit
            if answers is None:
                pytest.skip("it takes no final answers")
            state = environment.domain.project(environment.reset(SEED))
            for name in self.prompt_formats:
                request = answers.answer_request(state, name)
                assert _length(request) <= _length(answers.longest_answer_request(name))
                for text in GARBAGE:
                    try:
                        answers.answer(text)
                    except InvalidOutputError as error:
                        str(error).encode()
                    assert type(environment.success()) is bool

    def _formats(self, tasks: Sequence[Task]) -> list[tuple[PromptFormat, Environment, State]]:
        """Every prompt format, with an environment and its state, at the start and after some actions."""
        pairs = []
        for task in tasks[:1]:
            for name in self.prompt_formats:
                environment = self.plugin.make(task)
                observation = environment.reset(SEED)
                pairs.append((environment.prompt_format(name), environment, environment.domain.project(observation)))
                played = self.plugin.make(task)
                states = self._play(played, played.reset(SEED)).states
                if states and not played.success():
                    pairs.append((played.prompt_format(name), played, states[-1]))
        return pairs

    def _play(self, environment: Environment, observation: Observation, actions: Sequence[Action] = ()) -> _Played:
        """Take the given actions, or seeded ones, until the episode is over."""
        rng, played = random.Random(SEED), _Played()
        given = list(actions)
        for _ in range(len(given) or self.most_steps):
            state = environment.domain.project(observation)
            if environment.success() or environment.ended():
                break
            possible = [given[len(played.actions)]] if given else list(self.actions(environment, state))
            if not possible:
                break
            action = rng.choice(possible)
            played.declared.append(environment.domain.cost(state, action))
            observation, used = _step(environment, action)
            assert isinstance(observation.text, str)
            played.actions.append(action)
            played.used.append(used)
            played.states.append(environment.domain.project(observation))
        return played


class _Played:
    """Actions, and the states and costs after them."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.states: list[State] = []
        self.declared: list[Resources] = []
        self.used: list[Resources] = []


_MADE: dict[type, list[Task]] = {}
"""The tasks of each suite."""


def _tasks(suite: type[EnvironmentConformance]) -> list[Task]:
    parser = argparse.ArgumentParser()
    suite.plugin.add_arguments(parser)
    return suite.plugin.tasks(vars(parser.parse_args(list(suite.arguments))))


def _step(environment: Environment, action: Action) -> tuple[Observation, Resources]:
    """As the engine acts."""
    return run_sync(environment.astep(action))


def _key(environment: Environment, observation: Observation) -> str:
    return environment.domain.key(environment.domain.project(observation))


def _length(request: Request) -> int:
    prompt = request.prompt
    return len(prompt) if isinstance(prompt, str) else sum(len(message.content) for message in prompt)


def _check_read(role: str, value: Any) -> None:
    """Check the type of a reader's result."""
    expected: Mapping[str, Callable[[Any], bool]] = {
        "plan": lambda plan: isinstance(plan, Plan) and all(isinstance(action, str) for action in plan.actions),
        "act": lambda pair: [type(part) for part in pair] == [str, str],
        "rollout": lambda states: isinstance(states, list),
    }
    assert expected.get(role, lambda state: hash(state) == hash(state))(value), (role, value)

"""The suites that others inherit pass what is right, and find what is broken."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, ClassVar

import pytest

from tape.agents.react import ReactAgent
from tape.budget import Budget, Resources
from tape.protocols import Environment, EnvironmentPlugin, Observation, Task
from tape.protocols.result import EpisodeResult
from tape.testing import AgentConformance, EnvironmentConformance, Line
from tape.testing.line import LineDomain, LineFormat


class LinePlugin(EnvironmentPlugin):
    """Lines of several lengths."""

    name, model, prompt_version = "line", "scripted:line.json", "1"
    made: Callable[[int], Environment] = Line

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--longest", type=int, default=4)

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        return [
            Task(f"line {last}", "lines", Budget({"steps": last}), str(last), {"last": last})
            for last in range(1, options["longest"] + 1)
        ]

    def make(self, task: Task) -> Environment:
        return type(self).made(task.facts["last"])


class TestLine(EnvironmentConformance):
    plugin = LinePlugin()
    arguments: ClassVar = ("--longest", "3")
    prompt_formats = ("compact",)


def failing(suite: type[EnvironmentConformance]) -> set[str]:
    """The tests of a suite that fail."""
    made = suite()
    tasks = made.plugin.tasks({"longest": 3})
    group = set()
    for name in (name for name in dir(suite) if name.startswith("test_")):
        test = getattr(made, name)
        arguments = [tasks] * (test.__code__.co_argcount - 1)
        try:
            test(*arguments)
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception):
            group.add(name)
    return group


def broken(made: Callable[[int], Environment] = Line, **changes: Any) -> set[str]:
    """The tests that fail with such an environment, and such changes to the plugin."""
    plugin = type("Broken", (LinePlugin,), {"made": staticmethod(made), **changes})()
    return failing(type("Suite", (TestLine,), {"plugin": plugin}))


def with_domain(**changes: Any) -> Callable[[int], Environment]:
    def made(last: int) -> Environment:
        line = Line(last)
        line.domain = type("Domain", (LineDomain,), changes)(last)
        return line

    return made


def with_format(**changes: Any) -> Callable[[int], Environment]:
    written = type("Written", (LineFormat,), changes)
    return line(prompt_format=lambda self, name: written(self.domain))


def line(**changes: Any) -> Callable[[int], Environment]:
    return type("Changed", (Line,), changes)


NUMBERS = count()


@pytest.mark.parametrize(
    ("found", "test"),
    [
        (broken, None),
        (lambda: broken(with_domain(cost=lambda *_: Resources({"tokens": 1}))), "every_action_costs"),
        (lambda: broken(with_domain(cost=lambda *_: Resources({"steps": None}))), "every_action_costs"),
        (lambda: broken(with_domain(key=lambda *_: str(next(NUMBERS)))), "states_have_keys"),
        (lambda: broken(with_domain(key=lambda self, state: state)), "states_have_keys"),
        (lambda: broken(line(success=lambda self: 0)), "optional_answers"),
        (lambda: broken(line(reset=lambda self, seed: Observation(str(random.random())))), "a_reset_starts"),
        (lambda: broken(line(step=lambda self, action: 1 / 0)), "what_is_no_action"),
        (lambda: broken(with_format(read_act=lambda self, state, text: ("", text[3]))), "garbage"),
        (lambda: broken(with_format(read_act=lambda self, state, text: text)), "garbage"),
        (lambda: broken(with_format(select_request=lambda *_: 1 / 0)), "every_role"),
        (lambda: broken(with_format()), "an_unknown_prompt_format"),
        (lambda: broken(tasks=lambda *_: [Task(i, "x", Budget(), "same", {"last": 2}) for i in "12"]), "distinct"),
        (lambda: broken(tasks=lambda *_: [Task("1", "x", Budget(), "1", {"last": 2, "f": lambda: 0})]), "pickling"),
        (
            lambda: broken(tasks=lambda *_: [Task("1", "x", Budget(), str(next(NUMBERS)), {"last": 2})]),
            "the_same_options",
        ),
    ],
)
def test_a_broken_environment_is_detected(found: Callable[[], set[str]], test: str | None) -> None:
    names = found()
    assert (not names) if test is None else any(test in name for name in names), names


class Overspending(ReactAgent):
    """Uses more than its caps, and has an unknown end state."""

    async def arun(self, *args: Any, **options: Any) -> EpisodeResult:
        result = await super().arun(*args, **options)
        return result.model_copy(update={"used": {"tokens": 10**6}, "end_state": "asleep"})


class Moody(ReactAgent):
    async def arun(self, *args: Any, **options: Any) -> EpisodeResult:
        result = await super().arun(*args, **options)
        return result.model_copy(update={"detail": str(next(NUMBERS))})


class OverspendingSuite(AgentConformance):
    agent = Overspending


class MoodySuite(AgentConformance):
    agent = Moody


def test_a_broken_agent_is_detected() -> None:
    with pytest.raises(AssertionError):
        OverspendingSuite().test_a_cap_is_never_exceeded("tokens")
    with pytest.raises(AssertionError):
        OverspendingSuite().test_with_a_model_that_knows_it_succeeds()
    with pytest.raises(AssertionError):
        OverspendingSuite().test_steps_are_kept_to(2)
    with pytest.raises(AssertionError):
        MoodySuite().test_the_same_seed_gives_the_same_episode()

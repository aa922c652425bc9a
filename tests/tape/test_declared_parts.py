"""What the engine knows of domains, environments, plugins and prompt formats: declared, and no guess at a structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tape
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.errors import ConfigError, InvalidOutputError, UnknownNameError
from tape.protocols import AnswersAtLimit, Domain, Environment, EnvironmentPlugin, PromptFormat
from tape.protocols.parts import GoalTest, part_names, require_known_parts
from tape.protocols.types import State
from tape.testing.line import Line, LineDomain, LineModel


class Reached(GoalTest):
    """Knows the goal of a line."""

    def satisfied(self, state: State) -> bool:
        return state == 2


class Known(LineDomain, GoalTest):
    """A line that knows its goal."""

    def satisfied(self, state: State) -> bool:
        return state == self.last

    @property
    def goal_test(self) -> GoalTest:
        return self


class Misspelled(Known):
    """It has the same part once more, by a name that nothing asks for."""

    @property
    def goals_test(self) -> GoalTest | None:
        return self


def test_a_part_that_no_step_asks_for_is_refused_by_name() -> None:
    require_known_parts(Known(2), Domain)
    with pytest.raises(ConfigError, match=r"Misspelled\.goals_test: no step of the engine asks .* goal_test"):
        require_known_parts(Misspelled(2), Domain)
    domain = Known(2)
    domain.inner = Known(3)  # type: ignore[attr-defined]  # what it wraps is no part of it
    require_known_parts(domain, Domain)
    domain.end_test = Reached()  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"Known\.end_test"):
        require_known_parts(domain, Domain)


def test_an_environment_with_an_unknown_part_is_refused_at_the_start() -> None:
    class Answering(Line):
        @property
        def final_answers(self) -> AnswersAtLimit | None:
            return None

    with pytest.raises(ConfigError, match=r"Answering\.final_answers: .* there is: answers_at_limit"):
        TapeAgent(LineModel()).run(Answering())


def test_what_is_no_environment_is_refused_at_the_start() -> None:
    class Duck:
        domain = LineDomain(2)

        def __init__(self) -> None:
            line = Line(2)
            self.prompt_format, self.reset, self.step, self.success = (
                line.prompt_format,
                line.reset,
                line.step,
                line.success,
            )

    duck: Any = Duck()
    with pytest.raises(ConfigError, match=r"Duck is no environment: it has to inherit from tape\.protocols\.Env"):
        TapeAgent(LineModel()).run(duck)

    class Nowhere(Line):
        def __init__(self) -> None:
            super().__init__()
            del self.domain

    with pytest.raises(ConfigError, match=r"Nowhere is no environment: .* its attribute domain"):
        TapeAgent(LineModel()).run(Nowhere())


class Plain(Line):
    """An environment with what every one must have, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        del self.budget


def test_the_defaults_of_an_environment_say_that_it_has_nothing_of_the_kind() -> None:
    env = Plain()
    state = env.domain.project(env.reset(0))
    env.projected(state)
    env.close()
    assert (env.budget, env.home_loop(), env.ended(), env.conclude()) == (Budget(), None, False, False)
    assert (env.answered_value(), dict(env.measures()), env.gold()) == (None, {}, ((), ()))
    assert (env.refuse("left"), env.answers_at_limit) == (None, None)
    assert TapeAgent(LineModel()).run(env).success


def test_the_defaults_of_a_plugin_say_that_it_needs_nothing() -> None:
    class Lines(EnvironmentPlugin):
        name, model, prompt_version = "lines", "scripted", "1"

        def tasks(self, options: Any) -> list[Any]:
            return []

        def make(self, task: Any) -> Environment:
            return Line()

    plugin = Lines()
    plugin.require_installed()
    plugin.add_arguments(None)
    assert (plugin.agent, plugin.replayable, plugin.reads, plugin.built_on) == ("tape", False, False, ())
    with pytest.raises(ConfigError, match="lines has no simulator"):
        plugin.simulator(Line())
    with pytest.raises(UnknownNameError, match="role of lines"):
        plugin.role_cases("chat", "plan", 1, 0)
    plugin.roles = ("plan",)
    with pytest.raises(ConfigError, match="lines has roles and no cases"):
        plugin.role_cases("chat", "plan", 1, 0)


def test_a_prompt_format_refuses_the_roles_that_it_does_not_have() -> None:
    none = PromptFormat()
    asked: dict[str, Any] = {
        "plan_request": (1, {}),
        "read_plan": (1, ""),
        "score_request": (1,),
        "select_request": (1, (), {}),
        "act_request": (1, {}, None, ()),
        "read_act": (1, ""),
        "next_request": (1, "left"),
        "read_next": (1, ""),
    }
    for name, given in asked.items():
        with pytest.raises(ConfigError, match=f"PromptFormat has no method {name}"):
            getattr(none, name)(*given)
    with pytest.raises(InvalidOutputError, match="asks for no rollouts"):
        none.read_rollout(1, (), "")
    assert (none.rollout_request(1, ()), none.read_intention("left"), none.ask, none.instead) == (None, None, None, "")
    assert (none.project_request(1), none.longest_project_request(1, "left")) == (None, None)
    assert (none.read_project(1, ""), none.unread(1)) == (1, 1)
    assert (none.weigh_requests(1, ()), none.predict_request(1, ()), none.reworded(1, 1)) == ((), None, None)
    assert dict(none.read_predict(1, (), "")) == {}


DECLARED = ("domain", "env", "environment", "plugin", "prompt_format", "format", "prompts")
"""What those who declare are called, in the engine and around it."""


def guesses(tree: ast.AST) -> Iterator[str]:
    """Tests of what somebody who declares is, or whether it has an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = node.func.id
            guessing = name in ("isinstance", "issubclass", "hasattr") or (name == "getattr" and len(node.args) == 3)
            if guessing and declares(node.args[0]):
                yield ast.unparse(node)
        if isinstance(node, ast.Match) and declares(node.subject):
            yield ast.unparse(node.subject)


def declares(node: ast.AST) -> bool:
    """Whether an expression names a domain, environment, plugin or prompt format, or its type."""
    asked = ast.unparse(node).removeprefix("type(").removesuffix(")").rpartition(".")[2].lstrip("_")
    return asked in DECLARED


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(self.env, Ends)",
        "issubclass(type(env), Ends)",
        "hasattr(context.prompt_format, 'ask')",
        "getattr(self._format, 'ask', None)",
        "getattr(plugin, 'built_on', ())",
        "match episode.env.domain:\n    case Domain(): pass",
    ],
)
def test_a_guess_is_found(text: str) -> None:
    assert [*guesses(ast.parse(text))]


@pytest.mark.parametrize("package", ["engine", "agents", "runner"])
def test_no_structure_is_guessed(package: str) -> None:
    for file in sorted((Path(tape.__file__).parent / package).rglob("*.py")):
        assert not list(guesses(ast.parse(file.read_text()))), file.name


@pytest.mark.parametrize("base", [Domain, Environment])
def test_the_engine_asks_for_every_part(base: type) -> None:
    sources = [file.read_text() for file in Path(tape.__file__).parent.rglob("*.py") if "protocols" not in file.parts]
    assert part_names(base)
    for part in part_names(base):
        assert any(f".{part}" in source for source in sources), part


@pytest.mark.parametrize("base", [Environment, EnvironmentPlugin, PromptFormat])
def test_every_declared_method_is_asked_for(base: type) -> None:
    """Nothing is declared that nobody asks for."""
    sources = [file.read_text() for file in Path(tape.__file__).parent.rglob("*.py") if "protocols" not in file.parts]
    for name in (name for name in vars(base) if not name.startswith("_")):
        assert any(f".{name}" in source for source in sources), name

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
            self.prompt_format, self.reset = line.prompt_format, line.reset
            self.step, self.success = line.step, line.success

    duck: Any = Duck()
    with pytest.raises(ConfigError, match=r"Duck is no environment: it has to inherit from tape\.protocols\.Env"):
        TapeAgent(LineModel()).run(duck)

    class Nowhere(Line):
        def __init__(self) -> None:
            super().__init__()
            del self.domain

    with pytest.raises(ConfigError, match=r"Nowhere is no environment: .* its attribute domain"):
        TapeAgent(LineModel()).run(Nowhere())


def test_what_every_environment_must_declare_is_enough_to_be_played() -> None:
    class Plain(Line):
        def __init__(self) -> None:
            super().__init__()
            del self.budget

    env = Plain()
    assert (env.budget, env.home_loop(), env.ended(), env.conclude()) == (Budget(), None, False, False)
    assert TapeAgent(LineModel()).run(env).success


def test_a_plugin_without_a_simulator_or_roles_names_what_it_lacks() -> None:
    class Lines(EnvironmentPlugin):
        name, model, prompt_version = "lines", "scripted", "1"

        def tasks(self, options: Any) -> list[Any]:
            return []

        def make(self, task: Any) -> Environment:
            return Line()

    plugin = Lines()
    with pytest.raises(ConfigError, match="lines has no simulator"):
        plugin.simulator(Line())
    with pytest.raises(UnknownNameError, match="role of lines"):
        plugin.role_cases("chat", "plan", 1, 0)
    plugin.roles = ("plan",)
    with pytest.raises(ConfigError, match="lines has roles and no cases"):
        plugin.role_cases("chat", "plan", 1, 0)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("plan_request", (1, {})), ("read_plan", (1, "")), ("score_request", (1,)), ("select_request", (1, (), {})),
        ("act_request", (1, {}, None, ())), ("read_act", (1, "")), ("next_request", (1, "left")),
        ("read_next", (1, "")),
    ],
)  # fmt: skip
def test_a_prompt_format_refuses_the_roles_that_it_does_not_have(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match=f"PromptFormat has no method {name}"):
        getattr(PromptFormat(), name)(*given)
    with pytest.raises(InvalidOutputError, match="asks for no rollouts"):
        PromptFormat().read_rollout(1, (), "")


DECLARED = ("domain", "env", "environment", "plugin", "prompt_format", "format", "prompts")
"""Names of declaring objects, in the engine and around it."""


def guesses(tree: ast.AST) -> Iterator[str]:
    """Tests of the type of a declaring object, or whether it has an attribute."""
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
        "isinstance(self.env, Ends)", "issubclass(type(env), Ends)", "hasattr(context.prompt_format, 'ask')",
        "getattr(self._format, 'ask', None)", "getattr(plugin, 'built_on', ())",
        "match episode.env.domain:\n    case Domain(): pass",
    ],
)  # fmt: skip
def test_a_guess_is_found(text: str) -> None:
    assert [*guesses(ast.parse(text))]


@pytest.mark.parametrize("package", ["engine", "agents", "runner"])
def test_no_structure_is_guessed(package: str) -> None:
    for file in sorted((Path(tape.__file__).parent / package).rglob("*.py")):
        assert not list(guesses(ast.parse(file.read_text()))), file.name


@pytest.mark.parametrize("base", [Domain, Environment, EnvironmentPlugin, PromptFormat])
def test_every_declared_part_and_method_is_asked_for(base: type) -> None:
    sources = [file.read_text() for file in Path(tape.__file__).parent.rglob("*.py") if "protocols" not in file.parts]
    names = set() if base is Domain else {name for name in vars(base) if not name.startswith("_")}
    for name in {*names, *part_names(base)}:
        assert any(f".{name}" in source for source in sources), name

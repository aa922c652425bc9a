"""The process that runs AgentDojo's suites: ``python -m envs.agentdojo.child``. A world is an environment of a suite.

Its tasks, tools, checks of utility and security and starting states are the package's own; what runs agents, and the
clients of providers, is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from envs.apart.child import Child, serve, shut_off

_PACKAGE = "agentdojo"
_LEFT_OUT = {
    "agent_pipeline/__init__.py": "",
    "agent_pipeline/base_pipeline_element.py": "class BasePipelineElement: ...\n",
    "agent_pipeline/errors.py": "class AbortAgentError(Exception): ...\n",
    "agent_pipeline/ground_truth_pipeline.py": "class GroundTruthPipeline: ...\n",
}
"""What the suites import of the agents, and never use here."""


class _Texts(MetaPathFinder, Loader):
    """Imports the package from the texts of its files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._texts = {name.removesuffix(".py").replace("/", "."): text for name, text in files.items()}

    def _found(self, module: str) -> tuple[str, bool] | None:
        """The text of a module, and whether it is a package; a folder need not have a file of its own."""
        inside = module.removeprefix(_PACKAGE).lstrip(".")
        if (package := f"{inside}.__init__".lstrip(".")) in self._texts:
            return self._texts[package], True
        if inside in self._texts:
            return self._texts[inside], False
        return ("", True) if any(name.startswith(f"{inside}.") for name in self._texts) else None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """See :class:`importlib.abc.MetaPathFinder`."""
        del path, target
        if name.partition(".")[0] != _PACKAGE or (pair := self._found(name)) is None:
            return None
        return spec_from_loader(name, self, is_package=pair[1])

    def exec_module(self, module: ModuleType) -> None:
        """See :class:`importlib.abc.Loader`."""
        pair = self._found(module.__name__)
        assert pair is not None
        name = f"<{module.__name__}>"
        code = compile(pair[0], name, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - only text whose hash is pinned


@dataclass
class DojoWorld:
    """One task under way."""

    suite: Any
    user: Any
    now: Any
    before: Any


class SuiteChild(Child):
    """Holds the suites, and worlds of their environments."""

    does = (*Child.does, "load", "suite", "seen", "world", "gold", "output", "call", "checked")

    def load(self, modules: Mapping[str, str], data: Mapping[str, str], benchmark: str) -> None:
        """Import the suites; then shut the process off."""
        sys.meta_path.insert(0, _Texts({**modules, **_LEFT_OUT}))
        module = import_module(f"{_PACKAGE}.task_suite.task_suite")
        begins = {name: _resolved(name, data) for name in data if "/include/" not in name}
        module.__dict__["read_suite_file"] = lambda suite, file, _: begins[f"{suite}/{file}"]
        self._suites = import_module(f"{_PACKAGE}.task_suite.load_suites").get_suites(benchmark)
        self._runtime = import_module(f"{_PACKAGE}.functions_runtime")
        shut_off()

    def plain(self, world: DojoWorld) -> Any:
        """What the environment holds."""
        return world.now.model_dump(mode="json")

    def suite(self, name: str) -> dict[str, Any]:
        """The tasks of a suite, its injections, its tools, and the places where an injection can stand."""
        suite = self._suites[name]
        return {
            "users": {item: task.PROMPT for item, task in suite.user_tasks.items()},
            "injections": {item: task.GOAL for item, task in suite.injection_tasks.items()},
            "places": suite.get_injection_vector_defaults(),
            "tools": [
                {"name": tool.name, "description": tool.description, "parameters": tool.parameters.model_json_schema()}
                for tool in suite.tools
            ],
        }

    def seen(self, suite: str, user: str) -> list[str]:
        """The places whose text the gold calls of a task show."""
        marks = {place: f"<<{place}>>" for place in self._suites[suite].get_injection_vector_defaults()}
        number = self.world(suite, user, marks)
        shown = "".join(
            self.call(number, mapping["name"], mapping["arguments"])["text"] for mapping in self.gold(number, "")
        )
        self.drop(number)
        return [place for place, mark in marks.items() if mark in shown]

    def world(self, suite: str, user: str, injections: Mapping[str, str]) -> int:
        """A new world, as a task begins with it; its number."""
        task = self._suites[suite].user_tasks[user]
        # They are put into texts in double quotes.
        quoted = {place: json.dumps(text)[1:-1] for place, text in injections.items()}
        begun = self._suites[suite].load_and_inject_default_environment(quoted)
        now = task.init_environment(begun)
        return self.kept(DojoWorld(self._suites[suite], task, now, now.model_copy(deep=True)))

    def gold(self, world: int, injection: str) -> list[dict[str, Any]]:
        """The calls that do a task of the user, or of an injection."""
        item = self.worlds[world]
        task = item.suite.injection_tasks[injection] if injection else item.user
        calls = task.ground_truth(item.before.model_copy(deep=True))
        return [{"name": call.function, "arguments": _plain(call.args)} for call in calls]

    def output(self, world: int, injection: str) -> str:
        """What is to be said in the end, by a task of the user, or of an injection."""
        item = self.worlds[world]
        return str((item.suite.injection_tasks[injection] if injection else item.user).GROUND_TRUTH_OUTPUT)

    def call(self, world: int, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; what it returns, as text, and its error."""
        item = self.worlds[world]
        runtime = self._runtime.FunctionsRuntime(item.suite.tools)
        result, error = runtime.run_function(item.now, name, dict(arguments))
        return {"value": _plain(result), "text": str(_plain(result)), "error": error}

    def checked(
        self, world: int, injection: str, output: str, calls: Sequence[Mapping[str, Any]]
    ) -> dict[str, bool | None]:
        """The package's own checks: whether the user's task was done, and that of an injection."""
        item = self.worlds[world]
        made = [self._runtime.FunctionCall(function=call["name"], args=dict(call["arguments"])) for call in calls]
        asked = (output, item.before, item.now)
        utility = item.user.utility_from_traces(*asked, made)
        verdicts: dict[str, bool | None] = {"utility": item.user.utility(*asked) if utility is None else utility}
        if injection:
            task = item.suite.injection_tasks[injection]
            security = task.security_from_traces(*asked, made)
            verdicts["attacked"] = bool(task.security(*asked) if security is None else security)
        return {name: None if value is None else bool(value) for name, value in verdicts.items()}


def _plain(value: Any) -> Any:
    """A value as JSON writes it."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def _resolved(name: str, data: Mapping[str, str]) -> str:
    """A file of data with what it includes, all of it in double quotes, so that injections can be put in."""
    import yaml  # type: ignore[import-untyped]

    class Including(yaml.SafeLoader):  # type: ignore[misc]
        """Reads ``!include`` from the other files."""

    def include(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        assert isinstance(node, yaml.ScalarNode)
        return yaml.load(data[f"{name.partition('/')[0]}/{loader.construct_scalar(node)}"], Including)  # noqa: S506

    Including.add_constructor("!include", include)
    read = yaml.load(data[name], Including)  # noqa: S506 - a safe loader
    return str(yaml.dump(read, default_style='"', width=sys.maxsize))


if __name__ == "__main__":
    serve(SuiteChild())

"""Every environment passes the suite that users' environments inherit; the versions of prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from envs.alfworld.plugin import PLUGIN as ALFWORLD
from envs.gsm_hard.plugin import PLUGIN as GSM_HARD
from envs.hotpotqa.actions import FINISH, Find, HotpotAnswer, ParagraphSearch, write
from envs.hotpotqa.plugin import PLUGIN as HOTPOTQA
from envs.hotpotqa.search_plugin import PLUGIN as HOTPOT_SEARCH
from envs.locomo.plugin import PLUGIN as LOCOMO
from envs.musique.environment import MusiqueEnvironment
from envs.musique.plugin import PLUGIN as MUSIQUE
from envs.musique.search_plugin import PLUGIN as MUSIQUE_SEARCH
from envs.repo_qa.plugin import PLUGIN as REPO_QA
from envs.scienceworld.plugin import PLUGIN as SCIENCEWORLD
from envs.sokoban.plugin import PLUGIN as SOKOBAN
from envs.tool_chains.plugin import PLUGIN as TOOL_CHAINS
from envs.tool_chains.typed.domain import TypedDomain, as_action, as_typed
from envs.travelplanner.domain import TripDomain, as_state, first_complete
from envs.travelplanner.plugin import PLUGIN as TRAVELPLANNER
from envs.web_qa.plugin import PLUGIN as WEB_QA
from tape.cli.main import main
from tape.lm.registry import open_model
from tape.plugins import load, names
from tape.protocols import Action, Environment, EnvironmentPlugin, State, prompt_version
from tape.testing import EnvironmentConformance, SearchConformance
from tape.tools.calls import answer, call
from tests.envs.scienceworld.recorded import recorded
from tests.tape.analysis.probe.models import LinePlugin


class TestSokoban(EnvironmentConformance):
    plugin = SOKOBAN
    prompt_formats = ("chat", "compact")


class TestAlfworld(EnvironmentConformance):
    plugin = ALFWORLD
    arguments: ClassVar = ("--count", "4")
    prompt_formats = ("chat", "household")


class TestAlfworldObservedInFull(TestAlfworld):
    most_tasks = 1
    arguments: ClassVar = ("--count", "2", "--observation", "full", "--commands", "shown", "--tightness", "tight")


class TestAlfworldWithErrors(TestAlfworld):
    most_tasks = 1
    arguments: ClassVar = ("--count", "2", "--query-errors", "0.3")


GAME = "find-living-thing"


@pytest.mark.usefixtures("no_java")
class TestScienceWorld(EnvironmentConformance):
    plugin = SCIENCEWORLD
    arguments: ClassVar = ("--task", GAME, "--variations", "{0}-{0}".format(recorded()[GAME]["variation"]))

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [*(action for action, *_ in recorded()[GAME]["steps"][1:]), "look around", "flarb the unicorn"]

    def test_the_simulator_agrees_or_is_refused(self) -> None:  # type: ignore[override]
        pytest.skip("a recording cannot be brought into a state; test_engine.py asks the real simulator")


class TestTravelplanner(EnvironmentConformance):
    plugin = TRAVELPLANNER
    arguments: ClassVar = ("--count", "6")
    prompt_formats = ("chat", "declared")
    most_steps = 4

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        assert isinstance(environment.domain, TripDomain)
        return environment.domain.variants(state, first_complete(environment.domain, as_state(state))[0])


class TestToolChains(EnvironmentConformance):
    plugin = TOOL_CHAINS
    arguments: ClassVar = ("--count", "3", "--change", "price")
    prompt_formats = ("chat", "declared")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        """Calls of tools whose data are at hand, and what cannot be called."""
        assert isinstance(environment.domain, TypedDomain)
        ready = [as_action(item) for item in environment.domain.callable(state)]
        return [*ready, answer(as_typed(state).wanted or "nothing").text]


class TestToolChainsReadByAModel(TestToolChains):
    most_tasks = 1
    arguments: ClassVar = ("--count", "2", "--change", "wish", "--reader", "lm")


class TestGsmHard(EnvironmentConformance):
    plugin = GSM_HARD
    prompt_formats = ("chat",)

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        made = [
            call("add", "quick", a=2, b=3),
            call("divide", "exact", a=7, b=2),
            call("subtract", "standard", a=4, b=3),
        ]
        return [item.text for item in (*made, answer(7))]


class TestMusique(EnvironmentConformance):
    plugin = MUSIQUE
    prompt_formats = ("chat",)

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        assert isinstance(environment, MusiqueEnvironment)
        relation, subject = environment.question.hops[0]
        made = [call("search", f"v{number}", query=f"{relation} of {subject}") for number in range(1, 6)]
        return [item.text for item in (*made, answer("nobody"))]


class TestHotpotqa(EnvironmentConformance):
    plugin = HOTPOTQA
    prompt_formats = ("chat",)

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [
            write(Find(1, "somebody", "Somewhere")),
            write(HotpotAnswer("nobody")),
            write(HotpotAnswer("somebody")),
            FINISH,
        ]


class TestHotpotqaSearched(TestHotpotqa):
    most_tasks = 1
    arguments: ClassVar = ("--mode", "open")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        return [write(ParagraphSearch("who is mayor?")), *super().actions(environment, state)]


class TestWebQa(EnvironmentConformance):
    plugin = WEB_QA
    prompt_formats = ("chat", "web_qa")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        pages = [call("scrape", address=f"https://{town}.example/") for town in ("tarnbridge", "oskhaven", "nowhere")]
        return [page.text for page in (call("search", query="gyms"), *pages, answer("nobody"))]


class TestMusiqueSearch(SearchConformance):
    plugin = MUSIQUE_SEARCH


class TestHotpotSearch(SearchConformance):
    plugin = HOTPOT_SEARCH


class TestLocomo(SearchConformance):
    plugin = LOCOMO


class TestRepoQa(SearchConformance):
    plugin = REPO_QA
    arguments: ClassVar = ("--package", "json", "--part", "test")


ENVIRONMENTS = "tape.environments"


@pytest.mark.parametrize("name", names(ENVIRONMENTS))
def test_every_environment_has_a_version_for_general_models_and_for_its_own(name: str) -> None:
    plugin: EnvironmentPlugin = load(ENVIRONMENTS, name)
    assert prompt_version(plugin, "chat")
    if plugin.model != "smollm2":  # It reads chat prompts, and its weights are an extra.
        assert prompt_version(plugin, open_model(plugin.model).prompt_format)


def test_one_version_stands_for_all_formats_and_an_unknown_format_has_none() -> None:
    class Plugin(LinePlugin):
        prompt_version: Any = "7"

    assert prompt_version(Plugin(), "chat") == prompt_version(Plugin(), "any") == "7"
    Plugin.prompt_version = {"chat": "2"}
    assert [prompt_version(Plugin(), name) for name in ("chat", "any")] == ["2", ""]


def test_a_run_goes_on_after_a_change_of_prompts_that_its_model_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = type(load(ENVIRONMENTS, "sokoban"))
    versions = dict(plugin.prompt_version)
    command = ["run", "sokoban", "--limit", "1", "--agent", "open_loop", "--model", "bundled:nano-750", "--out"]
    command += [str(tmp_path / "run"), "--quiet"]
    assert main(command) == 0
    [spec] = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))["cells"].values()
    assert spec["prompt_version"] == versions["compact"] == "2"
    monkeypatch.setattr(plugin, "prompt_version", MappingProxyType(versions | {"chat": "another"}))
    assert main(command) == 0
    monkeypatch.setattr(plugin, "prompt_version", MappingProxyType(versions | {"compact": "another"}))
    capsys.readouterr()
    assert main(command) == 2
    assert "prompt_version: '2' there, 'another' now" in capsys.readouterr().err

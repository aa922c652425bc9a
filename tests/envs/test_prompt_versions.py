"""The version of an environment's prompts is that of the prompt format which the model reads."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tape.cli.main import main
from tape.lm.registry import open_model
from tape.plugins import load, names
from tape.protocols import EnvironmentPlugin, prompt_version
from tests.tape.analysis.probe.models import LinePlugin

ENVIRONMENTS = "tape.environments"


@pytest.mark.parametrize("name", names(ENVIRONMENTS))
def test_every_environment_has_a_version_for_general_models_and_for_its_own(name: str) -> None:
    plugin: EnvironmentPlugin = load(ENVIRONMENTS, name)
    assert prompt_version(plugin, "chat")
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

"""Training from nothing: it learns, resumes to the same weights, and its files load as a model."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import problem_set
from envs.gsm_hard.profiles import PROFILES, budget
from experiments.training import ship
from experiments.training.evaluate import accuracy
from experiments.training.families import SOKOBAN, TOOLS
from experiments.training.tokenizer import build
from experiments.training.train import main
from tape.lm.bundled import card, sizes, weights_folder
from tape.lm.registry import open_model
from tape.lm.scripted import obeys
from tape.tools.state import ToolState

pytestmark = pytest.mark.slow


def test_a_short_training_of_the_tool_model_writes_a_folder_that_speaks_its_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--size", "tools", "--steps", "1", "--out", str(tmp_path)])
    main()
    folder = tmp_path / "step-1"
    recipe = json.loads((folder / "recipe.json").read_text())
    assert (recipe["size"], recipe["steps"], recipe["prompt_format"]) == ("tools", 1, "tools")
    assert Tokenizer.from_file(str(folder / "tokenizer.json")).to_str() == build(TOOLS.words, "after").to_str()
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["ship", str(tmp_path), "--evaluate", "--batches", "1"])
    ship.main()
    right = json.loads(capsys.readouterr().out.partition("\n")[2])["1"]
    assert right.keys() == {"<act>", "<plan>", "<read>", "<score>"}
    assert right["<plan>"]["accuracy"] == 0.0
    lm = open_model(f"hf:{folder}")
    assert (lm.prompt_format, lm.identity.partition("@")[0]) == ("tools", f"hf:{folder}")

    # It has learnt nothing yet, but what it writes are calls, word by word, and prompts have no unknown words.
    problem = problem_set("dev")[0]
    environment = GsmHardEnvironment(problem)
    domain, prompt_format = environment.domain, environment.prompt_format(lm.prompt_format)
    left = budget(PROFILES["priced"], problem.operations, "tight")
    request = prompt_format.plan_request(ToolState(), left)
    assert isinstance(request.prompt, str)
    assert lm.prompt_tokens(request) == len(request.prompt.split())
    wanted = [request, prompt_format.act_request(ToolState(), left, None, ())]
    plan, act = asyncio.run(lm.generate([replace(one, n=4, temperature=1.0) for one in wanted]))
    assert all(prompt_format.read_plan(ToolState(), text).actions for text in plan.texts)
    for text in act.texts:
        assert obeys(wanted[1], text)
        assert domain.outcome(ToolState(), prompt_format.read_act(ToolState(), text)[1]).state is not None


def test_the_family_is_shipped_small_and_of_rising_ability() -> None:
    family = ("nano", "mini", "base")
    assert [size for size in sizes() if size in family] == list(family)
    found = {}
    for name in ("nano-750", *family):
        file = weights_folder() / name / "model.safetensors"
        assert file.stat().st_size == card(name)["bytes"] <= 8_000_000
        model = LlamaForCausalLM.from_pretrained(file.parent)
        found[name] = accuracy(model.float(), SOKOBAN, name.partition("-")[0], 1)
    roles = ("<act>", "<left>", "<next>", "<plan>", "<score>")
    assert {tuple(found[name]) for name in found} == {roles}
    assert all(found[name]["<next>"]["accuracy"] > 0.9 < found[name]["<score>"]["accuracy"] for name in family)
    assert all(found["nano-750"][role]["accuracy"] < found["mini"][role]["accuracy"] for role in roles)

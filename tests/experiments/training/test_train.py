"""Training from nothing: it learns, resumes to the same weights, and its files load as a model."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from envs.tool_chains.plugin import PLUGIN
from envs.tool_chains.typed import TypedEnvironment
from envs.tool_chains.typed.domain import as_typed
from experiments.harness.matrix import own_options
from experiments.training import ship
from experiments.training.evaluate import accuracy
from experiments.training.families import CHAINS, SOKOBAN
from experiments.training.tokenizer import build
from experiments.training.train import main
from tape.lm.bundled import card, checkpoint_folder, sizes
from tape.lm.registry import open_model
from tape.lm.scripted import obeys

pytestmark = pytest.mark.slow


def test_a_short_training_writes_a_folder_that_speaks_the_format_of_its_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--size", "chains", "--steps", "1", "--out", str(tmp_path)])
    main()
    folder = tmp_path / "step-1"
    recipe = json.loads((folder / "recipe.json").read_text())
    assert (recipe["size"], recipe["steps"], recipe["prompt_format"]) == ("chains", 1, "chains")
    assert Tokenizer.from_file(str(folder / "tokenizer.json")).to_str() == build(CHAINS.words, "after").to_str()
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["ship", str(tmp_path), "--evaluate", "--batches", "1"])
    ship.main()
    right = json.loads(capsys.readouterr().out.partition("\n")[2])["1"]
    assert right.keys() == {"<read>"}
    assert right["<read>"]["accuracy"] == 0.0
    lm = open_model(f"hf:{folder}")
    assert (lm.prompt_format, lm.identity.partition("@")[0]) == ("chains", f"hf:{folder}")

    # It has learnt nothing yet, but what it writes is a type, word by word, and prompts have no unknown words.
    environment = PLUGIN.make(PLUGIN.tasks(own_options("tool_chains", ("--count", "1", "--reader", "lm")))[0])
    assert isinstance(environment, TypedEnvironment)
    prompt_format = environment.prompt_format(lm.prompt_format)
    state = environment.domain.project(environment.reset(0))
    request = prompt_format.project_request(state)
    assert isinstance(request.prompt, str)
    assert lm.prompt_tokens(request) == len(request.prompt.split())
    [read] = asyncio.run(lm.generate([replace(request, n=4, temperature=1.0)]))
    for text in read.texts:
        assert obeys(request, text)
        assert as_typed(prompt_format.read_project(state, text)).wanted


def test_the_family_is_shipped_small_and_of_rising_ability() -> None:
    family = ("nano", "mini", "base")
    assert [size for size in sizes() if size in family] == list(family)
    mapping = {}
    for name in ("nano-750", *family):
        file = checkpoint_folder(name) / "model.safetensors"
        assert file.stat().st_size == card(name)["bytes"] <= 8_000_000
        model = LlamaForCausalLM.from_pretrained(file.parent)
        mapping[name] = accuracy(model.float(), SOKOBAN, name.partition("-")[0], 1)
    roles = ("<act>", "<left>", "<next>", "<plan>", "<score>")
    assert {tuple(mapping[name]) for name in mapping} == {roles}
    assert all(mapping[name]["<next>"]["accuracy"] > 0.9 < mapping[name]["<score>"]["accuracy"] for name in family)
    assert all(mapping["nano-750"][role]["accuracy"] < mapping["mini"][role]["accuracy"] for role in roles)

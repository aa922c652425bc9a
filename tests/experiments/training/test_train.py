"""Training from nothing: it learns, resumes to the same weights, and its files load as a model."""

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import problem_set
from envs.gsm_hard.profiles import PROFILES, budget
from experiments.training.families import SOKOBAN, TOOLS
from experiments.training.sokoban.evaluate import evaluate
from experiments.training.tokenizer import build
from experiments.training.train import Recipe, learning_rate, main, train
from tape.lm.bundled import card, load_folder, sizes, weights_folder
from tape.lm.registry import open_model
from tape.lm.scripted import obeys
from tape.tools.state import ToolState

pytestmark = pytest.mark.slow


def test_training_resumes_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    recipe = Recipe("nano", 8, batch=4, warmup=2)
    train(recipe, tmp_path / "whole", "cpu", log_every=2)

    class Cut(Exception):
        pass

    import experiments.training.train as module

    def failing(seed: int, size: str, batch: int, first: int = 0) -> Iterator[dict[str, torch.Tensor]]:
        for i, item in enumerate(SOKOBAN.batches(seed, size, batch, first)):
            if first + i == 5:
                raise Cut
            yield item

    monkeypatch.setattr(module, "SAVE_EVERY", 4)
    with monkeypatch.context() as patch:
        patch.setattr(module, "family_of", lambda _: replace(SOKOBAN, batches=failing))
        with pytest.raises(Cut):
            train(recipe, tmp_path / "cut", "cpu", log_every=2)
    train(recipe, tmp_path / "cut", "cpu", log_every=2)
    whole, cut = (load_file(tmp_path / name / "step-8" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)
    train(replace(recipe, steps=12), tmp_path / "cut", "cpu", log_every=2)
    kept = json.loads((tmp_path / "cut" / "recipe.json").read_text())
    assert (kept["steps"], kept["restarts"]) == (12, [8])
    with pytest.raises(SystemExit, match="another recipe"):
        train(replace(recipe, steps=12, lr=1.0), tmp_path / "cut", "cpu", log_every=2)
    log = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    assert log[-1]["loss"] < log[0]["loss"]
    folder = tmp_path / "whole" / "step-8"
    lm = open_model(f"hf:{folder}")
    assert lm.prompt_format == "compact"
    assert lm.identity.startswith(f"hf:{folder}@")


def test_a_short_training_of_the_tool_model_writes_a_folder_that_speaks_its_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["train", "--size", "tools", "--steps", "1", "--out", str(tmp_path)])
    main()
    folder = tmp_path / "step-1"
    recipe = json.loads((folder / "recipe.json").read_text())
    assert recipe == json.loads((tmp_path / "recipe.json").read_text())
    assert (recipe["size"], recipe["steps"], recipe["prompt_format"]) == ("tools", 1, "tools")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.to_str() == build(TOOLS.words, "after").to_str()
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


def test_the_learning_rate_warms_up_holds_and_falls() -> None:
    recipe = Recipe("nano", 1000, warmup=100)
    rates = [learning_rate(recipe, step) for step in (0, 99, 300, 549, 700, 999)]
    assert rates[0] < rates[1] == rates[2] == rates[3] == recipe.lr
    assert rates[3] > rates[4] > rates[5] > 0


def test_the_family_is_shipped_small_and_of_rising_ability() -> None:
    family = ("nano", "mini", "base")
    assert [size for size in sizes() if size in family] == list(family)
    plans = []
    for size in family:
        facts = card(size)
        assert facts["bytes"] <= 8_000_000
        assert (weights_folder() / size / "model.safetensors").stat().st_size == facts["bytes"]
        assert len(facts["ladder"]) >= 3
        last = facts["ladder"][str(facts["architecture"]["steps"])]
        plans.append(last["7x9, one box"]["plan: solves within the shortest + 2"]["accuracy"])
    assert plans[0] < plans[1] <= plans[2]


@pytest.mark.parametrize("size", ["nano", "mini", "base"])
def test_a_shipped_model_plays_every_role_on_held_out_boards(size: str) -> None:
    lm = load_folder(weights_folder() / size, f"bundled:{size}")
    report = asyncio.run(evaluate(lm, "7x9, one box", 60, seed=1)).report()
    assert report["next: all"]["accuracy"] > 0.8
    assert report["act: action is optimal"]["accuracy"] > 0.6
    assert report["plan: solves within the shortest + 2"]["accuracy"] > 0.3
    assert report["score: open"]["accuracy"] > 0.9


def test_base_handles_two_boxes_on_ten_by_ten() -> None:
    lm = load_folder(weights_folder() / "base", "bundled:base")
    report = asyncio.run(evaluate(lm, "10x10, two boxes", 60, seed=1)).report()
    assert report["next: all"]["accuracy"] > 0.8
    assert report["plan, shortest 1-6"]["accuracy"] > 0.5

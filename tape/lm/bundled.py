"""The bundled models: small, real, trained from nothing by ``experiments/training/train.py``."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tape.errors import ModelError, UnknownNameError
from tape.lm.base import LanguageModel
from tape.plugins import require_extra


def weights_folder() -> Path:
    """Where the shipped checkpoints are."""
    return Path(str(files("tape.lm") / "weights"))


def sizes(prompt_format: str | None = None) -> tuple[str, ...]:
    """Names of the shipped checkpoints, by size and then by training steps.

    Args:
        prompt_format: Only those that read this prompt format.
    """
    found = [card(path.parent.name) for path in weights_folder().glob("*/card.json")]
    found = [facts for facts in found if prompt_format in (None, facts.get("prompt_format", "compact"))]
    ranked = sorted(found, key=lambda facts: (facts["parameters"], facts["architecture"]["steps"]))
    return tuple(str(facts["name"]).removeprefix("bundled:") for facts in ranked)


def card(size: str) -> dict[str, Any]:
    """The machine-readable part of a checkpoint's model card."""
    loaded: dict[str, Any] = json.loads((weights_folder() / size / "card.json").read_text(encoding="utf-8"))
    return loaded


def load_folder(folder: Path, name: str, prompt_format: str = "compact") -> LanguageModel:
    """Open a checkpoint folder of a bundled family, shipped or freshly trained.

    Args:
        folder: Weights, configuration, and the tokenizer if it is not the Sokoban family's.
        name: The string it is opened with.
        prompt_format: In which its prompts are written.

    Raises:
        ModelError: The folder does not hold such a checkpoint.
        MissingExtraError: The packages of the extra ``local`` are not installed.
    """
    require_extra("local", "torch", "tokenizers", "safetensors", "outlines_core", what=name)
    import torch

    from tape.lm.decoding import LocalLM
    from tape.lm.llama import Llama
    from tape.lm.outlines_engine import plain_compiler
    from tape.lm.word_tokenizer import WordTokenizer

    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"{folder} holds no model.safetensors; train one with python -m experiments.training.train")
    tokenizer_file = folder / "tokenizer.json"
    if not tokenizer_file.is_file():
        tokenizer_file = weights_folder() / "tokenizer.json"
    tokenizer = WordTokenizer(tokenizer_file)
    # Matrices this small gain nothing from a second thread, and results do not depend on the core count.
    torch.set_num_threads(1)
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
    return LocalLM(
        Llama(folder),
        tokenizer,
        plain_compiler(tokenizer, tokenizer.texts()),
        name=name,
        identity=f"{name}@{digest}",
        prompt_format=prompt_format,
    )


@lru_cache(maxsize=4)
def open_bundled(argument: str) -> LanguageModel:
    """Open ``bundled:SIZE``.

    Raises:
        UnknownNameError: There is no such size.
    """
    if argument not in sizes():
        raise UnknownNameError("bundled model", argument, sizes(), "For instance bundled:mini.")
    return load_folder(
        weights_folder() / argument, f"bundled:{argument}", card(argument).get("prompt_format", "compact")
    )


def describe() -> list[tuple[str, str]]:
    """What ``tape models`` lists."""
    return [
        (f"bundled:{size}", f"{facts['parameters'] / 1e6:.2f} M parameters, {facts.get('about', 'Sokoban')}, offline")
        for size in sizes()
        for facts in [card(size)]
    ]

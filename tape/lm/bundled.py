"""The bundled models: small, real, trained from nothing by ``experiments/training/train.py``."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tape.errors import ModelError, UnknownNameError
from tape.lm.base import LanguageModel
from tape.plugins import require_extra
from tape.reading import read_json


def weights_folder() -> Path:
    """Where the shipped checkpoints are."""
    return Path(str(files("tape.lm") / "weights"))


def experiments_folder() -> Path:
    """Where those are that only experiments use: beside the code of a checkout, and in no wheel."""
    return weights_folder().parents[2] / "experiments" / "weights"


def checkpoint_folder(size: str) -> Path:
    """Where a checkpoint is; the shipped folder where there is none of this name."""
    folders = (weights_folder(), experiments_folder())
    return next((folder / size for folder in folders if (folder / size).is_dir()), weights_folder() / size)


def sizes(prompt_format: str | None = None) -> tuple[str, ...]:
    """Names of the checkpoints that are here, by size and then by training steps.

    Args:
        prompt_format: Only those that read this prompt format.
    """
    folders = (weights_folder(), experiments_folder())
    cards = [_card(path.parent.name) for folder in folders for path in folder.glob("*/card.json")]
    cards = [facts for facts in cards if prompt_format in (None, facts.prompt_format)]
    return tuple(facts.name.removeprefix("bundled:") for facts in sorted(cards, key=lambda f: (f.parameters, f.steps)))


class Card(BaseModel):
    """The machine-readable part of a checkpoint's model card, as far as it is read here; all of it is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    parameters: Annotated[int, Field(ge=1, lt=1 << 63)]
    about: str = "Sokoban"
    prompt_format: str = "compact"
    architecture: dict[str, Any]

    @property
    def steps(self) -> int:
        """Of its training."""
        index = self.architecture.get("steps")
        return index if isinstance(index, int) else 0


def _card(size: str) -> Card:
    return read_json(checkpoint_folder(size) / "card.json", Card, error=ModelError)


def card(size: str) -> dict[str, Any]:
    """The machine-readable part of a checkpoint's model card.

    Raises:
        ModelError: It cannot be read; names the file and the field.
    """
    return _card(size).model_dump(exclude_unset=True)


def load_folder(folder: Path, name: str, prompt_format: str = "compact") -> LanguageModel:
    """Open a checkpoint folder of a bundled family, shipped or freshly trained.

    Raises:
        ModelError: The folder does not hold such a checkpoint.
        MissingExtraError: The packages of the extra ``local`` are not installed.
    """
    require_extra("local", "torch", "tokenizers", "safetensors", "llguidance", what=name)
    import torch

    from tape.lm.decoding import LocalLM
    from tape.lm.llama import Llama, WordTokenizer
    from tape.lm.outlines_engine import plain_compiler

    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelError(f"{folder} holds no model.safetensors; train one with python -m experiments.training.train")
    tokenizer_file = folder / "tokenizer.json"
    if not tokenizer_file.is_file():
        tokenizer_file = weights_folder() / "tokenizer.json"
    try:
        tokenizer = WordTokenizer(tokenizer_file)
    except Exception as error:  # the library raises nothing more special
        raise ModelError(f"{tokenizer_file}: not a tokenizer: {error}; copy the one that belongs here") from error
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
        hint = "Those of experiments are in a checkout of the project, in experiments/weights."
        raise UnknownNameError("bundled model", argument, sizes(), hint)
    return load_folder(checkpoint_folder(argument), f"bundled:{argument}", _card(argument).prompt_format)


def describe() -> list[tuple[str, str]]:
    """What ``tape models`` lists."""
    return [
        (f"bundled:{size}", f"{facts.parameters / 1e6:.2f} M parameters, {facts.about}, offline")
        for size in sizes()
        for facts in [_card(size)]
    ]

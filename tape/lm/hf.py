"""``hf:PATH_OR_ID``: any local transformers checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tape.errors import ModelError
from tape.lm.base import LanguageModel
from tape.plugins import LOCAL, require_extra
from tape.reading import read_json

if TYPE_CHECKING:
    import torch


SHORTEST = 2048
"""Tokens that chat prompts are written for; a model must read as many."""


@dataclass(frozen=True)
class _Recipe:
    prompt_format: str


def trained_on(recipe: Path) -> str:
    """The prompt format that a recipe names."""
    return read_json(recipe, _Recipe, error=ModelError).prompt_format


def open_hf(argument: str) -> LanguageModel:
    """Open a transformers model from a folder or the local hub cache.

    A folder made by ``experiments/training/train.py`` speaks the prompt format that it was trained on, every
    other model the chat prompt format.

    Raises:
        ModelError: The model cannot be loaded.
        MissingExtraError: The packages of the extra ``local`` are not installed.
    """
    if not argument:
        raise ModelError("hf: needs a folder or a model id, for instance hf:./my-model")
    folder = Path(argument)
    if argument.lower().endswith(".gguf"):
        raise ModelError(f"{argument} is a GGUF file; name it gguf:{argument}")
    if argument.startswith(("/", ".", "~")) and not folder.is_dir():
        raise ModelError(f"hf:{argument}: there is no such folder; name one with a checkpoint, or an id of the hub")
    if (folder / "recipe.json").is_file():
        from tape.lm.bundled import load_folder

        return load_folder(folder, f"hf:{argument}", trained_on(folder / "recipe.json"))
    name = f"hf:{argument}"
    require_extra("local", *LOCAL, what=name)
    return load_checkpoint(
        folder, folder, name=name, identity=name + (f"@{digest_of(folder)}" if folder.is_dir() else "")
    )


def load_checkpoint(
    weights: Path, tokenizer: Path, *, name: str, identity: str, offline: bool = False
) -> LanguageModel:
    """Open a checkpoint of transformers that is asked by chat messages.

    Args:
        weights: A folder with a configuration and weights, or a model id of the hub.
        tokenizer: The same, for the tokenizer.
        name: The string it is opened with.
        identity: Changes whenever the files do; of a model id, what the hub calls its revision is added.
        offline: Whether the hub must not be asked.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tape.lm.transformers_lm import TransformersLM

    try:
        with without_bars():
            words = AutoTokenizer.from_pretrained(str(tokenizer), local_files_only=offline)
            model = AutoModelForCausalLM.from_pretrained(str(weights), dtype="auto", local_files_only=offline)
    except Exception as error:  # the readers raise what they like, of JSON that is nested too deep too
        raise ModelError(f"cannot load {name!r} as a transformers model: {error}") from error
    if not words.chat_template:
        raise ModelError(
            f"{name} has no chat template, so it cannot be asked by messages; use an instruction-tuned model, or name "
            "a folder with its tokenizer and a chat_template.jinja (of a GGUF file: gguf:PATH#FOLDER)"
        )
    window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if window is None:
        raise ModelError(
            f"{name} does not declare its context length; put max_position_embeddings into its config.json"
        )
    if window < SHORTEST:
        raise ModelError(
            f"{name} reads at most {window} tokens, and prompts take up to {SHORTEST}; "
            "use a model with a longer context"
        )
    if torch.cuda.is_available():
        model = model.to("cuda")
    elif not computes_in(model.dtype):
        model = model.float()
    if "@" not in identity:
        identity = f"{identity}@{getattr(model.config, '_commit_hash', None) or 'unknown'}"
    identity += f"/{str(model.dtype).removeprefix('torch.')}"  # it depends on the processor
    return TransformersLM(model, words, name=name, identity=identity, prompt_format="chat")


@contextmanager
def without_bars() -> Iterator[None]:
    """Let transformers show no bars; the command reports its own progress."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def computes_in(dtype: torch.dtype) -> bool:
    """Whether this CPU has instructions for a type's products; without them bfloat16 is several times slower."""
    import torch

    if dtype == torch.bfloat16:
        return "avx512_bf16" in _cpu_flags() or "amx_bf16" in _cpu_flags() or "bf16" in _cpu_flags()
    return dtype in (torch.float32, torch.float64)


@lru_cache(maxsize=1)
def _cpu_flags() -> frozenset[str]:
    """What the processor can do, as Linux lists it; empty elsewhere."""
    try:
        listed = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    return frozenset(
        word for line in listed.splitlines() if line.startswith(("flags", "Features")) for word in line.split()
    )


def digest_of(folder: Path) -> str:
    """A hash of a local checkpoint's files: weights trained anew, or another chat template, are another model."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".safetensors", ".json", ".jinja", ".model", ".txt", ".bin"):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

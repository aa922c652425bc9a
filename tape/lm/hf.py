"""``hf:PATH_OR_ID``: any local transformers checkpoint."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tape.errors import ModelError
from tape.lm.base import LanguageModel
from tape.plugins import LOCAL, require_extra
from tape.reading import read_json


@dataclass(frozen=True)
class _Recipe:
    prompt_format: str = ""
    dialect: str = "compact"  # as folders of version 0.1 call it


def trained_on(recipe: Path) -> str:
    """The prompt format that a recipe names.

    Raises:
        ModelError: It cannot be read.
    """
    found = read_json(recipe, _Recipe, error=ModelError)
    return found.prompt_format or found.dialect


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
    if (folder / "recipe.json").is_file():
        from tape.lm.bundled import load_folder

        return load_folder(folder, f"hf:{argument}", trained_on(folder / "recipe.json"))
    require_extra("local", *LOCAL, what=f"hf:{argument}")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tape.lm.transformers_lm import TransformersLM

    try:
        tokenizer = AutoTokenizer.from_pretrained(argument)
        model = AutoModelForCausalLM.from_pretrained(argument, dtype="auto")
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot load {argument!r} as a transformers model: {error}") from error
    if torch.cuda.is_available():
        model = model.to("cuda")
    revision = _digest(folder) if folder.is_dir() else getattr(model.config, "_commit_hash", None) or "unknown"
    return TransformersLM(
        model, tokenizer, name=f"hf:{argument}", identity=f"hf:{argument}@{revision}", prompt_format="chat"
    )


def _digest(folder: Path) -> str:
    """A hash of a local checkpoint's files: weights trained anew are another model."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".safetensors", ".json", ".model", ".txt", ".bin"):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

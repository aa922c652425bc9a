"""The same retrievers on dense embeddings of a local model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.musique.errors import MusiqueError
from envs.musique.question import Passage
from envs.musique.retrieval import Searchable
from tape.plugins import require_extra

BATCH = 32


class DenseCorpus(Searchable):
    """Passages with embeddings: means over the last hidden states of a model, compared by their cosine.

    Args:
        passages: The passages, each with an id of its own.
        model: ``hf:PATH``, a local folder with a transformers model and its tokenizer.

    Raises:
        MusiqueError: There is no such model.
        MissingExtraError: torch or transformers is not installed.
    """

    def __init__(self, passages: Sequence[Passage], model: str) -> None:
        scheme, _, folder = model.partition(":")
        if scheme != "hf" or not (Path(folder) / "config.json").is_file():
            raise MusiqueError(
                f"embeddings: {model!r} is no local model; give hf:PATH, a folder with a transformers model "
                "(config.json, weights and tokenizer)"
            )
        super().__init__(passages)
        require_extra("local", "torch", "transformers", what=f"embeddings by {model}")
        from transformers import AutoModel, AutoTokenizer

        # Left open, transformers asks at the terminal whether to run the code that a folder brings.
        safe = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **safe)
            self._model: Any = AutoModel.from_pretrained(folder, **safe).eval()
        except Exception as error:  # whatever a folder may hold
            raise MusiqueError(f"embeddings: {model} cannot be loaded ({error}); is the folder complete?") from error
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token or self._tokenizer.unk_token
        self._embedded = self._embed([f"{passage.title}. {passage.text}" for passage in self.passages])

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """The cosine of each passage with a query."""
        return np.asarray(self._embedded @ self._embed([query])[0], dtype=np.float64)

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        import torch

        rows = []
        for start in range(0, len(texts), BATCH):
            batch = self._tokenizer(
                list(texts[start : start + BATCH]),
                padding=True,
                truncation=True,
                max_length=min(self._tokenizer.model_max_length, 512),
                return_tensors="pt",
            )
            with torch.inference_mode():
                hidden = self._model(
                    input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
                ).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            rows.append(torch.nn.functional.normalize(mean, dim=-1).double().numpy())
        return np.concatenate(rows)

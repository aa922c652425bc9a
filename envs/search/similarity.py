"""Sentence similarity of answers: the cosine of their embeddings by all-MiniLM-L6-v2 (CGDP appendix F.2)."""

from __future__ import annotations

from collections.abc import Iterable

from envs.search.encoder import MINILM, open_encoder


def similarity(given: str, answers: Iterable[str]) -> float:
    """Largest cosine with an answer that counts, in [-1, 1]; 0 where there are none. Opens the model, once.

    Raises:
        MissingExtraError: The extra ``dense`` is not installed.
    """
    vector = open_encoder(MINILM).vector
    return max((float(vector(given) @ vector(answer)) for answer in answers), default=0.0)

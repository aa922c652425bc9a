"""Questions of several hops."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from tape.protocols.search import Passage


@dataclass(frozen=True)
class MusiqueQuestion:
    """A question that takes several look-ups.

    Attributes:
        id: Unique within its file.
        text: As asked.
        answer: The answer.
        aliases: Other spellings of the answer that count as well.
        hops: The look-ups that answer it, each a relation and its subject, where ``#k`` is the answer of the k-th.
            Known for our own questions only; for training, tests and budgets, and never shown to an agent.
        passages: The corpus that belongs to this question; None where it is asked of the shared one.
        operations: How many look-ups it takes.
    """

    id: str
    text: str
    answer: str
    aliases: tuple[str, ...] = ()
    hops: tuple[tuple[str, str], ...] | None = None
    passages: tuple[Passage, ...] | None = None
    operations: int = 2

    @property
    def answers(self) -> tuple[str, ...]:
        """Every spelling that counts."""
        return (self.answer, *self.aliases)

    @property
    def digest(self) -> str:
        """A fingerprint of the question and all that comes with it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

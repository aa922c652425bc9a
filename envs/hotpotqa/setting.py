"""How a question is played: which benchmark's rules, whether it is searched, who reads."""

from __future__ import annotations

from dataclasses import dataclass

BENCHMARKS = ("hotpotqa", "musique")


@dataclass(frozen=True)
class Setting:
    """How a question is played.

    Attributes:
        question: Its text.
        benchmark: One of :data:`BENCHMARKS`; ``musique`` has stricter checks of answers and escalating search.
        hops: How many hops it takes.
        searches: Whether there is a corpus to search.
        scripted: Whether the scripted reader reads and verifies, in place of the model.
        errors: How often the scripted reader misreads (simulated errors).
    """

    question: str
    benchmark: str
    hops: int
    searches: bool
    scripted: bool = False
    errors: float = 0.0

    @property
    def strict(self) -> bool:
        """Whether MuSiQue's adaptations apply."""
        return self.benchmark == "musique"

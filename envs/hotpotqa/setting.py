"""How a question is played: which benchmark's rules, whether it is searched, who reads."""

from __future__ import annotations

from dataclasses import dataclass

from envs.hotpotqa.errors import HotpotError

BENCHMARKS = ("hotpotqa", "musique")
READERS = ("lm", "scripted")


def require_reader(reader: str, errors: float, *, own: bool) -> None:
    """Check who reads.

    Args:
        reader: One of :data:`READERS`.
        errors: Share of simulated reading errors.
        own: Whether the questions are our own.

    Raises:
        HotpotError: There is no such reader, or the arguments contradict each other.
    """
    if reader not in READERS:
        raise HotpotError(f"there is no reader {reader!r}; there is: {', '.join(READERS)}")
    if errors and reader != "scripted":
        raise HotpotError("simulated reading errors are the scripted reader's: choose it too (--reader scripted)")
    if reader == "scripted" and not own:
        raise HotpotError("the scripted reader knows the wordings of our own passages alone; leave --reader at lm")
    if not 0 <= errors < 1:
        raise HotpotError(f"the share of simulated reading errors (--errors) is in [0, 1), got {errors}")


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

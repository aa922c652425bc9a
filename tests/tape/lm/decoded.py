"""Which texts the masks of a constraint admit, asked of a vocabulary of single bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("llguidance")

from tape.lm.base import Constraint
from tape.lm.constraints import to_grammar
from tape.lm.outlines_engine import Automaton, _vocabulary

END = 256


@lru_cache(maxsize=1)
def single_bytes() -> Any:
    return _vocabulary({value: bytes([value]) for value in range(END)}, END)


def admits(constraint: Constraint, *texts: str) -> list[bool]:
    """For each text, whether it may be written from its beginning to its end.

    Raises:
        ConstraintError: It cannot be decoded by.
    """
    automaton = Automaton(single_bytes(), to_grammar(constraint), END)
    return [automaton.copied().admits([*text.encode()]) for text in texts]

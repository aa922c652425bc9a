"""CGDP as a method of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.cgdp import checks
from tape.cgdp.settings import CgdpSettings
from tape.engine.method import Method
from tape.trace import Event


@dataclass(frozen=True)
class CgdpMethod(Method):
    """Searches with a belief in the place of a transcript. Its counters are measures of the episode."""

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """Check facts, beliefs, gates and reasons (:mod:`tape.cgdp.checks`)."""
        return checks.wrong(events, result)


CGDP = CgdpMethod("cgdp", CgdpSettings, "--agent cgdp, or another search agent")

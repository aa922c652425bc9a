"""SDP as a method of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.engine.method import Method
from tape.sdp import checks
from tape.sdp.settings import SdpSettings
from tape.trace import Event


@dataclass(frozen=True)
class SdpMethod(Method):
    """Certifies predicates one after the other, by what was observed."""

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """Check verdicts and counters (:mod:`tape.sdp.checks`)."""
        return checks.wrong(events, result)


SDP = SdpMethod(
    "sdp",
    SdpSettings,
    "--agent sdp",
    {"certified": 0, "chain_length": 0, "rejections": 0, "certifying": 0, "cascades": 0, "goal_certified": False},
)
"""The counters: predicates certified, and those with the ones still planned at the end; attempts that were not
certified; actions that certified a predicate or more, and two or more; whether the goal was certified.
"""

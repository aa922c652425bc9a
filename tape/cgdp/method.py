"""CGDP as a method of the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from tape.cgdp import checks
from tape.cgdp.events import StoppedEvent
from tape.cgdp.gaps import GAPS, gaps
from tape.cgdp.settings import CgdpSettings
from tape.protocols import Environment
from tape.protocols.method import Audit, Configured, Finding, Method
from tape.trace import Event, StartedEvent


@dataclass(frozen=True)
class CgdpMethod(Method):
    """Searches with a belief in the place of a transcript. Its counters are measures of the episode."""

    rules: ClassVar[tuple[str, ...]] = ("`cgdp`: a belief, a gate or a reason does not follow from what was retrieved",)
    holds_back: ClassVar[bool] = True
    stages: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "searched": "a search agent has answered, and the answer was wrong (its gaps say more)",
            "unanswered": "a search agent's budget ended it before it had answered",
        }
    )
    gaps: ClassVar[Mapping[str, str]] = MappingProxyType(GAPS)

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """Check facts, beliefs, gates and reasons (:mod:`tape.cgdp.checks`)."""
        return checks.wrong(events, result)

    def audit(self, trace: Path, events: Sequence[Event], env: Environment | None, config: Configured | None) -> Audit:
        """Check the quotes of facts (:func:`tape.cgdp.checks.quoted`)."""
        del trace, env, config
        unquoted, facts = checks.quoted(events)
        return Audit([Finding("grounding", number, what) for number, what in unquoted], facts)

    def stopped(self, events: Sequence[Event]) -> str:
        """Whether a failed search had answered."""
        if any(isinstance(event, StoppedEvent) for event in events):
            return "searched"
        searches = any(isinstance(event, StartedEvent) and event.config.get(self.name) for event in events)
        return "unanswered" if searches else ""

    def gaps_in(self, events: Sequence[Event]) -> Collection[str]:
        """The gaps of a search that has ended (:mod:`tape.cgdp.gaps`)."""
        return gaps(events) if any(isinstance(event, StoppedEvent) for event in events) else ()


CGDP = CgdpMethod("cgdp", CgdpSettings, "--agent cgdp, or another search agent")

"""SDP as a method of the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tape.protocols import Environment
from tape.protocols.method import ROLE_SETTINGS, Audit, Configured, Method
from tape.sdp import checks
from tape.sdp.adapters import adapter_of
from tape.sdp.events import ValidatedEvent
from tape.sdp.grounding import reground
from tape.sdp.reader import NotSdpError
from tape.sdp.revalidation import RULES, revalidate
from tape.sdp.settings import SdpSettings
from tape.sdp.trajectory import CertifiedTrajectory
from tape.trace import Event


@dataclass(frozen=True)
class SdpMethod(Method):
    """Certifies predicates one after the other, by what was observed."""

    rules: ClassVar[tuple[str, ...]] = (
        "`sdp`: a verdict, or what the result counts of them, does not follow from the events before it",
        f"{', '.join(f'`{rule}`' for rule in RULES)}: an invariant of a certified trajectory is broken",
    )
    verdict: ClassVar[str] = ValidatedEvent.type

    def wrong(self, events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
        """Check verdicts and counters (:mod:`tape.sdp.checks`)."""
        return checks.wrong(events, result)

    def audit(self, trace: Path, events: Sequence[Event], env: Environment | None, config: Configured | None) -> Audit:
        """Check the certified trajectory (:mod:`tape.sdp.revalidation`, :mod:`tape.sdp.grounding`)."""
        try:
            trajectory = CertifiedTrajectory.from_trace(trace)
        except NotSdpError:
            return Audit()
        found = Audit(revalidate(trajectory))
        adapter = None if env is None else adapter_of(env)
        if env is None or adapter is None:
            return found
        if config is not None:
            found.findings += checks.caps(events, config, adapter.caps)
        grounded = reground(trajectory, env)
        found.findings += grounded.findings
        return Audit(found.findings, grounded.facts, grounded.unchecked)

    def advisable(self, config: Configured) -> Collection[str]:
        """Of its chains one is the path that is selected, one a sampled plan, and one neither."""
        chain = SdpSettings.of(config).chain
        if chain == "adapter":
            return ()
        return [name for name in ROLE_SETTINGS if chain == "walk" or name != "scorer"]


SDP = SdpMethod(
    "sdp",
    SdpSettings,
    "--agent sdp",
    {"certified": 0, "chain_length": 0, "rejections": 0, "certifying": 0, "cascades": 0, "goal_certified": False},
)
"""The counters: predicates certified, and those with the ones still planned at the end; attempts that were not
certified; actions that certified a predicate or more, and two or more; whether the goal was certified.
"""

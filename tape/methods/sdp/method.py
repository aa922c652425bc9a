"""SDP as a method of the engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tape.methods.sdp.settings import SdpSettings
from tape.protocols.method import ROLE_SETTINGS, Configured, Method


@dataclass(frozen=True)
class SdpMethod(Method):
    """Certifies predicates one after the other, by what was observed."""

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

"""SDP as a method of the engine: its settings, and its events for whoever reads a trace."""

from __future__ import annotations

from tape.engine.settings import Method
from tape.sdp import events
from tape.sdp.settings import SdpSettings

__all__ = ["SDP", "events"]

SDP = Method("sdp", SdpSettings)

"""CGDP as a method of the engine: its settings, and its events for whoever reads a trace."""

from __future__ import annotations

from tape.cgdp import events
from tape.cgdp.settings import CgdpSettings
from tape.engine.settings import Method

__all__ = ["CGDP", "events"]

CGDP = Method("cgdp", CgdpSettings)

"""CGDP as a method of the engine: it searches with a belief in the place of a transcript."""

from __future__ import annotations

from tape.methods.cgdp.settings import CgdpSettings
from tape.protocols.method import Method

CGDP = Method("cgdp", CgdpSettings, "--agent cgdp, or another search agent")
"""Its counters are measures of the episode."""

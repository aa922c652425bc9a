"""SDP on questions over a corpus: tools under the paper's caps (SDP table 11)."""

from __future__ import annotations

from tape.sdp.adapter import Caps
from tape.sdp.tool_adapter import ToolAdapter
from tape.tools.domain import ToolDomain

CAPS = Caps(attempts=3, replans=2, steps=25)


def adapter(domain: ToolDomain) -> ToolAdapter:
    """The adapter of a question."""
    return ToolAdapter(domain, CAPS)

"""A scripted reader of requests: it knows the very wordings of our own. No model, and no result of one.

It stands in for a model's reading where everything else is to be compared, and is called scripted wherever its results
are shown.
"""

from __future__ import annotations

from envs.tool_chains.words import PARTS, words


def read(request: str) -> str | None:
    """The type that a request of our own names; None where it is not one of them."""
    named = []
    for part in PARTS:
        result = {entry["name"] for entry in words()[part] if any(phrase in request for phrase in entry["said"])}
        if len(result) != 1:
            return None
        named.append(result.pop())
    return ", ".join(named)

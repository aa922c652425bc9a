"""The ablation without VALIDATE (SDP section 4.3): every action counts as having made its predicate true."""

from __future__ import annotations

from tape.methods.sdp.adapter import Adapter, PreparingAdapter
from tape.methods.sdp.operators import Check, Outcome, Verdict
from tape.methods.sdp.target import Chain


class AlwaysPass:
    """Certifies the current target without a check, and with the last one a goal that has no action of its own.

    Args:
        adapter: The environment's adapter; actions that only prepare an attempt certify nothing.
    """

    def __init__(self, adapter: Adapter | None = None) -> None:
        self._adapter = adapter

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """K = 1, or 2 if the second target is a goal without an action."""
        if isinstance(self._adapter, PreparingAdapter) and self._adapter.prepares(outcome.action):
            return Verdict((), "it only prepares an attempt", counts=False)
        k = 2 if len(tail) > 1 and tail[1].goal and tail[1].by is None else 1
        return Verdict(tuple(Check(True, "always", "not validated") for _ in range(k)))

"""Results of episodes as earlier versions wrote them: the counters of methods were fields beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS = frozenset(("queries", "simulations", "commitments", "refusals", "infeasible_commitments", "counterexamples"))
FIELDS |= {"disabled_rules", "certified", "chain_length", "rejections", "certifying", "cascades", "goal_certified"}
"""Fields of a result that are in ``method`` now."""


def lifted(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with what methods count in ``method``; a counter that was 0, as all unused ones were, is left out.

    One whose ``method`` is no object is returned as it is, for the check of its shape to refuse.
    """
    if not isinstance(own := result.get("method", {}), Mapping):
        return dict(result)
    found = {name: value for name, value in result.items() if name not in FIELDS}
    counted = {name: result[name] for name in sorted(FIELDS & result.keys()) if result[name]}
    return {**found, "method": {**counted, **own}}

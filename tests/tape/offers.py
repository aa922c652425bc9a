"""Offered paths for tests of prompts."""

from collections.abc import Mapping, Sequence

from tape.protocols import OfferedPath


def offers(plans: Sequence[Sequence[str]], cost: Mapping[str, int] | None = None) -> list[OfferedPath]:
    """Paths with these actions, each through nodes of its own that are scored .25."""
    return [
        OfferedPath(
            actions=tuple(plan), nodes=tuple(f"s{number}{step}" for step, _ in enumerate(plan, 1)),
            scores=(0.25,) * len(plan), goal=False, confidence=0.75, cost=dict(cost or {}),
        )
        for number, plan in enumerate(plans, 1)
    ]  # fmt: skip

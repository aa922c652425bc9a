"""Known no-ops are neither planned again and again nor done on the way."""

from __future__ import annotations

from typing import Any

from tape.agents.tape import TapeAgent
from tape.budget import Resources
from tape.protocols import Action, Observation, State
from tape.protocols.hooks import EpisodeHooks
from tape.protocols.result import EpisodeResult
from tape.testing.line import LEFT, STEP, Line, LineDomain, LineModel


class OpenLineDomain(LineDomain, EpisodeHooks):
    """A line on which observed transitions are not certain; if ``strict``, every difference is a mismatch."""

    deterministic = False

    def __init__(self, last: int, *, strict: bool = False) -> None:
        super().__init__(last)
        self.strict = strict

    def still_good(self, *_: Any, **__: Any) -> bool:
        return not self.strict


class OneWayDomain(OpenLineDomain):
    """The same, where steps to the left are known no-ops."""

    def is_no_op(self, state: State, action: Action) -> bool:
        return action == LEFT


class OneWay(Line):
    """A line on which a step to the left changes nothing."""

    def __init__(self, domain: OpenLineDomain) -> None:
        super().__init__(3, steps=30)
        self.domain: Any = domain

    def step(self, action: Action) -> tuple[Observation, Resources]:
        return (Observation(str(self._cell)), STEP) if action == LEFT else super().step(action)


def played(domain: OpenLineDomain, wrong: dict[tuple[str, int], str], **ablations: Any) -> EpisodeResult:
    switches = {"extend": 0, **ablations}
    agent = TapeAgent(LineModel(wrong), num_plans=1, ablations=switches, execution="forced", max_replans=8)
    return agent.run(OneWay(domain), seed=0)


IN_VAIN = {("plan", 0): "left right right", ("next", 0): "1"}
"""The plan begins with a step that leads nowhere, and is always predicted to lead on."""

ON_THE_WAY = {("plan", 0): "right left right", ("next", 1): "2"}


def test_a_known_no_op_is_not_planned_for_ever() -> None:
    stuck = played(OpenLineDomain(3, strict=True), IN_VAIN)
    assert (stuck.end_state, set(stuck.actions)) == ("replan_limit", {LEFT})
    free = played(OneWayDomain(3, strict=True), IN_VAIN)
    assert (free.success, LEFT in free.actions) == (True, False)


def test_a_known_no_op_is_skipped_on_the_way() -> None:
    assert LEFT in played(OpenLineDomain(3), ON_THE_WAY).actions
    skipped = played(OneWayDomain(3), ON_THE_WAY)
    assert (skipped.success, LEFT in skipped.actions) == (True, False)


def test_with_exact_comparison_all_stays_as_in_the_paper() -> None:
    for wrong in (IN_VAIN, ON_THE_WAY):
        episode_result, other = (
            played(domain(3), wrong, mismatch="exact") for domain in (OneWayDomain, OpenLineDomain)
        )
        assert (episode_result.end_state, episode_result.actions, episode_result.lm_calls) == (
            other.end_state,
            other.actions,
            other.lm_calls,
        )

"""What agents share: where no plan can be followed, the episode says why and what to do."""

from __future__ import annotations

import pytest

from tape.engine.episode import EpisodeEnded
from tape.engine.result import EpisodeResult
from tape.engine.sample import require_read
from tape.protocols import Plan


@pytest.mark.parametrize(
    ("plans", "said"),
    [
        ([Plan((), valid=False), Plan(())], "2 sampled after 0 steps 1 could not be read and 1 had no action; try"),
        ([Plan(()), Plan(())], "of 2 sampled after 0 steps 2 had no action; try another model or more plans"),
        ([Plan((), valid=False)], "of 1 sampled after 0 steps 1 could not be read; try"),
    ],
)
def test_where_no_plan_has_an_action_it_is_said_what_they_were_and_what_to_do(plans: list[Plan], said: str) -> None:
    class Reading:
        result = EpisodeResult(end_state="", success=False)

    with pytest.raises(EpisodeEnded) as ended:
        require_read(Reading(), plans)  # type: ignore[arg-type]
    assert ended.value.end_state == "no_plan"
    assert said in ended.value.detail
    assert "tape probe MODEL ENVIRONMENT" in ended.value.detail
    for others in ([], [*plans, Plan(("R",))]):
        require_read(Reading(), others)  # type: ignore[arg-type]

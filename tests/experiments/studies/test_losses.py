"""Which stage lost an episode: one made-up cause at a time."""

from typing import Any

import pytest

from envs.sokoban.oracle import oracle_for
from envs.sokoban.simulator import step
from envs.sokoban.state import State
from experiments.studies.tape.error_analysis import Judge
from experiments.studies.tape.losses import STAGES, stage_of
from tape.lm.base import Request
from tests.envs.sokoban.helpers import level_of
from tests.tape.helpers import SimulatedModel, play, state_of

# Pushes to the right solve it. A move up costs two moves, which the budget does not have.
YARD = level_of("; yard\n########\n#      #\n#@  $ .#\n#      #\n########")
WAY = " " + " ".join(SimulatedModel(YARD).shortest(YARD.start))
LENGTH = len(WAY.split())
JUDGE = Judge(YARD, "digest", oracle_for(YARD))


def lost(model: SimulatedModel, **settings: Any) -> str:
    switches = {"extend": 0, "replan": settings.pop("replan", True)}
    result, events = play(level=YARD, steps=LENGTH, model=model, num_plans=1, ablations=switches, **settings)
    assert not result.success
    return stage_of(events, JUDGE)


def after(action: str) -> State:
    moved = step(YARD, YARD.start, action)
    assert moved is not None
    return moved


def words(state: State) -> str:
    return "".join(f" {YARD.coordinate(configuration)}" for configuration in (state.player, *state.boxes))


BENT = " ".join([" U", *WAY.split()[1:]])


@pytest.mark.parametrize(
    ("plan", "slips", "settings", "stage"),
    [
        pytest.param(" U", {}, {}, "sampling", id="no sampled plan wins"),
        pytest.param(BENT, {"U": "R"}, {}, "prediction", id="a move up is taken for one to the right"),
        pytest.param("", {}, {"on_infeasible": "stop", "replan": False}, "replanning", id="no plan, and it ends"),
        pytest.param(" R", {}, {"on_infeasible": "stop", "replan": False}, "replanning", id="an end within reach"),
        # No path is left, and the move is tried in the end.
        pytest.param(" U", {"U": ""}, {}, "replanning", id="a move is called invalid"),
    ],
)
def test_a_stage_lost_it(plan: str, slips: dict[str, str], settings: dict[str, Any], stage: str) -> None:
    replies = {(YARD.start, action): words(after(to)) if to else " invalid" for action, to in slips.items()}
    assert lost(SimulatedModel(YARD, replies, [plan]), **settings) == stage
    assert stage in STAGES


def test_a_goal_was_seen_where_there_is_none() -> None:
    class Dreaming(SimulatedModel):
        def _answer(self, request: Request, sample: int) -> str:
            return " solved" if request.role == "score" else super()._answer(request, sample)

    assert lost(Dreaming(YARD, plans=[" U"])) == "score"


def test_a_path_that_wins_was_not_preferred() -> None:
    class Torn(SimulatedModel):
        def _answer(self, request: Request, sample: int) -> str:
            if request.role == "plan":
                return (WAY, " U")[sample % 2]
            if request.role == "score" and state_of(YARD, str(request.prompt)) == after("U"):
                return " solved"
            return super()._answer(request, sample)

    assert lost(Torn(YARD), num_plans=2) == "selection", "two goals, and the nearer one is none"


def test_another_action_than_the_planned_one() -> None:
    class Wilful(SimulatedModel):
        def _answer(self, request: Request, sample: int) -> str:
            return " next: move U action: U" if request.role == "act" else super()._answer(request, sample)

    assert lost(Wilful(YARD, plans=[WAY]), execution="free") == "execution"

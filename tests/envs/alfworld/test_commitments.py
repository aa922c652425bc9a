"""With error-free queries every committed plan executes on the engine, and every commitment has its evidence."""

import random
from collections import Counter

import pytest

from envs.alfworld.game.games import AlfworldGame
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.plugin import PLUGIN, task_of
from tape.agents.tape import TapeAgent
from tape.seeds import derive
from tests.envs.alfworld.helpers import needs_engine

pytestmark = [needs_engine, pytest.mark.slow]


def committed(count: int, gate: str) -> Counter[str]:
    """Totals of episodes in fresh houses; the bundled LM plans, the rules of the game predict."""
    agent = TapeAgent(
        "bundled:household", execution="forced", world_model="simulator", max_replans=50, aec={"gate": gate}
    )
    totals: Counter[str] = Counter()
    for i in range(count):
        rng = random.Random(f"alfworld:commitments:{gate}:{i}")
        house = draw_house(rng, task=TASK_TYPES[i % len(TASK_TYPES)], size=rng.uniform(0.0, 1.0))
        task = task_of(AlfworldGame(f"commitments-{i}", "fresh", house))
        env = PLUGIN.make(task)
        result = agent.run(env, budget=task.budget, seed=derive(0, "commitments", i), simulator=PLUGIN.simulator(env))
        totals += Counter(
            episodes=1, won=int(result.success), commitments=result.method["commitments"],
            infeasible=result.method["infeasible_commitments"], over=len(result.budget_violations),
            contradictions=sum(result.method["counterexamples"].values()),
        )  # fmt: skip
        env.close()
    return totals


@pytest.mark.parametrize(
    ("count", "gate", "least"),
    [
        (2, "thresholds", 1),
        *(pytest.param(60, gate, 45, marks=pytest.mark.soak) for gate in ("thresholds", "query_all")),
    ],
)
def test_committed_plans_execute(count, gate, least):
    totals = committed(count, gate)
    assert totals["commitments"] >= least
    assert (totals["infeasible"], totals["over"], totals["contradictions"]) == (0, 0, 0)

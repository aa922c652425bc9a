"""Pages of runs of every sort of agent, played with the bundled models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tape.cli import main
from tests.tape.show.view_runs import blocks_of, index_of

pytestmark = pytest.mark.slow

RUNS = (
    "sokoban --model bundled:nano --levels hard --temperature 1 --agent tape",
    "sokoban --model bundled:nano --agent react",
    "sokoban --model bundled:nano --agent sdp",
    "sokoban --model bundled:nano --agent plan_and_act_replan",
    "sokoban --model bundled:nano --agent best_of_n_react",
    "sokoban --model bundled:nano --agent open_loop",
    "alfworld --verify aec",
    "gsm_hard --tightness tight --budget usd=0.004",
    "musique",
    "travelplanner",
)


@pytest.mark.parametrize("command", RUNS)
def test_every_step_of_every_episode_is_there(command: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["run", *command.split(), "--limit", "3", "--quiet", "--out", str(run)]) == 0
    assert main(["view", str(run)]) == 0
    page = (run / "view.html").read_text(encoding="utf-8")
    rows, blocks = index_of(page)["episodes"], blocks_of(page)
    assert len(rows) == len(blocks) == 3
    for row, block in zip(rows, blocks, strict=True):
        moments = block["moments"]
        assert row["end"] == block["end_state"]
        assert [moment["step"] for moment in moments if moment["sort"] == "step"] == list(range(1, row["steps"] + 1))
        assert all("key" in moment for moment in moments if moment["sort"] in ("start", "step"))
        assert block["task"]
        asked = sorted(number for moment in moments for number in moment.get("calls", ()))
        assert asked == list(range(len(block["calls"])))
        for one in block["rounds"]:
            if one["kind"] == "plan" and one.get("path"):
                graph = block["graphs"][one["graph"]]
                assert [graph["edges"][edge]["action"] for edge in one["path"]["edges"]] == one["path"]["actions"]
                assert len(one["left"]) == len(one["path"]["actions"]) + 1
    planned = [one for block in blocks for one in block["rounds"]]
    assert bool(planned) == (not re.search(r"--agent (react|best_of_n_react)", command))

"""Write ``data/tasks.json``: the tasks, their official splits and the measured lengths of gold paths.

``python -m envs.scienceworld.make_tasks [EACH]``, with EACH variations measured of every split (default 2).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from envs.scienceworld.engine import ScienceGame, task_table
from envs.scienceworld.gold import gold_path
from envs.scienceworld.state import FULL_SCORE
from envs.scienceworld.tasks import DATA

SIMPLIFICATION = "easy"


def gold_length(task: str, variation: int) -> tuple[int, int]:
    """Steps of a gold path until the task is over, and the score it reaches."""
    path = gold_path(task, variation, SIMPLIFICATION)
    return len(path), path[-1].after.score


def measure(task: str, topic: str, title: str, each: int) -> dict[str, Any]:
    """The file's entry for a task."""
    game = ScienceGame(task, 0, SIMPLIFICATION)
    splits = game.splits()
    game.close()
    gold = {}
    for variations in splits.values():
        for variation in variations[:each]:
            steps, score = gold_length(task, variation)
            gold[str(variation)] = [steps, score]
    # The splits are runs of consecutive variations; written as [first, last + 1].
    runs = {name: [variations[0], variations[-1] + 1] for name, variations in splits.items()}
    assert all(list(range(*runs[name])) == splits[name] for name in runs), task
    solved = sum(score == FULL_SCORE for _, score in gold.values())
    sys.stderr.write(f"{task}: {solved} of {len(gold)} gold paths reach 100\n")
    return {"topic": topic, "title": title, "splits": runs, "gold": gold}


def main(each: int) -> None:
    """Measure every task."""
    rows = {task: measure(task, topic, title, each) for task, topic, title in task_table()}
    lines = [f"{json.dumps(name)}: {json.dumps(row, sort_keys=True)}" for name, row in rows.items()]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

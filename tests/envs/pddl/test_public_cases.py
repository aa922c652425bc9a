"""Public problems of unified-planning's engines: each is read, or refused with the name of the construct."""

import os
from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl.errors import PddlError
from envs.pddl.reading import load_task

DATA = Path(os.environ.get("TAPE_TEST_DATA", "/nowhere")) / "up_cases"
REFUSED = {
    "car_nl": "processes",
    "matchcellar": "durative actions",
    "parking_action_cost": "durative actions",
    "robot_fastener": "durative actions",
    "visit_precedence": "durative actions",
    "object_fluents": "object fluents",
}


@pytest.mark.skipif(not DATA.is_dir(), reason="TAPE_TEST_DATA has no up_cases")
def test_every_file_is_read_or_refused_by_its_construct() -> None:
    read = 0
    for folder in sorted(path for path in DATA.glob("*/*") if path.is_dir()):
        [domain] = [file for file in folder.glob("*.pddl") if "domain" in file.stem or file.stem == "d"]
        for problem in sorted(set(folder.glob("*.pddl")) - {domain}):
            if construct := REFUSED.get(folder.name):
                with pytest.raises(PddlError, match=f"line \\d+: {construct}.* not supported"):
                    load_task(domain, problem)
                continue
            task = load_task(domain, problem)
            assert all(task.step(task.start, call).state is not None for call in task.applicable(task.start))
            read += 1
    assert read >= 40

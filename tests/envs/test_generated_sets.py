"""A seed gives the same generated questions, problems and trips in every process, whatever the order of sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.envs.repo_qa.helpers import write_shop

SCRIPT = """
import sys
from pathlib import Path
from envs.gsm_hard.generator import generate
from envs.locomo.generator import dialogue
from envs.musique.corpus import load_corpus
from envs.musique.retrieval import Corpus
from envs.repo_qa import questions, read_repo
from envs.sokoban.generator import generate as board
from envs.travelplanner.plugin import PLUGIN

print([problem.digest for problem in generate("fresh", 9, 2)], generate("train", 5, 1)[3] == generate("train", 4, 1)[3])
print(dialogue(3, "dev").digest, repr(dialogue(3, "dev").questions))
print([p.id for p in Corpus(load_corpus()).retrieve("founder of Ulimar Partners", "v3", 0)])
print(board(7, (5, 9), boxes=2))
shop = read_repo(Path(sys.argv[1]))
print([questions(shop, 3, part) for part in ("dev", "test")])
assert questions(shop, 3, "dev") != questions(shop, 4, "dev")
trips = {"problems": "x", "count": 3, "tightness": "tight", "objective": "best"}
print([task.digest for task in PLUGIN.tasks(trips)])
"""


def test_generated_sets_do_not_depend_on_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", SCRIPT, str(write_shop(tmp_path))]
    other = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"  # here it is drawn, where it is not set
    environment = {"PYTHONHASHSEED": other, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    monkeypatch.setattr(sys, "argv", command[2:])
    exec(SCRIPT, {})
    assert capsys.readouterr().out == done.stdout != ""

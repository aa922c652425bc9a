"""What one search brings of questions about sources: the table says what was counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.repo_qa import questions, read_package
from experiments.studies.cgdp.repo_recall import main

pytest.importorskip("bm25s")


def test_the_table_says_what_was_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.json"
    assert main(["--package", "json", "--out", str(out)]) == 0
    [result] = json.loads(out.read_text())["results"]
    made = questions(read_package("json"), 0, "test")
    assert sum(result["kinds"].values()) == result["questions"] == len(made)
    assert sum(row["n"] for row in result["rows"]) == len(made) - result["unanswerable"]
    for row in result["rows"]:
        for name in ("question", "gold sub-questions"):
            (at_5, low, high), (at_10, _, _) = row[f"{name}, k = 5"], row[f"{name}, k = 10"]
            assert 0 <= low <= at_5 <= high <= 1
            assert at_5 <= at_10
    one_hop = result["rows"][0]
    assert one_hop["gold sub-questions, k = 10"][0] > 0.5  # names are found by name
    assert f"{result['passages']} passages" in capsys.readouterr().out

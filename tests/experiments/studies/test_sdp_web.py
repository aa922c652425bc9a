"""The study of questions over a recorded web: played once, published, and made again from what is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness import published
from experiments.studies.sdp.web import METHODS, run, web_text


@pytest.mark.slow
def test_it_is_played_and_published_with_the_measures_of_assistantbench(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    results = tmp_path / "results"
    arguments = ["--limit", "2", "--seeds", "1", "--models", "simulated:web_qa?errors=0&verdicts=0"]
    assert run([*arguments, "--out", str(tmp_path / "run"), "--quiet", "--publish", str(results)]) == 0
    assert published.check(results) == []
    text = web_text(results / "web_qa")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `simulated:web_qa?")]
    assert [row[1] for row in rows[: len(METHODS)]] == [method.label for method in METHODS]
    assert all(
        row[3].startswith("1.00") and row[7].startswith("1.00")
        for row in rows
        if row[1] in ("SDP", "ReAct") and len(row) > 4
    )
    assert "simulated" in (results / "web_qa" / "report.md").read_text()
    assert web_text(tmp_path / "nowhere") == ""

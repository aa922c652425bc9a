"""How often a search finds what answers it: counted by hand, and beside the published shares on public questions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.studies.cgdp.calibration import Asked, Part, calibrated, locomo_parts
from tape.protocols.search import Passage

PASSAGES = tuple(Passage(f"p{i}", "title", f"word{i} " + "shared " * (9 - i)) for i in range(9))
NEAR = 0.02


def test_success_is_the_share_of_queries() -> None:
    queries = [Asked("a", "word1", ("p1",)), Asked("b", "word1", ("p2",))]
    found = calibrated("made up", [Part(PASSAGES, tuple(queries))], ["bm25"])
    assert (found["n"], found["questions"]) == (2, 2)
    assert {option["success"] for option in found["options"].values()} == {0.5}
    assert list(found["options"]) == ["bm25-1", "bm25-3", "bm25-5", "bm25-10", "bm25-20"]


def test_all_the_evidence_has_to_be_there() -> None:
    both = [Asked("a", "word1 shared", ("p1", "p8"))]
    options = calibrated("made up", [Part(PASSAGES, tuple(both))], ["bm25"])["options"]
    assert (options["bm25-1"]["success"], options["bm25-20"]["success"]) == (0.0, 1.0)


@pytest.mark.slow
def test_bm25_on_locomos_development_conversations() -> None:
    file = Path(os.environ.get("TAPE_TEST_DATA", "")) / "locomo" / "locomo-dev.json"
    if not file.is_file():
        pytest.skip("TAPE_TEST_DATA has no locomo/locomo-dev.json")
    with pytest.warns(UserWarning, match="left out"):
        parts = locomo_parts(file)
    found = calibrated("public", parts, ["bm25"], hops=False)
    assert found["n"] == 398
    assert found["options"]["bm25-5"]["success"] == pytest.approx(0.54, abs=NEAR)
    assert found["options"]["bm25-10"]["success"] == pytest.approx(0.61, abs=NEAR)

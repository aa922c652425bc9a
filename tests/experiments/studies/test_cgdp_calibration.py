"""How often a search finds what answers it: counted by hand, and beside the published shares on public questions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.studies.cgdp.calibration import Asked, Part, calibrated, locomo_parts
from tape.protocols.search import Passage

PASSAGES = tuple(Passage(f"p{i}", "title", f"word{i} " + "shared " * (9 - i)) for i in range(9))
NEAR = 0.02


@pytest.mark.parametrize(
    ("asked", "at_1", "at_20"),
    [
        ([("a", "word1", ("p1",)), ("b", "word1", ("p2",))], 0.5, 0.5),
        ([("a", "word1 shared", ("p1", "p8"))], 0.0, 1.0),  # all the evidence has to be there
    ],
)
def test_success_is_the_share_of_queries(
    asked: list[tuple[str, str, tuple[str, ...]]], at_1: float, at_20: float
) -> None:
    found = calibrated("made up", [Part(PASSAGES, tuple(Asked(*one) for one in asked))], ["bm25"])
    assert (found["n"], found["questions"]) == (len(asked), len(asked))
    assert list(found["options"]) == ["bm25-1", "bm25-3", "bm25-5", "bm25-10", "bm25-20"]
    assert [found["options"][name]["success"] for name in ("bm25-1", "bm25-20")] == [at_1, at_20]


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

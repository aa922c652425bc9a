"""What one search brings: counted by hand, and on public development files beside the figures it is to come near."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envs.search import bm25
from experiments.studies.cgdp.calibration import calibrated
from experiments.studies.cgdp.retrieval import DEPTHS, Asked, Part, found, locomo_parts, musique_parts, table
from tape.protocols.search import Passage

PASSAGES = tuple(Passage(f"p{i}", "title", f"word{i} " + "shared " * (9 - i)) for i in range(9))
NEAR = 0.02


def public(name: str) -> Path:
    folder = os.environ.get("TAPE_TEST_DATA")
    if not folder or not (Path(folder) / name).is_file():
        pytest.skip(f"TAPE_TEST_DATA has no {name}")
    return Path(folder) / name


def shares(parts: list[Part]) -> dict[int, float]:
    """BM25's share of questions with all evidence, by depth."""
    outcomes = [found(one, index) for part in parts for index in [bm25(part.passages)] for one in part.asked]
    return {k: sum(by_depth[k] for by_depth in outcomes) / len(outcomes) for k in DEPTHS}


def test_all_the_evidence_has_to_be_there() -> None:
    index = bm25(PASSAGES)
    ranked = [passage.id for passage in index.search("shared", 10)]
    both = Asked("c", ("shared",), (ranked[0], ranked[4]))
    assert found(both, index) == {3: False, 5: True, 10: True}
    swapped = Asked("c", ("word1", "word2"), ("p2", "p1"))
    assert found(swapped, index)[3]  # what one query finds counts for the other
    assert not found(Asked("c", swapped.queries, swapped.evidence, apart=True), index)[3]
    assert found(Asked("c", ("word1", "word2"), ("p1", "p2"), apart=True), index)[3]


def test_success_is_the_share_of_queries() -> None:
    queries = [Asked("a", ("word1",), ("p1",)), Asked("b", ("word1",), ("p2",))]
    told = calibrated("made up", [Part(PASSAGES, tuple(queries))], ["bm25"])
    assert (told["n"], told["questions"]) == (2, 2)
    assert {option["success"] for option in told["options"].values()} == {0.5}
    assert list(told["options"]) == ["bm25-1", "bm25-3", "bm25-5", "bm25-10", "bm25-20"]


def test_a_table_has_a_row_a_retriever() -> None:
    rows = [{"retriever": "bm25", "depth": k, "share": 0.5, "low": 0.25, "high": 1.0} for k in DEPTHS]
    text = table([{"name": "made up", "questions": 3, "passages": 1234, "rows": rows}])
    assert "**made up** (3 questions, 1,234 passages)" in text
    assert "| bm25 | .50 [.25, 1] | .50 [.25, 1] | .50 [.25, 1] |" in text


@pytest.mark.slow
@pytest.mark.parametrize("captions", [False, True])
def test_bm25_on_locomos_development_conversations(captions: bool) -> None:
    with pytest.warns(UserWarning, match="left out"):
        parts = locomo_parts(public("locomo/locomo-dev.json"), captions=captions)
    assert sum(len(part.asked) for part in parts) == 398
    measured = shares(parts)
    assert measured[5] == pytest.approx(0.52, abs=NEAR)
    assert measured[10] == pytest.approx(0.60, abs=NEAR)


@pytest.mark.slow
def test_bm25_on_musiques_development_questions() -> None:
    file = public("musique/musique-dev.jsonl")
    assert shares(musique_parts(file, hops=(2,), gold=False))[5] == pytest.approx(0.13, abs=NEAR)
    apart = shares(musique_parts(file, hops=(2,), gold=True, apart=True))[5]
    together = shares(musique_parts(file, hops=(2,), gold=True))[5]
    assert apart < 0.86 < together  # of 75 questions; the figure is of twice as many passages

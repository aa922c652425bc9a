"""Transitions and their Parquet file."""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from tape.errors import MissingExtraError, TraceError
from tape.sdp.trajectory import CertifiedTrajectory
from tape.sdp.transitions import export_parquet, read_parquet, transitions
from tests.tape.sdp.synthetic import trajectories, trajectory


@given(made=trajectories())
@settings(max_examples=80, deadline=None)
def test_transitions_are_the_moves_of_a_trajectory(made: CertifiedTrajectory) -> None:
    every, only = transitions(made), transitions(made, rejected=False)
    assert len(every) == len(made.moves)
    assert [(t.action, t.k) for t in only] == [(m.action, m.k) for m in made.moves if m.k]
    assert sum(t.k for t in every) == sum(t.k for t in only) == made.ending.certified
    for before, after in pairwise(every):
        assert before.next_certified == after.certified
        assert before.next_tail == after.tail
        assert before.terminated is before.truncated is False
        expected = () if before.k else (*before.attempts, before.action or "") if before.counts else before.attempts
        assert after.attempts in (expected, ())  # a replanned target has no attempts
    for one in every:
        assert one.next_certified == (*one.certified, *one.tail[: one.k])
        assert len(one.how) == len(one.evidence) == one.k
    for found in (every, only):
        if found:
            assert found[-1].terminated != found[-1].truncated
    if every:
        assert every[-1].terminated == (made.ending.goal_certified or made.moves[-1].completed)


@given(made=trajectories(), other=trajectories())
@settings(max_examples=15, deadline=None)
def test_parquet_gives_back_the_same_transitions(made: CertifiedTrajectory, other: CertifiedTrajectory) -> None:
    pytest.importorskip("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sub" / "t.parquet"
        assert export_parquet([made, other], file) == len(made.moves) + len(other.moves)
        assert read_parquet(file) == [*transitions(made), *transitions(other)]
        assert [path.name for path in file.parent.iterdir()] == ["t.parquet"]


def test_parquet_takes_what_models_write_and_no_transition_at_all(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    made = next(made for made in map(trajectory, range(20)) if made.moves and made.moves[0].action)
    odd = made.moves[0].model_copy(update={"text": "lone \ud800 surrogate \u2028"})
    export_parquet([made.model_copy(update={"moves": [odd, *made.moves[1:]]})], tmp_path / "odd.parquet")
    assert read_parquet(tmp_path / "odd.parquet")[0].words == "lone \\ud800 surrogate \u2028"
    assert export_parquet([], tmp_path / "none.parquet") == 0
    assert read_parquet(tmp_path / "none.parquet") == []


def test_other_files_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "x.parquet").write_text("no table")
    for name in ("x.parquet", "missing.parquet"):
        with pytest.raises(TraceError, match=name):
            read_parquet(tmp_path / name)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"tape-agents\[parquet\]"):
        export_parquet([], tmp_path / "x.parquet")

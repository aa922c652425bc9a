"""Transitions, and files of them in Parquet."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

from tape.analysis.transitions import Transition, export_parquet, read_parquet, transitions
from tape.budget import Budget
from tape.errors import TraceError
from tape.sdp.adapter import Caps
from tape.sdp.operators import Realized
from tape.sdp.revalidation import revalidate
from tape.sdp.trajectory import CertifiedTrajectory
from tests.profiles import examples
from tests.tape.sdp.flags import Script, chain, play
from tests.tape.sdp.synthetic import trajectories, trajectory
from tests.tape.sdp.worked import WORKED


def successor(one: Transition) -> tuple[object, ...]:
    return one.next_certified, one.next_fields, one.next_node, one.next_tail


@given(made=trajectories())
@examples(80)
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
    for last in (*every[-1:], *only[-1:]):
        assert last.terminated != last.truncated
    for before, after in pairwise(only):
        assert successor(before) == (after.certified, after.fields, after.node, after.tail)
        assert before.terminated is before.truncated is False
    for last in only[-1:]:
        assert (*successor(last), last.terminated) == (*successor(every[-1]), every[-1].terminated)
    for last in every[-1:]:
        assert last.terminated == (made.ending.goal_certified or made.moves[-1].completed)


def test_without_the_rejected_ones_each_leads_to_the_next() -> None:
    found = transitions(WORKED, rejected=False)
    assert [(t.action, t.node, t.next_node, t.next_tail[0]) for t in found] == [
        ("a2", "n1", "n3", "B"),  # look is skipped: what it changed is in the s of b
        ("b", "n3", "n6", "D2"),  # d1 and d2 are skipped, and with them the replan of D
        ("d3", "n6", "n8", "goal"),  # g1 is skipped: the episode ended after it
    ]
    assert [(t.terminated, t.truncated) for t in found] == [(False, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    ("action", "terminated"),
    [("end", True), ("-b boom", False), ("-b", False)],
    ids=["the environment's end", "a fault", "a budget"],
)
def test_an_end_that_the_environment_reports_is_no_truncation(action: str, terminated: bool, tmp_path: Path) -> None:
    script = Script([chain("a", "b")], [Realized("+a"), Realized("-b"), Realized(action)])
    budget = Budget({"steps": 3}) if action == "-b" else None
    play(script, Caps(attempts=9, replans=0, steps=9), trace=tmp_path / "e.jsonl", budget=budget)
    made = CertifiedTrajectory.from_trace(tmp_path / "e.jsonl")
    assert not made.ending.success
    assert revalidate(made) == []
    for rejected in (True, False):
        last = transitions(made, rejected=rejected)[-1]
        assert (last.terminated, last.truncated, last.success) == (terminated, not terminated, False)


@given(made=trajectories(), other=trajectories())
@examples(15)
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

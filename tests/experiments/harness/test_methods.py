"""The rows of TAPE: the paper's algorithm, ours, and one addition more or less."""

from experiments.harness.methods import ADDITIONS, PAPER, TAPE, added_in, left_out
from tape.engine import settings
from tape.engine.settings import TapeConfig


def test_the_additions_together_are_what_the_paper_does_not_have() -> None:
    off = [name for _, changes in ADDITIONS for name in changes]
    assert len(off) == len(set(off))
    assert {name: value for _, changes in ADDITIONS for name, value in changes.items()} == dict(settings.PAPER)
    usual = TapeConfig()
    assert all(getattr(usual, name) != value for name, value in settings.PAPER.items())


def test_one_is_left_out_of_ours_or_added_to_the_papers() -> None:
    ours, theirs = TapeConfig.make(**TAPE.changes), TapeConfig.make(**PAPER.changes)
    for (label, changes), left, added in zip(ADDITIONS, left_out(), added_in(), strict=True):
        assert left.label == f"TAPE+ without {label}"
        assert added.label == f"TAPE (paper) with {label}"
        without, alone = TapeConfig.make(**left.changes), TapeConfig.make(**added.changes)
        for name in settings.PAPER:
            assert (getattr(without, name) == getattr(ours, name)) == (name not in changes)
            assert (getattr(alone, name) == getattr(theirs, name)) == (name not in changes)

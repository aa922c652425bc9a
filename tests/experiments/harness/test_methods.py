"""The rows of TAPE: the paper's algorithm, ours, and one addition more or less."""

from experiments.harness.methods import ADDITIONS
from tape.engine import settings
from tape.engine.settings import TapeConfig


def test_the_additions_together_are_what_the_paper_does_not_have() -> None:
    off = [name for _, changes in ADDITIONS for name in changes]
    assert len(off) == len(set(off))
    assert {name: value for _, changes in ADDITIONS for name, value in changes.items()} == dict(settings.PAPER)
    usual = TapeConfig()
    assert all(getattr(usual, name) != value for name, value in settings.PAPER.items())

"""One trajectory that is small enough to be counted by hand.

A, B, C, D and the goal are planned with b = 2. ``a1`` fails, ``a2`` certifies A; ``look`` only prepares, ``b``
certifies B and C at once; ``d1`` and ``d2`` fail, so D is replaced by D2, which ``d3`` certifies; ``g1`` fails and the
steps are used up.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.studies.sdp.records import ChainRecord, EpisodeEnding, Judged, Move, Origin, RecordedState
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.methods.sdp.events import CapsRecord, CheckRecord, TargetRecord
from tape.methods.sdp.operators import How

KINDS = {"A": "take", "B": "move", "C": "move", "D": "heat", "D2": "heat", "goal": "goal"}


def target(text: str) -> TargetRecord:
    return TargetRecord(text=text, kind=KINDS[text], requires=[(text.lower(), True)], goal=text == "goal")


def check(text: str, holds: bool, how: How = "deterministic", truth: bool | None = None) -> Judged:
    facts, truth = [(text.lower(), holds)] if how == "deterministic" else [], holds if truth is None else truth
    record = CheckRecord(holds=holds, how=how, evidence="seen", facts=facts, truth=truth)
    return Judged(target=target(text), check=record)


def move(
    step: int, failed: int, before: Sequence[str], action: str, judged: Sequence[Judged], *, counts: bool = True
) -> Move:
    after = [*before, *(item.target.text for item in judged if item.check.holds)]
    return Move(
        step=step, failed=failed,
        before=RecordedState(certified=list(before), fields={"step": step - 1}, node=f"n{step - 1}"),
        action=action, text="", k=sum(item.check.holds for item in judged), judged=list(judged),
        reason="" if all(item.check.holds for item in judged) else "it is not so", counts=counts, completed=False,
        after=RecordedState(certified=after, fields={"step": step}, node=f"n{step}"),
    )  # fmt: skip


MOVES = [
    move(1, 0, [], "a1", [check("A", False)]),
    move(2, 1, [], "a2", [check("A", True), check("B", False)]),
    move(3, 0, ["A"], "look", [check("B", False)], counts=False),
    move(4, 0, ["A"], "b", [check("B", True), check("C", True, "lm", truth=False), check("D", False)]),
    move(5, 0, ["A", "B", "C"], "d1", [check("D", False)]),
    move(6, 1, ["A", "B", "C"], "d2", [check("D", False)]),
    move(7, 0, ["A", "B", "C"], "d3", [check("D2", True), check("goal", False)]),
    move(8, 0, ["A", "B", "C", "D2"], "g1", [check("goal", False)]),
]

NAMES: dict[str, str] = dict.fromkeys(("episode", "task", "digest"), "worked")
ORIGIN: dict[str, str] = {**NAMES, "agent": "sdp", "model": "none", "environment": "toy"}
FIRST, SECOND = ([target(text) for text in texts] for texts in (("A", "B", "C", "D", "goal"), ("D2", "goal")))

WORKED = CertifiedTrajectory(
    origin=Origin(**ORIGIN, config={"sdp": {"attempts": 2, "cascade": True}}, budget={"steps": 8}),
    plans=[
        ChainRecord(after=0, step=0, certified=0, reason="proposed", targets=FIRST),
        ChainRecord(after=6, step=6, certified=3, reason="2 failed attempts", targets=SECOND),
    ],
    moves=MOVES,
    ending=EpisodeEnding(
        why="step_cap", certified=4, planned=5, goal_certified=False, rejected=4, replans=1,
        caps=CapsRecord(attempts=2, replans=3, steps=8), end_state="failure", success=False,
        actions=[item.action or "" for item in MOVES], measures={"score": 0.8}, forced=False,
    ),
).sealed()  # fmt: skip

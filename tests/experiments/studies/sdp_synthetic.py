"""Made-up SDP episodes that keep every rule of the loop: written as traces, and as hypothesis strategies."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.engine.settings import TapeConfig
from tape.methods.sdp.events import CapsRecord, ChainEvent, CheckRecord, ConcludedEvent, TargetRecord, ValidatedEvent
from tape.methods.sdp.loop import NOTHING_LEFT
from tape.protocols.result import EpisodeResult
from tape.trace import ActedEvent, FinishedEvent, StartedEvent, TraceWriter

KINDS = ("take", "move", "heat")


@dataclass
class Synthetic:
    """One made-up episode.

    The world is a row of facts ``p0, p1, ..``: an action may make the next ones true, and a target asks for one. The
    steps follow the loop's rules; what happens is drawn.

    Attributes:
        rng: Draws what happens.
        length: Predicates of the first chain.
        attempts: b.
        replans: Most replans of a target.
        steps: Most attempts.
        strict: ``strict_algorithm1``.
        cascade: Whether k >= 2 is allowed.
        skill: How often an action works.
        judge: How often a predicate is judged by a model.
        score: Whether the environment has a score.
    """

    rng: Random
    length: int = 4
    attempts: int = 2
    replans: int = 2
    steps: int = 20
    strict: bool = False
    cascade: bool = True
    skill: float = 0.5
    judge: float = 0.2
    score: bool = False
    certified: int = 0
    tail: list[TargetRecord] = field(default_factory=list)
    acted: list[str] = field(default_factory=list)
    fresh: int = 0
    world: int = 0

    def write(self, path: Path) -> Path:
        """Write its trace."""
        writer = TraceWriter(path.stem, path)
        sdp = {"attempts": self.attempts, "target_replans": self.replans, "step_cap": self.steps}
        sdp |= {"strict_algorithm1": self.strict, "cascade": self.cascade}
        config = {"agent": "sdp", "model": "scripted:toy", **TapeConfig.make(sdp=sdp).model_dump()}
        writer.write(StartedEvent(config=config, budget={"steps": 99}, seed=0))
        why, done = self._play(writer)
        self._conclude(writer, why, success=done or (why == "goal" and self.rng.random() < 0.8))
        writer.close()
        return path

    def _play(self, writer: TraceWriter) -> tuple[str, bool]:
        self._chain(writer, "proposed", self.length)
        failed = replanned = count = 0
        most = self.attempts + self.strict
        while self.tail:
            if count == self.steps:
                return "step_cap", False
            if self.rng.random() < 0.03:
                return "limit", False
            count += 1
            k, counts, gave_up, done = self._attempt(writer, failed)
            if done:
                return "goal", True
            if k:
                failed = replanned = 0
                continue
            failed += counts
            if gave_up or failed == most:
                if replanned == self.replans:
                    return "replan_cap", False
                replanned += 1
                self.replanned += 1
                reason = "there is nothing left to try" if gave_up else f"{failed} failed attempts"
                if self.rng.random() < 0.1:
                    self._emit(writer, reason, [])
                    return "no_chain", False
                self._chain(writer, reason, len(self.tail) + self.rng.choice((-1, 0, 1)))
                failed = 0
        return "goal", False

    replanned: int = 0
    rejected: int = 0

    def _chain(self, writer: TraceWriter, reason: str, length: int) -> None:
        length = max(1, length)
        self.tail = [
            TargetRecord(
                text=f"fact {self.fresh + i} of chain {self.replanned}",
                kind="goal" if i == length - 1 else self.rng.choice(KINDS),
                requires=[(f"p{self.fresh + i}", True)],
                goal=i == length - 1,
            )
            for i in range(length)
        ]
        self.fresh += length
        self._emit(writer, reason, self.tail)

    def _emit(self, writer: TraceWriter, reason: str, targets: list[TargetRecord]) -> None:
        event = ChainEvent(step=len(self.acted), certified=self.certified, reason=reason, targets=targets)
        writer.write(event)

    def _attempt(self, writer: TraceWriter, failed: int) -> tuple[int, bool, bool, bool]:
        rng, none = self.rng, self.rng.random() < 0.1
        done = not none and rng.random() < 0.05
        before = self.world
        checks: list[CheckRecord] = []
        if not none:
            checks = self._checks(done)
            action = f"do {rng.randrange(5)}"
            self.acted.append(action)
            self.world += rng.random() < 0.8
            writer.write(ActedEvent(step=len(self.acted), action=action, text="", planned=None, cost={"steps": 1}))
        k = sum(check.holds for check in checks)
        counts = k > 0 or (rng.random() < 0.5 if none else rng.random() < 0.9)
        writer.write(
            ValidatedEvent(
                step=len(self.acted), certified=self.certified, failed=failed, action=None if none else action,
                text=NOTHING_LEFT if none else "because", k=k, checks=checks,
                reason=NOTHING_LEFT if none else "" if k == len(checks) else "it is not so", counts=counts,
                completed=done, before={"at": before}, after={"at": self.world}, nodes=(f"n{before}", f"n{self.world}"),
            )
        )  # fmt: skip
        self.rejected += k == 0 and counts
        self.certified += k
        self.tail = self.tail[k:]
        return k, counts, none and not counts, done

    def _checks(self, done: bool) -> list[CheckRecord]:
        if done:
            return [CheckRecord(holds=True, how="completion", evidence="done", truth=True) for _ in self.tail]
        checks: list[CheckRecord] = []
        for target in self.tail if self.cascade else self.tail[:1]:
            holds, [(name, _)] = self.rng.random() < self.skill, target.requires
            if self.rng.random() < self.judge:
                truth = holds if self.rng.random() < 0.8 else not holds
                checks.append(CheckRecord(holds=holds, how="lm", evidence="it seems so", truth=truth))
            else:
                evidence = f"{name} is {str(holds).lower()}"
                fact = [(name, holds)]
                checks.append(CheckRecord(holds=holds, how="deterministic", evidence=evidence, facts=fact, truth=holds))
            if not holds:
                break
        return checks

    def _conclude(self, writer: TraceWriter, why: Any, *, success: bool) -> None:
        planned, goal = self.certified + len(self.tail), why == "goal"
        writer.write(
            ConcludedEvent(
                why=why, certified=self.certified, planned=planned, goal_certified=goal, rejected=self.rejected,
                replans=self.replanned,
                caps=CapsRecord(attempts=self.attempts + self.strict, replans=self.replans, steps=self.steps),
                state={"at": self.world},
            )
        )  # fmt: skip
        ends = {"replan_cap": "replan_limit", "no_chain": "invalid_output", "limit": "budget:steps"}
        result = EpisodeResult(
            end_state="success" if success else ends.get(why, "failure"), success=success, steps=len(self.acted),
            actions=self.acted, method={"certified": self.certified},
            measures={"score": round(self.certified / planned, 3)} if self.score else {},
        )  # fmt: skip
        writer.write(FinishedEvent(result=result.model_dump()))


def trajectory(seed: object, **settings: Any) -> CertifiedTrajectory:
    """A made-up trajectory, the same for the same seed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Synthetic(Random(f"synthetic {seed}"), **settings).write(Path(folder) / f"episode-{seed}.jsonl")
        return CertifiedTrajectory.from_trace(path, task=f"task-{seed}", environment="toy")


def trajectories(**fixed: Any) -> st.SearchStrategy[CertifiedTrajectory]:
    """Valid trajectories; settings that are given are fixed."""
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "seed": st.integers(0, 10_000), "length": st.integers(1, 6), "attempts": st.integers(1, 3),
        "replans": st.integers(0, 2), "steps": st.integers(1, 25), "strict": st.booleans(), "cascade": st.booleans(),
        "skill": st.sampled_from((0.1, 0.5, 0.9)), "score": st.booleans(),
    }  # fmt: skip
    drawn |= {name: st.just(value) for name, value in fixed.items()}
    return st.builds(trajectory, **drawn)

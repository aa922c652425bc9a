"""The certified trajectory of an SDP episode, made from its trace alone (SDP section 3.3).

The paper's artifact is (s0, a0, s_t1, a_t1, .., s_T). This one also keeps what was rejected, and why, and every chain
that was replaced, so that the whole run can be checked again from the file (:mod:`tape.sdp.revalidate`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tape.errors import TraceError
from tape.sdp.events import ChainEvent, CheckRecord, ConcludedEvent, Conclusion, TargetRecord, ValidatedEvent
from tape.trace import Event, FinishedEvent, StartedEvent, read_trace

SCHEMA = 1


class NotSdpError(TraceError):
    """A whole trace, but of an episode without a chain."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(_Record):
    """Which episode it was.

    Attributes:
        episode: The episode's key.
        agent: Name of the agent.
        model: Name of the model.
        config: The agent's switches.
        budget: The caps.
        cell: Cell of the run; empty outside of run directories, as are the following.
        environment: Name of the environment.
        task: Name of the task.
        digest: Digest of the task.
        repeat: Which repeat of the task.
    """

    episode: str
    agent: str
    model: str
    config: dict[str, Any]
    budget: dict[str, int]
    cell: str = ""
    environment: str = ""
    task: str = ""
    digest: str = ""
    repeat: int = 0


class State(_Record):
    """s: what is certified, and what the projector reads.

    Attributes:
        certified: The certified predicates in words, in order.
        fields: The projector's fields.
        node: Key of the abstract state.
    """

    certified: list[str]
    fields: dict[str, Any]
    node: str


class Judged(_Record):
    """A predicate and the verdict on it."""

    target: TargetRecord
    check: CheckRecord


class Move(_Record):
    """One attempt: an action and its verdict, whether it certified anything or not.

    Attributes:
        step: Environment steps taken, this one included.
        failed: Failed attempts at the target before it.
        before: The state before it.
        action: What was done; None where no action could be written.
        text: The words around it.
        k: How many predicates it certified.
        judged: The predicates that were looked at, in the order of the chain.
        reason: Why the first one that does not hold was rejected.
        counts: Whether k = 0 is a failed attempt.
        completed: Whether the environment reported the task as done.
        after: The state after it.
    """

    step: int
    failed: int
    before: State
    action: str | None
    text: str
    k: int
    judged: list[Judged]
    reason: str
    counts: bool
    completed: bool
    after: State

    @property
    def certified(self) -> list[Judged]:
        """What it certified."""
        return self.judged[: self.k]

    @property
    def rejected(self) -> bool:
        """Whether it is a failed attempt: an entry of the append-only history."""
        return self.k == 0 and self.counts


class Plan(_Record):
    """A chain: the one proposed, or a tail that replaced the rest of the one before.

    Attributes:
        after: How many moves came before it.
        step: Environment steps taken before it.
        certified: Predicates certified before it: its targets come after them.
        reason: ``proposed``, or why the tail was replaced.
        targets: The tail, the goal last; empty where no chain was found.
    """

    after: int
    step: int
    certified: int
    reason: str
    targets: list[TargetRecord]


class Ending(_Record):
    """How it ended.

    Attributes:
        why: Why the loop ended.
        certified: Predicates certified in all.
        planned: Those and the tail that was left.
        goal_certified: Whether the goal predicate was certified.
        rejected: Failed attempts in all.
        replans: Replans in all.
        caps: The caps that were kept: ``attempts``, ``replans`` and ``steps``; empty where the trace has none.
        end_state: The episode's end state.
        success: The environment's own verdict.
        actions: All actions of the episode, by whomever they were chosen.
        measures: The environment's own measures beside success.
        forced: Whether a final answer was given at a limit.
    """

    why: Conclusion
    certified: int
    planned: int
    goal_certified: bool
    rejected: int
    replans: int
    caps: dict[str, int]
    end_state: str
    success: bool
    actions: list[str]
    measures: dict[str, float]
    forced: bool

    @property
    def score(self) -> float:
        """The measure ``score`` where the environment has one, else success."""
        return self.measures.get("score", float(self.success))


class CertifiedTrajectory(_Record):
    """The artifact.

    Attributes:
        origin: Which episode it was.
        plans: The chains, oldest first.
        moves: All attempts, oldest first.
        ending: How it ended.
        seal: Digest of all the rest, by which a damaged or edited file is recognised. It is no signature.
    """

    origin: Origin
    plans: list[Plan]
    moves: list[Move]
    ending: Ending
    seal: str = ""

    @classmethod
    def from_trace(cls, path: Path, **where: Any) -> CertifiedTrajectory:
        """The trajectory of an episode.

        Args:
            path: The episode's trace.
            where: More of its :class:`Origin`, for instance the task.

        Raises:
            NotSdpError: The episode has no chain.
            TraceError: The trace cannot be read, is not whole, or contradicts itself.
        """
        reader = _Reader(path)
        for event in read_trace(path):
            reader.read(event)
        return reader.trajectory(where)

    @property
    def certified(self) -> list[Judged]:
        """Everything certified, in order."""
        return [judged for move in self.moves for judged in move.certified]

    @property
    def history(self) -> list[Move]:
        """The failed attempts, oldest first (SDP appendix A.1)."""
        return [move for move in self.moves if move.rejected]

    @property
    def progress(self) -> float:
        """Certified predicates by planned ones; 0 where nothing was planned."""
        return self.ending.certified / self.ending.planned if self.ending.planned else 0.0

    def by_how(self) -> dict[str, int]:
        """How many certificates there are of each kind; all but ``deterministic`` can be wrong."""
        return dict(sorted(Counter(judged.check.how for judged in self.certified).items()))

    def plan_of(self, move: int) -> Plan:
        """The chain that was followed at a move.

        Raises:
            IndexError: There was none.
        """
        return [plan for plan in self.plans if plan.after <= move][-1]

    def tail_at(self, move: int) -> list[TargetRecord]:
        """The predicates still to be certified before a move, the current target first."""
        plan = self.plan_of(move)
        return plan.targets[len(self.moves[move].before.certified) - plan.certified :]

    def left(self) -> list[TargetRecord]:
        """The tail at the end; a replan without a chain leaves the one before it."""
        filled = [plan for plan in self.plans if plan.targets]
        if not filled:
            return []
        plan = filled[-1]
        return plan.targets[len(self.certified) - plan.certified :]

    def digest(self) -> str:
        """What :attr:`seal` has to be."""
        content = self.model_dump(mode="json", exclude={"seal"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()

    def sealed(self) -> CertifiedTrajectory:
        """The same with its seal."""
        return self.model_copy(update={"seal": self.digest()})

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"schema": SCHEMA, **self.model_dump(mode="json")}
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")

    @classmethod
    def load(cls, path: Path) -> CertifiedTrajectory:
        """Read what :meth:`save` wrote; whether it is consistent is for :func:`tape.sdp.revalidate.revalidate` to say.

        Raises:
            TraceError: It cannot be read, or is of another schema.
        """
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            schema = record.pop("schema")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TraceError(f"{path}: not a certified trajectory: {error!r}; make it anew from the trace") from error
        if schema != SCHEMA:
            raise TraceError(f"{path}: schema {schema!r} is not {SCHEMA}; use the version that made it")
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise TraceError(f"{path}: not a certified trajectory: {where}: {first['msg']}") from error


class _Reader:
    """Collects the events that matter."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started: StartedEvent | None = None
        self._concluded: ConcludedEvent | None = None
        self._finished: FinishedEvent | None = None
        self._plans: list[Plan] = []
        self._moves: list[Move] = []
        self._certified: list[str] = []

    def read(self, event: Event) -> None:
        match event:
            case StartedEvent():
                self._started = event
            case ChainEvent():
                self._require(event.certified, "chain")
                plan = event.model_dump()
                self._plans.append(Plan(after=len(self._moves), **plan))
            case ValidatedEvent():
                self._require(event.certified, "verdict")
                self._moves.append(self._move(event))
            case ConcludedEvent():
                self._concluded = event
            case FinishedEvent():
                self._finished = event
            case _:
                pass

    def _require(self, certified: int, what: str) -> None:
        if certified != len(self._certified):
            raise TraceError(
                f"{self._path}: a {what} after {len(self._moves)} attempts speaks of {certified} certified predicates, "
                f"but {len(self._certified)} were certified before it"
            )

    def _move(self, event: ValidatedEvent) -> Move:
        if not self._plans:
            raise TraceError(f"{self._path}: a verdict without a chain before it")
        plan = self._plans[-1]
        tail = plan.targets[len(self._certified) - plan.certified :]
        if len(event.checks) > len(tail) or not 0 <= event.k <= len(event.checks):
            raise TraceError(
                f"{self._path}: attempt {len(self._moves) + 1} has k = {event.k} and {len(event.checks)} verdicts on a "
                f"chain of {len(tail)} predicates"
            )
        before = State(certified=list(self._certified), fields=event.before, node=event.nodes[0])
        self._certified += [target.text for target in tail[: event.k]]
        return Move(
            step=event.step,
            failed=event.failed,
            before=before,
            action=event.action,
            text=event.text,
            k=event.k,
            judged=[Judged(target=t, check=check) for t, check in zip(tail, event.checks, strict=False)],
            reason=event.reason,
            counts=event.counts,
            completed=event.completed,
            after=State(certified=list(self._certified), fields=event.after, node=event.nodes[1]),
        )

    def trajectory(self, where: dict[str, Any]) -> CertifiedTrajectory:
        if self._started is None or self._finished is None:
            raise TraceError(f"{self._path}: the episode's beginning or end is missing; play it again")
        if not self._plans and self._concluded is None:
            agent = self._started.config.get("agent", "?")
            raise NotSdpError(f"{self._path}: no SDP episode (agent {agent!r}): it has no chain; play the agent 'sdp'")
        if self._concluded is None:
            raise TraceError(f"{self._path}: the end of SDP's loop is missing; play the episode again")
        config, result, end = dict(self._started.config), self._finished.result, self._concluded
        origin = {
            "episode": _episode(self._path),
            "agent": config.pop("agent", ""),
            "model": config.pop("model", ""),
            "config": config,
            "budget": self._started.budget,
        }
        try:
            ending = Ending(
                **end.model_dump(),
                **{name: result[name] for name in ("end_state", "success", "actions", "measures")},
                forced=result["final_answer"] is not None,
            )
            made = CertifiedTrajectory(
                origin=Origin.model_validate(origin | where), plans=self._plans, moves=self._moves, ending=ending
            )
        except (KeyError, ValidationError) as error:
            raise TraceError(f"{self._path}: the episode's beginning or result is malformed: {error}") from error
        return made.sealed()


def _episode(path: Path) -> str:
    """The episode's key, as every line of a trace names it."""
    with path.open(encoding="utf-8") as file:
        return str(json.loads(file.readline())["episode"])


def total(trajectories: Sequence[CertifiedTrajectory]) -> dict[str, int]:
    """How many certificates of each kind there are in all."""
    found: Counter[str] = Counter()
    for one in trajectories:
        found.update(one.by_how())
    return dict(sorted(found.items()))

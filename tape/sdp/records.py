"""The parts of a certified trajectory (SDP section 3.3)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tape.sdp.events import CheckRecord, Conclusion, TargetRecord

Count = Annotated[int, Field(ge=-(1 << 31), le=1 << 31)]


class Record(BaseModel):
    """A part of a file: nothing else is in it, and it does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(Record):
    """Which episode it was.

    Attributes:
        episode: The episode's key.
        agent: Name of the agent.
        model: Name of the model.
        config: The agent's switches.
        budget: The caps.
        cell: Name of the configuration in its run; empty outside of run directories, as are the following.
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


class State(Record):
    """s: what is certified, and what the projector reads.

    Attributes:
        certified: The certified predicates in words, in order.
        fields: The projector's fields.
        node: Key of the abstract state.
    """

    certified: list[str]
    fields: dict[str, Any]
    node: str


class Judged(Record):
    """A predicate and the verdict on it."""

    target: TargetRecord
    check: CheckRecord


class Move(Record):
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

    step: Count
    failed: Count
    before: State
    action: str | None
    text: str
    k: Count
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


class Plan(Record):
    """A chain: the one proposed, or a tail that replaced the rest of the one before.

    Attributes:
        after: How many moves came before it.
        step: Environment steps taken before it.
        certified: Predicates certified before it: its targets come after them.
        reason: ``proposed``, or why the tail was replaced.
        targets: The tail, the goal last; empty where no chain was found.
    """

    after: Count
    step: Count
    certified: Count
    reason: str
    targets: list[TargetRecord]


class Ending(Record):
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
    certified: Count
    planned: Count
    goal_certified: bool
    rejected: Count
    replans: Count
    caps: dict[str, Count]
    end_state: str
    success: bool
    actions: list[str]
    measures: dict[str, float]
    forced: bool

    @property
    def by_environment(self) -> bool:
        """Whether the environment said that nothing can be done any more; a fault of it is no such end."""
        return self.why == "environment" and self.end_state in ("failure", "success")

    @property
    def score(self) -> float:
        """The measure ``score`` where the environment has one, else success."""
        return self.measures.get("score", float(self.success))

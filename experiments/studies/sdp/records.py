"""The parts of a certified trajectory (SDP section 3.3)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tape.methods.sdp.events import CapsRecord, CheckRecord, Conclusion, TargetRecord

Count = Annotated[int, Field(ge=-(1 << 31), le=1 << 31)]


class FrozenRecord(BaseModel):
    """A part of a file: immutable, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(FrozenRecord):
    """The origin of a trajectory.

    Attributes:
        episode: The episode's key.
        agent: Name of the agent.
        model: Name of the model.
        config: The agent's settings.
        budget: The caps.
        cell: Name of the configuration in its run; empty outside of run directories, like the following.
        environment: Name of the environment.
        task: Name of the task.
        digest: Digest of the task.
        repeat: Number of the repeat of the task.
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


class RecordedState(FrozenRecord):
    """s: the certified predicates and the projector's fields.

    Attributes:
        certified: The certified predicates in words, in order.
        fields: The projector's fields.
        node: Key of the abstract state.
    """

    certified: list[str]
    fields: dict[str, Any]
    node: str


class Judged(FrozenRecord):
    """A predicate and the verdict on it."""

    target: TargetRecord
    check: CheckRecord


class Move(FrozenRecord):
    """One attempt: an action and its verdict, whether it certified anything or not.

    Attributes:
        step: Environment steps taken, this one included.
        failed: Failed attempts at the target before it.
        before: The state before it.
        action: The action; None if none could be written.
        text: The words around it.
        k: Number of predicates that it certified.
        judged: The judged predicates, in the order of the chain.
        reason: Why the first one that does not hold was rejected.
        counts: Whether k = 0 is a failed attempt.
        completed: Whether the environment reported the task as done.
        after: The state after it.
    """

    step: Count
    failed: Count
    before: RecordedState
    action: str | None
    text: str
    k: Count
    judged: list[Judged]
    reason: str
    counts: bool
    completed: bool
    after: RecordedState

    @property
    def certified(self) -> list[Judged]:
        """The predicates that it certified."""
        return self.judged[: self.k]

    @property
    def rejected(self) -> bool:
        """Whether it is a failed attempt, an entry of the append-only history."""
        return self.k == 0 and self.counts


class ChainRecord(FrozenRecord):
    """A chain: the proposed one, or a tail that replaced the rest of its predecessor.

    Attributes:
        after: Number of moves before it.
        step: Environment steps taken before it.
        certified: Predicates certified before it: its targets come after them.
        reason: ``proposed``, or why the tail was replaced.
        targets: The tail, the goal last; empty if no chain was found.
    """

    after: Count
    step: Count
    certified: Count
    reason: str
    targets: list[TargetRecord]


class EpisodeEnding(FrozenRecord):
    """The end of an episode.

    Attributes:
        why: Why the loop ended.
        certified: Predicates certified in all.
        planned: Those and the tail at the end.
        goal_certified: Whether the goal predicate was certified.
        rejected: Failed attempts in all.
        replans: Replans in all.
        caps: The caps.
        end_state: The episode's end state.
        success: The environment's own verdict.
        actions: All actions of the episode, whoever chose them.
        measures: The environment's own measures beside success.
        forced: Whether a final answer was given at a limit.
    """

    why: Conclusion
    certified: Count
    planned: Count
    goal_certified: bool
    rejected: Count
    replans: Count
    caps: CapsRecord
    end_state: str
    success: bool
    actions: list[str]
    measures: dict[str, float]
    forced: bool

    @property
    def score(self) -> float:
        """The measure ``score`` if the environment has one, else success."""
        return self.measures.get("score", float(self.success))

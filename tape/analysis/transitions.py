"""Transitions (s, a, k, s') of certified trajectories, for offline reinforcement learning (SDP section 3.3, table 1).

Failed attempts are transitions too, with k = 0 and s' = s in what is certified: without them a learner sees no action
that does not work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

from tape.errors import TraceError
from tape.files import replace_file
from tape.plugins import require_extra
from tape.sdp.records import Move, State
from tape.sdp.trajectory import CertifiedTrajectory

GOAL = "goal"
"""The kind of the goal predicate, where it has no other."""

MARKOV = ("certified", "fields", "node", "tail")
"""The columns of s, which those of s' are named after."""

ENDS = ("terminated", "truncated")


@dataclass(frozen=True)
class Transition:
    """One attempt as a transition.

    The Markov state is (s, plan tail, attempts): all of it is here, as plain values.

    Attributes:
        episode: The episode's key.
        environment: Name of the environment.
        task: Name of the task.
        agent: Name of the agent.
        model: Name of the model.
        repeat: Which repeat of the task.
        number: The attempt's number in its episode, from 0.
        certified: s: the predicates certified before it.
        fields: s: the projector's fields before it, as JSON.
        node: s: key of the abstract state before it.
        tail: The plan tail, the current target first.
        attempts: The actions that failed at the target before it; an empty one where no action was written.
        reasons: Why they were rejected.
        kind: The target's kind.
        action: a; None where no action could be written.
        words: The words around it.
        k: How many predicates it certified: the reward.
        how: By what each of them was judged.
        evidence: The evidence for each.
        reason: Why the first that does not hold was rejected.
        counts: Whether k = 0 is a failed attempt.
        next_certified: s': the predicates certified after it.
        next_fields: s': the fields after it, as JSON.
        next_node: s': key of the abstract state after it.
        next_tail: The plan tail after it, and after a replan if there was one.
        terminated: The goal is certified, or the environment reports that the task is done, or that nothing can be done
            any more.
        truncated: The episode ended otherwise: a cap, a budget, no chain, a fault.
        success: Whether the episode succeeded, by the environment.
        score: The episode's measure ``score``, else success.
    """

    episode: str
    environment: str
    task: str
    agent: str
    model: str
    repeat: int
    number: int
    certified: tuple[str, ...]
    fields: str
    node: str
    tail: tuple[str, ...]
    attempts: tuple[str, ...]
    reasons: tuple[str, ...]
    kind: str
    action: str | None
    words: str
    k: int
    how: tuple[str, ...]
    evidence: tuple[str, ...]
    reason: str
    counts: bool
    next_certified: tuple[str, ...]
    next_fields: str
    next_node: str
    next_tail: tuple[str, ...]
    terminated: bool
    truncated: bool
    success: bool
    score: float


def transitions(trajectory: CertifiedTrajectory, *, rejected: bool = True) -> list[Transition]:
    """The transitions of a trajectory.

    Args:
        trajectory: The trajectory.
        rejected: Whether attempts that certified nothing are there too. Without them s' is the s of the next one that
            is kept, and of the last one it is how the episode ended.
    """
    found: list[Transition] = []
    tried: list[Move] = []
    last = len(trajectory.moves) - 1
    chain = None
    for number, move in enumerate(trajectory.moves):
        plan = trajectory.plan_of(number)
        if plan is not chain:
            chain, tried = plan, []
        found.append(_transition(trajectory, number, move, tried, ended=number == last))
        tried = [] if move.k else [*tried, move] if move.counts else tried
    return found if rejected else _certifying(found)


def _certifying(every: Sequence[Transition]) -> list[Transition]:
    """Those that certified something, each leading to the next."""
    kept = [one for one in every if one.k]
    found = [replace(one, **{f"next_{name}": getattr(after, name) for name in MARKOV}) for one, after in pairwise(kept)]
    if kept:
        end = {name: getattr(every[-1], name) for name in (*(f"next_{name}" for name in MARKOV), *ENDS)}
        found.append(replace(kept[-1], **end))
    return found


def _transition(
    trajectory: CertifiedTrajectory, number: int, move: Move, tried: Sequence[Move], *, ended: bool
) -> Transition:
    origin, end = trajectory.origin, trajectory.ending
    tail = trajectory.tail_at(number)
    goal = any(judged.target.goal for judged in move.certified)
    terminated = goal or move.completed or (ended and end.by_environment)
    following = trajectory.left() if ended else trajectory.tail_at(number + 1)
    return Transition(
        episode=origin.episode,
        environment=origin.environment,
        task=origin.task,
        agent=origin.agent,
        model=origin.model,
        repeat=origin.repeat,
        number=number,
        certified=tuple(map(storable, move.before.certified)),
        fields=_json(move.before),
        node=storable(move.before.node),
        tail=tuple(storable(target.text) for target in tail),
        attempts=tuple(storable(one.action or "") for one in tried),
        reasons=tuple(storable(one.reason) for one in tried),
        kind=tail[0].kind if tail else GOAL,
        action=None if move.action is None else storable(move.action),
        words=storable(move.text),
        k=move.k,
        how=tuple(judged.check.how for judged in move.certified),
        evidence=tuple(storable(judged.check.evidence) for judged in move.certified),
        reason=storable(move.reason),
        counts=move.counts,
        next_certified=tuple(map(storable, move.after.certified)),
        next_fields=_json(move.after),
        next_node=storable(move.after.node),
        next_tail=tuple(storable(target.text) for target in following),
        terminated=terminated,
        truncated=ended and not terminated,
        success=end.success,
        score=end.score,
    )


def _json(state: State) -> str:
    return json.dumps(state.fields, sort_keys=True)


def storable(text: str) -> str:
    """A text without lone surrogates, which a model may write and no file format takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def export_parquet(trajectories: Iterable[CertifiedTrajectory], path: Path, *, rejected: bool = True) -> int:
    """Write the transitions of trajectories as one Parquet file, one row each.

    Args:
        trajectories: The trajectories.
        path: The file; replaced if it exists.
        rejected: Whether attempts that certified nothing are there too.

    Returns:
        The number of rows.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow = require_arrow()
    found = [one for trajectory in trajectories for one in transitions(trajectory, rejected=rejected)]
    table = arrow.Table.from_pylist([asdict(one) for one in found], schema=_schema(arrow))
    sink = arrow.BufferOutputStream()
    arrow.parquet.write_table(table, sink)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, bytes(sink.getvalue().to_pybytes()))
    return len(found)


def read_parquet(path: Path) -> list[Transition]:
    """The transitions that :func:`export_parquet` wrote.

    Raises:
        MissingExtraError: pyarrow is not installed.
        TraceError: It is no such file.
    """
    arrow = require_arrow()
    try:
        rows: list[dict[str, Any]] = arrow.parquet.read_table(path, schema=_schema(arrow)).to_pylist()
    except (OSError, arrow.ArrowException) as error:
        raise TraceError(f"{path}: not a table of transitions: {error}") from error
    return [_read(row) for row in rows]


def _read(row: dict[str, Any]) -> Transition:
    values: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in row.items()}
    return Transition(**values)


def _schema(arrow: Any) -> Any:
    """The columns, from the types of :class:`Transition`."""
    types = {
        str: arrow.string(),
        int: arrow.int64(),
        bool: arrow.bool_(),
        float: arrow.float64(),
        str | None: arrow.string(),
        tuple[str, ...]: arrow.list_(arrow.string()),
    }
    return arrow.schema([(name, types[hint]) for name, hint in get_type_hints(Transition).items()])


def require_arrow() -> Any:
    """The module pyarrow.

    Raises:
        MissingExtraError: It is not installed.
    """
    require_extra("parquet", "pyarrow", what="Parquet")
    import pyarrow
    import pyarrow.parquet

    return pyarrow

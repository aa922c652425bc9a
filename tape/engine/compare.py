"""Comparing what was observed with what was predicted (TAPE section 3.4).

The paper compares whole states. Where an environment has a mismatch test (``Domain.mismatch_test``), it says which
differences matter for the rest of a path, and it is asked here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.engine.graph import UNKNOWN
from tape.engine.graph_problem import Edge
from tape.engine.select import Path
from tape.protocols import Action, State
from tape.trace import DifferedEvent, MismatchEvent


def mismatched(episode: Episode, predicted: str) -> bool:
    """Compare the observed state with a predicted one by the keys of their nodes, and count and log a mismatch."""
    observed = episode.key(episode.state)
    if observed == predicted:
        return False
    episode.result.mismatches += 1
    episode.trace.write(MismatchEvent(step=episode.result.steps, predicted=predicted, observed=observed))
    return True


def harmless(episode: Episode, path: Path, before: State, edge: Edge, rest: Sequence[Edge]) -> bool:
    """Whether nothing that the rest of a path rests on differs from the prediction; logged where that is so.

    At the end of a path nothing is left, and planning begins anew. ``edge`` is the last step, taken in ``before``.
    """
    if not rest or not _still_good(episode, path, (edge, *rest), rest, taken=(before, edge.action)):
        return False
    observed = episode.key(episode.state)
    episode.trace.write(DifferedEvent(step=episode.result.steps, predicted=edge.target, observed=observed))
    return True


def skippable(episode: Episode, path: Path, rest: Sequence[Edge]) -> bool:
    """Whether the next action is known to change nothing here, and what comes after it goes on without it.

    The last action is never left out, so that every path takes a step.
    """
    return len(rest) > 1 and episode.is_no_op(rest[0].action) and _still_good(episode, path, rest, rest[1:])


def _still_good(
    episode: Episode,
    path: Path,
    predicted: Sequence[Edge],
    rest: Sequence[Edge],
    taken: tuple[State, Action] | None = None,
) -> bool:
    """The environment's mismatch test: the rest of a path does from here what it was to do; false without a test."""
    test = None if episode.config.mismatch == "exact" else episode.env.domain.mismatch_test
    if test is None or any(ahead.target == UNKNOWN for ahead in rest):
        return False
    with environment_faults("what the rest of the path rests on cannot be worked out"):
        return test.still_good(
            [path.graph.state(edge.target) for edge in predicted],
            episode.state,
            [ahead.action for ahead in rest],
            taken=taken,
            goals=episode.config.goal_test == "declared",
        )


def end_if_broken(episode: Episode, before: State) -> None:
    """End the episode of who follows a plan without looking, where a step has changed what the rest of it would do.

    Raises:
        EpisodeEnded: ``failure``.
    """
    domain = episode.env.domain
    if domain.breaks(before, episode.state):
        raise EpisodeEnded(
            "failure",
            f"{episode.result.actions[-1]} gave nothing, so the rest of the plan would do something else than planned; "
            "without replanning it is not followed",
        )

"""Comparing the observed state with the predicted one (TAPE section 3.4).

The paper compares whole states. An environment's hooks (:class:`tape.protocols.hooks.EpisodeHooks`) decide which
differences matter for the rest of a path.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.choice.graph import UNKNOWN
from tape.choice.graph_problem import Edge
from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.engine.select import Path
from tape.protocols import Action, State
from tape.trace import DifferedEvent, MismatchEvent


def mismatched(episode: Episode, predicted: str) -> bool:
    """Whether the observed state has another key than the predicted node; a mismatch is counted and logged."""
    observed = episode.key(episode.state)
    if observed == predicted:
        return False
    episode.result.mismatches += 1
    episode.trace.write(MismatchEvent(step=episode.result.steps, predicted=predicted, observed=observed))
    return True


def harmless(episode: Episode, path: Path, before: State, edge: Edge, rest: Sequence[Edge]) -> bool:
    """Whether a difference from the prediction does not matter for the rest of a path; if so, it is logged.

    At the end of a path there is no rest, and planning starts again: then an outcome counts that has another chance.
    ``edge`` is the last step, taken in ``before``.
    """
    if rest:
        good = _still_good(episode, path, (edge, *rest), rest, taken=(before, edge.action))
    else:
        hooks, predicted = episode.hooks, path.graph.state(edge.target)
        good = hooks.uncertain and hooks.outcome_key(episode.state) == hooks.outcome_key(predicted)
    if not good:
        return False
    observed = episode.key(episode.state)
    episode.trace.write(DifferedEvent(step=episode.result.steps, predicted=edge.target, observed=observed))
    return True


def skippable(episode: Episode, path: Path, rest: Sequence[Edge]) -> bool:
    """Whether the next action is a known no-op here, and the rest of the path works without it.

    The last action is never skipped, so every path takes a step.
    """
    return len(rest) > 1 and episode.is_no_op(rest[0].action) and _still_good(episode, path, rest, rest[1:])


def _still_good(
    episode: Episode,
    path: Path,
    predicted: Sequence[Edge],
    rest: Sequence[Edge],
    taken: tuple[State, Action] | None = None,
) -> bool:
    """Whether the rest of a path still works from here, by the environment's mismatch test."""
    if any(ahead.target == UNKNOWN for ahead in rest):
        return False
    with environment_faults("the mismatch test failed"):
        return episode.hooks.still_good(
            [path.graph.state(edge.target) for edge in predicted],
            episode.state,
            [ahead.action for ahead in rest],
            taken=taken,
            goals=episode.config.ablations.goal_test == "declared",
        )


def end_if_broken(episode: Episode, before: State) -> None:
    """End an episode without replanning if a step gave nothing that the rest of the plan could use.

    Raises:
        EpisodeEnded: ``failure``.
    """
    domain = episode.env.domain
    if domain.breaks(before, episode.state):
        raise EpisodeEnded(
            "failure",
            f"{episode.result.actions[-1]} gave nothing, so the rest of the plan would do something else than planned; "
            "without replanning the episode ends here",
        )

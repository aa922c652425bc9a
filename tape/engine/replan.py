"""Replanning: how often, and selecting again on the same graph."""

from __future__ import annotations

from tape.engine.cost import SPARE, within_spare
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.select import Path, Selector, select_path
from tape.errors import BudgetExceededError
from tape.trace import ReplannedEvent

LEAST_REPLANS = 10
"""Replanning rounds that every episode may have by default, and all where its steps are not limited."""

AT_LIMIT = "at_limit"
"""Why planning starts again where an episode ends at a limit and the answer is asked for once more."""


def most_replans(episode: Episode) -> int:
    """``max_replans``; by default the steps that the episode may take, those taken included, and at least 10."""
    config, taken = episode.config, episode.result.steps
    if config.max_replans is not None:
        return config.max_replans
    left = [episode.remaining().get("steps"), None if config.horizon is None else config.horizon - taken]
    return max(LEAST_REPLANS, taken + min((steps for steps in left if steps is not None), default=0))


def start_replanning(episode: Episode, reason: str, limited: int) -> None:
    """Count and log a replanning round.

    Args:
        episode: The episode.
        reason: Why the path was abandoned.
        limited: Rounds that count against :func:`most_replans`, this one included.

    Raises:
        EpisodeEnded: ``replan_limit``.
    """
    if limited > (most := most_replans(episode)):
        raise EpisodeEnded("replan_limit", f"{most} replanning rounds were not enough; max_replans sets their limit")
    episode.result.replans += 1
    episode.trace.write(ReplannedEvent(reason=reason, count=episode.result.replans))


async def reselect(episode: Episode, selector: Selector, path: Path) -> Path | None:
    """The best path from the current node of a path's graph within the remaining budget; nothing is sampled.

    Returns:
        None if the old path is kept: the selector recombines no plans, the rest of the budget is reserved for
        planning or does not pay for asking a model, no path fits, or only the old path reaches a goal.
    """
    left, reserve = episode.remaining(), episode.config.planning_reserve
    short = any(left.get(kind, count) < count for kind, count in reserve.items())
    if short or not selector.recombines:
        return None
    here = episode.key(episode.state)
    done = next((moves for moves, edge in enumerate(path.edges, 1) if edge.target == here), 0)
    try:
        with within_spare(episode, path.edges[done:]):  # only a selector that asks a model spends
            result = await select_path(episode, selector, path.graph)
    except BudgetExceededError as error:
        if error.ledger != SPARE:
            raise
        return None
    except EpisodeEnded:
        return None  # the solver gave up, as the trace shows; the old path is still feasible
    return None if result is None or (path.at_goal and not result.at_goal) else result

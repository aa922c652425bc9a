"""What agents are made of: sample plans, write an action, compare what is seen with what was predicted.

Every agent goes through these, so that they share budgets, accounting, retries and the event log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.engine.act import MAX_RETRIES
from tape.engine.episode import ActionRefused, Episode, EpisodeEnded
from tape.errors import ConfigError
from tape.protocols import Action, Actor, Plan, Proposer, State
from tape.trace import MismatchEvent, PlansSampledEvent, ReplannedEvent


async def sample_plans(
    episode: Episode, proposer: Proposer, count: int, planning_round: int = 0, attempt: int = 0
) -> list[Plan]:
    """Sample plans from the current state and log them.

    Args:
        episode: The episode.
        proposer: Samples them.
        count: How many.
        planning_round: Part of the seed: the same for all agents in the same round.
        attempt: Part of the seed: which sampling within the round.

    Raises:
        BudgetExceededError: The call does not fit; it was not made.
    """
    seed = episode.seed_for("plans", planning_round, attempt)
    [plans] = await sample_plans_from(episode, proposer, [(episode.state, episode.remaining())], count, seed)
    episode.result.plans += len(plans)
    episode.result.distinct_plans += len({plan.actions for plan in plans})
    return plans


async def sample_plans_from(
    episode: Episode, proposer: Proposer, starts: Sequence[tuple[State, Mapping[str, int]]], count: int, seed: int
) -> list[list[Plan]]:
    """Sample ``count`` plans from each state with what remains of the budget there, and log them.

    Raises:
        BudgetExceededError: The call does not fit; it was not made.
    """
    sampled = await proposer.propose(starts, count, seed)
    for (state, _), plans in zip(starts, sampled, strict=True):
        event = PlansSampledEvent(
            start=episode.key(state),
            plans=[list(plan.actions) for plan in plans],
            valid=[plan.valid for plan in plans],
        )
        episode.trace.write(event)
    return sampled


def require_read(episode: Episode, plans: Sequence[Plan]) -> None:
    """End an episode for which plans were sampled, none of them with an action: no budget would change that.

    Args:
        episode: The episode.
        plans: Those of its last sampling.

    Raises:
        EpisodeEnded: ``no_plan``.
    """
    if not plans or any(plan.actions for plan in plans):
        return
    malformed = sum(not plan.valid for plan in plans)
    counts = ((malformed, "could not be read"), (len(plans) - malformed, "had no action"))
    raise EpisodeEnded(
        "no_plan",
        f"no sampled plan can be followed: of {len(plans)} sampled after {episode.result.steps} steps "
        f"{' and '.join(f'{count} {what}' for count, what in counts if count)}; try another model or more plans, and "
        "see with `tape probe MODEL ENVIRONMENT` whether the model can plan here",
    )


async def write_action(
    episode: Episode, actor: Actor, planned: Action | None, plan: Sequence[Action], tries: int = 0
) -> tuple[Action, str]:
    """Let the actor write an action of the environment, trying again where it cannot be read.

    Args:
        episode: The episode.
        actor: Writes it.
        planned: The action to write, or None for a free choice.
        plan: What the actor is shown of a plan.
        tries: How often it was written before in this step; part of the seed.

    Returns:
        The action and the words around it.

    Raises:
        ActionRefused: The planned action was refused; no call was made for it.
        BudgetExceededError: A call does not fit; it was not made.
        EpisodeEnded: ``invalid_output``.
    """
    if planned is not None and episode.config.execution != "free":
        await episode.approve(planned, plan[1:])  # before its writing is paid for
    admissible = episode.env.domain.admissible(episode.state)
    for attempt in range(MAX_RETRIES + 1):
        seed = episode.seed_for("act", episode.result.steps, tries * (MAX_RETRIES + 1) + attempt)
        state = episode.state if planned is not None else episode.to_choose_in()
        acted = await actor.act(state, episode.remaining(), planned, plan, seed)
        if acted.action is not None and (admissible is None or acted.action in admissible):
            return acted.action, acted.text
    raise EpisodeEnded("invalid_output", f"no action could be read in {MAX_RETRIES + 1} samples")


async def act_freely(episode: Episode, actor: Actor, plan: Sequence[Action] = ()) -> None:
    """Let the actor choose one action, with the rest of a plan in context if there is one, and execute it.

    Where somebody refuses it, the actor chooses again.

    Raises:
        BudgetExceededError: A call or the action does not fit; where no action fits any more, no call is made.
        EpisodeEnded: Success, ``invalid_output``, the horizon, or ``infeasible`` where all that is chosen is refused.
    """
    for tries in range(MAX_RETRIES + 1):
        episode.require_affordable_action()
        action, text = await write_action(episode, actor, None, plan, tries)
        try:
            await episode.step(action, text=text, planned=plan[0] if plan else None, rest=plan[1:])
            return
        except ActionRefused:
            if tries == MAX_RETRIES:
                raise


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


def mismatched(episode: Episode, predicted: str) -> bool:
    """Compare the observed state with a predicted one by the keys of their nodes, and count and log a mismatch."""
    observed = episode.key(episode.state)
    if observed == predicted:
        return False
    episode.result.mismatches += 1
    episode.trace.write(MismatchEvent(step=episode.result.steps, predicted=predicted, observed=observed))
    return True


def start_replanning(episode: Episode, reason: str, limited: int) -> None:
    """Count and log a replanning round.

    Args:
        episode: The episode.
        reason: Why.
        limited: Rounds that count against ``max_replans``, this one included.

    Raises:
        EpisodeEnded: ``replan_limit``.
    """
    most = episode.config.max_replans
    if limited > most:
        raise EpisodeEnded("replan_limit", f"{most} replanning rounds were not enough")
    episode.result.replans += 1
    episode.trace.write(ReplannedEvent(reason=reason, count=episode.result.replans))


def require_bounded(episode: Episode, what: str) -> None:
    """Refuse an episode that might never end.

    Raises:
        ConfigError: There is neither a horizon nor a cap on something that every action spends; names ``what``.
    """
    costs = list(episode.possible_costs().values())
    spent = any(costs and all(cost[kind] for cost in costs) for kind in episode.ledger.capped())
    if episode.config.horizon is None and not spent:
        raise ConfigError(
            f"{what} needs a horizon, or a budget of something that every action spends; "
            "else an episode might never end"
        )

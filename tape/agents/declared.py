"""Roles that use declarations instead of a model (``proposer="declared"`` and ``scorer="declared"``) [ours]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.choice.graph import GOAL_SCORE
from tape.engine.context import RoleContext
from tape.errors import ConfigError
from tape.protocols import Domain, Plan, Score, State
from tape.protocols.parts import ExactPlanner, Predicates

_SHORT = 0.99 * GOAL_SCORE
"""The highest score of a state in which only a part of the goal is known to hold."""


class DeclaredProposer:
    """Proposes the plans of a domain's own exact search."""

    def __init__(self, planner: ExactPlanner) -> None:
        self._planner = planner

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """The ``m`` best plans from each start, or all if there are fewer; the seed has no effect."""
        del seed
        all_plans = [self._planner.plans(state, remaining, m) for state, remaining in starts]
        return [[Plan(tuple(actions)) for actions in plans] for plans in all_plans]


def require_plans_declared(domain: Domain) -> ExactPlanner:
    """The exact search of a domain.

    Raises:
        ConfigError: The domain has none.
    """
    if domain.planner is None:
        raise ConfigError(
            f"proposer='declared': {type(domain).__name__} has no search for plans of its own (typed tools have one); "
            "use proposer='lm'"
        )
    return domain.planner


class DeclaredScorer:
    """Scores by the environment's declarations.

    With declared outcomes an end is right, as if the model had no objections. In other domains a state
    at the declared goal scores 1; any other state has the share of the goal that is known to hold, as its mean only.
    """

    def __init__(self, context: RoleContext) -> None:
        require_declared_scores(context.domain)
        self._context = context

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states without a model."""
        del remaining
        return [self._score(state) for state in states]

    def _score(self, state: State) -> Score:
        domain = self._context.domain
        if domain.outcomes is not None:
            best = max(self._context.prompt_format.score_request(state)[1].values())
            return Score(best, best)
        reached = None if domain.goal_test is None else domain.goal_test.satisfied(state)
        share = 0.0 if domain.predicates is None else _share_of_goal(domain.predicates, state)
        if reached or (reached is None and share == 1.0):
            return Score(1.0, 1.0)
        return Score(0.0, _SHORT * share)


def _share_of_goal(predicates: Predicates, state: State) -> float:
    """The share of a goal's values that are known to hold in a state, for the goal with the largest share."""
    known = predicates.ground(state)
    shares = [
        sum(known.get(p) is v for p, v in goal.items()) / len(goal) if goal else 1.0 for goal in predicates.goals()
    ]
    return max(shares, default=0.0)


def require_declared_scores(domain: Domain) -> None:
    """Refuse ``scorer="declared"`` for a domain that declares nothing to score by.

    Raises:
        ConfigError: Names the domain.
    """
    if domain.outcomes is None and domain.goal_test is None and domain.predicates is None:
        raise ConfigError(
            f"scorer='declared': {type(domain).__name__} declares no outcomes, no goal test and no predicates, so only "
            "a model can score its states; use scorer='lm'"
        )

"""Roles that go by what is declared, without a model (``proposer`` and ``scorer="declared"``) [ours]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.engine.context import RoleContext
from tape.engine.graph import GOAL_SCORE
from tape.errors import ConfigError
from tape.protocols import Domain, Plan, Score, State
from tape.protocols.parts import ExactPlanner, Predicates

_SHORT = 0.99 * GOAL_SCORE
"""The most that a state is worth of whose goal only a share is known to hold."""


class DeclaredProposer:
    """The plans of a domain that searches for them itself.

    Args:
        planner: Finds them.
    """

    def __init__(self, planner: ExactPlanner) -> None:
        self._planner = planner

    async def propose(self, starts: Sequence[tuple[State, Mapping[str, int]]], m: int, seed: int) -> list[list[Plan]]:
        """The ``m`` best plans from each start, or as many as there are; the seed changes nothing."""
        del seed
        found = [self._planner.plans(state, remaining, m) for state, remaining in starts]
        return [[Plan(tuple(actions)) for actions in plans] for plans in found]


def require_plans_declared(domain: Domain) -> ExactPlanner:
    """The domain, if it finds plans itself.

    Raises:
        ConfigError: It does not; names it.
    """
    if domain.planner is None:
        raise ConfigError(
            f"proposer='declared': {type(domain).__name__} has no search for plans of its own (typed tools have one); "
            "use proposer='lm'"
        )
    return domain.planner


class DeclaredScorer:
    """Scores by what the environment declares.

    With declared outcomes an end is worth what is declared of it, as if the model found nothing wrong with it: of ends
    of equal worth that of more plans is better. Elsewhere a state at the declared goal is worth 1, and any other what
    share of the goal is known to hold there, as a mean only.

    Args:
        context: The episode's prompts, which say what an end is worth, and the task.
    """

    def __init__(self, context: RoleContext) -> None:
        require_declared_scores(context.domain)
        self._context = context

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states; nothing is asked."""
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
    """The share of a goal's values that are known to hold in a state, of the goal that is nearest."""
    known = predicates.ground(state)
    shares = [
        sum(known.get(p) is v for p, v in goal.items()) / len(goal) if goal else 1.0 for goal in predicates.goals()
    ]
    return max(shares, default=0.0)


def require_declared_scores(domain: Domain) -> None:
    """Refuse ``scorer="declared"`` where nothing is declared by which a state could be scored.

    Raises:
        ConfigError: It is not; names the domain.
    """
    if domain.outcomes is None and domain.goal_test is None and domain.predicates is None:
        raise ConfigError(
            f"scorer='declared': {type(domain).__name__} declares no outcomes, no goal test and no predicates, so only "
            "a model can say how good a state is; use scorer='lm'"
        )

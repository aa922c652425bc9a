"""R_theta and C_theta (TAPE section 3.1): the LM scores abstract states and predicts what actions cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from tape.budget import Resources, in_units
from tape.engine.context import RoleContext
from tape.engine.graph import GOAL_SCORE
from tape.errors import ConfigError
from tape.lm.base import Choice, Request
from tape.protocols import Action, Domain, Score, Scorer, State
from tape.protocols.parts import GoalTest, Predicates
from tape.protocols.prompt_format import option_values

COST_ROLE = "cost"

_LEVELS = 8
"""Steps from nothing to the declared worst case in which a cost is predicted."""

_SHORT = 0.99 * GOAL_SCORE
"""The most that a state is worth which the declared test calls short of the goal."""


class LmScorer:
    """Scores from the model's own probabilities of the score's options; each state once per episode.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[str, Score] = {}

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states; ``remaining`` is not part of a state's score (the solver keeps budgets)."""
        del remaining
        key = self._context.domain.key
        fresh = {key(state): state for state in states if key(state) not in self._known}
        asked = [self._context.prompt_format.score_request(state) for state in fresh.values()]
        # States that read alike are asked about once; what an answer is worth may differ all the same.
        distinct = list(dict.fromkeys(request for request, _ in asked))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True))
        for name, (request, values) in zip(fresh, asked, strict=True):
            weights, _ = answers[request]
            scores = option_values(request, values)
            if not any(weights):
                # What cannot be read tells nothing about the state.
                self._context.count_malformed("score", "the answer is none of the options")
                self._known[name] = Score(0.0, 0.0)
                continue
            mean = sum(w * v for w, v in zip(weights, scores, strict=True))
            self._known[name] = Score(scores[weights.index(max(weights))], mean)
        return [self._known[key(state)] for state in states]


class GoalTestScorer:
    """A scorer's scores, where what the domain declares settles which states reach the goal (``goal_test``).

    Args:
        scorer: Scores how far the other states are.
        test: Of the goal.
    """

    def __init__(self, scorer: Scorer, test: GoalTest) -> None:
        self._scorer, self._test = scorer, test

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """1 at the goal; what the scorer says elsewhere, but never as much as a goal."""
        short = [state for state in states if not self._test.satisfied(state)]
        scores = iter(await self._scorer.score(short, remaining) if short else [])
        return [Score(1.0, 1.0) if self._test.satisfied(state) else _below_goal(next(scores)) for state in states]


def _below_goal(score: Score) -> Score:
    return Score(min(score.likely, _SHORT), min(score.mean, _SHORT))


class DeclaredScorer:
    """Scores without a model, by what is declared (``scorer="declared"``) [ours].

    Where outcomes are declared, an end is worth what it is declared to be
    worth, as if the model found nothing wrong with it: of ends of equal worth that of more plans is better. Elsewhere a
    state at the declared goal is worth 1, and any other what share of the goal is known to hold there, as a mean only.

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


class LmCostModel:
    """C_theta: predicted costs of actions; each (state, action) once per episode.

    Each resource is asked about alone, by a choice of amounts from nothing to the declared worst case, so no prediction
    can be out of bounds. The prediction is the expected amount (``c_theta(e)`` of TAPE section 3.1), rounded up; a
    backend that shows no probabilities gives one amount.

    Args:
        context: The episode's model and prompts, which have to take any question (``ask``).
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Action, str], int] = {}

    async def predict(self, pairs: Sequence[tuple[State, Action]], kinds: Collection[str]) -> list[Resources]:
        """What each action is predicted to use, of some kinds of resources; the declared worst case of all others.

        Raises:
            BudgetExceededError: The calls do not fit; they were not made.
        """
        domain = self._context.domain
        declared = [domain.cost(state, action) for state, action in pairs]
        open_: dict[tuple[str, Action, str], tuple[Request, dict[str, float]]] = {}
        for (state, action), worst in zip(pairs, declared, strict=True):
            for kind in sorted(kinds):
                name = (domain.key(state), action, kind)
                if worst[kind] and name not in self._known:
                    open_[name] = self._request(state, action, kind, worst[kind] or 0)
        distinct = list(dict.fromkeys(request for request, _ in open_.values()))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True))
        for name, (request, amounts) in open_.items():
            weights, _ = answers[request]
            values = option_values(request, amounts)
            if any(weights):
                mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
                self._known[name] = min(math.ceil(round(mean, 6)), int(max(values)))
            else:
                self._context.count_malformed(COST_ROLE, "the answer is none of the options")
                self._known[name] = int(max(values))  # what cannot be read leaves the worst case
        return [
            Resources(
                {
                    kind: self._known.get((domain.key(state), action, kind), count) if kind in kinds else count
                    for kind, count in worst.items()
                }
            )
            for (state, action), worst in zip(pairs, declared, strict=True)
        ]

    def _request(self, state: State, action: Action, kind: str, worst: int) -> tuple[Request, dict[str, float]]:
        """The question, and the count of each of its options."""
        counts = dict.fromkeys(-(-worst * level // _LEVELS) for level in range(_LEVELS + 1))
        amounts = {in_units(kind, count): float(count) for count in counts}
        ask = (
            f"Suppose that this is done now: {action}\nHow much of the resource {kind!r} will it use? It cannot use "
            f"more than {in_units(kind, worst)}. Answer with one of these amounts: {'; '.join(amounts)}."
        )
        request = Request(self._context.ask(state, ask), 16, constraint=Choice(tuple(amounts)), role=COST_ROLE)
        return request, amounts

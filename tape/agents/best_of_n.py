"""Best-of-N acting (TAPE appendix G.2): sample actions, predict, score, take the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import ClassVar

from tape.agents.lines import free_actor
from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT
from tape.agents.plan_and_act import PlanAndActAgent
from tape.agents.react import ReactAgent
from tape.choice.graph import GOAL_SCORE
from tape.engine.act import LmActor
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.settings import TapeConfig
from tape.protocols import Acted, Action, Actor, AnswerT, Score, Scorer, State, WorldModel
from tape.protocols.parts import GoalTest
from tape.trace import ActionsSampledEvent

_SHORT = 0.99 * GOAL_SCORE
"""The highest score of a state that does not reach the goal by the declared test."""


class BestOfNActor:
    """Takes, of N sampled actions, the one whose predicted outcome the model itself scores highest.

    Ties go to the action sampled more often, then to the one sampled first. Actions predicted to be invalid come last.
    Unlike TAPE, it does not remember observed transitions. With ``expected`` it compares mean scores, not the most
    probable ones.
    """

    def __init__(
        self,
        context: RoleContext,
        actor: LmActor,
        world_model: WorldModel,
        scorer: Scorer,
        samples: int,
        *,
        expected: bool = False,
    ) -> None:
        self._context, self._actor, self._samples, self._expected = context, actor, samples, expected
        self._world_model, self._scorer = world_model, scorer

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        """Write one action; ``Acted.action`` is None if no sample is an action of the environment."""
        if (due := self._actor.due(state)) is not None:
            return Acted(due)
        sampled = await self._actor.sample(state, remaining, action, plan, seed, self._samples)
        admissible = self._context.domain.admissible(state)
        written = [(acted.action, acted) for acted in sampled if acted.action is not None]
        usable = [(name, acted) for name, acted in written if admissible is None or name in admissible]
        if not usable:
            return Acted(None)
        votes = Counter(name for name, _ in usable)
        values = await self._values(state, remaining, list(votes))
        # max() keeps the first of equals, and votes are in the order of sampling.
        best = max(votes, key=lambda name: (values[name], votes[name]))
        self._context.trace.write(
            ActionsSampledEvent(
                actions=[name for name, _ in usable],
                scores={name: None if value == -inf else value for name, value in values.items()},
                chosen=best,
            )
        )
        return next(acted for name, acted in usable if name == best)

    async def _values(
        self, state: State, remaining: Mapping[str, int], actions: Sequence[Action]
    ) -> dict[Action, float]:
        """The score of each action's predicted outcome; minus infinity if it is predicted to be invalid."""
        predictions = await self._world_model.predict([(state, action) for action in actions])
        outcomes = {
            action: prediction.state
            for action, prediction in zip(actions, predictions, strict=True)
            if prediction.state is not None
        }
        scores = await self._scorer.score(list(outcomes.values()), remaining)
        values = [score.mean if self._expected else score.likely for score in scores]
        return dict.fromkeys(actions, -inf) | dict(zip(outcomes, values, strict=True))


class GoalTestScorer:
    """Scores states by the declared goal test, and all that do not reach the goal by another scorer."""

    def __init__(self, scorer: Scorer, test: GoalTest) -> None:
        self._scorer, self._test = scorer, test

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """1 at the goal; elsewhere the other scorer's score, capped below that of a goal."""
        short = [state for state in states if not self._test.satisfied(state)]
        scores = iter(await self._scorer.score(short, remaining) if short else [])
        return [Score(1.0, 1.0) if self._test.satisfied(state) else _below_goal(next(scores)) for state in states]


def _below_goal(score: Score) -> Score:
    return Score(min(score.likely, _SHORT), min(score.mean, _SHORT))


class BestOfN(LmAgent[DepsT, AnswerT]):
    """Mix-in: samples ``num_plans`` actions a step and takes the one whose predicted outcome scores highest."""

    @classmethod
    def most_calls_per_step(cls, config: TapeConfig) -> int:
        """N samples are one request; each distinct one is predicted and its outcome scored."""
        predictions = config.num_plans * cls.most_calls_per_prediction(config)
        return super().most_calls_per_step(config) + predictions + config.num_plans

    def actor(self, episode: Episode) -> Actor:
        """Writes the best of N sampled actions."""
        scorer, domain = self.scorer(episode), episode.env.domain
        if episode.config.ablations.goal_test == "declared" and domain.goal_test is not None:
            scorer = GoalTestScorer(scorer, domain.goal_test)  # as TAPE does
        return BestOfNActor(
            episode.roles,
            free_actor(episode, self.config.temperature),
            self.world_model(episode),
            scorer,
            self.config.num_plans,
            expected=self.config.ablations.score == "expected",
        )


class BestOfNReactAgent(BestOfN, ReactAgent):
    """ReAct with ``num_plans`` thoughts and actions sampled at every step.

    The model predicts the outcome of each and scores it; the action of the highest score is taken. It takes what
    :class:`~tape.TapeAgent` takes.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import BestOfNReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = BestOfNReactAgent("bundled:nano", num_plans=8).run(env)
        >>> print(result.end_state, result.steps, result.lm_calls)
        success 6 {'act': 6, 'next': 6, 'score': 6}
    """

    name: ClassVar[str] = "best_of_n_react"


class BestOfNPlanAndActAgent(BestOfN, PlanAndActAgent):
    """Plan-and-Act with one plan and ``num_plans`` actions sampled at every step, the plan in context.

    The action is chosen as by :class:`BestOfNReactAgent`. It takes what :class:`~tape.TapeAgent` takes.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import BestOfNPlanAndActAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = BestOfNPlanAndActAgent("bundled:nano", num_plans=8).run(env)
        >>> print(result.end_state, result.steps, result.lm_calls["plan"])
        success 6 1
    """

    name: ClassVar[str] = "best_of_n_plan_and_act"

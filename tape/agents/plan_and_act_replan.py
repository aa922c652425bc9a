"""Plan-and-Act that replans on a mismatch, by the test that TAPE uses (TAPE section 3.4)."""

from __future__ import annotations

from itertools import count
from typing import ClassVar

from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT
from tape.agents.react import act_freely
from tape.engine.compare import mismatched
from tape.engine.episode import Episode
from tape.engine.replan import start_replanning
from tape.engine.sample import sample_plans
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.protocols import Action, Actor, AnswerT, WorldModel


class PlanAndActReplanAgent(LmAgent[DepsT, AnswerT]):
    """Acts with a plan in context; replans if the observed state is not the predicted one, or the plan ends.

    As in TAPE, the model predicts the states along the plan, and the plan is cut before an action that is predicted to
    be invalid. If nothing of it is left, one step is taken without a plan, so every round acts. It takes what
    :class:`~tape.TapeAgent` takes.

    Raises:
        ConfigError: As there; or ``replan`` is off.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import PlanAndActReplanAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = PlanAndActReplanAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.steps, result.replans)
        success 6 0
    """

    name: ClassVar[str] = "plan_and_act_replan"

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Refuse ``replan`` off."""
        if not config.ablations.replan:
            raise ConfigError("plan_and_act_replan contradicts replan off; use plan_and_act")
        return config

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """Every round takes at least one step: one plan and its predictions a round, and the actions."""
        rounds = steps if config.max_replans is None else min(steps, config.max_replans + 1)
        predictions = longest_plan * cls.most_calls_per_prediction(config)
        return rounds * (1 + predictions) + steps * cls.most_calls_per_step(config)

    async def _play(self, episode: Episode) -> None:
        world_model, actor = self.world_model(episode), self.actor(episode)
        for planning_round in count():
            plan = await self._plan(episode, world_model, planning_round)
            reason = await self._follow(episode, actor, plan)
            start_replanning(episode, reason, planning_round + 1)

    async def _plan(self, episode: Episode, world_model: WorldModel, planning_round: int) -> list[tuple[Action, str]]:
        """A plan: its actions, each with the key of the state predicted after it."""
        episode.require_affordable_action()
        [plan] = await sample_plans(episode, self.proposer(episode), 1, planning_round)
        [predictions] = await world_model.rollout([(episode.state, plan.actions)])
        key = episode.env.domain.key
        # Only the last prediction of a rollout can be invalid, so the pairs stay aligned without it.
        states = [prediction.state for prediction in predictions if prediction.state is not None]
        return [(action, key(state)) for action, state in zip(plan.actions, states, strict=False)]

    @staticmethod
    async def _follow(episode: Episode, actor: Actor, plan: list[tuple[Action, str]]) -> str:
        """Act along a plan; return why it cannot be followed further."""
        if not plan:
            await act_freely(episode, actor)
        actions = [action for action, _ in plan]
        for step, (_, predicted) in enumerate(plan):
            await act_freely(episode, actor, actions[step:])
            if mismatched(episode, predicted):
                return "mismatch"
        return "ended"

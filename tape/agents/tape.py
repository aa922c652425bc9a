"""TAPE (algorithm 1): plan graph, solver, constrained execution, mismatch, replanning."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tape.agents.base import LmAgent
from tape.agents.options import Listener, Options, Play
from tape.agents.planned import Planned, Planning
from tape.budget import Budget, Ledger, Payer
from tape.engine.act import MAX_RETRIES, LmActor
from tape.engine.context import RoleContext, require_roles
from tape.engine.episode import Episode
from tape.engine.execute import Executor
from tape.engine.loop import Planner
from tape.engine.predict import LmWorldModel
from tape.engine.selector import LmSelector, PlanSelector, Selector, SolverSelector
from tape.engine.settings import TapeConfig
from tape.engine.steps import require_bounded, start_replanning
from tape.engine.verification import Verification, verifying_method
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.protocols import Environment, PlannedActor, WorldModel
from tape.seeds import derive
from tape.trace import TraceWriter
from tape.waiting import run_sync


class TapeAgent(LmAgent):
    """Tool-guided adaptive planning with constrained execution."""

    name: ClassVar[str] = "tape"
    verifies: ClassVar[bool] = True
    lm_roles: ClassVar[tuple[str, ...]] = ("costs", "projector")

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """Every round takes at least one step, and samples, predicts and scores anew up to ``resample`` more times.

        Each sampling is one request for ``num_plans`` plans and up to ``extend`` requests for one more each; every
        predicted or observed state is scored at most once in an episode, and merged at most once. The LM as selector is
        asked once a round, once more where no path leads to an end, and anew after a step. With verification, or where
        the model predicts costs, no bound is known.
        """
        if verifying_method(config) is not None or config.costs == "lm":
            return None
        rounds = 1 if not config.replan else steps if config.replan_every_step else min(steps, config.max_replans + 1)
        samplings = rounds * (1 + config.resample)
        states = samplings * (config.num_plans + config.extend) * longest_plan
        predictions = states * cls.most_calls_per_prediction(config)
        selections = 2 * rounds + steps * config.reselect if config.selector == "lm" else 0
        # A fixed action can always be read; where the environment does not admit it, the episode ends.
        actions = {
            "forced": 0,
            "constrained": steps + MAX_RETRIES,
            "free": steps * cls.most_calls_per_step(config),
        }[config.execution or "constrained"]  # forced makes fewer
        judged = (states + steps + 1) * ((config.scorer == "lm") + (config.projector == "lm"))
        sampled = samplings * (1 + config.extend) * (config.proposer == "lm")
        return sampled + predictions + judged + selections + actions

    def plan(self, env: Environment, **options: Any) -> Planned:
        """Plan without executing anything; the synchronous wrapper around :meth:`aplan`."""
        return run_sync(self.aplan(env, **options))

    async def aplan(
        self,
        env: Environment,
        *,
        budget: Budget | None = None,
        alternatives: int = 3,
        seed: int = 0,
        trace: TraceWriter | Path | None = None,
        parent: Ledger | None = None,
        payer: Payer | None = None,
        simulator: WorldModel | None = None,
        model: LanguageModel | None = None,
        listener: Listener | None = None,
    ) -> Planned:
        """Reset the environment and plan once, as :meth:`arun` with the same seed does before its first step.

        No action is executed; what the model is asked is paid for as in an episode.

        Args:
            env: The environment.
            budget: Hard caps, for planning and for the path together.
            alternatives: How many of the next best paths to give beside the best one.
            seed: As for :meth:`arun`, like all that follow.
            trace: Ends without a ``finished`` event.
            parent: An enclosing ledger.
            payer: Is asked for every reservation.
            simulator: For ``world_model="simulator"``.
            model: Answers instead of the agent's own model.
            listener: Called with every event.

        Returns:
            The path; false where there is none, with the reason.

        Raises:
            ConfigError: As :meth:`arun`; or the agent acts before it plans, or ``alternatives`` is negative.
            UnknownCostError: A hard cap on a resource whose cost is unknown.
        """
        self.require_plans()
        if alternatives < 0:
            raise ConfigError(f"alternatives= is a number of paths >= 0, not {alternatives}")
        options = Options(budget, seed, trace, parent, payer, simulator, model, listener)
        with self._opened(env, options) as episode:
            planning = Planning(episode, alternatives)
            await self._episode(episode, derive(seed, "environment"), self._planning(planning))
        return planning.planned()

    @classmethod
    def require_prompts(cls, config: TapeConfig, env: Environment, roles: RoleContext) -> None:
        """Prompts without plans and actions will do where the environment declares them all.

        Raises:
            ConfigError: They will not, or lack something else.
        """
        forced = config.settled(env.domain).execution == "forced" and config.selector != "lm"
        if forced and config.proposer == config.scorer == "declared" and config.on_limit != "final_answer":
            require_roles(config, env.domain, roles.prompt_format, roles.lm.name)
        else:
            super().require_prompts(config, env, roles)

    def require_plans(self) -> None:
        """Refuse to plan without acting where that is not what the agent does.

        Raises:
            ConfigError: Says why.
        """
        verifying = verifying_method(self.config)
        if verifying is not None:
            raise ConfigError(
                f"{verifying.name} verifies a path by queries, which are actions; plan without {verifying.name}"
            )

    def _planning(self, planning: Planning) -> Play:
        async def play(episode: Episode) -> None:
            await planning.run(self.planner(episode, self.actor(episode)))

        return play

    async def _play(self, episode: Episode) -> None:
        config, result = self.config, episode.result
        if config.replan_every_step:
            require_bounded(episode, "replan_every_step")
        actor = self.actor(episode)
        planner = self.planner(episode, actor)
        verification = self.verification(episode, planner, actor)
        watch = verification.monitor if verification else None
        executor = Executor(episode, actor, planner.memory, planner.reselect, watch)
        limited = 0
        while True:
            planned = await (verification or planner).plan()
            outcome = "refused"
            if planned is not None:
                result.partial_walk |= planned.partial
                outcome = await (verification.follow(executor, planned) if verification else executor.execute(planned))
            if not config.replan:
                return
            limited += outcome != "stepped"
            start_replanning(episode, outcome, limited)

    def planner(self, episode: Episode, actor: PlannedActor) -> Planner:
        """The planning half of algorithm 1, with this agent's roles."""
        return Planner(
            episode,
            proposer=self.proposer(episode),
            world_model=self.world_model(episode),
            scorer=self.scorer(episode),
            actor=actor,
            selector=self.selector(episode),
            builder=None if self.config.selector == "solver" else self.solver(episode),
        )

    def verification(self, episode: Episode, planner: Planner, actor: PlannedActor) -> Verification | None:
        """Who says whether a selected path may be committed to; None: every path may."""
        verifying = verifying_method(self.config)
        return None if verifying is None else verifying.verification(episode, planner, actor)

    def lm_world_model(self, episode: Episode) -> WorldModel:
        """P_theta with second thoughts (``doubt``); under verification the verifier decides what is possible."""
        return LmWorldModel(
            episode.roles, self.config.requery_threshold if verifying_method(self.config) is None else 1.1
        )

    def actor(self, episode: Episode) -> PlannedActor:
        """pi_Act; its worst case is part of every edge's cost."""
        execution = episode.config.execution
        assert execution is not None, "settled at the start of the episode"
        return LmActor(episode.roles, execution, self.config.temperature)

    def selector(self, episode: Episode) -> Selector:
        """The solver, the LM or the best single plan (the ablations)."""
        config = self.config
        if config.selector == "lm":
            return LmSelector(episode.roles, config.temperature, episode.seed_for("select"))
        if config.selector == "best_plan":
            return PlanSelector(config.discount, cautious=config.cautious)
        return self.solver(episode)

    def solver(self, episode: Episode) -> Selector:
        """The solver, which says also how far a graph grows on which another selects."""
        config = self.config
        return SolverSelector(config.solver, config.discount, episode.deadline.left, cautious=config.cautious)


class TapeAllStepAgent(TapeAgent):
    """``tape`` with ``replan_every_step``."""

    name: ClassVar[str] = "tape_all_step"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """As TAPE with a round per step."""
        every_step = config.model_copy(update={"replan_every_step": True})
        return super().most_lm_calls(every_step, steps, longest_plan)

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set ``replan_every_step``.

        Raises:
            ConfigError: Replanning is off.
        """
        return TapeConfig.make(**{**config.model_dump(), "replan_every_step": True})

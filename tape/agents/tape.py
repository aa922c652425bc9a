"""TAPE (algorithm 1): plan graph, solver, constrained execution, mismatch, replanning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast

from tape.agents.expected import ExpectedCosts, ExpectedPlanner
from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT, Options, TaskOptions, require_bounded, require_known
from tape.agents.planned import OneRound, Planned, RoundPlanner
from tape.agents.playing import play_to_end
from tape.engine.act import MAX_RETRIES, LmActor
from tape.engine.context import RoleContext
from tape.engine.cost import Costs
from tape.engine.episode import Episode
from tape.engine.execute import Executor
from tape.engine.loop import Planner, PlannerRoles, run
from tape.engine.predict import ALWAYS, LmWorldModel
from tape.engine.select import Selector, SolverSelector
from tape.engine.settings import TapeConfig
from tape.engine.verification import Verification, verifying_method
from tape.errors import ConfigError
from tape.plugins import part
from tape.protocols import AnswerT, Environment, PlannedActor, WorldModel
from tape.seeds import derive
from tape.waiting import run_sync

if TYPE_CHECKING:
    from tape.agents.programs import ProgramPlanner


class TapeAgent(LmAgent[DepsT, AnswerT]):
    """Tool-guided adaptive planning with constrained execution (TAPE algorithm 1).

    It samples plans, merges them in a plan graph, lets an exact solver select the best path that fits the budget,
    executes it, and plans anew where an observation contradicts the prediction.

    Args:
        model: A model, or its name as :func:`tape.open_model` takes it, for instance ``"bundled:nano"``.
        config: The settings; or give them as keyword arguments.
        prices: What the model costs, before any listed price: US dollars per million tokens of prompts and of
            completions, ``("0.15", "0.60")``, or a price file.
        tools: Tools for tasks in words, with ``deps_type``, ``answer`` and the options of
            :class:`tape.agents.options.TaskTools`.
        deps_type: The type of ``deps``.
        answer: The type of an answer.
        settings: Fields of :class:`tape.TapeConfig`, and settings of a method that verifies paths, such as ``aec``.

    Raises:
        ConfigError: A setting is out of range, or both ``config`` and ``settings`` are given.
        UnknownNameError: There is no such model.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import TapeAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = TapeAgent("bundled:nano", num_plans=8).run(env, budget="2,000 tokens", seed=0)
        >>> print(result.end_state, *result.actions)
        success L L L U L D
    """

    name: ClassVar[str] = "tape"
    verifies: ClassVar[bool] = True
    replaceable: ClassVar[tuple[str, ...]] = ("selector", "costs")

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """Every round takes at least one step, and has at most 1 + ``resample`` samplings.

        A sampling is one request for ``num_plans`` plans and at most ``extend`` requests for one more each. A state is
        scored at most once in an episode. With verification or a replaced part no bound is known.
        """
        switches = config.ablations
        if verifying_method(config) is not None or switches.selector != "solver":
            return None
        most = steps if switches.replan_every_step or config.max_replans is None else config.max_replans + 1
        rounds = min(steps, most) if switches.replan else 1
        samplings = rounds * (1 + switches.resample)
        states = samplings * (config.num_plans + switches.extend) * longest_plan
        predictions = states * cls.most_calls_per_prediction(config)
        # A fixed action can always be read; if the environment does not admit it, the episode ends.
        actions = {"forced": 0, "constrained": steps + MAX_RETRIES, "free": steps * cls.most_calls_per_step(config)}[
            config.execution or "constrained"
        ]  # forced makes fewer
        judged = (states + steps + 1) * (config.scorer == "lm")
        sampled = samplings * (1 + switches.extend) * (config.proposer == "lm")
        return sampled + predictions + judged + actions

    def plan(self, env: Environment | str, *, alternatives: int = 3, **options: Unpack[TaskOptions[DepsT]]) -> Planned:
        """Plan without executing anything; the synchronous wrapper around :meth:`aplan`."""
        return run_sync(self.aplan(env, alternatives=alternatives, **options))

    async def aplan(
        self, env: Environment | str, *, alternatives: int = 3, **options: Unpack[TaskOptions[DepsT]]
    ) -> Planned:
        """Reset the environment and plan once, as :meth:`arun` with the same seed does before its first step.

        No action is executed; model calls are paid for as in an episode, and the trace has no ``finished`` event.

        Args:
            env: The environment, or a task in words.
            alternatives: The most further paths to return beside the best one.
            options: See :class:`tape.agents.options.TaskOptions`; the budget is for planning and the path together.

        Returns:
            The path with its worst-case cost; false if there is none, with the reason.

        Raises:
            ConfigError: As :meth:`arun`; or the agent acts before it plans, or ``alternatives`` is negative.
            UnknownCostError: A hard cap on a resource whose cost is unknown.
        """
        self.require_plans()
        if alternatives < 0:
            raise ConfigError(f"alternatives= is a number of paths >= 0, not {alternatives}")
        require_known(options, TaskOptions)
        given = cast("dict[str, Any]", options)
        played = await self.environment_of(env, given)
        chosen = Options(**given)
        with self._opened(played, chosen) as episode:
            planning_round = OneRound(self._round_planner, alternatives)
            await play_to_end(episode, derive(chosen.seed, "environment"), planning_round.play)
        return planning_round.planned(episode)

    @classmethod
    def require_prompts(cls, config: TapeConfig, env: Environment, roles: RoleContext) -> None:
        """Refuse prompts without a needed role; plans and actions are not needed if the environment declares them."""
        forced, outcomes = config.resolved(env.domain).execution == "forced", env.domain.outcomes
        scored = config.scorer == "declared" or (outcomes is not None and not outcomes.voted)
        if not (forced and scored and config.proposer != "lm") or config.on_limit == "final_answer":
            super().require_prompts(config, env, roles)

    def require_plans(self) -> None:
        """Refuse to plan without acting if the agent cannot do so.

        Raises:
            ConfigError: Names the reason.
        """
        verifying = verifying_method(self.config)
        if verifying is not None:
            raise ConfigError(
                f"{verifying.name} verifies a path by queries, which are actions; plan without {verifying.name}"
            )

    def _round_planner(self, episode: Episode) -> RoundPlanner:
        actor = self.actor(episode)
        return self._programs(episode, actor) or self.planner(episode, actor)

    def _programs(self, episode: Episode, actor: PlannedActor) -> ProgramPlanner | None:
        if episode.config.ablations.score != "agreement":
            return None
        from tape.agents.programs import ProgramPlanner

        return ProgramPlanner(episode, actor, self.solver(episode))

    async def _play(self, episode: Episode) -> None:
        if self.config.ablations.replan_every_step:
            require_bounded(episode, "replan_every_step")
        actor = self.actor(episode)
        if (programs := self._programs(episode, actor)) is not None:
            await programs.play()
            return
        planner = self.planner(episode, actor)
        verification = self.verification(episode, planner, actor)
        executor = Executor(episode, actor, planner.memory, planner.selector, planner.costs, verification.monitor)
        await run(episode, verification.plan, partial(verification.follow, executor))

    def planner(self, episode: Episode, actor: PlannedActor) -> Planner:
        """The planning half of algorithm 1, with this agent's roles; ablations put others in their place."""
        switches, solver = self.config.ablations, self.solver(episode)
        roles = PlannerRoles(
            proposer=self.proposer(episode),
            world_model=self.world_model(episode),
            scorer=self.scorer(episode),
            actor=actor,
            solver=solver,
            selector=solver if switches.selector == "solver" else part(switches.selector).of(episode),
            costs=Costs(episode),
        )
        if self.config.costs == "expected":
            return ExpectedPlanner(episode, replace(roles, costs=ExpectedCosts(episode)))
        return Planner(episode, roles)

    def verification(self, episode: Episode, planner: Planner, actor: PlannedActor) -> Verification:
        """Decides whether a selected path may be committed to; by default every path may."""
        verifying = verifying_method(self.config)
        return Verification(planner) if verifying is None else verifying.verification(episode, planner, actor)

    def lm_world_model(self, episode: Episode) -> WorldModel:
        """P_theta with ``requery_threshold``; under verification the verifier decides what is possible."""
        threshold = self.config.ablations.requery_threshold if verifying_method(self.config) is None else ALWAYS
        return LmWorldModel(episode.roles, threshold)

    def actor(self, episode: Episode) -> PlannedActor:
        """pi_Act; its worst case is part of every edge's cost."""
        execution = episode.config.execution
        assert execution is not None, "the episode's configuration is resolved"
        return LmActor(episode.roles, execution, self.config.temperature)

    def solver(self, episode: Episode) -> Selector:
        """The solver, which selects the path and decides how far the graph grows."""
        config = self.config
        return SolverSelector(
            config.solver, config.ablations.discount, episode.deadline.left, cautious=config.ablations.cautious
        )


class TapeAllStepAgent(TapeAgent):
    """:class:`TapeAgent` with ``replan_every_step``: every step begins a new planning round.

    It takes what :class:`TapeAgent` takes.

    Raises:
        ConfigError: As there; or ``replan`` is off.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import TapeAllStepAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = TapeAllStepAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.steps, result.replans)
        success 6 5
    """

    name: ClassVar[str] = "tape_all_step"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """As TAPE with a round per step."""
        return super().most_lm_calls(cls.configure(config), steps, longest_plan)

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set ``replan_every_step``.

        Raises:
            ConfigError: Replanning is off.
        """
        return config.ablated(replan_every_step=True)

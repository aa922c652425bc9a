"""TAPE (algorithm 1): plan graph, solver, constrained execution, mismatch, replanning."""

from __future__ import annotations

from typing import ClassVar

from tape.aec.calibration import IsotonicCalibration
from tape.aec.controller import Controller
from tape.aec.gating import Gate, gate_of
from tape.aec.joint import JointSettings
from tape.aec.joint_gate import JointGate
from tape.aec.overrides import Overrides
from tape.aec.predictor import EnsemblePredictor, Predictor
from tape.agents.base import Episode
from tape.agents.lm_agent import LmAgent
from tape.agents.moves import require_bounded, start_replanning
from tape.agents.verifiable import require_predicates
from tape.config import AgentConfig
from tape.executor import Executor
from tape.planner import Planner
from tape.protocols import Actor, PlannedActor, Selector, WorldModel
from tape.roles.actor import MAX_RETRIES, LmActor
from tape.roles.selector import LmSelector, SolverSelector
from tape.roles.world_model import LmWorldModel


class TapeAgent(LmAgent):
    """Tool-guided adaptive planning with constrained execution."""

    name: ClassVar[str] = "tape"

    @classmethod
    def most_lm_calls(cls, config: AgentConfig, steps: int, longest_plan: int) -> int | None:
        """Every round takes at least one step, and samples, predicts and scores anew up to ``resample`` more times.

        Each sampling is one request for ``num_plans`` plans and up to ``extend`` requests for one more each; every
        predicted or observed state is scored at most once in an episode. Of ``verify="aec"`` no bound is known.
        """
        if config.verify != "none":
            return None
        rounds = 1 if not config.replan else steps if config.replan_every_step else min(steps, config.max_replans + 1)
        samplings = rounds * (1 + config.resample)
        states = samplings * (config.num_plans + config.extend) * longest_plan
        predictions = states * cls.most_calls_per_prediction(config)
        selections = samplings + rounds if config.selector == "lm" else 0
        # A fixed action can always be read; where the environment does not admit it, the episode ends.
        actions = {
            "forced": 0,
            "constrained": steps + MAX_RETRIES,
            "free": steps * cls.most_calls_per_step(config),
        }[config.execution]
        return samplings * (1 + config.extend) + predictions + states + steps + 1 + selections + actions

    async def _play(self, episode: Episode) -> None:
        config, result = self.config, episode.result
        if config.replan_every_step:
            require_bounded(episode, "replan_every_step")
        actor = self.actor(episode)
        planner = Planner(
            episode,
            proposer=self.proposer(episode),
            world_model=self.world_model(episode),
            scorer=self.scorer(episode),
            actor=actor,
            selector=self.selector(episode),
        )
        control = self._control(episode, planner, actor) if config.verify == "aec" else None
        executor = Executor(episode, actor, planner.memory, planner.reselect, control.monitor if control else None)
        limited = 0
        while True:
            planned = await (control or planner).plan()
            outcome = "refused"
            if planned is not None:
                result.partial_walk |= planned.partial
                outcome = await (control.followed(executor, planned) if control else executor.execute(planned))
            if not config.replan:
                return
            limited += outcome != "stepped"
            start_replanning(episode, outcome, limited)

    def _control(self, episode: Episode, planner: Planner, actor: Actor) -> Controller:
        gate = self.gate(episode)
        return Controller(episode, planner, actor, gate, self.predictor(episode) if gate.predicts else None)

    def gate(self, episode: Episode) -> Gate:
        """What to query and what to simulate (``verify="aec"``)."""
        config = episode.config
        if config.gate == "joint":
            settings = JointSettings(grounded=config.commit == "grounded", solver=config.solver)
            return JointGate(require_predicates(episode.env.domain), settings)
        return gate_of(config)

    def predictor(self, episode: Episode) -> Predictor:
        """f(p given w) (``verify="aec"``); asked for only where the gate needs it."""
        config = self.config
        calibration = IsotonicCalibration.from_json(config.calibration) if config.calibration else None
        rules = Overrides.from_json(config.learned_rules) if config.learned_rules else None
        return EnsemblePredictor(episode.roles, config.ensemble, episode.seed_for("predict"), calibration, rules)

    def lm_world_model(self, episode: Episode) -> WorldModel:
        """P_theta with second thoughts (``doubt``); under ``verify`` the verifier decides what is possible."""
        return LmWorldModel(episode.roles, 1.1 if self.config.verify == "aec" else self.config.doubt)

    def actor(self, episode: Episode) -> PlannedActor:
        """pi_Act; its worst case is part of every edge's cost."""
        return LmActor(episode.roles, self.config.execution, self.config.temperature)

    def selector(self, episode: Episode) -> Selector:
        """The solver, or the LM (the ablation)."""
        if self.config.selector == "lm":
            return LmSelector(episode.roles, self.config.temperature, episode.seed_for("select"))
        config = self.config
        return SolverSelector(config.solver, config.discount, episode.deadline.left, cautious=config.cautious)

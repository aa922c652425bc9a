"""TAPE (algorithm 1): plan graph, solver, constrained execution, mismatch, replanning."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.base import Episode
from tape.agents.lm_agent import LmAgent
from tape.agents.moves import require_bounded, start_replanning
from tape.executor import Executor
from tape.planner import Planner
from tape.protocols import PlannedActor, Selector
from tape.roles.actor import LmActor
from tape.roles.selector import LmSelector, SolverSelector


class TapeAgent(LmAgent):
    """Tool-guided adaptive planning with constrained execution."""

    name: ClassVar[str] = "tape"

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
        executor = Executor(episode, actor, planner.memory)
        limited = 0
        while True:
            planned = await planner.plan()
            result.partial_walk |= planned.partial
            outcome = await executor.execute(planned)
            if not config.replan:
                return
            limited += outcome != "stepped"
            start_replanning(episode, outcome, limited)

    def actor(self, episode: Episode) -> PlannedActor:
        """pi_Act; its worst case is part of every edge's cost."""
        return LmActor(episode.roles, self.config.execution, self.config.temperature)

    def selector(self, episode: Episode) -> Selector:
        """The solver, or the LM (the ablation)."""
        if self.config.selector == "lm":
            return LmSelector(episode.roles, self.config.temperature, episode.seed_for("select"))
        return SolverSelector(self.config.solver, self.config.discount)

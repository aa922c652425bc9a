"""One plan of a planning problem, sampled again with what an exact validator found wrong in it.

After LLM-Modulo (Kambhampati et al. 2024, arXiv 2402.01817), with the one critic that knows the rules. The words are
ours. The last plan is executed, right or wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from envs.pddl.domain import PddlDomain
from envs.pddl.state import as_state
from tape import OpenLoopAgent
from tape.engine.compare import end_if_broken
from tape.engine.episode import Episode
from tape.engine.sample import require_read, sample_plans_from
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError

ROUNDS = 8
"""Plans that are sampled at most."""


class ValidatedPlanAgent(OpenLoopAgent):
    """Samples a plan, up to eight times, until the validator finds nothing wrong; then executes it."""

    name: ClassVar[str] = "validated_plan"

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One plan a round."""
        del config, steps, longest_plan
        return ROUNDS

    async def _play(self, episode: Episode) -> None:
        domain, proposer = episode.env.domain, self.proposer(episode)
        if not isinstance(domain, PddlDomain):
            raise ConfigError(f"validated_plan plays planning problems, not {type(domain).__name__}")
        told = start = as_state(episode.state)
        for number in range(ROUNDS):
            seed = episode.seed_for("plans", number, 0)
            [[plan]] = await sample_plans_from(episode, proposer, [(told, episode.remaining())], 1, seed)
            wrong = domain.task.follow(start, list(map(domain.parse, plan.actions))).refused
            if not wrong:
                break
            told = replace(start, note=f"this plan is wrong: {'; '.join(plan.actions)}. Why: {wrong}")
        require_read(episode, [plan])
        for done, action in enumerate(plan.actions, 1):
            before = episode.state
            await episode.step(action, planned=action, rest=plan.actions[done:])
            end_if_broken(episode, before)

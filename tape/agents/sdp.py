"""SDP: what should be true next, realized, validated and certified; with TAPE's walk and AEC's verifier where asked."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tape.agents.base import Episode, EpisodeEnded
from tape.agents.tape_agent import TapeAgent
from tape.config import AgentConfig
from tape.errors import ConfigError
from tape.planner import Planner
from tape.sdp.adapter import Adapter, Caps, Tools, require_adapter
from tape.sdp.always import AlwaysPass
from tape.sdp.loop import Loop, Watch
from tape.sdp.operators import Operators
from tape.sdp.sample import SampleChain
from tape.sdp.walk import WalkChain
from tape.sdp.writing import WritingRealize


class SdpAgent(TapeAgent):
    """State-Centric Decision Process.

    With ``chain="walk"`` the chain is the walk that the solver picks on the plan graph (SDP x TAPE), with
    ``verify="aec"`` one that the grounded verifier accepts (SDP x TAPE x AEC); with ``chain="sample"`` it comes from
    one plan of the model, with ``chain="adapter"`` from the environment's own operators (SDP as in the paper).
    """

    name: ClassVar[str] = "sdp"
    needs_adapter: ClassVar[bool] = True

    @classmethod
    def configure(cls, config: AgentConfig) -> AgentConfig:
        """Refuse a verifier where no walk is committed to.

        Raises:
            ConfigError: ``verify`` without ``chain="walk"``.
        """
        if config.verify == "aec" and config.chain != "walk":
            raise ConfigError(f"verify='aec' commits to walks, so it needs chain='walk', not {config.chain!r}")
        return config

    @classmethod
    def most_lm_calls(cls, config: AgentConfig, steps: int, longest_plan: int) -> int | None:
        """No bound is known: validators may ask the model too."""
        del config, steps, longest_plan
        return None

    async def _play(self, episode: Episode) -> None:
        adapter = require_adapter(episode.env.domain)
        operators, watch = self._operators(episode, adapter)
        if self.config.validation == "always":
            operators = replace(operators, validate=AlwaysPass(adapter))
        loop = Loop(episode, adapter, operators, self._caps(adapter), watch)
        try:
            await loop.run()
        except EpisodeEnded as end:
            # As for TAPE with the verifier: a committed walk that the environment ends in failure was infeasible.
            failed = self.config.verify == "aec" and end.end_state == "failure" and not end.limit
            episode.result.infeasible_commitments += failed
            raise

    def _operators(self, episode: Episode, adapter: Adapter) -> tuple[Operators, Watch | None]:
        config, domain = self.config, episode.env.domain
        tools = Tools(episode.roles, config, lambda *parts: episode.seed_for("sdp", *parts))
        if config.chain == "adapter":
            own = adapter.operators(tools)
            if own is None:
                raise ConfigError(f"{type(domain).__name__} has no operators of its own; use chain='walk' or 'sample'")
            return own, None
        actor, validate = self.actor(episode), adapter.validator(tools)
        realize = WritingRealize(domain, actor, tools.seed, invents=config.chain == "sample")
        if config.chain == "sample":
            sample = SampleChain(domain, adapter, self.proposer(episode), self.world_model(episode), tools.seed)
            return Operators(sample, realize, validate, sample), None
        planner = Planner(
            episode,
            proposer=self.proposer(episode),
            world_model=self.world_model(episode),
            scorer=self.scorer(episode),
            actor=actor,
            selector=self.selector(episode),
        )
        control = self._control(episode, planner, actor) if config.verify == "aec" else None
        walk = WalkChain(episode, adapter, planner, control)
        return Operators(walk, realize, validate, walk), walk

    def _caps(self, adapter: Adapter) -> Caps:
        """The environment's caps, with the switches before them.

        On a walk one failed attempt at an edge is enough: the edge is refuted, and the graph may know another way. So
        that a predicate gets as many attempts in all, it may then be replanned more often.
        """
        config, own = self.config, adapter.caps
        attempts, replans = own.attempts, own.replans
        if config.chain == "walk" and config.attempts is None:
            attempts, replans = 1, own.attempts * (own.replans + 1) - 1
        return Caps(
            config.attempts or attempts,
            replans if config.target_replans is None else config.target_replans,
            config.step_cap or own.steps,
        )

"""SDP: certified subgoal chains, alone, on TAPE's path, or with AEC's verifier."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tape.agents.tape import TapeAgent
from tape.engine.context import RoleContext
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.settings import TapeConfig
from tape.engine.verification import verifying_method
from tape.errors import ConfigError
from tape.methods.sdp.adapter import Adapter, Caps, Foresees, PreparingAdapter, SdpEnvironment, Tools
from tape.methods.sdp.loop import Loop
from tape.methods.sdp.operators import Check, Operators, Outcome, Verdict
from tape.methods.sdp.path import PathChain, SampleChain
from tape.methods.sdp.settings import SdpSettings
from tape.methods.sdp.target import Chain
from tape.methods.sdp.tool_adapter import ToolAdapter
from tape.methods.sdp.writing import WritingRealize
from tape.protocols import Environment
from tape.seeds import derive
from tape.tools.domain import ToolDomain


class SdpAgent(TapeAgent):
    """State-Centric Decision Process.

    With ``chain="walk"`` the chain is the path that the solver selects on the plan graph (SDP x TAPE); with ``aec``
    settings the grounded verifier has to accept it (SDP x TAPE x AEC). With ``chain="sample"`` it is one plan of the
    model; with ``chain="adapter"`` the environment's own operators make it (SDP as in the paper).

    Args:
        model: A model, or its name as :func:`tape.open_model` takes it.
        config: The settings; or give them as keyword arguments.
        prices: As for :class:`~tape.TapeAgent`.
        settings: Fields of :class:`~tape.TapeConfig`, ``sdp`` (:class:`~tape.SdpSettings`) and ``aec``.

    Raises:
        ConfigError: The settings contradict each other; when it is run, the environment has no adapter
            (docs/reference/methods/sdp.md).
        UnknownNameError: There is no such model.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import SdpAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = SdpAgent("bundled:nano").run(env)
        >>> print(result.end_state, result.method["certified"], result.method["goal_certified"])
        success 6 True
    """

    name: ClassVar[str] = "sdp"
    methods: ClassVar[tuple[str, ...]] = ("sdp",)
    replaceable: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Add the default settings, and refuse a verifier without paths.

        Raises:
            ConfigError: A method that verifies, without ``chain="walk"``; or single predicates, of another chain than a
                sampled one.
        """
        settings = SdpSettings.find(config) or SdpSettings()
        verifying = verifying_method(config)
        if verifying is not None and settings.chain != "walk":
            raise ConfigError(f"{verifying.name} commits to paths, so it needs chain='walk', not {settings.chain!r}")
        if settings.grain != "edge" and settings.chain != "sample":
            raise ConfigError(f"grain={settings.grain!r} is for chain='sample', not {settings.chain!r}")
        return config.using("sdp", settings)

    @classmethod
    def require(cls, config: TapeConfig, env: Environment) -> None:
        """Also refuse an environment without an adapter.

        Raises:
            ConfigError: The environment lacks something that the settings need.
        """
        super().require(config, env)
        require_adapter(env)

    @classmethod
    def require_prompts(cls, config: TapeConfig, env: Environment, roles: RoleContext) -> None:
        """Require the prompts of the settings; the environment's own operators need none for plans.

        Raises:
            ConfigError: Prompts, or own operators for this model, are missing.
        """
        if SdpSettings.of(config).chain != "adapter" or config.on_limit == "final_answer":
            super().require_prompts(config, env, roles)
        if SdpSettings.of(config).chain == "adapter":
            _own_operators(env, Tools(roles, config, lambda *parts: derive(0, *parts)))

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """None: validators may call the model too, so no bound is known."""
        del config, steps, longest_plan
        return None

    def require_plans(self) -> None:
        """Also refuse chains that do not come from the plan graph.

        Raises:
            ConfigError: The chain does not.
        """
        super().require_plans()
        chain = SdpSettings.of(self.config).chain
        if chain != "walk":
            raise ConfigError(f"chain={chain!r} plans without the plan graph; plan with chain='walk'")

    async def _play(self, episode: Episode) -> None:
        adapter = require_adapter(episode.env)
        operators, path = self._operators(episode, adapter)
        settings = SdpSettings.of(self.config)
        if settings.validation == "always":
            operators = replace(operators, validate=AlwaysPass(adapter))
        loop = Loop(episode, adapter, operators, caps_of(settings, adapter.caps), path)
        try:
            await loop.run()
        except EpisodeEnded as end:
            if path is not None:
                path.ended(end)
            raise

    def _operators(self, episode: Episode, adapter: Adapter) -> tuple[Operators, PathChain | None]:
        config, domain = self.config, episode.env.domain
        chain = SdpSettings.of(config).chain
        tools = Tools(episode.roles, config, lambda *parts: episode.seed_for("sdp", *parts))
        if chain == "adapter":
            return _own_operators(episode.env, tools), None
        actor, validate = self.actor(episode), adapter.validator(tools)
        foresees = adapter if isinstance(adapter, Foresees) else None
        realize = WritingRealize(domain, actor, tools, invents=chain == "sample", foresees=foresees)
        if chain == "sample":
            single = SdpSettings.of(config).grain == "predicate"
            roles = self.proposer(episode), self.world_model(episode)
            sample = SampleChain(domain, adapter, *roles, tools.seed, single=single)
            return Operators(sample, realize, validate, sample), None
        planner = self.planner(episode, actor)
        path = PathChain(episode, adapter, planner, self.verification(episode, planner, actor))
        return Operators(path, realize, validate, path), path


def _own_operators(env: Environment, tools: Tools) -> Operators:
    own = require_adapter(env).operators(tools)
    if own is None:
        raise ConfigError(
            f"chain='adapter': {type(env).__name__} has no operators of its own for a model that reads "
            f"{tools.roles.lm.prompt_format!r} prompts; use another model, or chain='walk' or 'sample'"
        )
    return own


def caps_of(settings: SdpSettings, own: Caps) -> Caps:
    """The caps of an episode: the environment's, overridden by the settings.

    On a path one failed attempt contradicts an edge, and the graph may hold another path. The cap on replans is raised
    accordingly, so that the number of attempts at a predicate stays the same.
    """
    attempts, replans = own.attempts, own.replans
    if settings.chain == "walk" and settings.attempts is None:
        attempts, replans = 1, own.attempts * (own.replans + 1) - 1
    return Caps(
        settings.attempts or attempts,
        replans if settings.target_replans is None else settings.target_replans,
        settings.step_cap or own.steps,
    )


def require_adapter(env: Environment) -> Adapter:
    """The environment's own adapter, or else the one for environments of tools.

    Raises:
        ConfigError: The environment has none.
    """
    if isinstance(env, SdpEnvironment):
        return env.sdp()
    if isinstance(env.domain, ToolDomain):
        return ToolAdapter(env.domain)
    raise ConfigError(
        f"the agent sdp needs an environment with an adapter, and {type(env).__name__} has none: use another "
        "agent, for instance tape, or give it one (tape.methods.sdp.adapter."
        "SdpEnvironment, docs/reference/methods/sdp.md)"
    )


class AlwaysPass:
    """VALIDATE of the ablation (SDP section 4.3): certifies the current target without a check.

    With the last one it certifies a goal that has no action of its own, too.

    Args:
        adapter: The environment's adapter; actions that only prepare an attempt certify nothing.
    """

    def __init__(self, adapter: Adapter | None = None) -> None:
        self._adapter = adapter

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """K = 1, or 2 if the second target is a goal without an action."""
        if isinstance(self._adapter, PreparingAdapter) and self._adapter.prepares(outcome.action):
            return Verdict((), "it only prepares an attempt", counts=False)
        k = 2 if len(tail) > 1 and tail[1].goal and tail[1].by is None else 1
        return Verdict(tuple(Check(True, "always", "not validated") for _ in range(k)))

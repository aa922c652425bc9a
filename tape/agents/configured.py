"""What an agent is before it plays: its name, its switches, and what it asks of a model and of an environment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, cast

from tape.agents.declared import require_declared_scores, require_plans_declared
from tape.agents.final_answer import require_answers_taken
from tape.agents.options import DepsT, TaskTools
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.engine.verification import verifying_method
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.lm.price_table import Prices
from tape.lm.priced import priced
from tape.lm.registry import open_model
from tape.plugins import load, load_proposer, names
from tape.protocols import AnswerT, Environment
from tape.protocols.environment import require_environment
from tape.protocols.method import method

if TYPE_CHECKING:
    from tape.agents.tasks import TaskMaker
    from tape.tools.tool import Tool


class AgentBase(Generic[DepsT, AnswerT]):
    """See :class:`tape.agents.base.Agent`."""

    name: ClassVar[str] = ""
    methods: ClassVar[tuple[str, ...]] = ()
    """The names of the methods whose settings it uses; methods that verify are not listed."""
    verifies: ClassVar[bool] = False
    """Whether a method may verify its paths (:class:`tape.engine.verification.VerifyingMethod`)."""
    searches: ClassVar[bool] = False
    """Whether it searches a corpus (:class:`tape.protocols.search.SearchTask`); it then plays nothing else."""
    replaceable: ClassVar[tuple[str, ...]] = ()
    """The parts that :class:`tape.Ablations` may replace in it."""

    def __init__(
        self,
        model: LanguageModel | str,
        config: TapeConfig | None = None,
        *,
        prices: Prices | None = None,
        tools: Sequence[Tool[DepsT]] | None = None,
        deps_type: type[DepsT] | None = None,
        answer: type[AnswerT] | None = None,
        **settings: Any,
    ) -> None:
        told = {name: settings.pop(name) for name in TaskTools.__annotations__ if name in settings}
        self.tasks: TaskMaker[DepsT, AnswerT] | None = None
        if tools is not None:
            from tape.agents.tasks import TaskMaker

            self.tasks = TaskMaker(tools, deps_type, answer, cast("TaskTools", told))
        elif deps_type is not None or answer is not None or told:
            given = [*told, *(["deps_type"] if deps_type else []), *(["answer"] if answer else [])]
            raise ConfigError(f"{', '.join(given)}: for tasks in words, which need tools=[...]")
        if config is not None and settings:
            raise ConfigError(f"give either config or single settings, not both: {', '.join(settings)}")
        self.config = self.resolve(config or TapeConfig.make(**settings))
        if isinstance(model, str):
            model = open_model(model, prices)
        elif prices is not None:
            model = priced(model, model.name, prices)
        self.model = model

    @classmethod
    def resolve(cls, config: TapeConfig) -> TapeConfig:
        """The configuration as this agent plays it.

        Raises:
            ConfigError: It has settings of a method that this agent does not use, or contradicts the agent.
        """
        for used in map(method, config.methods):
            if used.name not in cls.methods and not (cls.verifies and used.verifies):
                raise ConfigError(
                    f"settings of {used.name} mean nothing to the agent {cls.name!r}: leave them out, or take an agent "
                    f"that they are for ({used.chosen_by})"
                )
        parts = (("selector", config.ablations.selector, "solver"), ("costs", config.costs, "declared"))
        for name, value, usual in parts:
            if value != usual and name not in cls.replaceable:
                raise ConfigError(
                    f"{name}={value!r} means nothing to the agent {cls.name!r}: leave it out, or take 'tape'"
                )
        return cls.configure(config)

    @classmethod
    def require(cls, config: TapeConfig, env: Environment) -> None:
        """Refuse an environment that lacks what a configuration needs; called before anything is spent.

        Raises:
            ConfigError: Names what it lacks.
        """
        require_environment(env)
        if not cls.searches and env.domain.search_task is not None:
            raise ConfigError(
                f"{type(env).__name__} is a corpus to be searched, which the agent {cls.name!r} cannot; take --agent "
                + " or ".join(name for name in names("tape.agents") if load("tape.agents", name).searches)
            )
        require_answers_taken(config, env)
        verifying = verifying_method(config)
        if verifying is not None:
            verifying.require(env.domain)
        if config.proposer not in ("lm", "declared"):
            load_proposer(config.proposer)(env.domain)
        if config.proposer == "declared":
            require_plans_declared(env.domain)
        if config.scorer == "declared":
            require_declared_scores(env.domain)

    @classmethod
    def require_context_budget(
        cls, config: TapeConfig, tasks: Iterable[tuple[str, Environment]], model: LanguageModel
    ) -> None:
        """Refuse a context window that does not do for all of some tasks; asked before anything is spent.

        Args:
            config: Resolved.
            tasks: Their environments, by their names.
            model: Counts the tokens.

        Raises:
            ConfigError: Names the task that needs most.
        """
        del config, tasks, model

    @classmethod
    def require_prompts(cls, config: TapeConfig, env: Environment, roles: RoleContext) -> None:
        """Refuse a model whose prompts lack what a configuration needs; called before anything is spent.

        Raises:
            ConfigError: Names what they lack.
        """
        del config, env
        if instead := roles.prompt_format.instead:
            raise ConfigError(f"the prompts that {roles.lm.name} reads here ask for no plans and no actions: {instead}")

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set or refuse the switches that the agent's name already decides.

        Raises:
            ConfigError: A switch contradicts the agent.
        """
        return config

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int | None:
        """An upper bound on the LM requests of one episode; None if none is known.

        Requests that a backend repeats are not counted, nor are the samples of one request.

        Args:
            config: The switches.
            steps: Most environment steps of the episode.
            longest_plan: Most actions of a sampled plan.
        """
        del config, steps, longest_plan
        return None

    def describe(self, config: TapeConfig | None = None) -> dict[str, Any]:
        """Name, model and switches, for traces; ``config`` are the switches of an episode, by default those given."""
        return {"agent": self.name, "model": self.model.name, **(config or self.config).model_dump()}

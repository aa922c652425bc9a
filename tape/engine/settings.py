"""Every switch of the agents, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails

from tape.approval.forbid import Destructive
from tape.budget import Budget, kind_of
from tape.engine.ablations import MOST, PAPER, Ablations
from tape.errors import ConfigError
from tape.plugins import METHODS, PROPOSERS, names
from tape.protocols import Domain
from tape.protocols.method import MethodSettings, method
from tape.reading import short

Execution = Literal["constrained", "forced", "free"]


class TapeConfig(BaseModel):
    """Settings of an agent; part of an episode's key. Help and docs/reference/engine.md repeat what each field says.

    ``ablations`` holds what only studies vary. ``methods`` holds the settings of the methods in use
    (:mod:`tape.protocols.method`) by their names; in :meth:`make` and in files each is given under its own name: an
    object of its class, a mapping of its fields, or True for its defaults.

    Examples:
        >>> from tape import ReactAgent, TapeConfig
        >>> config = TapeConfig.make(num_plans=8, temperature=0.5)
        >>> ReactAgent("bundled:nano", config).config.num_plans
        8
        >>> TapeConfig.make(ablations={"extend": 0}) == TapeConfig.make()
        False
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_plans: int = Field(default=4, ge=1, le=4096, description="M, plans sampled in each planning round")
    temperature: float = Field(
        default=0.3, ge=0, le=1000, description="sampling temperature of plans and of free actions"
    )
    horizon: int | None = Field(
        default=None, ge=1, le=MOST, description="L_max, most moves of an episode (default: the budget decides)"
    )
    solver: str = Field(default="labelling", description="the exact solver, see `tape solvers`")
    execution: Execution | None = Field(
        default=None,
        description="constrained: the model writes the step with its action fixed; forced: no call for a planned "
        "action; free: the step is a hint (ablation; default: forced where outcomes are declared, as for tools; else "
        "constrained)",
    )
    parallel: int = Field(
        default=1,
        ge=1,
        le=4096,
        description="most actions of a path at once, where the environment can: those that change nothing begin when "
        "the results that they name are there; under wall_seconds the rest of a path must end in time by the declared "
        "seconds",
    )
    max_replans: int | None = Field(
        default=None, ge=0, le=MOST, description="most replanning rounds (default: one a step allowed, at least 10)"
    )
    on_infeasible: Literal["partial", "stop", "budget"] | None = Field(
        default=None,
        description="where no complete plan fits, follow the best partial path, or stop and say what would do; budget: "
        "stop where a plan reaches the goal and only the budget is short, else follow it (default: budget for tools "
        "and in deterministic worlds, else partial)",
    )
    world_model: Literal["lm", "simulator", "copy"] = Field(
        default="lm",
        description="simulator: the exact world model, an upper bound that is labelled everywhere; copy: the actions "
        "themselves, made on copies of what they change",
    )
    costs: Literal["declared", "expected"] = Field(
        default="declared",
        description="what plans count with; every step must still fit at its declared worst case. expected: what "
        "actions take on the average, as declared or as seen, with the probability that the rest fits",
    )
    scorer: Literal["lm", "declared"] = Field(
        default="lm",
        description="declared: predicted states are scored by what the environment declares, without a call",
    )
    destructive: Destructive = Field(
        default="allow",
        description="which destructive actions may be done; what may be done is still asked about where approve= is "
        "given. refuse: none; planned: those in a plan of the first sampling, each as often as there",
    )
    planning_reserve: dict[str, int] = Field(
        default_factory=dict, description="counts kept back for later planning calls, for instance tokens=500"
    )
    no_repeat: bool = Field(
        default=False, description="keep free choices from repeating an action in an identical state, where prompts can"
    )
    on_limit: Literal["stop", "final_answer"] = Field(
        default="stop",
        description="at a limit stop, or spend a call kept back on an answer, where the environment takes one",
    )
    proposer: str = Field(
        default="lm",
        description="who samples plans. declared: the exact search of an environment that has one; two_frontier: a "
        "search through declared predicates; planner:NAME: a planner, for pddl; none of them asks the model",
    )
    ablations: Ablations = Field(default_factory=Ablations)
    methods: dict[str, SerializeAsAny[MethodSettings]] = Field(default_factory=dict)

    @classmethod
    def make(cls, **settings: Any) -> TapeConfig:
        """Build a configuration.

        Raises:
            ConfigError: Names the setting, its value and what is allowed.
        """
        try:
            return cls(**settings)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            if first["type"] == "extra_forbidden":
                raise ConfigError(_unknown(where)) from None
            text = str(first["msg"]).removeprefix("Value error, ")
            value = "" if isinstance(first["input"], Mapping) else f" = {short(first['input'])}"
            raise ConfigError(f"setting {where}{value}: {text}" if where else text) from None

    @classmethod
    def paper(cls, **more: Any) -> TapeConfig:
        """TAPE of the paper (:data:`tape.engine.ablations.PAPER`); ``more`` are further settings.

        Raises:
            ConfigError: As for :meth:`make`.
        """
        return cls.make(**{"ablations": PAPER, **more})

    def resolved(self, domain: Domain) -> TapeConfig:
        """These settings, with every None replaced by the default of the domain.

        Domains with declared outcomes default to ``forced``: a planned call is already written, so another request
        would only cost; all others to ``constrained``. Those without partial credit
        (:class:`~tape.protocols.parts.Progress`) default to ``budget``, since a chain of calls that ends short of the
        answer has no use where another one reaches it; all others to :attr:`tape.protocols.Domain.on_infeasible`.

        Plans are ``distinct`` by default, except in domains with declared outcomes, where the number of equal plans
        counts, and where unseen things are hypothesised, since plans already differ in what they assume.
        """
        mine = self.ablations
        tools = domain.outcomes is not None and domain.progress is None
        independent = domain.outcomes is not None or domain.hooks.unseen
        plain = (self.world_model, mine.selector, self.costs, self.proposer, self.scorer)
        agree = domain.programs is not None and not self.methods and self.execution in (None, "forced")
        agree = agree and plain == ("lm", "solver", "declared", "lm", "lm")
        if mine.score == "agreement" and not agree:
            raise ConfigError(
                "score='agreement' compares programs: use it with tools, and with the defaults of "
                "world_model, selector, costs, proposer, scorer and execution"
            )
        ablations = {
            "score": mine.score or ("agreement" if agree else "ends"),
            "sampling": mine.sampling or ("independent" if independent else "distinct"),
        }
        changes = {
            "execution": self.execution or ("constrained" if domain.outcomes is None else "forced"),
            "on_infeasible": self.on_infeasible or ("budget" if tools else domain.on_infeasible),
            "ablations": mine.model_copy(update=ablations),
        }
        return self.model_copy(update=changes)

    def ablated(self, **ablations: Any) -> TapeConfig:
        """This configuration with some ablations changed.

        Raises:
            ConfigError: As for :meth:`make`.
        """
        return TapeConfig.make(**{**self.model_dump(), "ablations": {**self.ablations.model_dump(), **ablations}})

    @field_validator("planning_reserve")
    @classmethod
    def _reserve_is_a_budget(cls, reserve: dict[str, int]) -> dict[str, int]:
        for kind in reserve:
            kind_of(kind)
        return dict(Budget(reserve))

    @field_validator("proposer")
    @classmethod
    def _proposer_is_known(cls, name: str) -> str:
        if name not in ("lm", "declared") and name.partition(":")[0] not in (known := names(PROPOSERS)):
            raise ValueError(f"there is no such proposer; there are {', '.join(('lm', 'declared', *known))}")
        return name

    def using(self, name: str, settings: MethodSettings) -> TapeConfig:
        """This configuration with other settings of a method."""
        return self.model_copy(update={"methods": {**self.methods, name: settings}})

    @model_validator(mode="before")
    @classmethod
    def _methods_have_names(cls, given: Any) -> Any:
        """Read a value under the name of a method as its settings."""
        if not isinstance(given, Mapping) or given.keys() <= cls.model_fields.keys():
            return given
        known = names(METHODS)
        own = {name: value for name, value in given.items() if name not in known}
        methods = {name: settings_of(name, value) for name, value in given.items() if name in known}
        used = {name: settings for name, settings in methods.items() if settings is not None}
        return {**own, "methods": {**own.get("methods", {}), **used}}

    @model_serializer(mode="wrap")
    def _under_their_names(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        methods = fields.pop("methods", {})
        return {**fields, **methods}

    @model_validator(mode="after")
    def _is_consistent(self) -> TapeConfig:
        if self.parallel > 1 and self.costs != "declared":
            raise ValueError("parallel pays for actions before their turn at their worst, so it needs costs='declared'")
        if self.parallel > 1 and self.execution == "free":
            raise ValueError("parallel begins planned actions before their turn, so it contradicts execution='free'")
        if self.scorer == "declared" and self.ablations.goal_test == "lm":
            raise ValueError("goal_test='lm' uses the model's score, so it contradicts scorer='declared'")
        if self.costs == "expected" and self.ablations.selector != "solver":
            raise ValueError("costs='expected' weighs the solver's paths by means, so no selector may take its place")
        for name in self.methods:
            method(name).check(self)
        return self


def settings_of(name: str, given: Any) -> MethodSettings | None:
    """The settings of a method from what a configuration gives; None if that switches the method off.

    Raises:
        ValidationError: Names the setting after the method's name.
    """
    if given is None or given is False:
        return None
    try:
        return method(name).settings.model_validate({} if given is True else given)
    except ValidationError as error:
        lines: list[InitErrorDetails] = [
            {
                "type": details["type"],
                "loc": (name, *details["loc"]),
                "input": details["input"],
                "ctx": details.get("ctx", {}),
            }
            for details in error.errors()
        ]
        raise ValidationError.from_exception_data(TapeConfig.__name__, lines) from None


def _unknown(where: str) -> str:
    """The message about a setting that does not exist, by its dotted name."""
    holder, _, name = where.rpartition(".")
    if not holder:
        for known in names(METHODS):
            if name in method(known).settings.model_fields:
                return f"{name} is a setting of {known}: give {known}={{{name!r}: ...}}"
    if not holder and name in Ablations.model_fields:
        return f"{name} is an ablation: give ablations={{{name!r}: ...}}"
    owner = Ablations if holder == "ablations" else method(holder).settings if holder else TapeConfig
    fields = owner.model_fields
    near = get_close_matches(name, fields, n=1)
    return f"there is no setting {where!r}" + (f"; did you mean {near[0]!r}?" if near else "")

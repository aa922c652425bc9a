"""Every switch of the agents, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tape.budget import Budget, kind_of
from tape.errors import ConfigError
from tape.plugins import METHODS, load
from tape.protocols import Domain
from tape.reading import short

METHOD_FIELDS = ("aec", "sdp", "cgdp")
"""The fields of :class:`TapeConfig` that hold settings of a method."""

MOST = 10**9
"""Largest number of moves, rounds and samplings, where nothing smaller is the limit."""

LM_ROLES = {"costs": "cost", "projector": "merge"}
"""The switches that give the model a role which not every prompt format has, and the role."""

Execution = Literal["constrained", "forced", "free"]

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "sampling": "independent",
        "extend": 0,
        "doubt": 0.0,
        "cautious": False,
        "score": "argmax",
        "probe": False,
        "reselect": False,
        "mismatch": "exact",
    }
)
"""TAPE as the paper has it (algorithm 1): every addition of this engine switched off. With them it is called TAPE+.

Costs, goal test and projection stay declared; in the paper the model has these parts as well (``costs``, ``goal_test``,
``projector``).
"""


class MethodSettings(BaseModel):
    """Base of the settings that a method adds to the engine's, as AEC, SDP and CGDP do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def of(cls, config: TapeConfig) -> Self:
        """These settings in a configuration.

        Raises:
            ConfigError: It has none.
        """
        for found in (config.aec, config.sdp, config.cgdp):
            if isinstance(found, cls):
                return found
        raise ConfigError(f"the configuration holds no {cls.__name__}")


@dataclass(frozen=True)
class Method:
    """What is registered in the entry-point group ``tape.methods``.

    Attributes:
        name: The field of :class:`TapeConfig` that holds its settings.
        settings: Their class.
    """

    name: str
    settings: type[MethodSettings]


def method(name: str) -> Method:
    """A method by name.

    Raises:
        UnknownNameError: None of that name is installed.
    """
    found: Method = load(METHODS, name)
    return found


class TapeConfig(BaseModel):
    """Settings of an agent; part of an episode's key.

    Attributes:
        num_plans: M, plans sampled at each (re)planning.
        temperature: Sampling temperature of plans and of free actions.
        sampling: ``independent``: each plan is drawn for itself, so that many may be the same; ``distinct``: the plans
            of one sampling are drawn without replacement, by stochastic beam search, at the same cost in tokens, where
            the model can (:attr:`tape.lm.base.Request.distinct`). None is settled by the domain (:meth:`settled`).
        horizon: L_max, most moves of an episode; None lets the budget alone decide.
        discount: In (0, 1]; see ``solvers.PathProblem``.
        solver: Name of a solver, see ``tape solvers``.
        selector: Who selects on the plan graph: ``solver``; ``lm`` (ablation: the model picks one of the graph's paths,
            shown with scores and costs); ``best_plan`` (ablation: the best single plan that fits, none recombined). How
            far the graph grows is the solver's to say under all three, so that all select on the same graph.
        execution: ``constrained`` decodes the step with its action fixed; ``forced`` makes no call
            because the only admissible output is known; ``free`` shows the step as a hint (ablation). None is settled
            by the domain (:meth:`settled`).
        replan: False: no mismatch check, and the episode ends with the path (ablation).
        replan_every_step: Plan again after every step even without a mismatch (ablation).
        reselect: Where a step has used less than its worst case, select the rest of the path anew on the same graph:
            what was saved may pay for something better. No model is asked.
        mismatch: What ends a path: ``exact``, an observed state that is not the predicted one (the paper's test);
            ``needed``, one that lacks what the rest of the path rests on, as the environment says
            (:class:`tape.protocols.parts.MismatchTest`). None is decided by the domain (:meth:`settled`).
        max_replans: Most replanning rounds, mismatches and ended paths together.
        resample: Most further samplings in a row when no path is feasible.
        extend: Most further plans of a planning round, sampled from inside the plan graph, nearest nodes first,
            while the best path does not end at a node scored as a goal; 0 takes that path at once.
        doubt: An action that the world model calls invalid with less probability than this is predicted once
            more, as if it were valid, and kept as an edge of low confidence; 0 believes the first answer. Like
            ``cautious`` without effect where a whole rollout is one answer (``PromptFormat.rollout_request``).
        cautious: Follow a path of confident predictions where one reaches a goal, before any other path.
        on_infeasible: Where no path to an end fits: follow the best ``partial`` path, or ``stop`` and say what would
            do. None is settled by the domain (:meth:`settled`).
        probe: Where not even a partial path is left, try the most sampled first action although the world
            model calls it invalid: its verdict is only a prediction, and giving up is certain to fail.
        score: ``argmax`` gives a node the value of the most probable score; ``expected`` the mean over the
            scores' probabilities (TAPE section 3.1). Small differences between expected scores make it
            worth a path's while to dither, hence not the default: ``ends`` is ``argmax``, but the open end of
            a plan gets its mean, so that of several paths without a goal the most promising one is followed.
        world_model: ``lm``, or ``simulator`` (an upper bound, labelled as such everywhere).
        costs: What the edges of the plan graph cost: the ``declared`` worst case; or what the ``lm`` predicts (C_theta
            of TAPE section 3.1), never more than that. Predictions change what is selected, not what is executed: every
            step still reserves its declared worst case, and where that no longer fits, it is planned again.
        goal_test: Who says which predicted states reach the goal, where the environment declares a test
            (:class:`tape.protocols.parts.GoalTest`): the ``declared`` one; or the ``lm`` alone by its score
            (R_theta), as everywhere else. Best-of-N keeps to it too.
        scorer: Who scores predicted states: the ``lm`` (R_theta); or what is ``declared``, without a call
            (:class:`tape.engine.scorer.DeclaredScorer`).
        projector: Which states are one node: those of the same ``declared`` key; or also those that the ``lm`` takes
            for the same (f_theta of TAPE section 3.1). Merging, selection and the mismatch check keep to it.
        planning_reserve: Counts per resource kept back for later planning calls.
        no_repeat: A free choice may not repeat an action that was taken in an identical state before, in domains whose
            prompts can leave actions out (:class:`tape.protocols.parts.Choices`).
        on_limit: At a budget, the horizon, the replanning limit, or where no path is left: ``stop`` with the partial
            episode, or spend one last call, kept back from the start, on a ``final_answer``.
        proposer: ``lm``; or ``declared``, the exact search of a domain that has one
            (:class:`tape.protocols.parts.ExactPlanner`); or ``two_frontier``: plans come from SQ-BCP's search
            (:mod:`tape.aec.two_frontier`) on environments that declare predicates; the model still does all the rest.
        aec: Settings of verification (:class:`tape.aec.settings.AecSettings`, or a mapping of its fields; True for its
            defaults): commit only to paths that grounded evidence certifies. None: no verification.
        sdp: Settings of the agent ``sdp`` (:class:`tape.sdp.settings.SdpSettings`, or a mapping); None for all others.
        cgdp: Settings of search agents (:class:`tape.cgdp.settings.CgdpSettings`, or a mapping); None for all others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_plans: int = Field(default=4, ge=1, le=4096)
    temperature: float = Field(default=0.3, ge=0, le=1000)
    sampling: Literal["independent", "distinct"] | None = None
    horizon: int | None = Field(default=None, ge=1, le=MOST)
    discount: float = Field(default=1.0, gt=0, le=1)
    solver: str = "labelling"
    selector: Literal["solver", "lm", "best_plan"] = "solver"
    execution: Execution | None = None
    replan: bool = True
    replan_every_step: bool = False
    reselect: bool = True
    mismatch: Literal["needed", "exact"] | None = None
    max_replans: int = Field(default=10, ge=0, le=MOST)
    resample: int = Field(default=2, ge=0, le=MOST)
    extend: int = Field(default=8, ge=0, le=MOST)
    doubt: float = Field(default=0.9, ge=0, le=1)
    cautious: bool = True
    on_infeasible: Literal["partial", "stop"] | None = None
    probe: bool = True
    score: Literal["ends", "argmax", "expected"] = "ends"
    world_model: Literal["lm", "simulator"] = "lm"
    costs: Literal["declared", "lm"] = "declared"
    goal_test: Literal["declared", "lm"] = "declared"
    scorer: Literal["lm", "declared"] = "lm"
    projector: Literal["declared", "lm"] = "declared"
    planning_reserve: dict[str, int] = Field(default_factory=dict)
    no_repeat: bool = False
    on_limit: Literal["stop", "final_answer"] = "stop"
    proposer: Literal["lm", "declared", "two_frontier"] = "lm"
    aec: SerializeAsAny[MethodSettings] | None = None
    sdp: SerializeAsAny[MethodSettings] | None = None
    cgdp: SerializeAsAny[MethodSettings] | None = None

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
            said = str(first["msg"]).removeprefix("Value error, ")
            value = "" if isinstance(first["input"], Mapping) else f" = {short(first['input'])}"
            raise ConfigError(f"setting {where}{value}: {said}" if where else said) from None

    @classmethod
    def paper(cls, **more: Any) -> TapeConfig:
        """TAPE as the paper has it: :data:`PAPER`, with other settings beside it or instead.

        Raises:
            ConfigError: As for :meth:`make`.
        """
        return cls.make(**{**PAPER, **more})

    def settled(self, domain: Domain) -> TapeConfig:
        """These settings with those that are None decided by the domain.

        For calls of tools ``forced`` and ``stop``: a call is known word by word when it is planned, so writing it once
        more only costs, and half of what was asked for is paid for nothing. Else, and where what is done on the way is
        worth something by itself (:class:`~tape.protocols.parts.Progress`), ``constrained`` and ``partial``.

        Plans are ``distinct``, except where it counts how many of them agree (declared outcomes), and where they differ
        already in what they suppose (:class:`~tape.protocols.parts.Hypotheses`).

        A mismatch is what the rest of the path ``needed`` in open domains alone: where all effects are declared, as on
        Sokoban, trying the rest of a path on them is a simulation, which no agent is given by default.
        """
        tools = domain.outcomes is not None and domain.progress is None
        changes = {
            "execution": self.execution or ("forced" if tools else "constrained"),
            "on_infeasible": self.on_infeasible or ("stop" if tools else "partial"),
            "mismatch": self.mismatch or ("exact" if domain.mismatch_test is None else "needed"),
            "sampling": self.sampling or ("independent" if _drawn_independently(domain) else "distinct"),
        }
        return self.model_copy(update=changes)

    @field_validator("planning_reserve")
    @classmethod
    def _reserve_is_a_budget(cls, reserve: dict[str, int]) -> dict[str, int]:
        for kind in reserve:
            kind_of(kind)
        return dict(Budget(reserve))

    @field_validator(*METHOD_FIELDS, mode="before")
    @classmethod
    def _settings_of_the_method(cls, given: Any, info: ValidationInfo) -> MethodSettings | None:
        if given is None or given is False:
            return None
        assert info.field_name is not None
        settings = method(info.field_name).settings
        return settings.model_validate({} if given is True else given)

    @model_validator(mode="after")
    def _replanning_is_consistent(self) -> TapeConfig:
        if self.replan_every_step and not self.replan:
            raise ValueError("replan_every_step contradicts replan off")
        return self

    @model_validator(mode="after")
    def _scoring_is_consistent(self) -> TapeConfig:
        if self.scorer == "declared" and self.goal_test == "lm":
            raise ValueError("goal_test='lm' goes by the model's score, so it contradicts scorer='declared'")
        return self

    @model_validator(mode="after")
    def _verification_is_consistent(self) -> TapeConfig:
        if self.aec is not None and self.selector != "solver":
            raise ValueError("aec takes the k best paths, so it needs selector='solver'")
        if self.aec is not None and self.execution == "free":
            raise ValueError("aec commits to actions, so it needs execution='constrained' or 'forced'")
        for name in LM_ROLES:
            if self.aec is not None and getattr(self, name) == "lm":
                raise ValueError(f"aec commits to what is declared and observed, so it needs {name}='declared'")
        return self


def _drawn_independently(domain: Domain) -> bool:
    """Whether plans are drawn independently by default; see :meth:`TapeConfig.settled`."""
    return domain.outcomes is not None or domain.hypotheses is not None


def _unknown(where: str) -> str:
    """What to say of a setting that does not exist, by its dotted name."""
    holder, _, name = where.rpartition(".")
    if not holder:
        for known in METHOD_FIELDS:
            if name in method(known).settings.model_fields:
                return f"{name} is a setting of {known}: give {known}={{{name!r}: ...}}"
    fields = method(holder).settings.model_fields if holder in METHOD_FIELDS else TapeConfig.model_fields
    near = get_close_matches(name, fields, n=1)
    return f"there is no setting {where!r}" + (f"; did you mean {near[0]!r}?" if near else "")

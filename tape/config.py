"""Every switch of the agents, checked in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tape.budget import kind_of
from tape.errors import ConfigError

_MOST_SHOWN = 80
"""Characters of a wrong value in a message."""

Execution = Literal["constrained", "forced", "free"]


class AgentConfig(BaseModel):
    """Settings of an agent; part of an episode's key.

    Attributes:
        num_plans: M, plans sampled at each (re)planning.
        temperature: Sampling temperature of plans and of free actions.
        horizon: L_max, most moves of an episode; None lets the budget alone decide.
        discount: In (0, 1]; see ``solvers.PathProblem``.
        solver: Name of a solver, see ``tape solvers``.
        selector: ``solver``, or ``lm`` (ablation: the model picks among the sampled plans).
        execution: ``constrained`` decodes the step with its action fixed; ``forced`` makes no call
            because the only admissible output is known; ``free`` shows the step as a hint (ablation).
        replan: False: no mismatch check, and the episode ends with the walk (ablation).
        replan_every_step: Plan again after every step even without a mismatch (ablation).
        reselect: Where a step has used less than its worst case, select the rest of the walk anew on the same graph:
            what was saved may pay for something better. No model is asked.
        max_replans: Most replanning rounds, mismatches and ended walks together.
        resample: Most further samplings in a row when no walk is feasible.
        extend: Most further plans of a planning round, sampled from inside the plan graph, nearest nodes first,
            while the best walk does not end at a node scored as a goal; 0 takes that walk at once.
        doubt: An action that the world model calls invalid with less probability than this is predicted once
            more, as if it were valid, and kept as an edge of low confidence; 0 believes the first answer. Like
            ``cautious`` without effect where a whole rollout is one answer (``Dialect.rollout_request``).
        cautious: Follow a walk of confident predictions where one reaches a goal, before any other walk.
        on_infeasible: Then follow the best ``partial`` walk, or ``stop``.
        probe: Where not even a partial walk is left, try the most sampled first action although the world
            model calls it invalid: its verdict is only a prediction, and giving up is certain to fail.
        score: ``argmax`` gives a node the value of the most probable score; ``expected`` the mean over the
            scores' probabilities (TAPE section 3.1). Small differences between expected scores make it
            worth a walk's while to dither, hence not the default: ``ends`` is ``argmax``, but the open end of
            a plan gets its mean, so that of several walks without a goal the most promising one is followed.
        world_model: ``lm``, or ``simulator`` (an upper bound, labelled as such everywhere).
        planning_reserve: Counts per resource kept back for later planning calls.
        no_repeat: A free choice may not repeat an action that was taken in an identical state before, in domains whose
            prompts can leave actions out (:class:`tape.predicates.ExcludingDomain`).
        on_limit: At a budget, the horizon, the replanning limit, or where no walk is left: ``stop`` with the partial
            episode, or spend one last call, kept back from the start, on a ``final_answer``.
        verify: ``aec``: commit only to walks that grounded evidence certifies (:mod:`tape.aec`), on environments that
            declare predicates. All that follows is of use only then.
        hypotheses: |H|, how many of the best walks are considered at a time.
        gate: What is unknown is queried where its prediction is ambiguous or uncertain (``thresholds``), always
            (``query_all``), only before a commitment (``simulate_all``, ablation: no gating), or as it pays best
            together with the choice of the walk (``joint``, beyond the paper).
        commit: ``grounded``: only what the verifier accepts; ``belief``: the best walk that beliefs leave, with no
            verifier (ablation).
        margin: A prediction mu is ambiguous where it is less than this away from 1/2 (AEC eq. 4).
        uncertainty: tau, the most uncertainty with which a prediction is believed.
        query_budget: Most queries of an episode; None lets its budgets decide.
        ensemble: Samples of the model for one prediction.
        calibration: Of predictions (``tape.aec.calibration.IsotonicCalibration``): JSON, or a file of it; empty: none.
        learned_rules: That override predictions (``tape.aec.learned_rules.LearnedRules`` or
            ``tape.aec.overrides.Overrides``): JSON, or a file of it; empty: none. Of these two switches the content
            is kept, not the name of a file, and of learned rules no more than those in force and their records.
        proposer: ``lm``, or ``two_frontier``: plans come from SQ-BCP's search (:mod:`tape.aec.two_frontier`) on
            environments that declare predicates; the model still does all the rest.
        bridges: Where an action that establishes a precondition is declared and cheaper than asking, it is inserted
            before the step that needs it, in a further hypothesis (SQ-BCP); the verifier decides as ever.
        chain: Of the agent ``sdp``, like all that follows: the predicates come from the solver's ``walk``; from one
            ``sample`` of the model, rolled out and not selected; or from the environment's ``adapter``, which asks the
            model or knows a fixed chain.
        attempts: b, failed attempts at a predicate before it is replanned; None: as in the environment's table.
        target_replans: Most replans of one predicate; None as above.
        step_cap: Most steps of the loop in an episode, attempts without an action included; None as above.
        strict_algorithm1: Replan after b + 1 failures (r > b), as algorithm 1 has it, instead of after b (appendix A).
        cascade: False: an action certifies one predicate at most, but for the one that completes the task (ablation).
        validation: ``environment``, or ``always``: every action counts as having made its predicate true (ablation).
            The ablation without REPLAN is ``replan=False``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_plans: int = Field(default=4, ge=1, le=4096)
    temperature: float = Field(default=0.3, ge=0, allow_inf_nan=False)
    horizon: int | None = Field(default=None, ge=1)
    discount: float = Field(default=1.0, gt=0, le=1)
    solver: str = "labelling"
    selector: Literal["solver", "lm"] = "solver"
    execution: Execution = "constrained"
    replan: bool = True
    replan_every_step: bool = False
    reselect: bool = True
    max_replans: int = Field(default=10, ge=0)
    resample: int = Field(default=2, ge=0)
    extend: int = Field(default=8, ge=0)
    doubt: float = Field(default=0.9, ge=0, le=1)
    cautious: bool = True
    on_infeasible: Literal["partial", "stop"] = "partial"
    probe: bool = True
    score: Literal["ends", "argmax", "expected"] = "ends"
    world_model: Literal["lm", "simulator"] = "lm"
    planning_reserve: dict[str, int] = Field(default_factory=dict)
    no_repeat: bool = False
    on_limit: Literal["stop", "final_answer"] = "stop"
    verify: Literal["none", "aec"] = "none"
    hypotheses: int = Field(default=4, ge=1, le=4096)
    gate: Literal["thresholds", "query_all", "simulate_all", "joint"] = "thresholds"
    commit: Literal["grounded", "belief"] = "grounded"
    margin: float = Field(default=0.4, ge=0, le=0.5)
    uncertainty: float = Field(default=0.2, ge=0, allow_inf_nan=False)
    query_budget: int | None = Field(default=None, ge=0)
    ensemble: int = Field(default=8, ge=1, le=4096)
    calibration: str = ""
    learned_rules: str = ""
    proposer: Literal["lm", "two_frontier"] = "lm"
    bridges: bool = False
    chain: Literal["walk", "sample", "adapter"] = "walk"
    attempts: int | None = Field(default=None, ge=1)
    target_replans: int | None = Field(default=None, ge=0)
    step_cap: int | None = Field(default=None, ge=1)
    strict_algorithm1: bool = False
    cascade: bool = True
    validation: Literal["environment", "always"] = "environment"

    @classmethod
    def make(cls, **settings: Any) -> AgentConfig:
        """Build a configuration.

        Raises:
            ConfigError: Names the setting, its value and what is allowed.
        """
        try:
            return cls(**settings)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            given = repr(first["input"])
            given = given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]} ..."
            said = f"setting {where} = {given}: {first['msg']}" if where else str(first["msg"])
            raise ConfigError(said) from None

    @field_validator("planning_reserve")
    @classmethod
    def _reserve_is_a_budget(cls, reserve: dict[str, int]) -> dict[str, int]:
        for kind, count in reserve.items():
            kind_of(kind)
            if count < 0:
                raise ValueError(f"the reserve of {kind} must be >= 0")
        return reserve

    @field_validator("calibration")
    @classmethod
    def _calibration_is_readable(cls, given: str) -> str:
        from tape.aec.calibration import IsotonicCalibration

        text = _content(given)
        return IsotonicCalibration.from_json(text).to_json() if text else ""

    @field_validator("learned_rules")
    @classmethod
    def _rules_are_readable(cls, given: str) -> str:
        from tape.aec.learned_rules import read_overrides

        text = _content(given)
        return read_overrides(text).to_json() if text else ""

    @model_validator(mode="after")
    def _replanning_is_consistent(self) -> AgentConfig:
        if self.replan_every_step and not self.replan:
            raise ValueError("replan_every_step contradicts replan off")
        return self

    @model_validator(mode="after")
    def _verification_is_consistent(self) -> AgentConfig:
        if self.verify == "aec" and self.selector != "solver":
            raise ValueError("verify='aec' takes the k best walks, so it needs selector='solver'")
        if self.verify == "aec" and self.execution == "free":
            raise ValueError("verify='aec' commits to actions, so it needs execution='constrained' or 'forced'")
        return self


def _content(given: str) -> str:
    """JSON as it is, of a file's name what the file holds.

    Raises:
        ConfigError: It is neither, or the file cannot be read.
    """
    if not given.strip() or given.lstrip().startswith("{"):
        return given.strip()
    try:
        return Path(given).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"neither JSON nor a file that can be read: {error}") from error

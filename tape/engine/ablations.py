"""What only studies vary: the additions to the paper's algorithm, and parts that another may take the place of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST = 10**9
"""Largest number of moves, rounds and samplings."""


class Ablations(BaseModel):
    """Switches that no user needs: studies take parts of the agent away with them, or put others in their place.

    ``selector`` takes a class, ``module:Class``, whose ``of(episode)`` makes the part, as in ``experiments/ablations``.

    Examples:
        >>> from tape import Ablations, TapeConfig
        >>> TapeConfig.make(ablations=Ablations(extend=0)).ablations.extend
        0
        >>> TapeConfig.paper().ablations.score
        'argmax'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sampling: Literal["independent", "distinct"] | None = Field(
        default=None,
        description="distinct: the plans of one sampling are drawn without replacement, by stochastic beam search, "
        "where the model can (default: independent for tools and where unseen things are hypothesised, "
        "else distinct)",
    )
    extend: int = Field(
        default=8,
        ge=0,
        le=MOST,
        description="most further plans of a round, sampled from inside the graph while no path reaches a goal; 0: "
        "none",
    )
    resample: int = Field(
        default=2, ge=0, le=MOST, description="most further samplings in a row where no path is feasible"
    )
    requery_threshold: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="predict an action again, as a valid one, that the model calls invalid with less probability; "
        "0: never",
    )
    score: Literal["agreement", "ends", "argmax", "expected"] | None = Field(
        default=None,
        description="how nodes are scored. argmax: the most probable score; expected: the mean over the "
        "probabilities; ends: argmax, but the mean where a plan ends without a goal; agreement: by the share of the "
        "sampled programs that come to the same (default for tools with the default planner, else ends)",
    )
    goal_test: Literal["declared", "lm"] = Field(
        default="declared",
        description="lm: the model's score says what reaches the goal, also where the environment declares a test",
    )
    cautious: bool = Field(default=True, description="prefer a path of confident predictions that reaches a goal")
    discount: float = Field(default=1.0, gt=0, le=1, description="in (0, 1], of rewards for each move")
    selector: str = Field(default="solver", description="who selects on the plan graph, in the solver's place")
    reselect: bool = Field(
        default=True,
        description="select the rest of the path anew on the same graph where a step has used less than its worst case",
    )
    mismatch: Literal["needed", "exact"] = Field(
        default="needed",
        description="what ends a path. exact: any difference from the prediction (the paper's test), without "
        "known no-ops and chances; needed: one that the rest of the path rests on, where the environment knows",
    )
    probe: bool = Field(
        default=True,
        description="where not even a partial path is left, try an action that is predicted invalid; where outcomes "
        "have chances and a round begins where one has begun before, the model's own next action",
    )
    replan: bool = Field(default=True, description="off: no mismatch check, and the episode ends with the path")
    replan_every_step: bool = Field(default=False, description="plan again after every step")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.replan_every_step and not self.replan:
            raise ValueError("replan_every_step contradicts replan off")
        return self


PAPER = Ablations(
    sampling="independent",
    extend=0,
    requery_threshold=0.0,
    cautious=False,
    score="argmax",
    probe=False,
    reselect=False,
    mismatch="exact",
)
"""TAPE of the paper (algorithm 1): every addition of this engine is off. With the additions it is called TAPE+.

Costs, goal test and projection stay declared. In the paper the model does these as well.
"""


def changed(ablations: Ablations) -> Mapping[str, Any]:
    """The switches that differ from the defaults."""
    return ablations.model_dump(exclude_defaults=True)

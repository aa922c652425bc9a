"""The result of an episode and its end states."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from tape.budget import amount_of, kind_of
from tape.budget.deadline import KIND as WALL

END_STATES = (
    "success",
    "failure",
    "budget",
    "infeasible",
    "no_plan",
    "replan_limit",
    "not_certified",
    "stopped",
    "solver_timeout",
    "solver_error",
    "invalid_output",
    "env_error",
    "model_error",
    "interrupted",
)
"""All end states; ``budget`` is always followed by the kind, for instance ``budget:steps``.

``infeasible``: no plan fits; ``no_plan``: no sampled plan could be read; ``invalid_output``: nothing else could be.
"""


class EpisodeResult(BaseModel):
    """What an episode came to.

    Attributes:
        end_state: One of :data:`END_STATES`.
        success: The environment's own goal check, never the agent's claim.
        partial_walk: A path that does not end at a terminal node was followed.
        steps: Environment steps taken.
        replans: Planning rounds after the first.
        mismatches: Observed states that were not the predicted ones; with ``mismatch="needed"`` those alone that lack
            what the rest of the path needs.
        malformed: Completions that could not be read; each was survived.
        plans: Plans sampled from the state that the episode was in; those from inside a plan graph are not counted.
        distinct_plans: How many of them were distinct, sampling by sampling.
        shared_nodes: Nodes of the graphs that they were folded into which two or more different ones pass through,
            where they start left out.
        lm_calls: Requests made, by role.
        prompt_tokens: Tokens of their prompts, by role.
        completion_tokens: Tokens of their answers, by role.
        used: Counts settled, by resource; None where unknown. A cached answer counts like a fresh one.
        paid: What that really cost: nothing for a cached answer.
        budget: The caps, by resource.
        budget_violations: Kinds settled above their cap; must be empty.
        broken_declarations: How often more was used than declared as the worst case, by kind.
        actions: The executed actions.
        detail: One sentence where the end state needs one.
        answer: The value of the answer that was given, placeholders resolved, in environments whose episodes come to
            one; None where none was. In files what is no JSON is its text.
        explanation: Where planning ended for want of a path: why, and the least caps that would do, in units
            (docs/budgets.md); ``detail`` says the same in words.
        measures: The environment's own measures beside success, for instance the F1 of an answer; of a search agent
            also its own, for instance the rounds of its search.
        final_answer: What was answered at a limit, with ``on_limit="final_answer"``.
        method: What the methods in use count, by counter (:attr:`tape.engine.method.Method.counters`).
        solver_seconds: Time in the solver.
        wall_seconds: Time of the whole episode.
        wall_overrun_seconds: How much of it lay beyond the cap on ``wall_seconds``; no budget violation.
    """

    model_config = ConfigDict(extra="forbid")

    end_state: str
    success: bool
    partial_walk: bool = False
    steps: int = 0
    replans: int = 0
    mismatches: int = 0
    malformed: int = 0
    plans: int = 0
    distinct_plans: int = 0
    shared_nodes: int = 0
    lm_calls: dict[str, int] = Field(default_factory=dict)
    prompt_tokens: dict[str, int] = Field(default_factory=dict)
    completion_tokens: dict[str, int] = Field(default_factory=dict)
    used: dict[str, Any] = Field(default_factory=dict)
    paid: dict[str, Any] = Field(default_factory=dict)
    budget: dict[str, int] = Field(default_factory=dict)
    budget_violations: list[str] = Field(default_factory=list)
    broken_declarations: dict[str, int] = Field(default_factory=dict)
    actions: list[str] = Field(default_factory=list)
    detail: str = ""
    answer: Any = None
    explanation: dict[str, Any] | None = None
    measures: dict[str, float] = Field(default_factory=dict)
    final_answer: str | None = None
    method: dict[str, Any] = Field(default_factory=dict)
    solver_seconds: float = 0.0
    wall_seconds: float = 0.0
    wall_overrun_seconds: float = 0.0

    @field_serializer("answer")
    def _as_json(self, answer: Any) -> Any:
        return json_or_text(answer)

    @property
    def spent(self) -> dict[str, Decimal | None]:
        """What was used, in units: of ``usd`` dollars, of ``seconds`` seconds; None where unknown.

        Every kind that was used or capped is named. One that is not declared in this process is told in counts.
        """
        used = {**dict.fromkeys(self.budget, 0), **self.used}
        if WALL in self.budget:  # no ledger keeps it
            used[WALL] = kind_of(WALL).count(round(self.wall_seconds, 3))
        return {kind: None if count is None else amount_of(kind, count) for kind, count in sorted(used.items())}

    @property
    def lm_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return sum(self.prompt_tokens.values()) + sum(self.completion_tokens.values())


def json_or_text(value: Any) -> Any:
    """A value where it is JSON, else its text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return value

"""The result of an episode and its end states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from typing import Any, Generic

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    model_serializer,
)
from pydantic_core import to_jsonable_python

from tape.budget import Budget, BudgetLike, Ledger, Resources, amount_of, kind_of
from tape.budget.amounts import correct, require_unproven
from tape.budget.deadline import KIND as WALL
from tape.protocols.types import AnswerT, FailedCall
from tape.reading import short, storable
from tape.trace.kept import KeptEvents

END_STATES = (
    "success",
    "failure",
    "budget",
    "infeasible",
    "no_plan",
    "replan_limit",
    "not_certified",
    "stopped",
    "unknown_outcome",
    "solver_timeout",
    "solver_error",
    "invalid_output",
    "env_error",
    "model_error",
    "interrupted",
)
"""All end states; ``budget`` is always followed by the kind, for instance ``budget:steps``.

``infeasible``: no plan fits; ``no_plan``: no sampled plan could be read; ``invalid_output``: nothing else could be;
``unknown_outcome``: a call that changes something gave no answer in time, and nobody is there who knows what it did.
"""


class EpisodeResult(KeptEvents, Generic[AnswerT]):
    """The result of an episode.

    What ``agent.run`` returns keeps the episode's events in memory, which :attr:`plan`, :meth:`why`, :meth:`show` and
    the pictures are made from. A result that was read from a file has none.

    Attributes:
        end_state: One of :data:`END_STATES`.
        success: The environment's own goal check, never the agent's claim.
        partial_walk: A path that does not end at a terminal node was followed.
        steps: Environment steps taken.
        replans: Planning rounds after the first.
        mismatches: Observed states that differ from the predicted ones; with ``mismatch="needed"`` only those that
            lack something the rest of the path needs.
        malformed: Completions that could not be read; none of them ended the episode.
        plans: Plans sampled from the current state; plans from inside a plan graph are not counted.
        distinct_plans: The distinct ones among them, counted in each sampling.
        shared_nodes: Nodes that two or more distinct plans of a graph pass through, without their starts.
        lm_calls: Requests made, by role.
        prompt_tokens: Tokens of their prompts, by role.
        completion_tokens: Tokens of their answers, by role.
        used: Counts settled, by resource; None if unknown. A cached answer counts like a fresh one.
        paid: What was paid for; a cached answer is free.
        unproven: The part of it that was booked as a worst case, by resource, since nobody has reported what was used:
            see :meth:`settle`. In files only where there is any.
        budget: The caps, by resource.
        budget_violations: Kinds settled above their cap; must be empty.
        broken_declarations: How often a cost was above the declared bound, by kind.
        actions: The executed actions.
        failed_calls: The calls of tools that gave nothing, in order; in files only where there are any.
        left_out: Lines of sampled programs that would have changed something and were not run, since too few of the
            samples had them; in files only where there are any.
        detail: The cause of the end, in a sentence; empty after success.
        answer: The final answer with its placeholders resolved, in environments that expect one; None if there is
            none. In files models are JSON, and another value that is not JSON is written as its text.
        explanation: Why no path fits, and which caps would suffice, in units (docs/reference/budgets.md);
            ``detail`` has the same in words.
        measures: Measures of the environment beside success, for instance the F1 of an answer. A search agent adds
            its own, for instance the number of its rounds.
        final_answer: The answer given at a limit, with ``on_limit="final_answer"``.
        method: The counters of the methods in use (:attr:`tape.protocols.method.Method.counters`).
        solver_seconds: Time in the solver.
        wall_seconds: Time of the whole episode.
        wall_overrun_seconds: Time beyond the cap on ``wall_seconds``; this is no budget violation.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import ReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = ReactAgent("bundled:nano").run(env, budget="500 tokens")
        >>> print(result.end_state, result.steps, result.spent["tokens"], result.left["tokens"])
        success 6 126 374
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
    unproven: dict[str, int] = Field(default_factory=dict)
    budget: dict[str, int] = Field(default_factory=dict)
    budget_violations: list[str] = Field(default_factory=list)
    broken_declarations: dict[str, int] = Field(default_factory=dict)
    actions: list[str] = Field(default_factory=list)
    failed_calls: list[FailedCall] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)
    detail: str = ""
    answer: AnswerT = None  # type: ignore[assignment]
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

    @model_serializer(mode="wrap")
    def _without_rare_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = dump(self)
        return {
            name: value
            for name, value in written.items()
            if value or name not in ("failed_calls", "left_out", "unproven")
        }

    def settle(self, taken: BudgetLike, parent: Ledger | None = None) -> None:
        """Correct what was booked without proof, once it is known, for instance from the provider's bill.

        ``used`` and ``paid`` have what was really taken from then on; trace and files keep what was booked.

        Args:
            taken: What was really taken of :attr:`unproven`, in units, for instance ``{"usd": "0.01"}``; of what is not
                named nothing was taken.
            parent: The enclosing ledger of the episode, which gets the difference back with its own parents.

        Raises:
            ConfigError: Nothing of that kind is unproven, here or in the ledger; nothing is changed.
        """
        unproven, real = Resources(self.unproven), Resources(Budget.read(taken, "what was taken"))
        require_unproven(self.unproven, unproven, real, "this episode")
        if parent is not None:
            parent.settle_unproven(unproven, real)
        for counts in (self.used, self.paid):
            correct(counts, unproven, real)
        self.unproven = {}
        self.budget_violations = [kind for kind, cap in self.budget.items() if (self.used.get(kind) or 0) > cap]

    @property
    def spent(self) -> dict[str, Decimal | None]:
        """What was used, in units (``usd`` in dollars, ``seconds`` in seconds); None if unknown.

        It has every kind that was used or capped. A kind that is not declared in this process is given in counts.
        """
        return _in_units(self.counts())

    @property
    def left(self) -> dict[str, Decimal | None]:
        """What is left of every cap, in units as :attr:`spent`; below 0 where a cost was above its declared bound."""
        used = self.counts()
        rest = ((kind, cap, used[kind]) for kind, cap in self.budget.items())
        return _in_units({kind: None if count is None else cap - count for kind, cap, count in rest})

    def counts(self) -> dict[str, int | None]:
        """What was used or capped, in counts as in files, real time included; None if unknown."""
        used = {**dict.fromkeys(self.budget, 0), **self.used}
        if WALL in self.budget:  # the ledger does not count real time
            used[WALL] = kind_of(WALL).count(round(self.wall_seconds, 3))
        return used

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values: the fields, with ``budget``, ``spent`` and ``left`` in units.

        Amounts are numbers, whole where they can be (``Decimal(str(amount))`` is exact); null if unknown. ``plan`` is
        null where the result was read from a file. ``used`` and ``paid``, which are counts, are left out.
        """
        held = {"failed_calls": [], **self.model_dump(mode="json")}
        del held["used"], held["paid"]
        for name, amounts in (("budget", _in_units(self.budget)), ("spent", self.spent), ("left", self.left)):
            held[name] = {kind: _number(amount) for kind, amount in amounts.items()}
        return dict(storable(held | {"plan": None if self.events is None else self.plan}))

    @property
    def lm_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return sum(self.prompt_tokens.values()) + sum(self.completion_tokens.values())


def _in_units(counts: Mapping[str, int | None]) -> dict[str, Decimal | None]:
    return {kind: None if count is None else amount_of(kind, count) for kind, count in sorted(counts.items())}


def _number(amount: Decimal | None) -> int | float | None:
    return None if amount is None else int(amount) if amount == int(amount) else float(amount)


def judged_wrong(answer: object) -> str:
    """The sentence about an answer without success; empty if there is no answer."""
    value = json_or_text(answer)
    shown = short(value if isinstance(value, str | int | float) else str(value))
    return "" if answer is None else f"the answer {shown} was judged wrong"


def json_or_text(value: Any) -> Any:
    """The value itself if it is JSON, else what models and dataclasses in it are as JSON, else its text."""
    for default in (None, _of_model):
        try:
            text = json.dumps(value, allow_nan=False, default=default)
        except (TypeError, ValueError, RecursionError):
            continue
        return value if default is None else json.loads(text)
    return str(value)


def _of_model(value: Any) -> Any:
    if isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type)):
        return to_jsonable_python(value)
    raise TypeError(f"{type(value).__name__} is no JSON")

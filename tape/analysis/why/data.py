"""The explanation of a planning round, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from solvers import Cause, Explanation
from tape.analysis.why.spans import PathEnd
from tape.budget import in_units
from tape.protocols.method import JudgedPath


def texts(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts as people read them."""
    return {kind: in_units(kind, count) for kind, count in amounts.items()}


def _plain(value: Any, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass as JSON values; what is a dataclass itself has its ``to_dict``."""
    return {field.name: _json(getattr(value, field.name)) for field in fields(value) if field.name not in without}


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, JudgedPath):
        return _plain(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


@dataclass(frozen=True)
class Candidate:
    """A path that was, or could have been, selected.

    Attributes:
        actions: Its actions.
        nodes: Keys of the states it passes, the start first.
        edges: Ids of its edges in the graph; empty where the graph cannot be read.
        cost: What it needs of each capped resource in the worst case, in counts.
        objective: What the solver maximises; None where that is not known.
        horizon: L, on which the objective depends.
        score: The score of its end, in [-1, 1].
        goal: Its end is scored as a goal.
        likelihood: How likely what it assumes is, where it rests on things that were never seen; part of the score.
        support: Sampled plans that pass through its end.
        stage: Which of the problems that are solved in turn it answers
            (:class:`~tape.analysis.why.selections.SelectionRule`).
        confidence: Predictions of less were left out of that problem.
        partial: It does not end where a plan ends.
        over: What it needs beyond what was left, in counts.
    """

    actions: tuple[str, ...]
    nodes: tuple[str, ...]
    edges: tuple[int, ...]
    cost: Mapping[str, int]
    objective: float | None
    horizon: int | None
    score: float | None
    goal: bool = False
    likelihood: float | None = None
    support: int | None = None
    stage: int = 0
    confidence: float = 0.0
    partial: bool = False
    over: Mapping[str, int] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The objective per step of the horizon."""
        return None if self.objective is None or not self.horizon else self.objective / self.horizon

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        own = _plain(self, without=("stage",))
        amounts = {"cost_text": texts(self.cost), "over_text": texts(self.over)}
        return {**own, **amounts, "moves": len(self.actions), "value": self.value}


@dataclass(frozen=True)
class Relaxation:
    """The least larger limits with which a better path is selected: of one budget, of several, or the horizon.

    Attributes:
        to: Their counts; none can be less while the others stay.
        left: What they were, in counts.
        path: The path that is selected then.
        gain: What it has over the chosen one, in words.
    """

    to: Mapping[str, int]
    left: Mapping[str, int]
    path: Candidate
    gain: str

    @property
    def by(self) -> dict[str, int]:
        """How much more of each."""
        return {kind: count - self.left[kind] for kind, count in self.to.items()}

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "kinds": list(self.to),
            "by": self.by,
            "by_text": texts(self.by),
            "to": dict(self.to),
            "to_text": texts(self.to),
            "path": self.path.to_dict(),
            "gain": self.gain,
        }


@dataclass(frozen=True)
class BudgetLine:
    """A budget in a round.

    Attributes:
        kind: The resource.
        left: What the path could use, in counts.
        used: What the path needs of it in the worst case.
        more: The least of it that buys a better path; None: no amount of it alone would.
    """

    kind: str
    left: int
    used: int
    more: Relaxation | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        more: dict[str, Any] | None = None
        if self.more is not None:
            all_kinds = self.more.to_dict()
            of_kind = {name: all_kinds[name][self.kind] for name in ("by", "by_text", "to", "to_text")}
            more = of_kind | {name: all_kinds[name] for name in ("path", "gain")}
        rest = self.left - self.used
        return {
            "kind": self.kind,
            "left": self.left,
            "left_text": in_units(self.kind, self.left),
            "used": self.used,
            "used_text": in_units(self.kind, self.used),
            "rest": rest,
            "rest_text": in_units(self.kind, rest),
            "decided": self.more is not None,
            "more": more,
        }


@dataclass(frozen=True)
class Round:
    """A planning round, or the rest of a path selected anew on the way.

    Attributes:
        number: From 1; a reselection has that of its round.
        kind: ``plan``; ``reselect``; ``probe``: an action of unknown outcome was tried; ``sampled``: a plan of the LM
            was followed as it is, without a graph.
        step: Environment steps taken before it.
        reason: Why planning started again; empty at the start.
        first, last: Indices of its events, both inclusive.
        graph_at, selected_at, committed_at: Indices of the graph, of the selection on it, and of AEC's commitment.
        selector, status: Who selected, and how the solver ended.
        horizon: L of the selection.
        graph: Counts: ``nodes``, ``edges``, ``certified`` (observed before), ``contradicted``, ``refused`` when
            approval was asked for, ``left_out`` for want of confidence, ``goals`` that can be reached, whatever is
            left.
        sampled, readable: Sampled plans, and those of them that could be read.
        left: What the path could use, in counts.
        chosen: What was followed; None where nothing was.
        selected: What the solver selects, where it is not what was followed.
        alternatives: The best others that fit, best first, none with a circle.
        alike: How many others have an end of the same score at the same cost as what the solver selected.
        misfits: Better paths that do not fit.
        budgets: What each budget decided.
        together: Budgets that change the choice only together.
        longer: The smallest longer horizon that buys a better path, where the configuration fixes the horizon.
        needs: Where no complete path fits: what one would need.
        hypotheses: The verdicts of the verifier, in order.
        ended: What came of it.
        kept: A reselection that chose the rest of the path in hand.
        taken: Whether what was selected was followed.
        before: Of a reselection: the rest of the path in hand.
        gained: What another path has over that rest, in words.
        queries: What AEC asked before it committed: in words, with the actions and the answer.
        refusal: Why AEC committed to nothing.
        proven: The checker has passed a proof that what was selected is the best of its graph, or that nothing fits.
        relaxed: Whether it was asked what other budgets would change; else no budget is named as decisive.
        unreproduced: Why the selection cannot be rebuilt; then there are no alternatives and no budgets.
        reasons: Why it went so, in plain sentences, the most important first.
        outcome: What came of it, in a sentence.
    """

    number: int
    kind: str
    step: int
    reason: str
    first: int
    last: int
    graph_at: int | None = None
    selected_at: int | None = None
    committed_at: int | None = None
    selector: str = ""
    status: str = ""
    horizon: int | None = None
    graph: Mapping[str, int] | None = None
    sampled: int = 0
    readable: int = 0
    left: Mapping[str, int] = field(default_factory=dict)
    chosen: Candidate | None = None
    selected: Candidate | None = None
    alternatives: tuple[Candidate, ...] = ()
    alike: int = 0
    misfits: tuple[Candidate, ...] = ()
    budgets: tuple[BudgetLine, ...] = ()
    together: tuple[Relaxation, ...] = ()
    longer: Relaxation | None = None
    needs: Needs | None = None
    hypotheses: tuple[JudgedPath, ...] = ()
    ended: PathEnd = field(default_factory=lambda: PathEnd("cut", 0, 0))
    kept: bool = False
    taken: bool = True
    before: tuple[str, ...] = ()
    gained: str = ""
    queries: tuple[str, ...] = ()
    refusal: str = ""
    proven: bool = False
    relaxed: bool = True
    unreproduced: str | None = None
    reasons: tuple[str, ...] = ()
    outcome: str = ""

    @property
    def picked(self) -> Candidate | None:
        """What the alternatives are measured against: the solver's choice."""
        return self.selected or self.chosen

    @property
    def by_lm(self) -> bool:
        """Whether the LM picked the path (the ablation)."""
        return self.selector.startswith("lm:")

    @property
    def decided(self) -> list[list[str]]:
        """The smallest sets of budgets whose relaxation gives a better choice; none where no budget decided."""
        alone = [[line.kind] for line in self.budgets if line.more is not None]
        return [*alone, *(list(together.to) for together in self.together)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; ``docs/reference/why.md`` describes each."""
        own = _plain(self, without=("first", "last", "taken", "sampled", "readable", "reasons", "outcome", "ended"))
        mismatch, longer = self.ended.mismatch, self.longer
        seen = ("step", "predicted", "observed")
        ended = {name: getattr(self.ended, name) for name in ("how", "taken", "of", "strayed", "refused")}
        return own | {
            "events": [self.first, self.last],
            "followed": self.taken and self.chosen is not None,
            "partial": self.chosen is not None and self.chosen.partial,
            "plans": {"sampled": self.sampled, "readable": self.readable},
            "left_text": texts(self.left),
            "decided": self.decided,
            "longer": longer and {"to": longer.to["horizon"], "path": longer.path.to_dict(), "gain": longer.gain},
            "ended": ended | {"text": self.outcome} | {name: getattr(mismatch, name, None) for name in seen},
            "told": list(self.reasons),
        }


_CAUSES = {
    Cause.NO_TERMINAL: "No plan of this round ends in a state with a reward.",
    Cause.UNREACHABLE: "No end of a plan can be reached any more: what the plans rest on was observed to be otherwise.",
}


@dataclass(frozen=True)
class Needs:
    """Why no complete path fits, and what one would need.

    Attributes:
        found: The explanation of the problem that the rule poses; its resources have their names.
        message: What the agent reported, where it ended the episode.
    """

    found: Explanation
    message: str = ""

    @property
    def cause(self) -> str:
        """What stands in the way, if it is no budget; else empty."""
        causes, horizon = self.found.causes, self.found.horizon
        if causes == (Cause.HORIZON,):
            least = self.found.nearest if horizon is None else horizon.least
            return f"A complete path needs {least} steps, more than the horizon allows."
        return next((_CAUSES[cause] for cause in causes if cause in _CAUSES), "")

    @property
    def together(self) -> dict[str, int] | None:
        """Counts that would do together; None where one budget alone would do, or nothing is known."""
        if self.found.joint is None or any(need.least is not None for need in self.found.budgets):
            return None
        return self.found.together

    @property
    def text(self) -> str:
        """One or two plain sentences."""
        if self.message:
            return f"{self.message[0].upper()}{self.message[1:]}."
        if self.cause:
            return self.cause
        parts = [
            f"{'' if need.proven else 'at most '}{in_units(need.limit, need.least)} where "
            f"{in_units(need.limit, need.given)} is left"
            for need in self.found.budgets
            if need.least is not None
        ]
        if parts:
            return f"A complete path needs {', or '.join(parts)}."
        if self.together:
            listed = " and ".join(in_units(kind, count) for kind, count in self.together.items())
            return f"A complete path needs {listed} together; more of one of them alone would not do."
        return "What a complete path would need could not be worked out."

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "text": self.text,
            "cause": self.cause,
            "budgets": [
                {
                    "kind": need.limit,
                    "left": need.given,
                    "least": need.least,
                    "known": need.proven,
                    "left_text": in_units(need.limit, need.given),
                    "least_text": None if need.least is None else in_units(need.limit, need.least),
                }
                for need in self.found.budgets
            ],
            "together": self.together,
        }

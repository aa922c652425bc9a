"""Why no sampled plan can be followed to its end, and which caps would suffice; known before a step is paid for.

The solver explains the selection problem (:func:`solvers.explain`) in terms of the remaining budget. This file turns
that into whole caps, the spent part included, so that the same task can be tried again with one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any

import solvers
from solvers import Cause, Explanation, PathProblem, PathSolution
from solvers.proof_file import Proof
from solvers.proven import solved_and_proven
from tape.budget import Limit, amount_of, in_units, part_in_units
from tape.choice.graph import PlanGraph
from tape.engine.episode import Episode, EpisodeEnded
from tape.trace import InfeasibleEvent

MOST_SECONDS_PROOF = 2.0
"""Time limit of a proof."""
MOST_SECONDS = 20.0
"""Time limit of one explanation in an episode without a deadline; what is then still unknown is reported as open."""


@dataclass(frozen=True)
class FailedAttempt:
    """A plan graph on which no path was found, with the budgets at that time.

    Attributes:
        graph: The graph.
        spendable: What a path could use: counts left of each capped resource, without the reserve for planning.
        limits: The caps on each of these resources, those of enclosing ledgers included.
        fits: A path does fit, but a selector other than the solver took none.
    """

    graph: PlanGraph
    spendable: Mapping[str, int]
    limits: Mapping[str, tuple[Limit, ...]]
    fits: bool = False

    @classmethod
    def now(cls, episode: Episode, graph: PlanGraph, *, fits: bool = False) -> FailedAttempt:
        """Record a failed attempt with the budgets of this moment."""
        left, reserve = episode.remaining(), episode.config.planning_reserve
        spendable = {kind: max(0, count - reserve.get(kind, 0)) for kind, count in left.items()}
        return cls(graph, spendable, {kind: episode.ledger.limits(kind) for kind in left}, fits)

    def raised(self, kind: str, needed: int) -> tuple[Limit, ...]:
        """The caps that are too low for a path that uses ``needed`` of a resource, raised as far as it needs."""
        kept = min(limit.left for limit in self.limits[kind]) - self.spendable[kind]  # the reserve for planning
        short = [(limit, needed + kept - limit.left) for limit in self.limits[kind]]
        return tuple(limit._replace(cap=limit.cap + more) for limit, more in short if more > 0)


@dataclass(frozen=True)
class _Option:
    """Raised limits that would suffice, with the other limits unchanged.

    Attributes:
        caps: By resource.
        raised_by: The largest relative increase.
        horizon: The moves it takes, if the horizon is too short as well.
        path: The actions that these limits pay for.
        proven: Lower limits would not suffice.
    """

    caps: Mapping[str, tuple[Limit, ...]]
    raised_by: Fraction
    horizon: int | None
    path: tuple[str, ...]
    proven: bool

    @property
    def measure(self) -> tuple[Fraction | int, ...]:
        """Sort key among options that raise the same resources; the smallest is reported.

        For one resource it is the caps themselves, because the budget that planning had left differs between rounds.
        """
        if len(self.caps) > 1:
            return (self.raised_by,)
        return tuple(limit.cap for limits in self.caps.values() for limit in limits)


def infeasible(episode: Episode, rounds: Sequence[FailedAttempt], counted: str = "") -> EpisodeEnded:
    """Explain why no plan fits, in the result and the trace; return the exception that ends the episode.

    The caps suffice for the sampled plans and for planning calls like those that were made.

    Args:
        episode: The episode.
        rounds: The failed attempts of this planning round.
        counted: What a least cap rests on where it is not the worst case of every step.
    """
    began, least = perf_counter(), dict[tuple[str, ...], _Option]()
    findings, proofs = [], []
    for planning_round in rounds:
        if planning_round.fits:
            continue
        result, ids = explained(episode, planning_round)
        findings.append(result)
        proofs += _proven(result.problem)
        for option in _options(result, planning_round, ids, episode.result.steps):
            known = least.get((*option.caps,))
            if known is None or option.measure < known.measure:
                least[(*option.caps,)] = option
    episode.result.solver_seconds += perf_counter() - began
    alone = [option for raised, option in least.items() if len(raised) == 1]
    best = alone or sorted(least.values(), key=lambda option: option.raised_by)[:1]
    horizons = [finding.horizon.least for finding in findings if finding.horizon and finding.horizon.least is not None]
    horizon = min(horizons) + episode.result.steps if horizons else None
    plans = sum(len(attempt.graph.plans) for attempt in rounds)
    if any(attempt.fits for attempt in rounds):
        cause = "selector"
        reason = f": selector={episode.config.ablations.selector!r} takes none, though a path of the graph does fit"
    elif best:
        cause, reason = "budget", _of_budgets(episode, best)
        reason += counted
    elif horizon is not None:
        cause = "horizon"
        reason = f": the horizon of {episode.config.horizon} moves is too short, {horizon} would do"
    elif all({Cause.NO_TERMINAL, Cause.UNREACHABLE} & {*finding.causes} for finding in findings):
        allowed = " without an action that was refused" if episode.refused else ""
        cause = "no_end"
        none = f"none of {plans} sampled plans comes to an end" if plans else "by the rules nothing leads to the goal"
        reason = f": {none}{allowed}, and no budget would change that"
        most = episode.env.domain.longest_plan
        if most is not None and any(len(plan) >= most for attempt in rounds for plan in attempt.graph.plans):
            reason += f"; of each plan the first {most} actions are read: raise the environment's longest_plan={most}"
    else:
        cause, reason = "open", ": none of the sampled plans could be followed to its end"
        if not all(finding.proven for finding in findings):
            reason += ", and there was no time to find out which caps would do"
    text = f"no plan fits{reason}"
    explanation = {
        "cause": cause,
        "plans": plans,
        "steps": episode.result.steps,
        "left": _amounts(episode.remaining()),
        "used": _amounts({kind: episode.ledger.used[kind] or 0 for kind in episode.remaining()}),
        "options": [_in_units(option) for option in best],
        "horizon": horizon,
        "proven": 0 < len(proofs) == len(rounds),
    }
    episode.result.explanation = explanation
    written = tuple({"problem": proof.problem, "proof": proof.text} for proof in proofs)
    episode.trace.write(InfeasibleEvent(text=text, explanation=explanation, proofs=written))
    return EpisodeEnded("infeasible", text)


def _proven(problem: PathProblem) -> list[Proof]:
    """A proof that nothing fits, which the checker has passed; none where there is none."""
    solution, proof = solved_and_proven(problem, MOST_SECONDS_PROOF)
    return [] if proof is None or solution.has_path else [proof]


def known_least(
    episode: Episode, text: str, plans: int, left: Mapping[str, int], least: Mapping[str, int]
) -> EpisodeEnded:
    """The end of an episode in which the least caps that may do are known without an explanation of a solver.

    Args:
        episode: The episode.
        text: Why, in a sentence.
        plans: How many were looked at.
        left: What is left, real time included where it is short.
        least: The least caps, in counts.
    """
    explanation = {
        "cause": "budget",
        "plans": plans,
        "steps": episode.result.steps,
        "left": _amounts(left),
        "used": _amounts({kind: episode.ledger.used[kind] or 0 for kind in episode.remaining()}),
        "options": [],
        "horizon": None,
        "least": _amounts(least),
    }
    episode.result.explanation = explanation
    episode.trace.write(InfeasibleEvent(text=text, explanation=explanation))
    return EpisodeEnded("infeasible", text)


def explained(episode: Episode, attempt: FailedAttempt) -> tuple[Explanation, tuple[int, ...]]:
    """The explanation of the selection problem, and for each of its edges the id of the graph's edge."""
    config, deadline = episode.config, episode.deadline
    # Without a configured horizon only the budget limits the moves.
    left = len(attempt.graph.nodes) if config.horizon is None else config.horizon - episode.result.steps
    start = episode.key(episode.state)
    problem, ids = attempt.graph.path_problem(start, attempt.spendable, max(1, left), objective=attempt.graph.objective)
    return solvers.explain(problem, deadline.left() if deadline.is_set else MOST_SECONDS), ids


def _options(explanation: Explanation, attempt: FailedAttempt, ids: Sequence[int], steps: int) -> Iterator[_Option]:
    """Each cap that would suffice alone; if there is none, one way to raise several."""

    def option(needed: Mapping[str, int], horizon: int | None, solution: PathSolution, *, proven: bool) -> _Option:
        caps = {kind: attempt.raised(kind, count) for kind, count in needed.items()}
        raised_by = [Fraction(count + 1, attempt.spendable[kind] + 1) for kind, count in needed.items()]
        path = tuple(attempt.graph.edge(ids[edge]).action for edge in solution.edges)
        return _Option(caps, max(raised_by), horizon, path, proven)

    alone = [need for need in explanation.budgets if need.least is not None]
    for need in alone:
        assert need.least is not None
        assert need.path is not None
        yield option({need.limit: need.least}, None, need.path, proven=need.proven)
    joint = explanation.joint
    if joint is not None and not alone and explanation.together:
        horizon = joint.horizon + steps if joint.horizon > explanation.problem.steps else None
        yield option(explanation.together, horizon, joint.path, proven=joint.proven)


def _of_budgets(episode: Episode, best: Sequence[_Option]) -> str:
    """The reason in words: the budget left, the spending so far, and the caps that would suffice."""
    short = sorted({kind for option in best for kind in option.caps})
    # Of several caps on a resource the one with the least left binds.
    binding = {kind: min(episode.ledger.limits(kind), key=lambda limit: limit.left) for kind in short}
    left = " and ".join(part_in_units(kind, limit.left, limit.cap) for kind, limit in binding.items())
    if all(limit.left == limit.cap for limit in binding.values()):
        left = " and ".join(in_units(kind, limit.cap) for kind, limit in binding.items())
    else:
        left = f"what is left, {left}"
    used = [in_units(kind, count) for kind in short if (count := episode.ledger.used[kind])]
    steps = episode.result.steps
    into = f"{steps} step{'' if steps == 1 else 's'} and planning" if steps else "planning"
    spent = f" ({into} took {' and '.join(used)})" if used else ""
    others = len(episode.remaining()) > max(len(option.caps) for option in best)
    needs = ", or ".join(map(_needs, best))
    return (
        f" into {left}{spent}: the cheapest complete plan needs {needs}"
        f"{', the other caps as they are' if others else ''}"
    )


def _needs(option: _Option) -> str:
    """Limits that would suffice, in words."""
    caps = [
        f"{in_units(kind, limit.cap)}{'' if limit.ledger == 'episode' else f' of the {limit.ledger} ledger'}"
        for kind, limits in option.caps.items()
        for limit in limits
    ]
    moves = "" if option.horizon is None else f" and a horizon of {option.horizon} moves"
    most = "" if option.proven else "at most "
    return f"{'a cap' if len(caps) == 1 else 'caps'} of {most}{' and '.join(caps)}{moves}"


def _in_units(option: _Option) -> dict[str, Any]:
    """An option for JSON, in units."""
    caps = [
        {"resource": kind, "ledger": limit.ledger, "cap": _amounts({kind: limit.cap})[kind]}
        for kind, limits in option.caps.items()
        for limit in limits
    ]
    return {"caps": caps, "horizon": option.horizon, "plan": [*option.path], "proven": option.proven}


def _amounts(counts: Mapping[str, int]) -> dict[str, int | float]:
    """Amounts in units, as JSON has them."""
    amounts = {kind: amount_of(kind, count) for kind, count in counts.items()}
    return {kind: int(amount) if amount == int(amount) else float(amount) for kind, amount in amounts.items()}

"""From the events of an episode to its planning rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from solvers.errors import SolverError
from tape.analysis.why.data import BudgetLine, Candidate, Needs, Relaxation, Round
from tape.analysis.why.rebuilt import NotReproducedError, Rebuilt, placed, rebuilt, recorded
from tape.analysis.why.relaxations import Better, Relaxations
from tape.analysis.why.selections import Pick
from tape.analysis.why.spans import LOOK, PathEnd, Reselection, Span, config_of, ended, spans
from tape.analysis.why.words import explain, gain, outcome
from tape.protocols.method import Verdicts, verifying_in
from tape.trace import (
    Event,
    GraphFoldedEvent,
    InfeasibleEvent,
    PathSelectedEvent,
    PlanningEvent,
    PlansSampledEvent,
    refused_actions,
)

MOST_SHOWN = 3
"""Alternatives of a round, and better paths that do not fit."""


def rounds(events: Sequence[Event], *, relax: bool = True) -> list[Round]:
    """The planning rounds of an episode, in order, each followed by what was selected anew on its way.

    Args:
        events: The trace of one episode (:func:`tape.trace.read_trace`).
        relax: Ask what other budgets would change, which takes most of the time; else no budget is named as
            decisive, and there are no better paths that do not fit.

    Returns:
        None for an agent that does not plan. Where a selection cannot be rebuilt, its round holds the reason.
    """
    result: list[Round] = []
    for number, span in enumerate(spans(events), 1):
        result.append(_main(events, number, span, relax))
        result += [_again(events, number, span, place, relax) for place in range(len(span.reselections))]
    return [replace(round_, reasons=tuple(explain(round_)), outcome=outcome(round_)) for round_ in result]


def _main(events: Sequence[Event], number: int, span: Span, relax: bool) -> Round:
    """A round up to what it followed first."""
    at = _followed(events, span)
    until = span.last if at is None else at
    plans = [event for event in events[span.first : until + 1] if isinstance(event, PlansSampledEvent)]
    round_ = Round(
        number=number,
        kind="plan" if span.probe is None else "probe",
        step=span.step,
        reason=span.reason,
        first=span.first,
        last=span.last,
        sampled=sum(len(event.plans) for event in plans),
        readable=sum(sum(event.valid) for event in plans),
        relaxed=relax,
    )
    if at is None:
        return _without_selection(events, span, round_)
    round_ = _selected(events, span, round_, at)
    if span.probe is not None:
        round_ = _probed(events, span, round_)
    if (verifying := verifying_in(config_of(events))) is not None:
        round_ = _verified(events, span, round_, verifying.verdicts(events[span.first : span.last + 1]))
    path = () if round_.chosen is None else round_.chosen.actions
    begun = next((index for index in (span.committed, span.probe) if index is not None), at)
    return replace(round_, ended=ended(events, path, begun, span.last, changed=_changed(events, span, 0)))


def _followed(events: Sequence[Event], span: Span) -> int | None:
    """Index of the selection that a round went by: the last with a path, else the last.

    Where no plan fits, it is the last: a path selected before it was not good enough to follow.
    """
    unfit = not span.acts and any(isinstance(event, InfeasibleEvent) for event in events[span.first : span.last + 1])
    paths = [] if unfit else [index for index in span.selections if _selection(events, index).nodes]
    return max(paths or span.selections, default=None)


def _selection(events: Sequence[Event], index: int) -> PathSelectedEvent:
    event = events[index]
    assert isinstance(event, PathSelectedEvent)
    return event


def _changed(events: Sequence[Event], span: Span, place: int) -> int | None:
    """Index of the first selection, from a place on, by which another path took the place of the one in hand."""
    for anew in span.reselections[place:]:
        if anew.taken and tuple(_selection(events, anew.at).actions) != anew.before:
            return anew.at
    return None


def _without_selection(events: Sequence[Event], span: Span, round_: Round) -> Round:
    """A plan that was followed as it is, or a round that ended before anything was selected."""
    actions: list[str] = []
    if span.acts and not span.folds:
        chain = events[span.chain] if span.chain is not None else None
        sampled = events[span.samples[0]] if span.samples else None
        if isinstance(sampled, PlansSampledEvent):
            actions = next(iter(sampled.plans), [])
        elif isinstance(chain, PlanningEvent):
            actions = chain.planned()
        path = Candidate(tuple(actions), (), (), {}, None, None, None)
        round_ = replace(round_, kind="sampled", chosen=path)
    return replace(round_, ended=ended(events, actions, span.first, span.last))


def _again(events: Sequence[Event], number: int, span: Span, place: int, relax: bool) -> Round:
    """The rest of the path selected anew."""
    anew: Reselection = span.reselections[place]
    selection = _selection(events, anew.at)
    kept = anew.taken and tuple(selection.actions) == anew.before
    round_ = Round(
        number=number,
        kind="reselect",
        step=anew.step,
        reason="",
        first=anew.at,
        last=anew.last,
        before=anew.before,
        taken=anew.taken,
        kept=kept,
        relaxed=relax,
    )
    if kept or not anew.taken:
        noted = _noted(span, round_, selection, anew.at)
        return replace(noted, ended=PathEnd("kept", 0, len(anew.before)))
    round_ = _selected(events, span, round_, anew.at, anew)
    assert round_.chosen is not None, "it was taken"
    changed = _changed(events, span, place + 1)
    return replace(round_, ended=ended(events, round_.chosen.actions, anew.at, span.last, changed=changed))


def _selected(events: Sequence[Event], span: Span, noted: Round, at: int, anew: Reselection | None = None) -> Round:
    """With what was selected, and what else could have been."""
    selection, graph_at = _selection(events, at), span.graph_before(at)
    noted = _noted(span, noted, selection, at)
    if selection.selector == LOOK:
        return replace(noted, kind="look", chosen=recorded(selection))
    if graph_at is None:
        return replace(noted, unreproduced="it holds no plan graph.")
    event = events[graph_at]
    assert isinstance(event, GraphFoldedEvent)
    try:
        again = rebuilt(event, selection, config_of(events))
        if anew is not None and again.pick is not None:
            before = again.on_graph(again.pick.stage, anew.nodes, anew.before)
            gained = "" if before is None else gain(again.candidate(again.pick), before)
            noted = replace(noted, gained=gained)
        return _explored(
            events, span, replace(noted, graph=_counts(again, selection, refused_actions(events, at))), again
        )
    except NotReproducedError as error:
        return replace(noted, unreproduced=str(error))
    except SolverError as error:
        return replace(noted, unreproduced=f"the solver failed: {error}")


def _noted(span: Span, round_: Round, selection: PathSelectedEvent, at: int) -> Round:
    """With what a selection holds."""
    posed = selection.problem
    left = posed.get("budget")
    return replace(
        round_,
        graph_at=span.graph_before(at),
        selected_at=at,
        selector=selection.selector,
        status=selection.status,
        horizon=posed.get("horizon"),
        left=left if isinstance(left, dict) else {},
        chosen=recorded(selection),
    )


def _counts(again: Rebuilt, selection: PathSelectedEvent, refused: frozenset[str]) -> dict[str, int]:
    """What there is in a graph."""
    graph, edges = again.found.graph, [*again.found.graph.edges()]
    confidence = float(selection.problem.get("confidence", 0.0))
    usable = graph.usable_edges(confidence)
    reached = {again.found.rule.start}
    while more := {edge.target for edge in usable if edge.source in reached} - reached:
        reached |= more
    return {
        "nodes": len(graph.nodes),
        "edges": len(edges),
        "certified": sum(edge.certified for edge in edges),
        "contradicted": sum(edge.contradicted and edge.action not in refused for edge in edges),
        "refused": sum(edge.contradicted and edge.action in refused for edge in edges),
        "left_out": len(graph.usable_edges()) - len(usable),
        "goals": sum(bool(graph.attributes(node)["goal"]) for node in reached),
    }


def _explored(events: Sequence[Event], span: Span, round_: Round, again: Rebuilt) -> Round:
    """With alternatives, budgets, and what would be needed."""
    pick, selections = again.pick, again.found
    if pick is None:
        needs = Needs(selections.explain(), _message(events, span))
        return replace(round_, chosen=None, needs=needs, proven=selections.is_proven(None))
    chosen = again.candidate(pick)
    round_ = replace(round_, chosen=chosen)
    others, alike = selections.others(pick, MOST_SHOWN)
    round_ = replace(round_, alternatives=tuple(again.candidate(other) for other in others), alike=alike)
    if round_.by_lm:
        best = again.best
        if best is None:
            return replace(round_, needs=Needs(selections.explain()))
        return replace(round_, selected=None if best.path == pick.path else again.candidate(best))
    round_ = replace(round_, proven=round_.status == "OPTIMAL" and selections.is_proven(pick))
    if chosen.partial:
        round_ = replace(round_, needs=Needs(selections.explain()))
    if round_.status != "OPTIMAL":
        return round_
    kinds, more = selections.kinds if round_.relaxed else [], Relaxations(selections, pick)
    alone = {kind: least for kind in kinds if (least := more.alone(kind)) is not None}
    lines = tuple(
        BudgetLine(kind, selections.rule.left[kind], pick.cost[kind], _relaxation(again, alone.get(kind), chosen))
        for kind in selections.kinds
    )
    if not round_.relaxed:
        return replace(round_, budgets=lines)
    joint = [*more.together([*alone])]
    return replace(
        round_,
        budgets=lines,
        together=tuple(relaxation for least in joint if (relaxation := _relaxation(again, least, chosen))),
        longer=_relaxation(again, more.longer(), chosen),
        misfits=_misfits(again, pick, [least.pick for least in (*alone.values(), *joint)]),
    )


def _relaxation(again: Rebuilt, least: Better | None, chosen: Candidate) -> Relaxation | None:
    if least is None:
        return None
    rule, path = again.found.rule, again.candidate(least.pick)
    left = {**rule.left, "horizon": rule.horizon}
    return Relaxation(least.counts, {kind: left[kind] for kind in least.counts}, path, gain(path, chosen))


def _misfits(again: Rebuilt, pick: Pick, known: Sequence[Pick]) -> tuple[Candidate, ...]:
    """Better paths that do not fit: the best without each budget in turn, without all, and those known; best first."""
    selections = again.found
    without = [
        selections.pick(selections.unlimited(*kinds))
        for kinds in [*([kind] for kind in selections.kinds), selections.kinds]
    ]
    better = [path for path in [*without, *known] if path is not None and selections.better(path, pick)]
    unique = {path.path: path for path in better}
    longest = max((path.problem.steps for path in better), default=0)
    ranked = sorted(unique.values(), key=lambda path: (path.stage, -selections.value(path, longest)))
    shown = [again.candidate(path) for path in ranked]
    return tuple([path for path in shown if path.over][:MOST_SHOWN])


def _message(events: Sequence[Event], span: Span) -> str:
    """What the agent reported where it found no path."""
    texts = [event.text for event in events[span.first : span.last + 1] if isinstance(event, InfeasibleEvent)]
    return texts[-1] if texts else ""


def _probed(events: Sequence[Event], span: Span, round_: Round) -> Round:
    """With the action that was tried because no path was left."""
    assert span.probe is not None
    return replace(round_, chosen=recorded(_selection(events, span.probe)), alternatives=(), misfits=(), budgets=())


def _verified(events: Sequence[Event], span: Span, round_: Round, verdicts: Verdicts) -> Round:
    """With the verdicts of the verifier, and what was committed to."""
    round_ = replace(
        round_,
        hypotheses=verdicts.hypotheses,
        queries=verdicts.queries,
        refusal=verdicts.refusal,
        committed_at=span.committed,
        selected=round_.chosen,
        chosen=None,
    )
    if span.committed is None:
        return round_
    selection, graph_at = _selection(events, span.committed), span.graph_before(span.committed)
    chosen = recorded(selection)
    event: Any = None if graph_at is None else events[graph_at]
    if isinstance(event, GraphFoldedEvent):
        try:
            chosen = placed(event, selection, sorted(round_.left))
        except NotReproducedError as error:
            round_ = replace(round_, unreproduced=str(error))
    same = round_.selected is not None and chosen is not None and round_.selected.actions == chosen.actions
    return replace(round_, chosen=chosen, selected=None if same else round_.selected)

"""From the events of an episode to its planning rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from solvers.errors import SolverError
from tape.analysis.why.data import BudgetLine, Candidate, Relaxation, Round
from tape.analysis.why.needs import Needs
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
    found: list[Round] = []
    for number, span in enumerate(spans(events), 1):
        found.append(_main(events, number, span, relax))
        found += [_again(events, number, span, place, relax) for place in range(len(span.reselections))]
    return [replace(one, reasons=tuple(explain(one)), outcome=outcome(one)) for one in found]


def _main(events: Sequence[Event], number: int, span: Span, relax: bool) -> Round:
    """A round up to what it followed first."""
    at = _followed(events, span)
    until = span.last if at is None else at
    plans = [event for event in events[span.first : until + 1] if isinstance(event, PlansSampledEvent)]
    one = Round(
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
        return _without_selection(events, span, one)
    one = _selected(events, span, one, at)
    if span.probe is not None:
        one = _probed(events, span, one)
    if (verifying := verifying_in(config_of(events))) is not None:
        one = _verified(events, span, one, verifying.verdicts(events[span.first : span.last + 1]))
    path = () if one.chosen is None else one.chosen.actions
    begun = next((index for index in (span.committed, span.probe) if index is not None), at)
    return replace(one, ended=ended(events, path, begun, span.last, changed=_changed(events, span, 0)))


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


def _without_selection(events: Sequence[Event], span: Span, one: Round) -> Round:
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
        one = replace(one, kind="sampled", chosen=path)
    return replace(one, ended=ended(events, actions, span.first, span.last))


def _again(events: Sequence[Event], number: int, span: Span, place: int, relax: bool) -> Round:
    """The rest of the path selected anew."""
    anew: Reselection = span.reselections[place]
    selection = _selection(events, anew.at)
    kept = anew.taken and tuple(selection.actions) == anew.before
    one = Round(
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
        found = _noted(span, one, selection, anew.at)
        return replace(found, ended=PathEnd("kept", 0, len(anew.before)))
    one = _selected(events, span, one, anew.at, anew)
    assert one.chosen is not None, "it was taken"
    changed = _changed(events, span, place + 1)
    return replace(one, ended=ended(events, one.chosen.actions, anew.at, span.last, changed=changed))


def _selected(events: Sequence[Event], span: Span, one: Round, at: int, anew: Reselection | None = None) -> Round:
    """With what was selected, and what else could have been."""
    selection, graph_at = _selection(events, at), span.graph_before(at)
    one = _noted(span, one, selection, at)
    if selection.selector == LOOK:
        return replace(one, kind="look", chosen=recorded(selection))
    if graph_at is None:
        return replace(one, unreproduced="it holds no plan graph.")
    event = events[graph_at]
    assert isinstance(event, GraphFoldedEvent)
    try:
        again = rebuilt(event, selection, config_of(events))
        if anew is not None and again.pick is not None:
            before = again.on_graph(again.pick.stage, anew.nodes, anew.before)
            gained = "" if before is None else gain(again.candidate(again.pick), before)
            one = replace(one, gained=gained)
        return _explored(
            events, span, replace(one, graph=_counts(again, selection, refused_actions(events, at))), again
        )
    except NotReproducedError as error:
        return replace(one, unreproduced=str(error))
    except SolverError as error:
        return replace(one, unreproduced=f"the solver failed: {error}")


def _noted(span: Span, one: Round, selection: PathSelectedEvent, at: int) -> Round:
    """With what a selection holds."""
    posed = selection.problem
    left = posed.get("budget")
    return replace(
        one,
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


def _explored(events: Sequence[Event], span: Span, one: Round, again: Rebuilt) -> Round:
    """With alternatives, budgets, and what would be needed."""
    pick, found = again.pick, again.found
    if pick is None:
        return replace(one, chosen=None, needs=Needs(found.explain(), _message(events, span)))
    chosen = again.candidate(pick)
    one = replace(one, chosen=chosen)
    others, alike = found.others(pick, MOST_SHOWN)
    one = replace(one, alternatives=tuple(again.candidate(other) for other in others), alike=alike)
    if one.by_lm:
        best = again.best
        if best is None:
            return replace(one, needs=Needs(found.explain()))
        return replace(one, selected=None if best.path == pick.path else again.candidate(best))
    if chosen.partial:
        one = replace(one, needs=Needs(found.explain()))
    if one.status != "OPTIMAL":
        return one
    kinds, more = found.kinds if one.relaxed else [], Relaxations(found, pick)
    alone = {kind: least for kind in kinds if (least := more.alone(kind)) is not None}
    lines = tuple(
        BudgetLine(kind, found.rule.left[kind], pick.cost[kind], _relaxation(again, alone.get(kind), chosen))
        for kind in found.kinds
    )
    if not one.relaxed:
        return replace(one, budgets=lines)
    joint = [*more.together([*alone])]
    return replace(
        one,
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
    found = again.found
    without = [found.pick(found.unlimited(*kinds)) for kinds in [*([kind] for kind in found.kinds), found.kinds]]
    better = [path for path in [*without, *known] if path is not None and found.better(path, pick)]
    unique = {path.path: path for path in better}
    longest = max((path.problem.steps for path in better), default=0)
    ranked = sorted(unique.values(), key=lambda path: (path.stage, -found.value(path, longest)))
    shown = [again.candidate(path) for path in ranked]
    return tuple([path for path in shown if path.over][:MOST_SHOWN])


def _message(events: Sequence[Event], span: Span) -> str:
    """What the agent reported where it found no path."""
    texts = [event.text for event in events[span.first : span.last + 1] if isinstance(event, InfeasibleEvent)]
    return texts[-1] if texts else ""


def _probed(events: Sequence[Event], span: Span, one: Round) -> Round:
    """With the action that was tried because no path was left."""
    assert span.probe is not None
    return replace(one, chosen=recorded(_selection(events, span.probe)), alternatives=(), misfits=(), budgets=())


def _verified(events: Sequence[Event], span: Span, one: Round, found: Verdicts) -> Round:
    """With the verdicts of the verifier, and what was committed to."""
    one = replace(
        one,
        hypotheses=found.hypotheses,
        queries=found.queries,
        refusal=found.refusal,
        committed_at=span.committed,
        selected=one.chosen,
        chosen=None,
    )
    if span.committed is None:
        return one
    selection, graph_at = _selection(events, span.committed), span.graph_before(span.committed)
    chosen = recorded(selection)
    event: Any = None if graph_at is None else events[graph_at]
    if isinstance(event, GraphFoldedEvent):
        try:
            chosen = placed(event, selection, sorted(one.left))
        except NotReproducedError as error:
            one = replace(one, unreproduced=str(error))
    same = one.selected is not None and chosen is not None and one.selected.actions == chosen.actions
    return replace(one, chosen=chosen, selected=None if same else one.selected)

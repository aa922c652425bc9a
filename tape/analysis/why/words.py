"""A planning round, and an episode as a whole, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tape.analysis.why.data import Candidate, Round
from tape.analysis.why.spans import config_of, spans
from tape.budget import in_units
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    ClosingEvent,
    DryRunEvent,
    Event,
    FinishedEvent,
    ForecastEvent,
    InfeasibleEvent,
    ResumedEvent,
    ScheduledEvent,
    StartedEvent,
    caps_of,
    refused_actions,
)

_SHORT = 12
"""Characters of an action that still is a move: such actions stand side by side."""

_DIGITS = 3
"""Digits of a score; more where two would look alike."""

COMPLETE = "a complete path"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """One, two and three."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def count_of(number: int, thing: str) -> str:
    """For instance ``1 step``, ``2 steps``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def scores(*values: float) -> list[str]:
    """Scores, with as many digits as distinguish them."""
    digits = _DIGITS
    while True:
        shown = [f"{value:.{digits}g}" for value in values]
        if len(set(shown)) == len(set(values)) or digits > 15:
            return shown
        digits += 1


def is_moves(actions: Sequence[str]) -> bool:
    """Whether actions are short enough to stand side by side."""
    return all(len(action) <= _SHORT and " " not in action for action in actions)


def differences(path: Candidate, chosen: Candidate) -> list[tuple[int, str]] | None:
    """Where a path does something else than the chosen one, by step from 1; None where they are best listed in full."""
    if len(path.actions) != len(chosen.actions) or is_moves(path.actions):
        return None
    steps = zip(path.actions, chosen.actions, strict=True)
    pairs = [(number, name) for number, (name, other) in enumerate(steps, 1) if name != other]
    return pairs if 2 * len(pairs) <= len(path.actions) + 1 else None


def gain(path: Candidate, chosen: Candidate) -> str:
    """What a path has over the chosen one."""
    if chosen.partial and not path.partial:
        return COMPLETE + (" to a goal" if path.goal else "")
    if path.goal and not chosen.goal:
        return "a path to a goal"
    if path.confidence > chosen.confidence:
        return f"a goal by predictions that are all at least {path.confidence:.0%} certain"
    assert path.score is not None
    assert chosen.score is not None
    if path.partial:
        return "a partial path that gets further"
    if path.score != chosen.score:
        new, old = scores(path.score, chosen.score)
        return f"a score of {new} instead of {old}"
    fewer = len(chosen.actions) - len(path.actions)
    return f"the same score in {count_of(fewer, 'step')} fewer" if fewer > 0 else "the same score, and more on the way"


def explain(round_: Round) -> list[str]:
    """Why a round went as it did, the most important first."""
    return list(_explain(round_))


def _explain(round_: Round) -> Iterator[str]:
    if round_.kind == "sampled":
        yield (
            "This agent makes no plan graph: the model's plan is followed as it was sampled, and neither budgets nor "
            "a solver had a part in it."
        )
        return
    if round_.kind == "probe":
        yield (
            "No plan led on from here, so an action was tried whose outcome is not predicted, or predicted to be "
            "impossible: that is only a prediction."
        )
    elif round_.kind == "look":
        yield "It was looked up to compare the sampled programs by their values, before any of them is chosen."
    elif round_.unreproduced is not None:
        yield f"The selection cannot be reproduced from this trace: {round_.unreproduced}"
        return
    elif round_.selected_at is None:
        yield "The round ended before a path was selected."
        return
    tried = round_.kind in ("probe", "look")
    if not tried:
        yield from _chosen(round_)
    if round_.needs is not None:
        yield round_.needs.text
    if round_.chosen is not None and not tried and not round_.by_lm:
        yield from _decided(round_) if round_.relaxed else ["Which budget decided was not asked."]


def _chosen(round_: Round) -> Iterator[str]:
    chosen, picked = round_.chosen, round_.picked
    if round_.by_lm:
        yield "The model picked this path among the sampled plans; budgets and scores had no part in that (ablation)."
        if chosen is not None and chosen.over:
            yield f"It needs {listing([in_units(*item) for item in chosen.over.items()])} more than was left."
        if round_.needs is not None:
            yield "The solver would have found no path here."
        elif round_.selected is None:
            yield "The solver would have taken the same."
        elif chosen is not None and not chosen.over and (round_.selected.objective or 0) <= (chosen.objective or 0):
            yield "The solver would have taken another of the same value."
        elif chosen is not None:
            yield f"The solver would have taken another: {gain(round_.selected, chosen)}."
        return
    if round_.refusal:
        yield f"Nothing was committed to: {round_.refusal}."
    elif round_.committed_at is not None:
        yield "AEC committed to this path: " + (
            "the verifier accepted it." if round_.hypotheses else "on beliefs, without the verifier."
        )
    if round_.queries:
        yield f"To know enough it first asked {listing(round_.queries)}."
    if picked is None:
        yield f"No complete path fits what was left, so nothing could be followed.{_proof(round_)}"
        return
    proof = _proof(round_)
    if round_.kind == "reselect":
        if round_.kept:
            yield "The rest of the path was still the best with what was left." + proof
            return
        if not round_.taken:
            yield "The rest of the path in hand was kept: it leads to a goal, and what was found here does not."
            return
        better = f": {round_.gained}" if round_.gained else ""
        yield f"Less was used than the worst case, so a better path fits than the one in hand{better}.{proof}"
        return
    what = "partial path" if picked.partial else "path"
    lead = "It" if round_.selected is None else "The solver's choice"
    if not picked.goal and not (round_.graph or {}).get("goals"):
        yield "No path of this graph leads to a goal, whatever is left."
        yield f"{lead} is the best {what} that fits, by the score of its end.{proof}"
    else:
        yield f"{lead} is the best {what} of this graph that fits what was left.{proof}"
    if round_.alike:
        others = "1 other path has" if round_.alike == 1 else f"{round_.alike} other paths have"
        yield f"{others} an end of the same score at the same cost, and the solver ranks this one first."
    if picked.confidence:
        left_out = (round_.graph or {}).get("left_out", 0)
        yield (
            f"Only predictions that are at least {picked.confidence:.0%} certain were used, since they lead to a goal; "
            f"{count_of(left_out, 'other')} {'was' if left_out == 1 else 'were'} left out."
        )


def _proof(round_: Round) -> str:
    """Whether the checker has passed a proof of it, or what it rests on."""
    if round_.proven:
        return " Proven."
    if round_.status == "OPTIMAL":
        return " An exact search found it; no proof was made."
    return " It is not proven to be: the solver had no time left." if round_.picked else ""


def _decided(round_: Round) -> Iterator[str]:
    picked = round_.picked
    if picked is None or round_.kept or not round_.taken:
        return
    if not round_.left:
        yield "Nothing was capped, so no budget had a part in it."
        return
    for line in round_.budgets:
        if line.more is not None and not (round_.needs is not None and line.more.gain.startswith(COMPLETE)):
            cap, more = (in_units(line.kind, counts[line.kind]) for counts in (line.more.to, line.more.by))
            yield f"{line.kind} decided: with {cap} ({more} more), {line.more.gain}."
    for joint in round_.together:
        more = listing([in_units(*item) for item in joint.by.items()])
        yield (
            f"{listing([*joint.to])} decided together: with {more} more, {joint.gain}; more of one alone changes "
            "nothing."
        )
    if round_.longer is not None and round_.horizon is not None:
        more = count_of(round_.longer.by["horizon"], "step")
        horizon = count_of(round_.horizon, "step")
        yield f"The horizon of {horizon} decided: with {more} more, {round_.longer.gain}."
    if not round_.decided and round_.longer is None:
        yield "No budget decided: the best path of the graph fits already, and more would buy nothing."


def outcome(round_: Round) -> str:
    """What came of the path, in a sentence or two."""
    strayed, refused, how = round_.ended.strayed, round_.ended.refused, round_.ended.how
    other = f" At {count_of(strayed, 'step')} another action was executed than the path names." if strayed else ""
    if refused and how not in _BY_REFUSAL:
        other += f" {refused} was refused where it was to be approved."
    return f"{_outcome(round_)}{other}"


_BY_REFUSAL = ("refused", "infeasible", "stopped")
"""How a path ends whose action was refused."""


def _outcome(round_: Round) -> str:
    end = round_.ended
    if end.refused and end.how == "stopped":
        return f"The episode was stopped where {end.refused} was to be approved."
    if end.refused and end.how in _BY_REFUSAL:
        then = "which ended the episode" if end.final else "so it was planned anew without it"
        return f"{end.refused} was refused where it was to be approved, {then}."
    steps = "all its steps" if end.taken >= end.of else f"{end.taken} of its {end.of} steps"
    if end.of == 1:
        steps = "its only step" if end.taken else "no step"
    taken = f"After {steps}" if end.taken else "Before its first step"
    if end.success:
        return f"{taken} the episode ended in success."
    match end.how:
        case "mismatch":
            return f"Step {end.taken} of {end.of} did not lead where it was predicted to, so the rest was planned anew."
        case "ended":
            return f"{taken} the goal was not reached, so it was planned anew."
        case "stepped":
            return f"{taken} it was planned anew, as this agent does after every step."
        case "reselected":
            return f"{taken} another path took its place, on the same graph."
        case "probed":
            return "The action was tried, and it was planned anew from what that led to."
        case "contradicted":
            return f"{taken} an observation showed that the rest fails, so it was planned anew."
        case "refused":
            return "Nothing was followed, so plans were sampled anew."
        case "cut":
            return f"{taken} the trace stops."
        case "kept":
            return ""
        case "planned anew":
            return f"{taken} it was planned anew."
    if not end.final:
        return f"{taken} it was planned anew: {end.how}."
    if round_.needs is not None and round_.needs.message:
        return "The episode ended with that."
    detail = f": {end.detail}" if end.detail else ""
    if round_.chosen is None:
        return f"The episode ended ({end.how}){detail}."
    return f"{taken} the episode ended ({end.how}){detail}."


def about(events: Sequence[Event]) -> list[str]:
    """Plain sentences on an episode: the agent, its budgets, how it ended, and why it has no rounds."""
    return list(_about(events))


def _about(events: Sequence[Event]) -> Iterator[str]:
    config = config_of(events)
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    caps = [in_units(kind, cap) for kind, cap in caps_of(events).items()]
    agent = config.get("agent", "An agent")
    yield f"{agent} with {config.get('model', 'a model')}, {f'at most {listing(caps)}' if caps else 'nothing capped'}."
    if started is not None and started.task:
        yield started.task
    if config.get("world_model") == "simulator":
        yield "The simulator predicted what actions lead to: an upper bound, not a baseline."
    yield from _end(events)
    yield from _resumed(events)
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    for text in finished.result.get("left_out", ()) if finished is not None else ():
        yield f"Left out, since too few of the sampled programs have it: {text}"
    for event in events:
        if isinstance(event, DryRunEvent):
            changes = listing([line.strip() for line in event.changes]) or "nothing"
            yield f"On a copy it was seen what the plan changes: {changes} ({event.tried})."
        if isinstance(event, ScheduledEvent) and event.calls:
            yield _at_once(event)
    yield from _forecasts(events)
    if not spans(events) and not any(isinstance(event, ScheduledEvent) for event in events):
        yield _unplanned(events, str(agent))
        if refused := refused_actions(events, len(events)):
            yield f"Refused where approval was asked for: {listing(sorted(refused))}."


def _resumed(events: Sequence[Event]) -> Iterator[str]:
    """Each resumption with what it booked, and what was used in all, which no planned amount shows then."""
    resumed = [event for event in events if isinstance(event, ResumedEvent)]
    for event in resumed:
        lost = f"; booked for what was under way: {_amounts(event.booked)}" if event.booked else ""
        yield f"It was {event.description()}{lost}."
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    if resumed and finished is not None:
        yield f"In all {_amounts(finished.result.get('used') or {})} were used."


def _amounts(counts: Mapping[str, int | None]) -> str:
    """Counts in units; those that are nothing are left out."""
    written = [f"unknown {kind}" if n is None else in_units(kind, n) for kind, n in counts.items() if n != 0]
    return listing(written or ["nothing"])


def _at_once(event: ScheduledEvent) -> str:
    """The critical path of calls that run at once, and what running at once saved."""
    begin, end = min(call.start for call in event.calls), max(call.end for call in event.calls)
    chain = " -> ".join(call.name for call in event.calls if call.critical)
    alone = sum(call.end - call.start for call in event.calls)
    what = "The calls that ran took" if event.done else "Planned were"
    return (
        f"{what} {(end - begin) / 1000:g} s instead of {alone / 1000:g} s one after the other; the critical "
        f"path is {chain}."
    )


def _end(events: Sequence[Event]) -> Iterator[str]:
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    if finished is None:
        yield "The trace stops before the episode has ended."
        return
    result = finished.result
    steps = count_of(int(result.get("steps", 0)), "step")
    if result.get("success"):
        yield f"It succeeded in {steps}."
    else:
        # Where planning ended for want of a path, the last round explains it.
        explained = bool(spans(events)) and any(isinstance(event, InfeasibleEvent) for event in events)
        detail = f": {result['detail']}" if result.get("detail") and not explained else ""
        yield f"It ended without success after {steps} ({result.get('end_state')}){detail}."
    for event in events:
        if isinstance(event, ClosingEvent):
            yield f"{event.description()}."


def _forecasts(events: Sequence[Event]) -> Iterator[str]:
    """How likely the rest was to fit, before each step."""
    events_by_step = {event.step: event for event in events if isinstance(event, ForecastEvent)}
    if not events_by_step:
        return
    words = {"fits": "certain", "nothing_fits": "proven that nothing fits"}
    told = [
        f"{words.get(item.verdict, f'{item.probability:.2f}')} after step {step}"
        for step, item in events_by_step.items()
    ]
    yield f"Costs are expected ones. That the rest fits was {listing(told).replace('after step 0', 'at the start')}."


def _unplanned(events: Sequence[Event], agent: str) -> str:
    """Why there is no round."""
    steps = sum(isinstance(event, ActedEvent) for event in events)
    choices = [event for event in events if isinstance(event, ActionsSampledEvent)]
    if choices:
        return (
            f"{agent} makes no plans: before each step it samples {count_of(len(choices[0].actions), 'action')} and "
            f"takes the one with the best predicted score. `tape show` lists them."
        )
    if not steps:
        finished = any(isinstance(event, FinishedEvent) for event in events)
        return f"{'It ended' if finished else 'That was'} before anything was planned or done, so nothing is explained."
    return (
        f"{agent} makes no plans: the model wrote each of its {count_of(steps, 'step')} from the last observation, "
        "and no budget was weighed against the value of a step. `tape show` lists them."
    )

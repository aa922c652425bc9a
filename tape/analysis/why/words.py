"""A planning round in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tape.analysis.why.data import Candidate, Round
from tape.budget import in_units

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
    found = [(number, one) for number, (one, other) in enumerate(steps, 1) if one != other]
    return found if 2 * len(found) <= len(path.actions) + 1 else None


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


def explain(one: Round) -> list[str]:
    """Why a round went as it did, the most important first."""
    return list(_explain(one))


def _explain(one: Round) -> Iterator[str]:
    if one.kind == "sampled":
        yield (
            "This agent makes no plan graph: the model's plan is followed as it was sampled, and neither budgets nor "
            "a solver had a part in it."
        )
        return
    if one.kind == "probe":
        yield (
            "No plan led on from here, so an action was tried whose outcome is not predicted, or predicted to be "
            "impossible: that is only a prediction."
        )
    elif one.kind == "look":
        yield "It was looked up to compare the sampled programs by their values, before any of them is chosen."
    elif one.unreproduced is not None:
        yield f"The selection cannot be reproduced from this trace: {one.unreproduced}"
        return
    elif one.selected_at is None:
        yield "The round ended before a path was selected."
        return
    tried = one.kind in ("probe", "look")
    if not tried:
        yield from _chosen(one)
    if one.needs is not None:
        yield one.needs.text
    if one.chosen is not None and not tried and not one.by_lm:
        yield from _decided(one) if one.relaxed else ["Which budget decided was not asked."]


def _chosen(one: Round) -> Iterator[str]:
    chosen, picked = one.chosen, one.picked
    if one.by_lm:
        yield "The model picked this path among the sampled plans; budgets and scores had no part in that (ablation)."
        if chosen is not None and chosen.over:
            yield f"It needs {listing([in_units(*item) for item in chosen.over.items()])} more than was left."
        if one.needs is not None:
            yield "The solver would have found no path here."
        elif one.selected is None:
            yield "The solver would have taken the same."
        elif chosen is not None and not chosen.over and (one.selected.objective or 0) <= (chosen.objective or 0):
            yield "The solver would have taken another of the same value."
        elif chosen is not None:
            yield f"The solver would have taken another: {gain(one.selected, chosen)}."
        return
    if one.refusal:
        yield f"Nothing was committed to: {one.refusal}."
    elif one.committed_at is not None:
        yield "AEC committed to this path: " + (
            "the verifier accepted it." if one.hypotheses else "on beliefs, without the verifier."
        )
    if one.queries:
        yield f"To know enough it first asked {listing(one.queries)}."
    if picked is None:
        yield "No complete path fits what was left, so nothing could be followed."
        return
    proof = "" if one.status == "OPTIMAL" else " It is not proven to be: the solver had no time left."
    if one.kind == "reselect":
        if one.kept:
            yield "The rest of the path was still the best with what was left." + proof
            return
        if not one.taken:
            yield "The rest of the path in hand was kept: it leads to a goal, and what was found here does not."
            return
        better = f": {one.gained}" if one.gained else ""
        yield f"Less was used than the worst case, so a better path fits than the one in hand{better}.{proof}"
        return
    what = "partial path" if picked.partial else "path"
    lead = "It" if one.selected is None else "The solver's choice"
    if not picked.goal and not (one.graph or {}).get("goals"):
        yield "No path of this graph leads to a goal, whatever is left."
        yield f"{lead} is the best {what} that fits, by the score of its end.{proof}"
    else:
        yield f"{lead} is the best {what} of this graph that fits what was left.{proof}"
    if one.alike:
        others = "1 other path has" if one.alike == 1 else f"{one.alike} other paths have"
        yield f"{others} an end of the same score at the same cost, and the solver ranks this one first."
    if picked.confidence:
        left_out = (one.graph or {}).get("left_out", 0)
        yield (
            f"Only predictions that are at least {picked.confidence:.0%} certain were used, since they lead to a goal; "
            f"{count_of(left_out, 'other')} {'was' if left_out == 1 else 'were'} left out."
        )


def _decided(one: Round) -> Iterator[str]:
    picked = one.picked
    if picked is None or one.kept or not one.taken:
        return
    if not one.left:
        yield "Nothing was capped, so no budget had a part in it."
        return
    for line in one.budgets:
        if line.more is not None and not (one.needs is not None and line.more.gain.startswith(COMPLETE)):
            cap, more = (in_units(line.kind, counts[line.kind]) for counts in (line.more.to, line.more.by))
            yield f"{line.kind} decided: with {cap} ({more} more), {line.more.gain}."
    for joint in one.together:
        more = listing([in_units(*item) for item in joint.by.items()])
        yield (
            f"{listing([*joint.to])} decided together: with {more} more, {joint.gain}; more of one alone changes "
            "nothing."
        )
    if one.longer is not None and one.horizon is not None:
        more = count_of(one.longer.by["horizon"], "step")
        yield f"The horizon of {count_of(one.horizon, 'step')} decided: with {more} more, {one.longer.gain}."
    if not one.decided and one.longer is None:
        yield "No budget decided: the best path of the graph fits already, and more would buy nothing."


def outcome(one: Round) -> str:
    """What came of the path, in a sentence or two."""
    strayed, refused, how = one.ended.strayed, one.ended.refused, one.ended.how
    other = f" At {count_of(strayed, 'step')} another action was executed than the path names." if strayed else ""
    if refused and how not in _BY_REFUSAL:
        other += f" {refused} was refused where it was to be approved."
    return f"{_outcome(one)}{other}"


_BY_REFUSAL = ("refused", "infeasible", "stopped")
"""How a path ends whose action was refused."""


def _outcome(one: Round) -> str:
    end = one.ended
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
    if one.needs is not None and one.needs.message:
        return "The episode ended with that."
    detail = f": {end.detail}" if end.detail else ""
    if one.chosen is None:
        return f"The episode ended ({end.how}){detail}."
    return f"{taken} the episode ended ({end.how}){detail}."

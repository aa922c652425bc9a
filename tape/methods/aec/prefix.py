"""Certified prefixes: the part of a plan that is followed before the rest of it can be certified [ours].

The paper commits to whole plans. Where a goal needs two things that are unseen, that is to find both before either is
touched. Its appendix B.3 executes like a receding horizon, and theorem 3.4 speaks of whatever is committed to. So the
first k steps of a plan may be committed to if they are

1. *feasible*: each precondition of theirs is a grounded or soundly entailed fact, or established by an earlier one of
   them: the verifier's coverage and pullback, at their interfaces;
2. *harmless*: the budgets pay for the whole plan, no later step requires a value that facts or declared effects
   contradict, and no value of the goal that holds now is false in the end;
3. *useful*: from the last of them on, more values of some alternative of the goal hold together than of any do now; or
   the last one leaves a value unknown that was known and that the rest requires, so that only executing it shows it.

By 1, theorem 3.4 holds of every commitment to a prefix: it executes if the facts are right. That the goal is reached is
claimed of whole plans only.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.methods.aec.verifier import PlanVerdict
from tape.protocols.predicates import Assignment, Predicate
from tape.protocols.pullback import Interface, Progression


def prefix_length(verdict: PlanVerdict, goals: Sequence[Assignment]) -> int:
    """The number of steps of the longest certified prefix of a plan; 0 if there is none.

    Args:
        verdict: The verifier's verdict on the whole plan, with the costs of its steps.
        goals: The alternatives of the goal.
    """
    run = verdict.progression
    goal = len(run.interfaces) - 1
    for witness in verdict.witnesses:
        predicate, required = witness.predicate, witness.required
        if predicate is None or required is None:  # a budget
            return 0
        if witness.kind == "conflict" and (witness.step < goal or _holds(run.interfaces[0], predicate, required)):
            return 0
    feasible = min((witness.step for witness in verdict.witnesses), default=goal)
    nearest = [max(sum(_holds(item, p, v) for p, v in goal.items()) for goal in goals) for item in run.interfaces]
    nearer = [steps for steps in range(1, feasible + 1) if min(nearest[steps:]) > max(nearest[0], nearest[steps - 1])]
    shown = [steps for steps in range(1, feasible + 1) if _leaves_open(run, steps)]
    return max(nearer + shown, default=0)


def _leaves_open(run: Progression, steps: int) -> bool:
    """Whether the last of some steps leaves a known value unknown that the rest requires."""
    before, after = run.interfaces[steps - 1 : steps + 1]
    left = {p: held for p, held in after.left.items() if held.step == steps - 1 and held.value is None}
    return any(
        p in later.right and later.left[p] == held and p in before.left and before.left[p].value is not None
        for p, held in left.items()
        for later in run.interfaces[steps:]
    )


def _holds(interface: Interface, predicate: Predicate, value: bool) -> bool:
    held = interface.left.get(predicate)
    return held is not None and held.value is value

"""A certified trajectory checked again, from its file alone (the invariants of SDP sections 3.2 and 3.3).

What cannot be recomputed (a model's verdict, credit for a new room, the environment's report that all is done) is
counted apart, never taken for checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.studies.sdp.records import ChainRecord, Judged, Move
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.methods.sdp.events import CapsRecord, CheckRecord, TargetRecord
from tape.methods.sdp.loop import NOTHING_LEFT
from tape.protocols.result import END_STATES

_FAULTS = ("env_error", "model_error", "interrupted")
_ENDS: Mapping[str, Collection[str]] = {
    "goal": ("success", "failure"),
    "environment": ("failure", "invalid_output", "solver_error", *_FAULTS),
    "replan_cap": ("replan_limit",),
    "no_chain": ("invalid_output",),
    "step_cap": ("failure",),
    "limit": [state for state in END_STATES if state != "success"],
}
"""The end states that the loop can have ended in, by why it says that it ended; and success, if that is judged late."""


RULES = ("seal", "chain", "verdict", "fact", "certified", "history", "caps", "state", "end")
"""The invariants."""


@dataclass(frozen=True)
class Checked:
    """What could be checked of the certificates.

    Attributes:
        recomputed: Deterministic ones that were computed anew from the recorded facts.
        unrecorded: Deterministic ones on predicates without typed facts: only the environment could repeat them.
        flagged: All others, by what they rest on.
    """

    recomputed: int
    unrecorded: int
    flagged: Mapping[str, int]


def _settings(trajectory: CertifiedTrajectory) -> Mapping[str, Any]:
    """The settings of SDP that an episode was played with."""
    config = trajectory.origin.config.get("sdp")
    return config if isinstance(config, Mapping) else {}


def checked(trajectory: CertifiedTrajectory) -> Checked:
    """Count the certificates by whether they could be checked again."""
    exact = [judged for judged in trajectory.certified if judged.check.how == "deterministic"]
    recomputed = sum(bool(judged.target.requires) for judged in exact)
    flagged = {how: n for how, n in trajectory.by_how().items() if how != "deterministic"}
    return Checked(recomputed, len(exact) - recomputed, flagged)


@dataclass(frozen=True)
class BrokenRule:
    """Something in the record of an episode that is not as it must be.

    Attributes:
        rule: Which rule is broken.
        move: The number of the attempt, from 0, or of the round; None where it is of neither.
        what: What was found.
    """

    rule: str
    move: int | None
    what: str


def revalidate(trajectory: CertifiedTrajectory) -> list[BrokenRule]:
    """Everything about a trajectory that is not as it must be; empty where nothing is.

    Args:
        trajectory: As it was made from a trace or loaded from a file.
    """
    rules = (
        [] if trajectory.seal == trajectory.digest() else [BrokenRule("seal", None, "the content is not the sealed")]
    )
    for check in (_chains, _verdicts, _certified, _history, _states, _end):
        rules += check(trajectory)
    return rules


def recomputed(target: TargetRecord, check: CheckRecord) -> bool | None:
    """What a deterministic check says by its recorded facts; None where there are none to repeat it by."""
    if check.how != "deterministic" or not target.requires:
        return None
    facts = dict(check.facts)
    return all(facts.get(name) is value for name, value in target.requires)


def _chains(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """Chains end with the goal, and a new tail begins where the certified predicates end."""
    moves = trajectory.moves
    if moves and (not trajectory.plans or trajectory.plans[0].after):
        yield BrokenRule("chain", 0, "an attempt before the first chain")
    last = 0
    for number, plan in enumerate(trajectory.plans):
        at = max(0, min(plan.after, len(moves)))
        if (number == 0) != (plan.reason == "proposed"):
            yield BrokenRule("chain", None, f"chain {number} has the reason {plan.reason!r}")
        if plan.after < last or plan.after > len(moves):
            yield BrokenRule("chain", None, f"chain {number} is out of order")
        last = plan.after
        certified = sum(move.k for move in moves[:at])
        if plan.certified != certified:
            yield BrokenRule("chain", at, f"chain {number} begins after {plan.certified} of {certified} certified ones")
        if plan.step != (moves[at - 1].step if at else plan.step):
            yield BrokenRule("chain", at, f"chain {number} was made at step {plan.step}, not at the last attempt's")
        goals = [target.goal for target in plan.targets]
        if plan.targets and (not goals[-1] or any(goals[:-1])):
            yield BrokenRule("chain", at, f"chain {number} has its goal elsewhere than at its end")


def _verdicts(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """No false predicate is skipped: k is what the checks say, and deterministic ones follow from their facts."""
    config = _settings(trajectory)
    cascade, always = config.get("cascade", True), config.get("validation") == "always"
    for number, move in enumerate(trajectory.moves):
        holds = [judged.check.holds for judged in move.judged]
        if not 0 <= move.k <= len(holds) or not all(holds[: move.k]):
            yield BrokenRule("verdict", number, f"k = {move.k} goes over a predicate that does not hold")
        if False in holds[:-1]:
            yield BrokenRule("verdict", number, "a predicate after one that does not hold was looked at")
        if move.k != sum(holds):
            yield BrokenRule("verdict", number, f"k = {move.k}, but {sum(holds)} predicates hold")
        if not cascade and move.k > 1 and not move.completed:
            yield BrokenRule("verdict", number, f"k = {move.k} with cascade off")
        for judged in move.judged:
            yield from _flags(number, move, judged, always=always)
            yield from _facts(number, judged)


def _flags(number: int, move: Move, judged: Judged, *, always: bool) -> Iterator[BrokenRule]:
    """What stands for a check of its own stands only where the episode says so: its end, or its switches."""
    how = judged.check.how
    if (how == "completion") != move.completed:
        done = "done" if move.completed else "not done"
        yield BrokenRule("verdict", number, f"{judged.target.text!r} was judged by {how!r} while the task is {done}")
    elif how != "completion" and (how == "always") != always:
        yield BrokenRule("verdict", number, f"{judged.target.text!r} was judged by {how!r}, against its switches")


def _facts(number: int, judged: Judged) -> Iterator[BrokenRule]:
    facts = {(name, value) for name, value in judged.check.facts}
    asked = {name for name, _ in judged.target.requires}
    against = {(name, not value) for name, value in judged.target.requires}
    if len(dict(facts)) < len(facts) or not {name for name, _ in facts} <= asked:
        yield BrokenRule(
            "fact", number, f"facts that {judged.target.text!r} does not ask for, or that contradict another"
        )
    again = recomputed(judged.target, judged.check)
    if again is not None and again != judged.check.holds:
        said = "holds" if judged.check.holds else "does not hold"
        yield BrokenRule("fact", number, f"{judged.target.text!r} {said}, but its facts say otherwise")
    elif judged.check.holds and facts & against:
        yield BrokenRule("fact", number, f"{judged.target.text!r} holds by {judged.check.how!r}, against a fact")


def _certified(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """Certified predicates only grow, in the order of the chain, by validation alone."""
    so_far: list[str] = []
    for number, move in enumerate(trajectory.moves):
        if move.before.certified != so_far:
            yield BrokenRule("certified", number, "the certified predicates before it are not those after the last one")
        plans = [plan for plan in trajectory.plans if plan.after <= number]
        tail = plans[-1].targets[max(0, len(so_far) - plans[-1].certified) :] if plans else []
        if [judged.target for judged in move.judged] != tail[: len(move.judged)]:
            yield BrokenRule("certified", number, "the predicates looked at are not the next ones of the chain")
        if move.completed and move.k != len(tail):
            yield BrokenRule(
                "certified", number, f"the task was reported as done, but only {move.k} of {len(tail)} are"
            )
        so_far = so_far + [judged.target.text for judged in move.judged[: max(0, move.k)]]
        if move.after.certified != so_far:
            yield BrokenRule("certified", number, "what is certified after it is not what was, and its k predicates")


def _history(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """Failed attempts are counted one by one; a target is replanned after exactly b of them; caps are kept."""
    caps, voided = trajectory.ending.caps, trajectory.origin.config.get("aec") is not None
    failed = replanned = 0
    later = list(trajectory.plans[1:])
    last: Move | None = None
    stuck = False
    for number, move in enumerate([*trajectory.moves, None]):
        while later and (later[0].after <= number or move is None):
            replanned += 1
            yield from _replan(later.pop(0), last, failed, caps, voided=voided)
            failed, stuck = 0, False
            if replanned > caps.replans:
                yield BrokenRule("caps", number, f"the target was replanned {replanned} times")
        if move is None:
            break
        if move.failed != failed:
            yield BrokenRule("history", number, f"{move.failed} failed attempts before it, counted {failed}")
        if failed >= caps.attempts:
            yield BrokenRule("caps", number, f"attempted again after {failed} failed attempts")
        if stuck:
            yield BrokenRule("history", number, "attempted again where there was nothing to try")
        if move.action is None and (move.k or move.judged):
            yield BrokenRule("history", number, "certified without an action")
        if move.action is None and move.reason != (move.text or NOTHING_LEFT):
            yield BrokenRule(
                "history", number, f"without an action because {move.text!r}, rejected for {move.reason!r}"
            )
        failed = 0 if move.k else failed + move.counts
        replanned = 0 if move.k else replanned
        last, stuck = move, _gave_up(move)
    if len(trajectory.moves) > caps.steps:
        yield BrokenRule("caps", None, f"{len(trajectory.moves)} attempts under a cap of {caps.steps}")


def _gave_up(move: Move) -> bool:
    """Whether REALIZE had nothing to try: the target is then replanned at once."""
    return move.action is None and not move.counts


def _replan(
    plan: ChainRecord, last: Move | None, failed: int, caps: CapsRecord, *, voided: bool
) -> Iterator[BrokenRule]:
    """A replan comes after the last allowed attempt, where there is nothing to try, or where a verifier says so."""
    counted = f"{failed} failed attempts"
    if last is None:
        yield BrokenRule("history", plan.after, "replanned without an attempt")
    elif _gave_up(last):
        if plan.reason != last.reason:
            yield BrokenRule("history", plan.after, f"replanned because {plan.reason!r}, after {last.reason!r}")
    elif voided and plan.reason != counted:
        return
    elif plan.reason != counted:
        yield BrokenRule("history", plan.after, f"replanned because {plan.reason!r}, after {counted}")
    elif not failed or failed != caps.attempts:
        yield BrokenRule("history", plan.after, f"replanned after {failed} failed attempts, not {caps.attempts}")


def _states(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """Actions are those of the episode, in its order; between attempts the abstract state stays as it is."""
    actions, step = trajectory.ending.actions, 0
    before: Move | None = None
    for number, move in enumerate(trajectory.moves):
        if move.action is None:
            if move.step < step:
                yield BrokenRule("state", number, f"step {move.step} after step {step}")
        elif move.step <= step or move.step > len(actions) or actions[move.step - 1] != move.action:
            yield BrokenRule("state", number, f"{move.action!r} is not the episode's action at step {move.step}")
        own = int(move.action is not None)
        if before is not None and move.step - own == before.step and _place(move, 0) != _place(before, 1):
            yield BrokenRule("state", number, "it does not begin where the last attempt ended")
        before, step = move, max(step, move.step)


def _place(move: Move, which: int) -> tuple[str, Mapping[str, object]]:
    state = (move.before, move.after)[which]
    return state.node, state.fields


def _end(trajectory: CertifiedTrajectory) -> Iterator[BrokenRule]:
    """The end is what the attempts lead to, and an allowed one."""
    end, moves = trajectory.ending, trajectory.moves
    certified = trajectory.certified
    goal = bool(certified) and certified[-1].target.goal
    recorded = (end.certified, end.planned, end.goal_certified, end.rejected)
    counted = (len(certified), len(certified) + len(trajectory.left()), goal, len(trajectory.history))
    if recorded != counted:
        yield BrokenRule("end", None, f"certified, planned, goal and rejected are {recorded}, counted {counted}")
    replans = max(0, len(trajectory.plans) - 1)
    # A replan that a limit or fault cut short is counted, and has left no chain.
    if end.replans != replans and (end.why not in ("limit", "environment") or end.replans != replans + 1):
        yield BrokenRule("end", None, f"{end.replans} replans, but {replans} chains after the first")
    state, _, kind = end.end_state.partition(":")
    if state not in END_STATES or (state == "budget") != bool(kind):
        yield BrokenRule("end", None, f"{end.end_state!r} is no end state")
    if end.success != (state == "success") and not end.forced:
        yield BrokenRule("end", None, f"success is {end.success} with the end state {end.end_state!r}")
    if state not in _ENDS[end.why] and not (end.success and state == "success"):
        yield BrokenRule("end", None, f"it ended by {end.why!r}, and the end state is {end.end_state!r}")
    if (end.why == "goal") and not goal:
        yield BrokenRule("end", None, "it ended by its goal, which is not certified")
    if (end.why == "no_chain") != any(not plan.targets for plan in trajectory.plans):
        yield BrokenRule("end", None, "no chain was found, and it went on, or it is not said")
    for number, move in enumerate(moves):
        if move.completed and not (end.success and number == len(moves) - 1):
            yield BrokenRule("end", number, "the environment reported the task as done, and it went on or failed")
    if any(judged.target.goal for judged in certified[:-1]):
        yield BrokenRule("end", None, "something was certified after the goal")

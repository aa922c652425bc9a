"""A certified trajectory held against what it recorded itself: every state is made anew, and every fact read off it.

A state is recorded three times: as the projector's fields, as the key of its node, and in the facts that a verdict
rests on. The environment's adapter (:class:`tape.sdp.adapter.Regrounds`) makes the state from the fields; from that
state alone follow the key, the facts, the verdicts and, where everything is seen, whether the task is done. The actions
are not played: that they lead from state to state is for :mod:`tape.analysis.by_replay` to show.
"""

from __future__ import annotations

from collections.abc import Iterator

from tape.protocols import Environment, State
from tape.protocols.method import Audit, Finding
from tape.sdp.adapter import ChecksSteps, Regrounds
from tape.sdp.adapters import require_adapter
from tape.sdp.events import TargetRecord, as_in_json
from tape.sdp.records import Judged, Move
from tape.sdp.records import State as Recorded
from tape.sdp.trajectory import CertifiedTrajectory

RULE = "grounding"


def reground(trajectory: CertifiedTrajectory, env: Environment) -> Audit:
    """Make every recorded state anew, and read everything that is said of it off it.

    Args:
        trajectory: As it was made from a trace or loaded from a file.
        env: An environment of its task; it is not played.

    Raises:
        ConfigError: The environment has no adapter.
    """
    adapter = require_adapter(env)
    if not isinstance(adapter, Regrounds):
        return Audit(unchecked=[f"{type(env).__name__} cannot make a state from recorded fields"])
    checker = _Checker(env, adapter)
    try:
        found = [*checker.chains(trajectory), *checker.moves(trajectory)]
    except NotImplementedError as error:
        return Audit(unchecked=[f"{type(env).__name__}: {error}"])
    return Audit(found, checker.facts)


class _Checker:
    def __init__(self, env: Environment, adapter: Regrounds) -> None:
        self._domain, self._adapter = env.domain, adapter
        self.facts = 0

    def chains(self, trajectory: CertifiedTrajectory) -> Iterator[Finding]:
        """What is said of a target in words is what it requires."""
        for number, plan in enumerate(trajectory.plans):
            for record in plan.targets:
                said = self._words(record)
                if said:
                    yield Finding(RULE, min(plan.after, len(trajectory.moves)), f"chain {number}: {said}")

    def _words(self, record: TargetRecord) -> str:
        try:
            target = record.target()
            again = self._adapter.restated(target)
        except Exception as error:  # a record may hold anything
            return f"{record.text!r} is no target of this task: {str(error)[:200]}"
        if again is None or TargetRecord.of(again) == record:
            return ""
        return f"{record.text!r} is not the text of a target that requires {[*record.requires]}"

    def moves(self, trajectory: CertifiedTrajectory) -> Iterator[Finding]:
        """States and verdicts of every attempt."""
        for number, move in enumerate(trajectory.moves):
            states = []
            for name, recorded in (("before", move.before), ("after", move.after)):
                state, said = self._state(recorded)
                if said:
                    yield Finding(RULE, number, f"{name} it: {said}")
                states.append(state)
            if None not in states:
                wrong = [*self._steps(number, move, *states), *self._verdicts(move, *states)]
                yield from (Finding(RULE, number, one) for one in wrong)

    def _steps(self, number: int, move: Move, before: State, after: State) -> Iterator[str]:
        """What the rules of the task do not allow an action to have changed; at the beginning nothing has happened."""
        adapter = self._adapter
        if not isinstance(adapter, ChecksSteps):
            return
        steps = [(None, None, before)] if number == 0 and move.step == (move.action is not None) else []
        for one in [*steps, *([(before, move.action, after)] if move.action is not None else [])]:
            if said := adapter.contradiction(*one):
                yield said

    def _state(self, recorded: Recorded) -> tuple[State | None, str]:
        """The state, and what contradicts it in what was recorded of it."""
        try:
            state = self._adapter.restored(recorded.fields)
        except NotImplementedError:
            raise
        except Exception as error:  # a record may hold anything
            return None, f"the fields are those of no state: {str(error)[:200]}"
        fields = as_in_json(dict(self._adapter.fields(state)))
        if fields != recorded.fields:
            wrong = sorted(
                name for name in {*fields, *recorded.fields} if fields.get(name) != recorded.fields.get(name)
            )
            return state, f"the fields contradict each other, or the task: {', '.join(wrong)}"
        if (key := self._domain.key(state)) != recorded.node:
            return state, f"the fields are of the node {key!r}, not of {recorded.node!r}"
        return state, ""

    def _verdicts(self, move: Move, before: State, after: State) -> Iterator[str]:
        done = self._adapter.at_goal(after)
        if done is not None and move.action is not None and done != move.completed:
            yield f"the task is {'done' if done else 'not done'} in the recorded state, recorded otherwise"
        for place, judged in enumerate(move.judged):
            if judged.check.how != "deterministic":
                yield from self._said(judged, after)
                continue
            yield from self._verdict(judged, before, after, completed=move.completed, head=not place)

    def _said(self, judged: Judged, after: State) -> Iterator[str]:
        """A verdict that is not computed: whatever facts are recorded beside it, the state has to show."""
        if not judged.check.facts:
            return
        try:
            facts = [*self._adapter.facts(judged.target.target(), after)]
        except ValueError as error:
            yield str(error)
            return
        self.facts += len(judged.check.facts)
        if facts != [*judged.check.facts]:
            yield f"the recorded state does not show the facts of {judged.target.text!r}"

    def _verdict(self, judged: Judged, before: State, after: State, *, completed: bool, head: bool) -> Iterator[str]:
        record, check = judged.target, judged.check
        try:
            target = record.target()
        except ValueError as error:
            yield str(error)
            return
        if target.goal:
            if check.holds != completed or check.facts:
                yield "the goal is judged otherwise than the environment's report says"
            return
        facts = [*self._adapter.facts(target, after)]
        self.facts += len(check.facts)
        if facts != [*check.facts]:
            wrong = sorted({name for name, _ in {*facts} ^ {*check.facts}})
            yield f"the recorded state does not show the facts: {', '.join(wrong)}"
        holds = all(dict(facts).get(name) is value for name, value in record.requires)
        if not record.requires and not facts:
            holds = head and self._domain.key(before) != self._domain.key(after)
        if (record.requires and holds != check.holds) or (not (record.requires or facts) and holds != check.holds):
            yield f"{record.text!r} {'holds' if holds else 'does not hold'} in the recorded state"

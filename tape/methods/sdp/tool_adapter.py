"""The adapter of tools: the predicate of a call is its declared result, and the state shows whether it holds.

``result(#2, multiply(a=#1, b=80))`` means that the second result of the episode is that of this call, by any tool of
its kind. The call's precondition is that the results it refers to exist. The predicate does not claim that the result
is *right*: a tool with a declared quality of .8 errs in a fifth of its calls, at unknown times. If a model has read the
result from a text, the certificate depends on the model and is flagged.
"""

from __future__ import annotations

from collections.abc import Sequence

from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.operators import Check, How, Operators, Outcome, Validate, Verdict
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, State
from tape.protocols.predicates import Predicate
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.domain import ToolDomain, as_state
from tape.tools.errors import InvalidCallError
from tape.tools.results import LONGEST_RESULT, cut
from tape.tools.state import UNSAID, Obtained, ToolState

CAPS = Caps(attempts=3, replans=5, steps=200)
"""Ours: the paper has no user-defined tools."""

RESULT, ANSWERED = "result", "answered"
"""The predicates: a numbered result of a call, and the answer as written."""

GOAL = Target("the right answer has been given", "goal", goal=True)


class ToolValidate:
    """VALIDATE from the state, which holds a result or does not; no model is called."""

    def __init__(self, domain: ToolDomain) -> None:
        self._domain = domain

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """k, from the results after the action; only the environment certifies the goal."""
        before, after = as_state(outcome.before), as_state(outcome.after)
        checks: list[Check] = []
        for target in tail:
            if target.goal:
                evidence = "the environment reports the task as done" if outcome.completed else "the task is not done"
                checks.append(Check(outcome.completed, "deterministic", evidence))
            elif target.requires:
                checks.append(self._required(target, after))
            else:
                changed = not checks and before.key() != after.key()
                checks.append(Check(changed, "deterministic", after.note or "something has changed"))
            if not checks[-1].holds:
                return Verdict(tuple(checks), checks[-1].evidence)
        return Verdict(tuple(checks))

    def _required(self, target: Target, after: ToolState) -> Check:
        facts = facts_of(target, after)
        if all(dict(facts)[str(predicate)] is value for predicate, value in target.requires):
            return Check(True, self._how(target, after), self._evidence(target, after), facts)
        reason = after.note or self._missing(target, after)
        # A model that finds nothing in a text may be wrong; a failed or missing call is certain.
        return Check(False, "lm" if after.note == UNSAID else "deterministic", reason, facts)

    @staticmethod
    def _missing(target: Target, after: ToolState) -> str:
        number = next(iter(_numbers(target)), 0)
        if not number:
            return "no such answer has been given"
        return _taken(number, after) if number <= len(after.got) else f"there is no #{number} yet"

    def _how(self, target: Target, after: ToolState) -> How:
        """``lm`` if a model has read any of the required results, else ``deterministic``."""
        made = (after.got[number - 1].call for number in _numbers(target))
        return "lm" if any(self._domain.toolbox.find(call).reads for call in made) else "deterministic"

    def _evidence(self, target: Target, after: ToolState) -> str:
        evidence = []
        for number in _numbers(target):
            obtained = after.got[number - 1]
            tool = self._domain.toolbox.find(obtained.call)
            by = f"read by the model from what {tool.name} brought" if tool.reads else f"by {tool.name}"
            quality = "" if tool.quality is None else f", declared quality {tool.quality:g}"
            evidence.append(f"#{number} = {_shown(obtained)} ({by}{quality})")
        return "; ".join(evidence) or f"the answer is {after.answer}"


class ToolAdapter:
    """Implements :class:`tape.methods.sdp.adapter.Foresees`."""

    def __init__(self, domain: ToolDomain, caps: Caps = CAPS) -> None:
        self._domain, self.caps = domain, caps

    def fields(self, state: State) -> Fields:
        """Calls with their results, failed calls with the number of results before them, the last error, the answer.

        Long results are cut. Refusals by an approver are events of their own.
        """
        here = as_state(state)
        return (
            ("results", tuple((obtained.call.text, *_kept(obtained)) for obtained in here.got)),
            ("failed", tuple((failure.call.text, failure.after) for failure in here.failures)),
            ("note", here.note),
            ("answer", here.answer or ""),
        )

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """One target per call, then the goal."""
        steps = zip(map(as_state, states), actions, map(as_state, states[1:]), strict=False)
        return (*(_target(before, action, after) for before, action, after in steps), GOAL)

    def lost(self, target: Target, state: State) -> str | None:
        """Why a result is impossible: its number is taken, or no tool can be called for it here."""
        here = as_state(state)
        for predicate, _ in target.requires:
            if predicate.name != RESULT or _holds(predicate, here):
                continue
            number, wanted = _result_of(predicate)
            if number <= len(here.got):
                return _taken(number, here)
            tried = [self._impossible(here, call) for call in self._variants(wanted)]
            if all(tried):
                return tried[-1] if tried else f"there is no tool {wanted.kind}"
        return None

    def ways(self, target: Target, state: State) -> Sequence[Action] | None:
        """The calls of all tools of its kind that are possible here; None for the goal and the answer."""
        here, predicates = as_state(state), [p for p, _ in target.requires if p.name == RESULT]
        if not predicates:
            return None
        calls = self._variants(_result_of(predicates[0])[1])
        return [call.text for call in calls if self._impossible(here, call) is None]

    def refused(self, action: Action, state: State) -> bool:
        """Whether the action is not a possible call."""
        return self._domain.outcome(state, action).state is None

    def _variants(self, wanted: Call) -> list[Call]:
        tools = self._domain.toolbox.of_kind(wanted.kind)
        return [Call(wanted.kind, item.variant, wanted.args) for item in tools]

    def _impossible(self, state: ToolState, call: Call) -> str | None:
        try:
            self._domain.require_possible(state, call)
        except InvalidCallError as error:
            return str(error)
        return None

    def validator(self, tools: Tools) -> Validate:
        """VALIDATE from the state."""
        del tools
        return ToolValidate(self._domain)

    def operators(self, tools: Tools) -> Operators | None:
        """None: chains come from plans of calls (``walk``, ``sample``)."""
        del tools
        return None


def facts_of(target: Target, state: ToolState) -> tuple[tuple[str, bool], ...]:
    """The values of a target's required predicates."""
    return tuple((str(predicate), _holds(predicate, state)) for predicate, _ in target.requires)


def _holds(predicate: Predicate, state: ToolState) -> bool:
    if predicate.name == ANSWERED:
        return state.answer == _argument(predicate)
    try:
        number, call = _result_of(predicate)
    except ValueError:  # in a malformed record
        return False
    return number <= len(state.got) and state.got[number - 1].call.symbol == call.symbol


def _taken(number: int, state: ToolState) -> str:
    return f"#{number} is the result of {state.got[number - 1].call.symbol}"


def _argument(predicate: Predicate) -> str:
    """The text between the parentheses, with the commas of a call's arguments."""
    return ", ".join(predicate.args)


def _result_of(predicate: Predicate) -> tuple[int, Call]:
    """The number and the call of ``result(#2, multiply(a=#1, b=80))``."""
    number, _, symbol = _argument(predicate).partition(", ")
    if predicate.name != RESULT or not number.startswith("#") or not number[1:].isdecimal() or not int(number[1:]):
        raise ValueError(f"{str(predicate)[:80]!r} is not {RESULT}(#K, CALL)")
    call = parse(symbol)
    if call.symbol != symbol or f"#{int(number[1:])}" != number:
        raise ValueError(f"{str(predicate)[:80]!r} does not write its call in normal form")
    return int(number[1:]), call


def _numbers(target: Target) -> list[int]:
    return [_result_of(predicate)[0] for predicate, _ in target.requires if predicate.name == RESULT]


def _target(before: ToolState, action: Action, after: ToolState) -> Target:
    """The target of an edge: its new result, or the answer."""
    if len(after.got) > len(before.got):
        return _obtaining(len(after.got), after.got[-1].call)
    return _given(after.answer) if after.answer is not None else _made(action)


def _obtaining(number: int, call: Call) -> Target:
    requires = ((Predicate(RESULT, (f"#{number}", call.symbol)), True),)
    return Target(f"#{number} is the result of {call.symbol}", call.kind, requires)


def _given(answer: str) -> Target:
    return Target(f"the answer {answer} has been given", ANSWER, ((Predicate(ANSWERED, (answer,)), True),))


def _made(action: Action) -> Target:
    """The target of an edge without a result, such as a call that is known to fail here."""
    return Target(f"{action} has been tried", "try")


def _kept(obtained: Obtained) -> tuple[str, ...]:
    """The recorded value; empty if it is only predicted."""
    return () if obtained.value is None else (_shown(obtained),)


def _shown(obtained: Obtained) -> str:
    return cut(obtained.value or "?", LONGEST_RESULT)

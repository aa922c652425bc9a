"""What a tool environment declares to the engine."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tape.budget import STEP, Resources
from tape.budget.prices import Fixed
from tape.plan.open import Open
from tape.plan.record import Effects, MadeCall
from tape.plan.vocabulary import Vocabulary
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.domain import Domain
from tape.protocols.parts import Outcomes, UncertainCosts
from tape.protocols.programs import Option, Programs
from tape.tools.answers import AnswerType
from tape.tools.briefing import NO_BRIEFING, Briefing
from tape.tools.calls import ANSWER, LONGEST, Call, from_mapping, given, parse
from tape.tools.errors import InvalidCallError, ToolError
from tape.tools.state import ToolState
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox
from tape.tools.uncertain import uncertain_costs
from tape.tools.words import names, vocabulary

_WIDTH = 72
"""Characters of a line in a picture."""

MOST_RESULTS = 99
"""An episode obtains no more results."""

LONGEST_PLAN = 12
"""Calls of a sampled plan at most, unless the environment says otherwise."""


def as_state(state: State) -> ToolState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, ToolState), f"not a state of a tool environment: {state!r}"
    return state


class ToolDomain(Domain, Outcomes, Programs):
    """What tools declare."""

    deterministic = False
    marks_destructive = True

    def __init__(
        self, task: str, toolbox: Toolbox, *, longest_plan: int = LONGEST_PLAN, answer: AnswerType | None = None,
        briefing: Briefing = NO_BRIEFING,
    ) -> None:  # fmt: skip
        if not isinstance(longest_plan, int) or not 1 <= longest_plan <= MOST_RESULTS:
            raise ToolError(f"longest_plan is a whole number from 1 to {MOST_RESULTS}, got {longest_plan!r}")
        self.task, self.toolbox = task, toolbox
        self._again: set[Action] = set()
        self.since = 0
        """So many results are from before something outside has changed, such as what a user asks for."""
        self.calls_before = 0
        """So many calls, those that failed too, are from before then."""
        self.longest_plan: int = longest_plan
        self.answer, self.briefing = answer, briefing
        self._made_of: tuple[ToolState, bool, list[MadeCall]] | None = None
        self.renew()
        self.words(())  # a name that programs have for something else is refused at once

    def task_text(self) -> str:
        """The task as it was given."""
        return self.task

    def key(self, state: State) -> str:
        """See :meth:`tape.tools.state.ToolState.key`."""
        return as_state(state).key()

    def render(self, state: State) -> str:
        """Results, failures and the answer, one a line; of what is only predicted no more than the tool."""
        return picture(as_state(state))

    def project(self, observation: Observation) -> ToolState:
        """The state as it was observed; results that a model reads are still to be read."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: the arguments are open."""
        del state
        return None

    def cost(self, state: State, action: Action) -> Resources:
        """The declared worst case; of what is no call of a tool, the step."""
        del state
        try:
            call = parse(action)
            return STEP if call.kind == ANSWER else self.toolbox.find(call).worst
        except InvalidCallError:
            return STEP

    @property
    def uncertain_costs(self) -> UncertainCosts | None:
        """What the costs of the tools declare; None where all are fixed."""
        return uncertain_costs(self.toolbox)

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every tool, and of answering."""
        return {**{item.name: item.worst for item in self.toolbox.all()}, ANSWER: STEP}

    def outcome(self, state: State, action: Action) -> Prediction:
        """The result is obtained, or the answer given; an action that the environment would refuse is invalid."""
        before = as_state(state)
        try:
            call = parse(action)
            self.require_possible(before, call)
        except InvalidCallError:
            return Prediction(None)
        if call.kind == ANSWER:
            return Prediction(replace(before, answer=call.args[0][1], note=""))
        return Prediction(before.with_call(call))

    def require_possible(self, state: ToolState, call: Call) -> None:
        """Check all of a call that can be checked; in a predicted state the values of results are not there yet.

        A pure call is not repeated while the world is as it was: its result would be the same, and is there already. A
        call that failed is not repeated by the same tool before another call has changed something.
        """
        if state.answer is not None:
            raise InvalidCallError("the answer has been given")
        if call in state.refused:
            raise InvalidCallError(f"{call.text} was refused; do without it")
        if unknown := [k for k in call.references if not 1 <= k <= len(state.got)]:
            raise InvalidCallError(f"#{unknown[0]} is the result of no call; there are {len(state.got)} results")
        if call.kind == ANSWER:
            if [name for name, _ in call.args] != ["value"] or call.variant:
                raise InvalidCallError(f"an answer is {ANSWER}(value=...)")
            return
        if len(state.got) >= MOST_RESULTS:
            raise InvalidCallError(f"an episode obtains at most {MOST_RESULTS} results")
        item = self.toolbox.find(call)
        item.require_names(call)
        outdated = self.outdated(state)  # the results after those are of pure calls alone
        for number, obtained in enumerate(state.got[outdated:], outdated + 1):
            if obtained.call.symbol == call.symbol:
                raise InvalidCallError(f"#{number} is the result of {call.symbol} already")
        last = next((failure for failure in state.failures if failure.call == call), None)
        if last is not None and last.after >= self._last_change(state) and call.text not in self._again:
            raise InvalidCallError(f"{call.text} has failed already; use another tool or other arguments")
        if all(state.got[k - 1].value is not None for k in call.references):
            item.filled(call, state.values() if call.references else [])

    def _last_change(self, state: ToolState) -> int:
        """The number of the last result of a call that is not pure; 0 where there is none."""
        pure = self.toolbox.is_pure
        return next((k for k in range(len(state.got), 0, -1) if not pure(state.got[k - 1].call)), 0)

    def outdated(self, state: ToolState) -> int:
        """How many of the results are from before the last call that is not pure, and may no longer be so.

        A call that failed counts too: it may have changed something before it failed.
        """
        tried = [failure.after for failure in state.failures if not self.toolbox.is_pure(failure.call)]
        return max([self._last_change(state), self.since, *tried])

    def spelled_out(self, state: State, action: Action) -> str:
        """The call with the values of the results that it refers to; as it is written where it is no possible call."""
        try:
            made = parse(action)
            values = made.values(as_state(state).values())
        except InvalidCallError:
            return action
        try:
            return from_mapping(made.tool, values).text
        except InvalidCallError:  # a result may be nested deeper than what models write
            listed = ", ".join(f"{name}={json.dumps(value)}" for name, value in values.items())
            return f"{made.tool}({listed})"

    def breaks(self, before: State, after: State) -> bool:
        """Whether a call gave nothing where some tool changes something: the next ``#k`` would be another result."""
        gave = len(as_state(after).got) > len(as_state(before).got) or self.is_end(after)
        return not gave and not all(item.pure for item in self.toolbox.all())

    def destructive(self, action: Action) -> bool:
        """Whether an action is a call of a tool that may destroy something; what is no call is refused and is none."""
        try:
            call = parse(action)
            return call.kind != ANSWER and self.toolbox.find(call).destructive
        except InvalidCallError:
            return False

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """The same call by every tool of its kind.

        The dearest comes first where its cost is uncertain: what it does not use pays for better calls later. Else the
        cheapest does: what is not spent yet can still mend a call that fails. What is no call has no other variant.
        """
        del state
        try:
            call = parse(action)
        except InvalidCallError:
            return [action]
        tools = self.toolbox.of_kind(call.kind)
        if any(not isinstance(item.cost, Fixed) for item in tools):
            tools = tools[::-1]
        return [Call(call.kind, item.variant, call.args).text for item in tools] or [action]

    def is_end(self, state: State) -> bool:
        """Whether the answer has been given."""
        return as_state(state).answer is not None

    def quality(self, action: Action) -> float:
        """The declared quality of a tool over the best declared of its kind; 1 where none is declared."""
        try:
            call = parse(action)
            own = None if call.kind == ANSWER else self.toolbox.find(call).quality
        except InvalidCallError:
            return 1.0
        declared = [item.quality or 1.0 for item in self.toolbox.of_kind(call.kind)]
        return 1.0 if own is None else own / max(declared)

    # --- programs -----------------------------------------------------------------------------

    def renew(self) -> None:
        """Read the tools again: others are there now."""
        self._words: dict[tuple[frozenset[str], bool], Vocabulary] = {}
        self._kinds, self._variants = names(self.toolbox), names(self.toolbox, each=True)
        self._names = {pair: name for names_ in (self._variants, self._kinds) for name, pair in names_.items()}

    def words(self, capped: Collection[str], *, each: bool = False) -> Vocabulary:
        """See :meth:`tape.protocols.programs.Programs.words`."""
        key = frozenset(capped), each
        if key not in self._words:
            self._words[key] = vocabulary(self.toolbox, self.answer, key[0], each=each)
        return self._words[key]

    def made(self, state: State, *, each: bool = False) -> Sequence[MadeCall]:
        """See :meth:`tape.protocols.programs.Programs.made`."""
        here = as_state(state)
        if self._made_of is not None and self._made_of[0] is here and self._made_of[1] == each:
            return self._made_of[2]
        results = here.values()
        waiting = [*here.failures]
        calls: list[MadeCall] = []
        for number in range(len(here.got) + 1):
            for failure in [item for item in waiting if item.after == number]:
                came = {"failure": failure.why, "hint": failure.hint, "late": failure.late}
                calls.append(self._made(failure.call, results, each, **came))
            if number < len(here.got):
                calls.append(self._made(here.got[number].call, results, each, value=results[number]))
        self._made_of = here, each, calls
        return calls

    def allow_again(self, action: Action) -> None:
        """See :meth:`tape.protocols.programs.Programs.allow_again`."""
        self._again.add(action)

    def said(self, state: State) -> str:
        """See :meth:`tape.protocols.programs.Programs.said`."""
        return as_state(state).note or "it could not be done"

    def _made(self, call: Call, results: Sequence[Any], each: bool, **came: Any) -> MadeCall:
        try:
            arguments = call.values(results)
        except InvalidCallError:  # it has failed for that
            arguments = {}
        changes = not self.toolbox.is_pure(call)
        name = self._names.get((call.kind, call.variant if each else None), call.kind)
        return MadeCall(name, arguments, changes=changes, **came)

    def options(
        self, name: str, arguments: Mapping[str, Any], results: Sequence[Any] = (), *, each: bool = False
    ) -> Sequence[Option]:
        """See :meth:`tape.protocols.programs.Programs.options`."""
        kind, variant = (self._variants if each else self._kinds).get(name, (name, None))
        args = tuple(
            (key, value.text if isinstance(value, Open) else given(value, results)) for key, value in arguments.items()
        )
        tools = [item for item in self.toolbox.of_kind(kind) if variant is None or item.variant == variant]
        best = max(item.quality or 1.0 for item in tools)
        texts = [Call(kind, item.variant, args).text for item in tools]
        if (size := max(map(len, texts))) > LONGEST:
            raise InvalidCallError(f"the call has {size} characters; the longest has {LONGEST}")
        return [
            Option(text, item.worst, (item.quality or best) / best) for text, item in zip(texts, tools, strict=True)
        ]

    def answering(self, value: Any, results: Sequence[Any] = ()) -> Action:
        """See :meth:`tape.protocols.programs.Programs.answering`."""
        return Call(ANSWER, "", (("value", given(value, results)),)).text

    @property
    def effects(self) -> Effects:
        """See :meth:`tape.protocols.programs.Programs.effects`."""
        return Effects(
            lambda name, arguments: self._tool(name).effect(arguments), lambda name: self._tool(name).key is not None
        )

    def _tool(self, name: str) -> Tool:
        return self.toolbox.of_kind(self._kinds[name][0])[0]


def picture(state: ToolState) -> str:
    """A state for people."""
    lines = [
        f"#{number} {obtained.call.tool} ?"
        if obtained.value is None
        else f"#{number} {obtained.call.text} = {obtained.value}"
        for number, obtained in enumerate(state.got, 1)
    ]
    lines += [f"failed: {call.text}" for call in state.failed]
    lines += [f"refused: {call.text}" for call in state.refused]
    lines += [f"note: {state.note}"] if state.note else []
    lines += [] if state.answer is None else [f"answer: {state.answer}"]
    return "\n".join(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines) or "start"

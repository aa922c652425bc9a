"""The tools themselves on copies, as the world model: plans are tried, and equal states are one node (``copy``)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from tape.budget import Ledger, Resources
from tape.errors import EnvironmentFaultError
from tape.protocols import Action, Prediction, State
from tape.protocols.parts import DryRunModel
from tape.tools.apart import Made
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.copies.base import States, Use
from tape.tools.copies.guard import Trial, guarded
from tape.tools.domain import ToolDomain, as_state
from tape.tools.errors import InvalidCallError, ToolError
from tape.tools.results import LONGEST_NOTE, as_asked, cut
from tape.tools.state import ToolState
from tape.tools.tool import Tool

MOST_COPIES = 256
"""Copies that are kept; where the oldest is needed again, what follows from it is not tried but predicted."""

ON_COPY = "On a copy these calls have failed:"
"""How the note begins that tells a model of it."""

Make = Callable[[Tool, dict[str, Any], str, States], Awaitable[Made]]
"""Makes a call on some states, with what is drawn at random drawn apart from the episode's own."""


@dataclass
class Tried:
    """What trying has come to.

    Attributes:
        calls: Calls on copies.
        copies: Copies that were made.
        predicted: Calls that could not be tried.
        seconds: Real time of all.
    """

    calls: int = 0
    copies: int = 0
    predicted: int = 0
    seconds: float = 0.0


class DryRun(DryRunModel):
    """A call is made on a copy of the states that it is planned in.

    A call that cannot be tried is predicted as without copies: it has a result, which is not known. So are those after
    it that need this result, and those in a state that is not known.
    """

    def __init__(self, domain: ToolDomain, states: States, make: Make, ledger: Ledger) -> None:
        self._domain, self._states, self._make, self._ledger = domain, states, make, ledger
        self._copies: OrderedDict[str, States] = OrderedDict()
        self._known: dict[tuple[str, Action], Prediction] = {}
        self._failed: dict[str, str] = {}
        self.tried = Tried()

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """See :class:`tape.protocols.WorldModel`."""
        return [await self._predicted(as_state(state), action) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """See :class:`tape.protocols.WorldModel`."""
        rollouts = []
        for state, actions in items:
            predictions: list[Prediction] = []
            for action in actions:
                predictions.append(await self._predicted(as_state(state), action))
                if (state := predictions[-1].state) is None:
                    break
            rollouts.append(predictions)
        return rollouts

    async def _predicted(self, before: ToolState, action: Action) -> Prediction:
        name = (f"{before.key()} # {[obtained.value for obtained in before.got]}", action)
        if name not in self._known:
            try:
                self._known[name] = await self._tried(before, action)
            except ToolError as error:
                raise EnvironmentFaultError(f"{action} on a copy: {error}") from error
        return self._known[name]

    async def _tried(self, before: ToolState, action: Action) -> Prediction:
        """What a call leads to; where it cannot be tried, what the tools declare."""
        declared = self._domain.outcome(before, action)
        if declared.state is None or (call := parse(action)).kind == ANSWER:
            return declared
        item = self._domain.toolbox.find(call)
        states = self._of(before.data) if item.state else self._states
        if not item.can_be_tried or states is None or any(before.got[k - 1].value is None for k in call.references):
            self.tried.predicted += 1
            return Prediction(self._guessed(before, item, call))
        try:
            arguments = item.filled(call, before.values())
            asked = as_asked(arguments)
        except InvalidCallError:
            return Prediction(None)
        copied = self._copied(states, item.state) if item.writes else states
        try:
            made = await self._run(item, arguments, asked, copied)
            copied.changed(item.state, item.name)
        except BaseException:
            self._given_up(copied, states)
            raise
        if made.failure is not None:  # it would fail
            self._given_up(copied, states)
            self._failed[call.text] = made.failure
            return Prediction(None)
        data = copied.key() if item.state else before.data
        if item.writes:
            self._keep(data, copied)
        text = made.plain if isinstance(made.plain, str) else made.written
        after = before.with_call(call, made.written, text if item.reads else "", exact=item.exact)
        return Prediction(replace(after, data=data))

    @staticmethod
    def _given_up(copied: States, states: States) -> None:
        """Close a copy that is not kept."""
        if copied is not states:
            copied.close([states])

    def _guessed(self, before: ToolState, item: Tool, call: Call) -> ToolState:
        """After a call that could not be tried: what it may have written is not known."""
        after = before.with_call(call)
        return replace(after, data=f"{before.data} after {call.symbol}") if item.writes and before.data else after

    async def _run(self, item: Tool, arguments: dict[str, Any], asked: str, states: States) -> Made:
        began = perf_counter()
        worst = Resources({"seconds": item.worst["seconds"] or 0})
        running = Trial(tuple(states.roots(item.state)))
        with self._ledger.reserve(worst) as held:
            made = await self._make(replace(item, function=guarded(_dry(item), running)), arguments, asked, states)
            held.settle(worst)
        self.tried.calls += 1
        self.tried.seconds += perf_counter() - began
        if running.touched:
            raise ToolError(
                f"{item.name}: tried on a copy it was about to {running.touched[0]}; declare no state= for it, so that "
                "it is predicted, or give dry_run= a function that does without"
            )
        return made

    def _of(self, data: str) -> States | None:
        """A copy with a key; None where there is none any more. The real states are never given to a call."""
        if data not in self._copies and data == self._states.key():
            copied = self._copied(self._states, dict.fromkeys(self._states.parts, "write"))
            self._keep(copied.key(), copied)
        if data in self._copies:
            self._copies.move_to_end(data)
        return self._copies.get(data)

    def _copied(self, states: States, used: Mapping[str, Use]) -> States:
        self.tried.copies += 1
        return states.copy(used)

    def _keep(self, data: str, states: States) -> None:
        if data in self._copies:
            states.close(self._copies.values())
            return
        self._copies[data] = states
        if len(self._copies) > MOST_COPIES:
            _, oldest = self._copies.popitem(last=False)
            oldest.close(self._copies.values())

    async def difference(self, state: State, path: Sequence[Action]) -> list[str]:
        """What a path changes, as far as it could be tried."""
        [predictions] = await self.rollout([(state, path)])
        reached = [as_state(prediction.state) for prediction in predictions if prediction.state is not None]
        known = next(
            (states for tool_state in reversed(reached) if (states := self._of(tool_state.data)) is not None), None
        )
        if known is None:
            return []
        return self._states.difference(known)

    def told(self, state: State) -> ToolState:
        """The failures are in the note, which is no part of the key: nothing has happened for good."""
        failed, self._failed = self._failed, {}
        here = as_state(state)
        if not failed:
            return here
        listed = "; ".join(f"{text}: {why}" for text, why in failed.items())
        return replace(here, note=cut(" ".join(filter(None, (here.note, f"{ON_COPY} {listed}"))), 2 * LONGEST_NOTE))

    def summary(self) -> str:
        """Calls, copies and seconds so far."""
        tried = self.tried
        rest = f", {tried.predicted} predicted" if tried.predicted else ""
        return f"{tried.calls} calls tried on {tried.copies} copies in {tried.seconds:.3f} s{rest}"

    def close(self) -> None:
        """Give up all copies."""
        while self._copies:
            _, states = self._copies.popitem()
            states.close(self._copies.values())


def _dry(item: Tool) -> Callable[..., Any]:
    """What is called on a copy."""
    return item.dry_run if callable(item.dry_run) else item.function

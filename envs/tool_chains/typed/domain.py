"""What typed tools declare to the engine: what a call takes and gives, what it costs, and which chains are cheapest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from envs.tool_chains.typed.planner import Chains, cheapest_chains, require_typed, thriftiest
from solvers import Status
from tape.budget import STEP, Resources
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.domain import Domain
from tape.protocols.parts import ExactPlanner, Outcomes, UncertainCosts
from tape.tools.calls import ANSWER, Call, answer, parse
from tape.tools.errors import InvalidCallError
from tape.tools.results import cut
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox
from tape.tools.uncertain import uncertain_costs


@dataclass(frozen=True)
class TypedState:
    """What an episode has come to. How it came there is no part of it, so plans that meet are one node.

    Attributes:
        at_hand: The types that calls have given and no later call has used up, sorted; a type that is there twice
            stands twice. What was there from the start is not among them: it is never used up.
        wanted: The type that is to be handed in, as declared or read; None where it has not been read.
        edition: Which list of tools and prices is in force, from 0.
        closed: Tools that are known to refuse or to fail, sorted.
        handed_in: The type that was handed in, which ends the episode; None before.
        unread: The user's request that has not been read yet.
        request: The user's last request.
        note: The environment's last message.
        values: Type and value as JSON of what is at hand, for people and prompts; none of what is only predicted.
    """

    at_hand: tuple[str, ...] = ()
    wanted: str | None = None
    edition: int = 0
    closed: tuple[str, ...] = ()
    handed_in: str | None = None
    unread: str = field(default="", compare=False)
    request: str = field(default="", compare=False)
    note: str = field(default="", compare=False)
    values: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def has(self, types: Iterable[str], lasting: Iterable[str]) -> bool:
        """Whether all of some types are there."""
        there = {*self.at_hand, *lasting}
        return all(kind in there for kind in types)

    def after(self, takes: Iterable[str], gives: str, lasting: Iterable[str]) -> TypedState:
        """After a successful call: what it took is used up, unless it was there from the start."""
        left, kept = list(self.at_hand), set(lasting)
        for name in takes:
            if name in left:
                left.remove(name)
            else:
                assert name in kept, f"{name} is not at hand"
        return replace(self, at_hand=tuple(sorted([*left, gives])), note="", values=())

    def closing(self, tool: str, note: str) -> TypedState:
        """After a call that was refused or failed."""
        return replace(self, closed=tuple(sorted({*self.closed, tool})), note=note)

    def read(self, wanted: str | None) -> TypedState:
        """With what the user wants; None where it could not be read."""
        return replace(self, wanted=wanted, unread="")

    def key(self) -> str:
        """Everything that decides what can be done, and at what price."""
        parts = [" + ".join(self.at_hand) or "start"]
        parts += [] if self.wanted is None else [f"for {self.wanted}"]
        parts += [f"list {self.edition}"] if self.edition else []
        parts += [f"closed {', '.join(self.closed)}"] if self.closed else []
        parts += [] if self.handed_in is None else [f"handed in {self.handed_in}"]
        return " | ".join(parts)


MOST_AT_HAND = 99
"""Types that are at hand at the same time."""

LONGEST_SHOWN = 72
"""Bytes of a value in a picture."""


def as_typed(state: State) -> TypedState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, TypedState), f"not a state of typed tools: {state!r}"
    return state


class TypedDomain(Domain, Outcomes, ExactPlanner):
    """What typed tools declare.

    An action is a call without arguments, ``smelt()``: a tool gets its inputs by their types. The last one hands in
    what was wanted, ``answer(value="ingot")``. A state is the types at hand, so chains that meet there are one node.

    Args:
        tools: The tools with which the episode starts, all of them typed.
        have: The types that are there from the start; they are never used up.
        saves: The resource of which as little as possible is to be used.
        task: What is asked for, in words.

    Raises:
        ToolError: A tool has no types, its cost in what is saved is not known, or two have the same name.
    """

    deterministic = False
    marks_destructive = True

    asks_again = True
    """Whether the user may say something new during the episode; the environment knows."""

    def __init__(self, tools: Sequence[Tool], have: Collection[str], saves: str = "usd", task: str = "") -> None:
        require_typed(tools, saves)
        self.have, self.task = frozenset(have), task
        self.saves: str = saves
        self._editions = [Toolbox(tools)]

    def announce(self, tools: Sequence[Tool]) -> int:
        """Take over a new list of tools and prices, as the environment announces it; returns its number.

        Raises:
            ToolError: As for the first list.
        """
        require_typed(tools, self.saves)
        self._editions.append(Toolbox(tools))
        return len(self._editions) - 1

    def forget(self) -> None:
        """Go back to the first list: a new episode begins."""
        del self._editions[1:]

    def tools(self, state: State) -> tuple[Tool, ...]:
        """The tools that can be called in a state as far as is known, whatever is at hand."""
        here = as_typed(state)
        closed = set(here.closed)
        return tuple(item for item in self._editions[here.edition].all() if item.name not in closed)

    def callable(self, state: State) -> tuple[Tool, ...]:
        """The tools of which all is at hand that they take."""
        here = as_typed(state)
        return tuple(item for item in self.tools(here) if here.has(item.takes, self.have))

    def task_text(self) -> str:
        """What is asked for, in words."""
        return self.task

    def key(self, state: State) -> str:
        """See :meth:`envs.tool_chains.typed.domain.TypedState.key`."""
        return as_typed(state).key()

    def render(self, state: State) -> str:
        """What is at hand, with values where they are known, and the last request and note."""
        here = as_typed(state)
        values = dict(here.values)
        lines = [f"{name} = {cut(values[name], LONGEST_SHOWN)}" if name in values else name for name in here.at_hand]
        lines += [f"closed: {', '.join(here.closed)}"] if here.closed else []
        lines += [f"request: {cut(here.request, 3 * LONGEST_SHOWN)}"] if here.request else []
        lines += [f"note: {here.note}"] if here.note else []
        lines += [] if here.handed_in is None else [f"handed in: {here.handed_in}"]
        return "\n".join(lines) or "start"

    def project(self, observation: Observation) -> TypedState:
        """The state as it was observed; the user's request may still have to be read."""
        return as_typed(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: what cannot be called is refused with a reason."""
        del state
        return None

    def cost(self, state: State, action: Action) -> Resources:
        """The worst case by the prices in force; of what is no call of a tool, the step."""
        try:
            made = parse(action)
            return STEP if made.kind == ANSWER else self._editions[as_typed(state).edition].find(made).worst
        except InvalidCallError:
            return STEP

    @property
    def uncertain_costs(self) -> UncertainCosts | None:
        """What the costs of the tools of the latest list declare; None where all are fixed."""
        return uncertain_costs(self._editions[-1])

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every tool of the latest list, and of handing in."""
        return {**{item.name: item.worst for item in self._editions[-1].all()}, ANSWER: STEP}

    def find(self, state: State, call: Call) -> Tool:
        """The tool that a call names.

        Raises:
            InvalidCallError: There is none of that name now.
        """
        return self._editions[as_typed(state).edition].find(call)

    def require_possible(self, state: State, call: Call) -> None:
        """Check a call.

        Raises:
            InvalidCallError: The message names what is wrong.
        """
        here = as_typed(state)
        if here.handed_in is not None:
            raise InvalidCallError(f"{here.handed_in} has been handed in; there is nothing left to do")
        if call.kind == ANSWER:
            if not here.has([handed_in(call)], self.have):
                raise InvalidCallError(f"{handed_in(call)!r} is not at hand")
            return
        item = self.find(here, call)
        if call.args:
            raise InvalidCallError(f"a call of a typed tool has no arguments; write {item.name}()")
        if item.name in here.closed:
            raise InvalidCallError(f"{item.name} is closed; use another tool")
        missing = [name for name in item.takes if not here.has([name], self.have)]
        if missing:
            raise InvalidCallError(f"{item.name} takes {missing[0]!r}, which is not at hand")
        if len(here.at_hand) >= MOST_AT_HAND:
            raise InvalidCallError(f"at most {MOST_AT_HAND} types are at hand at the same time")

    def outcome(self, state: State, action: Action) -> Prediction:
        """The type is given, or handed in; to hand in another type than the wanted one is invalid."""
        before = as_typed(state)
        try:
            made = parse(action)
            self.require_possible(before, made)
        except InvalidCallError:
            return Prediction(None)
        if made.kind != ANSWER:
            item = self.find(before, made)
            return Prediction(before.after(item.takes, item.gives, self.have))
        wanted = handed_in(made)
        if wanted != before.wanted:
            return Prediction(None)
        # What is left over when it is handed in is of no use, so all ends are one.
        return Prediction(replace(before, at_hand=(), handed_in=wanted, note="", values=()))

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """All tools that take and give the same."""
        try:
            made = parse(action)
            item = None if made.kind == ANSWER else self.find(state, made)
        except InvalidCallError:
            return [action]
        if item is None:
            return [action]
        signature = (frozenset(item.takes), item.gives)
        same = [tool for tool in self.tools(state) if (frozenset(tool.takes), tool.gives) == signature]
        return [as_action(tool) for tool in same] or [action]

    def is_end(self, state: State) -> bool:
        """Whether something has been handed in."""
        return as_typed(state).handed_in is not None

    def destructive(self, action: Action) -> bool:
        """Whether an action is a call of a tool that may destroy something."""
        try:
            made = parse(action)
            return made.kind != ANSWER and self._editions[-1].find(made).destructive
        except InvalidCallError:
            return False

    def chains(self, state: State, remaining: Mapping[str, int] | None = None, count: int = 1) -> Chains:
        """The cheapest chains from a state to what is wanted there, by the exact planner.

        Args:
            state: With what is wanted; where that has not been read, nothing is found.
            remaining: Counts left of each capped resource; None for no limit.
            count: How many.
        """
        here = as_typed(state)
        if here.wanted is None or here.handed_in is not None:
            return Chains((), Status.INFEASIBLE, "what is wanted has not been read")
        limits = dict(remaining or {})
        if "steps" in limits:
            limits["steps"] -= 1  # to hand it in
        return cheapest_chains(
            self.tools(here),
            here.wanted,
            self.have,
            at_hand=here.at_hand,
            saves=self.saves,
            limits=limits,
            count=count,
        )

    def plans(self, state: State, remaining: Mapping[str, int], count: int) -> list[list[Action]]:
        """The cheapest chains that fit, as actions; where none does, those that need least of each resource."""
        here = as_typed(state)
        result = self.chains(here, remaining, count)
        chains = result.chains
        if not chains and here.wanted is not None:
            kinds = [self.saves, *(kind for kind in remaining if kind != self.saves)]
            kinds = [kind for kind in kinds if all(item.worst[kind] is not None for item in self.tools(here))]
            chains = tuple(thriftiest(self.tools(here), here.wanted, self.have, here.at_hand, kinds))
        by_name = {item.name: item for item in self.tools(here)}
        last = answer(here.wanted).text
        return [[*(as_action(by_name[name]) for name in chain.tools), last] for chain in chains[:count]]


def as_action(item: Tool) -> Action:
    """The call of a typed tool."""
    return Call(item.kind, item.variant).text


def handed_in(call: Call) -> str:
    """The type that an answer hands in.

    Raises:
        InvalidCallError: It is no such answer.
    """
    if [name for name, _ in call.args] != ["value"] or call.variant:
        raise InvalidCallError(f'what was asked for is handed in by {ANSWER}(value="TYPE")')
    try:
        value = json.loads(call.args[0][1])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, str):
        raise InvalidCallError(f'{ANSWER}(value="TYPE") names a type')
    return value

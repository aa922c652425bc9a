"""Typed tools as an environment of the engine: prices, tools and wishes may change during an episode."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from envs.tool_chains.typed.at_once import TypedCallsAtOnce
from envs.tool_chains.typed.domain import TypedDomain, TypedState, as_typed, handed_in
from envs.tool_chains.typed.prompts.chat import ChatTypedFormat
from envs.tool_chains.typed.prompts.declared import DeclaredTypedFormat
from tape.budget import STEP, Budget, BudgetLike, Resources
from tape.protocols import Action, Environment, Observation, State
from tape.protocols.parts import CallsAtOnce
from tape.protocols.prompt_format import PromptFormat, pick
from tape.seeds import derive
from tape.tools.apart import Made, attempt, make
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.errors import InvalidCallError, ToolError
from tape.tools.results import LONGEST_NOTE, cut
from tape.tools.tool import Tool
from tape.waiting import run_sync

Reader = Callable[[str], str | None]
"""A script that reads a request in the place of the model: the type that it names, None where it cannot be read."""

TypedFormats = Mapping[str, Callable[[TypedDomain, Sequence[str]], PromptFormat]]
"""How typed tools and the types that may be wanted are written for each family of models, by the format's name."""

FORMATS: TypedFormats = {"chat": ChatTypedFormat, "declared": DeclaredTypedFormat}


@dataclass(frozen=True)
class Change:
    """Something that becomes different after some successful calls.

    Attributes:
        after: How many, 1 at least; it comes to pass once.
        tools: The list of tools and prices that is in force from then on; the observation shows it. None: as before.
        refusing: Names of tools that refuse every call from then on. The agent learns it from the first refusal.
        request: The user's new request; the observation shows it.
        want: The type that is wanted from then on.
        note: A further message in the observation.

    Raises:
        ToolError: ``after`` is below 1, or of ``request`` and ``want`` one is missing.

    Examples:
        >>> from envs.tool_chains.typed import Change
        >>> change = Change(after=2, refusing=("bureau",), note="the bureau has closed")
        >>> change.refusing
        ('bureau',)
    """

    after: int
    tools: tuple[Tool, ...] | None = None
    refusing: tuple[str, ...] = ()
    request: str = ""
    want: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.after < 1:
            raise ToolError(f"a change comes after one successful call at least, got after={self.after}")
        if bool(self.request) != bool(self.want):
            raise ToolError("a change of mind has both a request, in words, and the type that it means (want)")


class TypedEnvironment(Environment):
    """A type of data to be made by calls of typed tools and handed in.

    Args:
        tools: The tools, all of them typed.
        have: What is there from the start, values by type; it is never used up.
        want: The type that is to be handed in; that alone is success.
        budget: Hard caps, for instance ``"$0.05, 20 steps"``.
        saves: The resource of which the best chain uses least.
        request: What the user wants in words. With ``goals`` the model has to read ``want`` from this.
        goals: The types that a request may name.
        reader: Reads requests in the place of the model; has to be called scripted wherever results are shown.
        changes: What becomes different on the way.
        prompt_formats: How it is written for models.

    Raises:
        ToolError: Tools are not typed, or what is wanted is none of the goals.

    Examples:
        >>> from tape import TapeAgent
        >>> from tape.tools import tool
        >>> from envs.tool_chains.typed import TypedEnvironment
        >>> @tool(takes="address", gives="forecast", usd="0.07")
        ... def bureau(address: str) -> str:
        ...     "Ask the weather bureau."
        ...     return f"rain at {address}"
        >>> env = TypedEnvironment([bureau], have={"address": "Mill Lane 3"}, want="forecast", budget="$0.10")
        >>> result = TapeAgent("declared:first", proposer="declared", scorer="declared").run(env)
        >>> result.actions, result.answer
        (['bureau()', 'answer(value="forecast")'], 'rain at Mill Lane 3')
    """

    domain: TypedDomain

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        have: Mapping[str, Any],
        want: str,
        budget: BudgetLike = None,
        saves: str = "usd",
        request: str = "",
        goals: Sequence[str] = (),
        reader: Reader | None = None,
        changes: Sequence[Change] = (),
        prompt_formats: TypedFormats = FORMATS,
    ) -> None:
        wanted = [want, *(change.want for change in changes if change.want)]
        if goals and (missing := [name for name in wanted if name not in goals]):
            raise ToolError(f"{missing[0]!r} is wanted and is none of the goals that a request may name")
        if goals and not request:
            raise ToolError("goals are what a request may name; give request=..., or leave goals out")
        self.budget = Budget.read(budget)
        self.domain = TypedDomain(tools, have, saves, request or f"Make and hand in: {want}")
        self.changes, self.goals = tuple(changes), tuple(goals)
        self.domain.asks_again = any(change.request for change in changes)
        self._have, self._want, self._request = dict(have), want, request
        self._reader, self._formats = reader, prompt_formats
        self._at_once = TypedCallsAtOnce(self)
        self._reset(0)

    def _reset(self, seed: int) -> None:
        self.domain.forget()
        self._seed, self._made = seed, 0
        self._wanted = self._want
        self._refusing: set[str] = set()
        self._values: dict[str, list[Any]] = {}
        self.called: list[str] = []
        """The tools whose calls have succeeded, in order."""
        self.used = Resources()
        """What calls have used, refused and failed ones too."""
        self._state = self._asked(TypedState(), self._request, self._want)

    def _asked(self, state: TypedState, request: str, want: str) -> TypedState:
        """The state after a request of the user."""
        if not self.goals:
            return replace(state, wanted=want, request=request)
        if self._reader is not None:
            return replace(state, wanted=self._reader(request), request=request)
        return replace(state, wanted=None, request=request, unread=request)

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        return pick(self._formats, name, "typed tools", "Use a model that reads one of them.")(self.domain, self.goals)

    def reset(self, seed: int) -> Observation:
        """Start again, with the first list of tools and the first request."""
        self._reset(seed)
        return self._observation()

    def _observation(self) -> Observation:
        return Observation(self.domain.render(self._state), self._state)

    @property
    def calls_at_once(self) -> CallsAtOnce | None:
        """Calls that run before their turn; none where something becomes different after some calls."""
        return None if self.changes else self._at_once

    def at_hand(self) -> tuple[TypedState, dict[str, list[Any]], int]:
        """The state, the values of each type in the order of their making, and how many calls have succeeded."""
        return self._state, self._values, self._made

    def value_of(self, name: str) -> Any:
        """What was there of a type from the start; None if nothing was."""
        return self._have.get(name)

    def filled(self, item: Tool, given: Sequence[Any]) -> dict[str, Any]:
        """The arguments of a call.

        Raises:
            InvalidCallError: The tool does not take such values.
        """
        return item.checked(dict(zip(item.arguments.model_fields, given, strict=True)))

    def drawn(self, item: Tool, made: int) -> dict[str, random.Random]:
        """What a call draws at random after so many successful ones."""
        return {} if item.random is None else {item.random: self._rng("result", item, made)}

    def home_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that a tool needs, if one does."""
        every = [*self.domain.tools(self._state), *(t for c in self.changes for t in c.tools or ())]
        return next((item.loop for item in every if item.loop is not None), None)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; the synchronous wrapper around :meth:`astep`."""
        return run_sync(self.astep(action))

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Call a tool, or hand in. What cannot be done is refused, which takes a step and changes nothing else."""
        observation, used = await self._act(action)
        self.used += used
        return observation, used

    async def _act(self, action: Action) -> tuple[Observation, Resources]:
        try:
            made = parse(action)
            self.domain.require_possible(self._state, made)
        except InvalidCallError as error:
            self._state = replace(self._state, note=cut(str(error), LONGEST_NOTE))
            return self._observation(), STEP
        if made.kind == ANSWER:
            self._state = replace(self._state, handed_in=handed_in(made), note="")
            return self._observation(), STEP
        return await self._called(made)

    async def _called(self, made: Call) -> tuple[Observation, Resources]:
        item = self.domain.find(self._state, made)
        if item.name in self._refusing:
            self._state = self._state.closing(item.name, f"{item.name} is closed: it has refused the call")
            return self._observation(), STEP
        given = [self._values[name][-1] if self._values.get(name) else self._have[name] for name in item.takes]
        try:
            arguments = self.filled(item, given)
        except InvalidCallError as error:
            self._state = self._state.closing(item.name, cut(str(error), LONGEST_NOTE))
            return self._observation(), STEP
        done = await self._at_once.take(made, "") or await make(item, arguments | self.drawn(item, self._made))
        used = attempt(lambda: Made(item.used(arguments, done.value, self._rng("cost", item, self._made))))
        if done.failure is None and not isinstance(used.value, Resources):
            raise ToolError(f"{item.name}: what a call used cannot be counted: {used.failure}")
        if done.failure is None:
            self._succeed(item, done)
        else:
            self._state = self._state.closing(item.name, cut(f"{item.name}: {done.failure}", LONGEST_NOTE))
        counted = isinstance(used.value, Resources) and not done.late
        return self._observation(), used.value if counted else item.worst

    def _succeed(self, item: Tool, done: Made) -> None:
        for name in item.takes:
            if self._values.get(name):
                self._values[name].pop()
        self._values.setdefault(item.gives, []).append(done.plain)
        self._made += 1
        self._at_once.observed(self._made)
        self.called.append(item.name)
        state = self._state.after(item.takes, item.gives, self.domain.have)
        for change in self.changes:
            if change.after == self._made:
                state = self._changed(state, change)
        there = ((text, values[-1]) for text, values in self._values.items() if values)
        self._state = replace(state, values=tuple((text, json.dumps(v, ensure_ascii=False)) for text, v in there))

    def _changed(self, state: TypedState, change: Change) -> TypedState:
        self._refusing |= {*change.refusing}
        if change.tools is not None:
            state = replace(state, edition=self.domain.announce(change.tools))
        if change.want:
            self._wanted = change.want
            state = self._asked(state, change.request, change.want)
        return replace(state, note=change.note)

    def _rng(self, what: str, item: Tool, made: int) -> random.Random:
        return random.Random(derive(self._seed, what, item.name, made))

    def refuse(self, action: Action) -> Observation:
        """Close the tool of a call that a person has refused, so that no plan has it again."""
        try:
            made = parse(action)
            if made.kind != ANSWER:
                name = self.domain.find(self._state, made).name
                self._state = self._state.closing(name, f"{name} was refused")
        except InvalidCallError:
            pass  # nothing that could be planned
        return self._observation()

    def projected(self, state: State) -> None:
        """Take over what a model has read in a request."""
        self._state = as_typed(state)

    def answered_value(self) -> Any:
        """The value of what was handed in."""
        name = self._state.handed_in
        if name is None:
            return None
        return self._values[name][-1] if self._values.get(name) else self._have.get(name)

    def success(self) -> bool:
        """Whether what is really wanted has been handed in, however the request was read."""
        return self._state.handed_in == self._wanted

    def ended(self) -> bool:
        """Whether something has been handed in."""
        return self._state.handed_in is not None

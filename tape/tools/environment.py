"""Tools as an environment of the engine."""

from __future__ import annotations

import asyncio
import logging
import random
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, Unpack, overload

from tape.budget import STEP, Budget, BudgetLike, Ledger, Resources
from tape.budget.claims import Effect
from tape.lm.base import Request
from tape.passed_on import with_key
from tape.protocols import Action, AnswersAtLimit, AnswerT, Environment, FailedCall, Observation, State
from tape.protocols.parts import Copies, DryRuns
from tape.protocols.prompt_format import PromptFormat, pick
from tape.protocols.surroundings import Surroundings
from tape.redaction import redacted
from tape.seeds import derive
from tape.tools.answer_rules import ANSWER_TRIES, AnswerCheck, AnswerRules, Judge
from tape.tools.answers import AnswerType
from tape.tools.apart import Made, attempt, make
from tape.tools.at_once import ToolCallsAtOnce
from tape.tools.briefing import NO_BRIEFING, Briefing, digests
from tape.tools.calls import ANSWER, Call, parse
from tape.tools.context import Contexts, require_deps
from tape.tools.copies.base import CopyableState, States, states_of
from tape.tools.copies.dry_run import DryRun
from tape.tools.domain import LONGEST_PLAN, ToolDomain, as_state
from tape.tools.errors import InvalidCallError, ToolError, ToolFailedError
from tape.tools.happened import CallEffects, made_before
from tape.tools.history import History, turn_of
from tape.tools.options import PromptFormats, ToolEnvironmentOptions
from tape.tools.prompts.common import UNREAD, ToolFormat
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.results import LONGEST_NOTE, as_asked, cut, jsonable
from tape.tools.state import ToolState
from tape.tools.tool import Tool, plain
from tape.tools.toolbox import Toolbox
from tape.waiting import run_sync

logger = logging.getLogger("tape.tools")

LONGEST_TRACEBACK = 10_000
"""Characters."""

M = TypeVar("M")


class ToolEnvironment(Environment[AnswerT], AnswersAtLimit, Copies, Generic[AnswerT]):
    r"""A task to be done by calls of tools and ended by an answer.

    Args:
        task: What is to be done, in words.
        tools: The tools; those of one kind from the cheapest to the dearest.
        budget: Hard caps, for instance ``"$0.05, 20 steps"``.
        judge: Decides whether an answer is right. Without one every answer is a success.
        prompt_formats: How the task is written for models; general models by default.
        tracebacks: Keep the tracebacks of failed calls for the result (``result.failed_calls``).
        longest_plan: Calls of a sampled plan at most, up to 99.
        answer: The type of the answer, a pydantic model or another type that pydantic knows; by default a number or a
            text. What is of another type is refused, which takes a step; ``answer_tries`` times it ends the episode.
        state: What the tools read and write, by the names that they use (:mod:`tape.tools.copies`). With
            ``world_model="copy"`` plans are tried on copies of it.
        deps: What tools that take a :class:`tape.tools.ToolContext` get.
        briefing: What a model is told beside the task.
        answer_check: Takes an answer, or the context and an answer; says why it is sent back, or None.
        answer_tries: Answers that may be given until one is of the type and is not sent back.

    Raises:
        ToolError: The tools contradict each other, or an answer cannot have the type.

    Examples:
        >>> from tape import TapeAgent, ToolEnvironment, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool(pure=True, usd="0.001")
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> model = ScriptedLM(lambda request, sample: "n = double(21)\nanswer(n)")
        >>> result = TapeAgent(model).run(ToolEnvironment("Double 21.", [double], budget="$0.01"))
        >>> result.end_state, result.answer, result.used["usd"]
        ('success', 42, 1000)
    """

    domain: ToolDomain
    records = True

    @overload
    def __init__(
        self: ToolEnvironment[M | None], task: str, tools: Sequence[Tool] | Toolbox, *, answer: type[M],
        **options: Unpack[ToolEnvironmentOptions],
    ) -> None: ...  # fmt: skip

    @overload
    def __init__(
        self: ToolEnvironment[Any], task: str, tools: Sequence[Tool] | Toolbox, *, answer: Any = None,
        **options: Unpack[ToolEnvironmentOptions],
    ) -> None: ...  # fmt: skip

    def __init__(
        self,
        task: str,
        tools: Sequence[Tool] | Toolbox,
        *,
        budget: BudgetLike = None,
        judge: Judge | None = None,
        prompt_formats: PromptFormats | None = None,
        tracebacks: bool = False,
        longest_plan: int = LONGEST_PLAN,
        answer: Any = None,
        state: CopyableState | Mapping[str, CopyableState] | None = None,
        deps: Any = None,
        briefing: Briefing = NO_BRIEFING,
        answer_check: AnswerCheck | None = None,
        answer_tries: int = ANSWER_TRIES,
    ) -> None:
        self.toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
        self.budget = Budget.read(budget)
        asked = answer if isinstance(answer, AnswerType | None) else AnswerType(answer)
        self.domain = ToolDomain(task, self.toolbox, longest_plan=longest_plan, answer=asked, briefing=briefing)
        self._states = states_of(state, {item.name: item.state for item in self.toolbox.all()})
        self._dry_run: DryRun | None = None
        self._at_once = ToolCallsAtOnce(self.domain, lambda: self._state, self._make)
        self._prompt_formats = prompt_formats or {"chat": ProgramFormat}
        self._rules = AnswerRules(asked, judge, answer_check, answer_tries)
        self._contexts = Contexts(deps)
        self._effects = CallEffects(self.domain, self.toolbox, self._contexts)
        require_deps(self.toolbox.all(), deps)
        self.names_effects = any(item.context for item in self.toolbox.all())
        self._state, self._seed = ToolState(), 0
        self._failed: list[FailedCall] = []
        self._tracebacks = tracebacks
        self._asked: ToolFormat | None = None
        self._outcome: Mapping[str, Any] = {}
        self._known: Mapping[str, Any] | None = None
        self.answered: Any = None
        """The answer as a value; None before."""

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        function = pick(self._prompt_formats, name, "these tools", UNREAD)
        return function(self.domain)

    def reset(self, seed: int) -> Observation:
        """Start again. What the tools draw depends on the seed and on the call alone, not on what came before."""
        self._state, self._seed, self.answered, self._failed = ToolState(data=self._data()), seed, None, []
        self._rules.begin()
        self._contexts.begin()
        return self._observation()

    def _data(self) -> str:
        """The key of the states, where plans are tried on copies."""
        return self._states.key() if self._dry_run is not None and self._states is not None else ""

    @property
    def copies(self) -> Copies | None:
        """How calls are tried on copies; None without a state."""
        return None if self._states is None else self

    def begin(self, ledger: Ledger | None) -> DryRuns:
        """See :meth:`tape.protocols.parts.Copies.begin`."""
        if self._dry_run is not None:
            self._dry_run.close()
        assert self._states is not None, "without a state there are no copies"
        self._dry_run = None
        if ledger is not None:
            self._states.require_steady()
            self._dry_run = DryRun(self.domain, self._states, self._try, ledger)
        return self._dry_run or DryRuns()

    def _observation(self) -> Observation:
        return Observation(self.domain.render(self._state), self._state)

    def home_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that a tool needs, if one does."""
        return next((item.loop for item in self.toolbox.all() if item.loop is not None), None)

    @property
    def calls_at_once(self) -> ToolCallsAtOnce:
        """How calls of a path run at once."""
        return self._at_once

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act; the synchronous wrapper around :meth:`astep`."""
        return run_sync(self.astep(action))

    def is_pure(self, action: Action) -> bool:
        """Whether it calls a pure tool, or none."""
        try:
            call = parse(action)
        except InvalidCallError:
            return True
        return call.kind == ANSWER or self.toolbox.is_pure(call)

    def outcome(self) -> Mapping[str, Any]:
        """What the last call returned, why it failed, and what it used; empty after an answer."""
        return self._outcome

    async def restore(self, action: Action, outcome: Mapping[str, Any]) -> tuple[Observation, Resources]:
        """Take a call as made."""
        self._known = outcome
        try:
            return await self.astep(action)
        finally:
            self._known = None

    async def astep(self, action: Action) -> tuple[Observation, Resources]:
        """Make a call, or answer. What is no possible call is refused, which takes a step and changes nothing else."""
        self._outcome = {}
        try:
            call = parse(action)
            self.domain.require_possible(self._state, call)
            if call.kind == ANSWER:
                await self._take(call)
                return self._observation(), STEP
            arguments = self.toolbox.find(call).filled(call, self._state.values())
            asked = as_asked(arguments)
        except InvalidCallError as error:
            self._state = replace(self._state, note=cut(str(error), LONGEST_NOTE))
            return self._observation(), STEP
        used = await self._call(self.toolbox.find(call), call, arguments, asked)
        return self._observation(), used

    def refuse(self, action: Action) -> Observation:
        """Note in the state that a person has refused a call, so that it is not planned again."""
        try:
            call = parse(action)
            if call.kind != ANSWER:
                self.toolbox.find(call)
        except InvalidCallError:
            return self._observation()  # nothing that could be planned
        if call not in self._state.refused:
            self._state = replace(self._state, refused=(*self._state.refused, call))
        return self._observation()

    def projected(self, state: State) -> None:
        """Take over what a model has read in the last result; later calls refer to it."""
        self._state = as_state(state)

    async def _call(self, item: Tool, call: Call, arguments: dict[str, Any], asked: str) -> Resources:
        """Run a tool and remember what came of it; returns what it used."""
        # The function may change what it is given; what is to be paid depends on what it was asked for.
        counted, known = item.filled(call, self._state.values(), whole=True), self._known
        begun = await self._at_once.take(call, asked)
        made = made_before(known) if known is not None else begun or await self._make(item, arguments, asked)
        text = (made.plain if isinstance(made.plain, str) else made.written) if item.reads else ""
        failure = made.failure
        if failure is None and item.reads and not text.strip():
            failure = "the result is empty"
        trace = "" if known is None else known.get("traceback", "")
        if made.error is not None and self._tracebacks:
            trace = cut("".join(traceback.format_exception(made.error)), LONGEST_TRACEBACK)
        if self._dry_run is not None and self._states is not None:
            self._states.changed(item.state, item.name)
        if failure is None:
            exact = item.exact if self._dry_run is not None else ""
            self._state = self._state.with_call(call, made.written, text, exact=exact)
            self._at_once.observed(len(self._state.got))
        else:
            note, hint = self._fail(call, failure, jsonable(counted), trace), made.hint
            self._state = self._state.with_failure(call, note, hint, late=made.late)
        self._contexts.came(item, asked, failed=failure is not None)
        self._state = replace(self._state, data=self._data())
        if known is not None and ("used" in known or "lost" in known or "result" not in known):
            used = Resources(known["used"]) if "used" in known else item.worst
        else:  # where somebody was asked what came of the call, its result says what it used
            used = self._used(item, counted, made, asked, failed=failure is not None or known is not None)
        self._outcome = {"result": made.written, "failure": made.failure, "traceback": trace, "used": dict(used)}
        self._outcome |= ({"late": True} if made.late else {}) | ({"hint": made.hint} if made.hint else {})
        return used

    async def _make(self, item: Tool, arguments: Mapping[str, Any], asked: str) -> Made:
        drawn: dict[str, Any] = {} if item.random is None else {item.random: self._rng("result", item, asked)}
        if item.context is not None:
            drawn[item.context] = self._contexts.of(item, asked)
        shared = {} if self._states is None else self._states.given(item.state)
        with with_key(self._contexts.key_of(item, asked)):
            return await make(item, {**arguments, **drawn, **shared})

    async def _try(self, item: Tool, arguments: Mapping[str, Any], asked: str, states: States) -> Made:
        """Make a call on a copy; what is drawn at random there is not what the episode will draw."""
        drawn = {} if item.random is None else {item.random: self._rng("dry run", item, asked)}
        return await make(item, {**arguments, **drawn, **states.given(item.state)})

    def _used(self, item: Tool, counted: Mapping[str, Any], made: Made, asked: str, *, failed: bool) -> Resources:
        if made.late:
            return item.worst
        if isinstance(made.error, ToolFailedError) and made.error.used is not None:
            return made.error.used + STEP
        used = attempt(lambda: Made(item.used(counted, made.value, self._rng("cost", item, asked))))
        if isinstance(used.value, Resources):
            return used.value
        if failed:
            return item.worst  # the units of a result that is not there cannot be counted
        raise ToolError(f"{item.name}: what a call used cannot be counted: {used.failure}")

    def _fail(self, call: Call, why: str, arguments: dict[str, Any], trace: str = "") -> str:
        """List and log a call that gave nothing; returns why as it is shown to models."""
        note = cut(why, LONGEST_NOTE)
        self._failed.append(FailedCall(call.text, arguments, note, trace))
        logger.warning("the call %s failed: %s", *redacted([call.text, note]))
        return note

    def played_in(self, surroundings: Surroundings) -> None:
        """See :meth:`tape.protocols.Environment.played_in`."""
        self._contexts.surroundings = surroundings

    def effect(self, action: Action) -> Effect | None:
        """See :meth:`tape.protocols.Environment.effect`."""
        return self._effects.of(self._state, action)

    async def happened(self, action: Action) -> Mapping[str, Any] | None:
        """See :meth:`tape.protocols.Environment.happened`."""
        return await self._effects.happened(self._state, action)

    def history(self, end_state: str) -> History:
        """See :meth:`tape.protocols.Environment.history`."""
        domain = self.domain
        turn = turn_of(domain.task, ProgramFormat(domain).done(self._state), plain(self.answered), end_state)
        return History.of(digests(domain.words(())), (*domain.briefing.turns, turn))

    def failed_calls(self) -> Sequence[FailedCall]:
        """The calls that gave nothing, in order."""
        return self._failed

    def _rng(self, what: str, item: Tool, asked: str) -> random.Random:
        return random.Random(derive(self._seed, what, item.name, asked))

    async def _take(self, call: Call) -> None:
        """Accept an answer.

        Raises:
            InvalidCallError: It is not of the type that was asked for, was sent back, or is too long.
        """
        value = call.values(self._state.values())["value"]
        try:
            value = await self._rules.taken(value, self._contexts.of)
        except InvalidCallError as error:
            self._fail(call, str(error), {"value": value})
            raise
        self.answered = value
        self._state = replace(self._state, answer=call.args[0][1], note="")

    def answered_value(self) -> Any:
        """The answer, the results that it refers to in the place of their numbers."""
        return self.answered

    def made_with(self) -> Mapping[str, Any]:
        """Whether there is a judge, and the type of the answer."""
        answer = self.domain.answer
        return {
            "judge": self._rules.judge is not None,
            "answer": None if answer is None else answer.name,
            **self.domain.briefing.made_with(),
        }

    def read_answer(self, written: Any) -> Any:
        """The answer as the type that was asked for."""
        return written if self.domain.answer is None else self.domain.answer.checked(written)

    def success(self) -> bool:
        """Whether the right answer has been given.

        Raises:
            ToolError: The judge has failed.
        """
        return self._state.answer is not None and self._rules.right(self.answered)

    def ended(self) -> bool:
        """Whether an answer has been given, there is no second one; or as many as may be given that would not do."""
        return self._state.answer is not None or self._rules.used_up

    def longest_answer_request(self, prompt_format: str) -> Request:
        """As long as a request for a final answer may be."""
        return self._tool_format(prompt_format).longest_answer_request()

    def answer_request(self, state: State, prompt_format: str) -> Request:
        """Ask for the answer with what has been obtained."""
        self._asked = self._tool_format(prompt_format)
        return self._asked.answer_request(as_state(state))

    def answer(self, text: str) -> None:
        """Take the final answer.

        Raises:
            InvalidOutputError: It cannot be read, or refers to a result that is not there.
        """
        assert self._asked is not None, "an answer is read as it was asked for"
        call = self._asked.read_answer(self._state, text)
        self.domain.require_possible(self._state, call)
        run_sync(self._take(call))

    def _tool_format(self, name: str) -> ToolFormat:
        layout = self.prompt_format(name)
        assert isinstance(layout, ToolFormat), f"the prompt format {name} asks for no answers"
        return layout

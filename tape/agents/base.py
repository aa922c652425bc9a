"""The base of all agents: one episode from reset to result, paid from one ledger.

An agent is one file: subclass :class:`Agent`, implement ``_play``, and register the class under the
entry-point group ``tape.agents``.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload
from uuid import uuid4

from tape.agents.at_once import AtOnce
from tape.agents.configured import AgentBase
from tape.agents.options import (
    DepsT,
    Listener,
    Options,
    ResumeOptions,
    RunOptions,
    TaskRunOptions,
    approver,
    listen,
    require_known,
)
from tape.agents.playing import account, play_to_end, surroundings
from tape.agents.progress import progress_line
from tape.agents.record import TraceRecord, left_of
from tape.agents.resume import Resumption
from tape.agents.stream import EpisodeStream
from tape.approval import Approver, asked_by_caller
from tape.budget import Budget, BudgetLike, Ledger, StorePayer
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline
from tape.engine.context import RoleContext
from tape.engine.episode import Episode, environment_faults
from tape.errors import ConfigError, ResumeError, UnknownCostError
from tape.lm.accounting import AccountedLM
from tape.lm.base import for_run
from tape.lm.price_table import missing_price
from tape.protocols import AnswerT, Environment
from tape.protocols.result import EpisodeResult
from tape.seeds import derive
from tape.trace import StartedEvent, TraceWriter, hold
from tape.waiting import run_sync

if TYPE_CHECKING:
    from tape.tools.tool import Tool

M = TypeVar("M")


class Agent(AgentBase[DepsT, AnswerT], ABC):
    """An agent: plays episodes of any environment with any model, and does tasks in words with tools of its own.

    A run's life, as :meth:`stream` shows it; what stands in brackets comes as often as it is needed::

        started
        observed
        [ [ ledger  generated ]          the model is paid for and asked
          plans_sampled                  programs or plans were read
          graph_folded  walk_selected    the solver has chosen a path
          [ approval ]                   a person was asked, and may have refused
          ledger  call_begun             the call is paid for and begins
          call_ended  ledger  acted      its result, or why there is none
          observed
          [ replanned ] ]
        finished                         the answer, what was used, and how it ended

    Args:
        model: A model or its name, for instance ``bundled:mini``.
        config: The switches; or give them as keyword arguments.
        prices: What the model costs, before any listed price: US dollars per million tokens of prompts and of
            completions, ``("0.15", "0.60")``, or a price file.
        tools: Tools for tasks in words, with ``deps_type``, ``answer`` and the options of
            :class:`tape.agents.options.TaskTools`.
        deps_type: The type of ``deps``.
        answer: The type of an answer.
        settings: Fields of :class:`tape.engine.settings.TapeConfig`.

    Raises:
        ConfigError: A switch is out of range or contradicts the agent, or both ``config`` and ``settings`` are given;
            or the prices are malformed.
        UnknownNameError: There is no such model.
    """

    @overload
    def run(self, env: Environment[M], **options: Unpack[RunOptions]) -> EpisodeResult[M]: ...

    @overload
    def run(self, env: str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeResult[AnswerT | None]: ...

    def run(self, env: Environment | str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeResult:
        """Play one episode: :meth:`arun` synchronously; a plain ``approve`` is called in the caller's thread."""
        if (approve := options.get("approve")) is not None:
            options["approve"] = asked_by_caller(approve)
        return run_sync(self.arun(cast("Any", env), **options))

    @overload
    async def arun(self, env: Environment[M], **options: Unpack[RunOptions]) -> EpisodeResult[M]: ...

    @overload
    async def arun(self, env: str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeResult[AnswerT | None]: ...

    async def arun(self, env: Environment | str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeResult:
        """Play one episode.

        Args:
            env: The environment; its own ``budget``, if it has one, is kept too. Or a task in words, for an agent with
                ``tools=``.
            options: See :class:`tape.agents.options.TaskOptions` and :class:`tape.agents.options.ApprovalOptions`.

        Returns:
            The result; of an episode that a limit or a fault ended too.

        Raises:
            ConfigError: The configuration needs a simulator, a final answer or predicates, and there are none; or there
                are both a parent and a payer; or parts of the environment live in another event loop; or ``approve`` or
                ``listener`` cannot be called, or would never be.
            ApprovalError: ``approve`` or ``approve_when`` has failed; the action was not executed.
            UnknownCostError: A hard cap on a resource whose cost is unknown.
        """
        require_known(options, TaskRunOptions)
        given = cast("dict[str, Any]", options)
        approve, when = given.pop("approve", None), given.pop("approve_when", None)
        played = await self.environment_of(env, given)
        return await self._played(played, Options(**given), approver(approve, when, played))

    async def environment_of(self, given: Environment | str, options: dict[str, Any]) -> Environment:
        """The environment of a run; of a task in words it is made, and its options are taken out of the others.

        Raises:
            ConfigError: A task in words is given to an agent without tools, or its options without one.
        """
        deps, history = options.pop("deps", None), options.pop("history", None)
        if not isinstance(given, str):
            if deps is not None or history is not None:
                raise ConfigError("deps= and history= are for a task in words; give deps= to the environment")
            return given
        if self.tasks is None:
            raise ConfigError(f"a task in words needs tools: {type(self).__name__}(model, tools=[...])")
        return await self.tasks.environment(given, deps, history, options.get("model") or self.model)

    @overload
    def stream(self, env: Environment[M], **options: Unpack[RunOptions]) -> EpisodeStream[M]: ...

    @overload
    def stream(self, env: str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeStream[AnswerT | None]: ...

    def stream(self, env: Environment | str, **options: Unpack[TaskRunOptions[DepsT]]) -> EpisodeStream:
        """Play one episode as :meth:`arun`, and read its events meanwhile, with ``for`` or ``async for``.

        Returns:
            The events: plans sampled, graph folded, path selected, call begun, call ended, refusals, replanning, and
            at last ``finished``. Its ``result`` is that of the episode.

        Raises:
            ConfigError: A ``listener`` is given: the stream is one.
        """
        require_known(options, TaskRunOptions)
        if options.get("listener") is not None:
            raise ConfigError("a stream is a listener itself; read its events, or use run(listener=...)")

        def play(listener: Listener) -> Coroutine[Any, Any, EpisodeResult]:
            options["listener"] = listener
            return self.arun(cast("Any", env), **options)

        return EpisodeStream(play)

    def as_tool(
        self, name: str, *, budget: BudgetLike, description: str = "", pure: bool = False,
        traces: Path | str | None = None,
    ) -> Tool:  # fmt: skip
        """This agent as a tool of another one, which gives it a task in words.

        Each call has a part of the caller's budget, gets the caller's ``deps``, and asks the caller's approver.

        Args:
            name: Of the tool.
            budget: The part of each call.
            description: What it can do, for the caller's model.
            pure: It changes nothing.
            traces: A folder for the traces of its runs; each names the run and the call that it was made for.

        Raises:
            ConfigError: This agent has no tools, or there is no budget.
        """
        from tape.agents.subagents import agent_tool

        return agent_tool(cast("Any", self), name, budget, description=description, pure=pure, traces=traces)

    def resume(
        self, trace: Path | str, env: Environment[AnswerT] | None = None, **options: Unpack[ResumeOptions]
    ) -> EpisodeResult[AnswerT]:
        """Go on with an episode: :meth:`aresume` synchronously; ``approve`` is called as by :meth:`run`."""
        if (approve := options.get("approve")) is not None:
            options["approve"] = asked_by_caller(approve)
        return run_sync(self.aresume(trace, env, **options))

    async def aresume(
        self, trace: Path | str, env: Environment[AnswerT] | None = None, **options: Unpack[ResumeOptions]
    ) -> EpisodeResult[AnswerT]:
        """Go on with an episode that was interrupted, killed, stopped, or ended by its budget or by a fault.

        What was called is not called again, and the model is not asked again: the trace has what came of it. What was
        under way is booked at its worst case. The trace goes on in its file. Of an episode that has ended, where no
        higher cap helps or none is given, the result is returned as it was.

        Args:
            trace: The event log that :meth:`arun` was given.
            env: The environment, made as it was; or give its ``tools``.
            options: See :class:`tape.agents.options.ResumeOptions`.

        Raises:
            ResumeError: It cannot go on: the reason, and what to do. Nothing was called, and the trace is as it was.
            TraceError: The file is no trace, or its episode is being played.
        """
        require_known(options, ResumeOptions)
        tools, raised = options.pop("tools", None), Budget.read(options.pop("budget", None))
        deps = options.pop("deps", None)
        on_unfinished, again = options.pop("on_unfinished", "ask"), options.pop("steps_again", False)
        approval = options.pop("approve", None), options.pop("approve_when", None)
        rest = Options(**cast("dict[str, Any]", options))
        path = Path(trace).resolve()
        with closing(hold(path)) as held:
            record = TraceRecord(path)
            if env is None and tools is None and self.tasks is not None:
                env = await self.tasks.again(record.started, deps, self.model)
            env = record.environment(env, tools, steps_again=again)
            self.require(self.config, env)
            if self.config.world_model == "copy":
                raise ResumeError(
                    f"{path}: it was planned on copies of a state that has changed since; run the task anew, with a "
                    "budget of what is left"
                )
            record.require_same(self.describe(self.config.resolved(env.domain)), env, rest.parent)
            if (result := record.result(env, raised)) is not None:
                return result
            resumption = Resumption(record, held, raised, on_unfinished)
            with closing(resumption.trace):
                asked = approver(*resumption.approval(*approval), env)
                chosen = rest._replace(budget=record.caps, seed=record.started.seed, trace=resumption.trace)
                result = await self._played(env, chosen, asked, resumption)
                resumption.require_caught_up(result)
        return result

    async def _played(
        self, env: Environment[AnswerT], options: Options, asked: Approver | None, resumption: Resumption | None = None
    ) -> EpisodeResult[AnswerT]:
        with self._opened(env, options, resumption, asked) as episode:
            try:
                await play_to_end(episode, derive(options.seed, "environment"), self._play)
                episode.conclude()
            finally:
                account(episode)
        return episode.result

    @contextmanager
    def _opened(
        self, env: Environment, options: Options, resumption: Resumption | None = None, asked: Approver | None = None
    ) -> Iterator[Episode]:
        """Check everything, and begin an episode: ledger, trace, accounted model."""
        seed, trace, parent, payer, simulator, model, listener = options[1:8]
        if (self.config.world_model == "simulator") != (simulator is not None):
            raise ConfigError("world_model='simulator' needs simulator=..., and only then")
        if self.config.world_model == "copy" and env.copies is None:
            raise ConfigError("world_model='copy' needs tools that share a state: ToolEnvironment(..., state=...)")
        if self.config.destructive != "allow" and not env.domain.marks_destructive:
            raise ConfigError(
                f"destructive={self.config.destructive!r} would refuse nothing: {type(env.domain).__name__} marks no "
                "action as destructive"
            )
        self.require(self.config, env)
        _require_own_loop(env)
        config = self.config.resolved(env.domain)
        caps = options.caps() | Budget.read(env.budget, "the environment's budget")
        deadline, model = Deadline(caps.get(WALL)), for_run(model or self.model)
        if resumption is not None:
            caps, model, deadline = resumption.record.caps, resumption.model(model), resumption.deadline()
        if resumption is not None:
            payer = resumption.payer(payer)
        ledger = Ledger(caps.without(WALL), parent, payer=payer)
        writer = trace if isinstance(trace, TraceWriter) else TraceWriter(self.name, trace)
        lm = AccountedLM(model, ledger, writer, deadline)
        if "usd" in ledger.capped() and lm.price is None:
            raise UnknownCostError(missing_price(lm.name))
        roles = RoleContext(lm, env.prompt_format(lm.prompt_format), env.domain, writer)
        self.require_prompts(config, env, roles)
        # A run and a listener have displays of their own.
        own = listener is None and payer is None and (resumption is not None or not isinstance(trace, TraceWriter))
        line, end_line = progress_line() if own else (None, lambda: None)
        stop_listening = listen(writer, listener or line)
        episode = Episode(env, config, ledger, writer, roles, derive(seed, "agent"), simulator, deadline)
        episode.approver = asked if resumption is None else resumption.asks(asked)
        run = _name_of(env, resumption, options)
        env.played_in(surroundings(episode, run))
        if env.copies is not None:
            episode.dry_run = env.copies.begin(ledger if config.world_model == "copy" else None)
        episode.at_once = AtOnce.of(episode)
        if resumption is not None:
            resumption.begin(episode)
        with environment_faults("the text of the task failed"):
            task = str(env.domain.task_text())
        episode.result.budget = dict(caps)
        try:
            writer.write(
                StartedEvent(
                    config=self.describe(config),
                    budget=dict(caps),
                    task=task,
                    seed=seed,
                    environment=dict(env.made_with()),
                    parent=left_of(parent),
                    run=run,
                    caller=options.caller,
                )
            )
            yield episode
        finally:
            episode.dry_run.close()
            stop_listening()
            end_line()
            if not isinstance(trace, TraceWriter):
                writer.close()

    @abstractmethod
    async def _play(self, episode: Episode) -> None:
        """Play until the episode ends; returning means that the agent has given up (``failure``)."""


def _name_of(env: Environment, resumption: Resumption | None, options: Options) -> str:
    """The run's own name, where what it does for good has keys; it stays over resumptions."""
    if resumption is not None:
        return resumption.record.started.run
    return options.run or (uuid4().hex if env.names_effects or isinstance(options.payer, StorePayer) else "")


def _require_own_loop(env: Environment) -> None:
    """Refuse an environment whose parts live in another event loop than the running one."""
    home = env.home_loop()
    if home is not None and home is not asyncio.get_running_loop():
        raise ConfigError(
            f"{type(env).__name__} has tools that live in another event loop, such as a session with an MCP server; "
            "play it there: `await agent.arun(env, ...)` instead of `agent.run(env, ...)`"
        )

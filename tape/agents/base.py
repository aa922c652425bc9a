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
from typing import Any, Unpack, cast

from tape.agents.at_once import AtOnce
from tape.agents.configured import AgentBase
from tape.agents.options import (
    Listener,
    Options,
    ResumeOptions,
    RunOptions,
    approver,
    listen,
    require_known,
)
from tape.agents.playing import account, play_to_end
from tape.agents.progress import progress_line
from tape.agents.record import TraceRecord, left_of
from tape.agents.resume import Resumption
from tape.agents.stream import EpisodeStream
from tape.approval import Approver, asked_by_caller
from tape.budget import Budget, Ledger
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline
from tape.engine.context import RoleContext
from tape.engine.episode import Episode, environment_faults
from tape.errors import ConfigError, ResumeError, UnknownCostError
from tape.lm.accounting import AccountedLM
from tape.lm.price_table import missing_price
from tape.protocols import AnswerT, Environment
from tape.protocols.result import EpisodeResult
from tape.seeds import derive
from tape.trace import StartedEvent, TraceWriter, hold
from tape.waiting import run_sync


class Agent(AgentBase, ABC):
    """An agent: plays episodes of any environment with any model.

    Args:
        model: A model or its name, for instance ``bundled:mini``.
        config: The switches; or give them as keyword arguments.
        prices: What the model costs, before any listed price: US dollars per million tokens of prompts and of
            completions, ``("0.15", "0.60")``, or a price file.
        settings: Fields of :class:`tape.engine.settings.TapeConfig`.

    Raises:
        ConfigError: A switch is out of range or contradicts the agent, or both ``config`` and ``settings`` are given;
            or the prices are malformed.
        UnknownNameError: There is no such model.
    """

    def run(self, env: Environment[AnswerT], **options: Unpack[RunOptions]) -> EpisodeResult[AnswerT]:
        """Play one episode: :meth:`arun` synchronously; a plain ``approve`` is called in the caller's thread."""
        if (approve := options.get("approve")) is not None:
            options["approve"] = asked_by_caller(approve)
        return run_sync(self.arun(env, **options))

    async def arun(self, env: Environment[AnswerT], **options: Unpack[RunOptions]) -> EpisodeResult[AnswerT]:
        """Play one episode.

        Args:
            env: The environment; its own ``budget``, if it has one, is kept too.
            options: See :class:`tape.agents.options.PlanOptions` and :class:`tape.agents.options.ApprovalOptions`.

        Returns:
            The result; of an episode that a limit or a fault ended too.

        Raises:
            ConfigError: The configuration needs a simulator, a final answer or predicates, and there are none; or there
                are both a parent and a payer; or parts of the environment live in another event loop; or ``approve`` or
                ``listener`` cannot be called, or would never be.
            ApprovalError: ``approve`` or ``approve_when`` has failed; the action was not executed.
            UnknownCostError: A hard cap on a resource whose cost is unknown.
        """
        require_known(options, RunOptions)
        asked = approver(options.pop("approve", None), options.pop("approve_when", None), env)
        return await self._played(env, Options(**cast("dict[str, Any]", options)), asked)

    def stream(self, env: Environment[AnswerT], **options: Unpack[RunOptions]) -> EpisodeStream[AnswerT]:
        """Play one episode as :meth:`arun`, and read its events meanwhile, with ``for`` or ``async for``.

        Returns:
            The events: plans sampled, graph folded, path selected, call begun, call ended, refusals, replanning, and
            at last ``finished``. Its ``result`` is that of the episode.

        Raises:
            ConfigError: A ``listener`` is given: the stream is one.
        """
        require_known(options, RunOptions)
        if options.get("listener") is not None:
            raise ConfigError("a stream is a listener itself; read its events, or use run(listener=...)")

        def play(listener: Listener) -> Coroutine[Any, Any, EpisodeResult[AnswerT]]:
            options["listener"] = listener
            return self.arun(env, **options)

        return EpisodeStream(play)

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
        on_unfinished, again = options.pop("on_unfinished", "ask"), options.pop("steps_again", False)
        approval = options.pop("approve", None), options.pop("approve_when", None)
        rest = Options(**cast("dict[str, Any]", options))
        path = Path(trace).resolve()
        with closing(hold(path)) as held:
            record = TraceRecord(path)
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
        with self._opened(env, options, resumption) as episode:
            episode.approver = asked if resumption is None else resumption.asks(asked)
            try:
                await play_to_end(episode, derive(options.seed, "environment"), self._play)
                episode.conclude()
            finally:
                account(episode)
        return episode.result

    @contextmanager
    def _opened(self, env: Environment, options: Options, resumption: Resumption | None = None) -> Iterator[Episode]:
        """Check everything, and begin an episode: ledger, trace, accounted model."""
        budget, seed, trace, parent, payer, simulator, model, listener = options
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
        caps = Budget.read(budget) | Budget.read(env.budget, "the environment's budget")
        deadline, model = Deadline(caps.get(WALL)), model or self.model
        if resumption is not None:
            caps, model, deadline = resumption.record.caps, resumption.model(model), resumption.deadline()
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


def _require_own_loop(env: Environment) -> None:
    """Refuse an environment whose parts live in another event loop than the running one."""
    home = env.home_loop()
    if home is not None and home is not asyncio.get_running_loop():
        raise ConfigError(
            f"{type(env).__name__} has tools that live in another event loop, such as a session with an MCP server; "
            "play it there: `await agent.arun(env, ...)` instead of `agent.run(env, ...)`"
        )

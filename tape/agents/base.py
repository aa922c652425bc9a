"""What every agent shares: one episode from reset to result, paid from one ledger.

An agent is one file: subclass :class:`Agent`, implement ``_play``, and register the class under the
entry-point group ``tape.agents``.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from solvers.errors import SolverError
from tape.budget import Budget, Ledger, Resources
from tape.config import AgentConfig
from tape.episode import EpisodeResult
from tape.errors import (
    BudgetExceededError,
    ConfigError,
    ConstraintError,
    EnvironmentFaultError,
    ModelError,
    UnknownCostError,
)
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel
from tape.protocols import Action, Environment, Observation, State, WorldModel
from tape.roles.context import RoleContext
from tape.seeds import derive
from tape.trace import ActedEvent, FinishedEvent, LedgerEvent, ObservedEvent, StartedEvent, TraceWriter


class EpisodeEnded(Exception):  # noqa: N818 - it is how an episode ends, not an error
    """Raised by :class:`Episode` to end an episode with a given end state."""

    def __init__(self, end_state: str, detail: str = "") -> None:
        self.end_state, self.detail = end_state, detail
        super().__init__(end_state)


@contextmanager
def environment_faults(what: str) -> Iterator[None]:
    """Turn any exception of an environment's own code into :class:`EnvironmentFaultError`."""
    try:
        yield
    except Exception as error:
        raise EnvironmentFaultError(f"{what}: {type(error).__name__}: {error}") from error


@dataclass
class Episode:
    """One episode in progress: the environment behind its ledger and trace.

    Attributes:
        env: The environment.
        config: The agent's switches.
        ledger: Pays for steps and LM calls.
        trace: The event log.
        roles: Model, prompts and domain for the LM roles.
        seed: Seed of everything the agent samples.
        simulator: The exact world model, only where the configuration asks for it.
        state: The current abstract state.
        result: Filled as the episode goes.
    """

    env: Environment
    config: AgentConfig
    ledger: Ledger
    trace: TraceWriter
    roles: RoleContext
    seed: int
    simulator: WorldModel | None
    state: State = None
    result: EpisodeResult = field(default_factory=lambda: EpisodeResult(end_state="failure", success=False))

    def remaining(self) -> dict[str, int]:
        """Counts left of every capped kind."""
        left = {kind: self.ledger.remaining(kind) for kind in self.ledger.capped()}
        return {kind: value for kind, value in left.items() if value is not None}

    def require_affordable_action(self) -> None:
        """End the episode by its budget if not even the cheapest known action fits any more.

        Agents ask this before they ask a model: nothing is planned where nothing can be done.

        Raises:
            BudgetExceededError: No admissible action fits.
            EpisodeEnded: The horizon is reached.
        """
        self._require_horizon()
        refused: BudgetExceededError | None = None
        for action in self.env.domain.admissible(self.state) or ():
            try:
                self.ledger.release(self.ledger.reserve(self.env.domain.cost(self.state, action)))
                return
            except BudgetExceededError as error:
                refused = error
        if refused is not None:
            raise refused

    def seed_for(self, *names: object) -> int:
        """A seed derived by name from the episode's."""
        return derive(self.seed, *names)

    def observe(self, observation: Observation) -> State:
        """Project an observation, remember it as the current state and log it."""
        domain = self.env.domain
        with environment_faults("the observation cannot be projected"):
            self.state = domain.project(observation)
        self.trace.write(
            ObservedEvent(
                step=self.result.steps,
                key=domain.key(self.state),
                picture=domain.render(self.state),
                remaining=self.remaining(),
            )
        )
        return self.state

    def step(self, action: Action, *, text: str = "", planned: Action | None = None) -> State:
        """Reserve the action's worst case, act, settle, observe.

        Raises:
            BudgetExceededError: The action does not fit; it was not executed.
            EnvironmentFaultError: The environment failed.
            EpisodeEnded: The horizon is reached, or the environment says that the goal is.
        """
        self._require_horizon()
        worst = self.env.domain.cost(self.state, action)
        reservation = self.ledger.reserve(worst)
        self.trace.write(LedgerEvent(what="reserve", purpose=f"step:{action}", amounts=dict(worst)))
        try:
            with environment_faults(f"step({action!r}) failed"):
                observation, cost = self.env.step(action)
        except EnvironmentFaultError:
            # What a failed step used is unknown, so all of its worst case is booked.
            self.ledger.settle(reservation, Resources(dict.fromkeys(worst)))
            self.trace.write(LedgerEvent(what="settle", purpose=f"step:{action}", amounts=dict(worst)))
            raise
        self.ledger.settle(reservation, cost)
        self.trace.write(LedgerEvent(what="settle", purpose=f"step:{action}", amounts=dict(cost)))
        self.result.steps += 1
        self.result.actions.append(action)
        self.trace.write(ActedEvent(step=self.result.steps, action=action, text=text, planned=planned, cost=dict(cost)))
        state = self.observe(observation)
        self.end_if_solved()
        return state

    def end_if_solved(self) -> None:
        """End the episode if the environment says that the goal is reached."""
        with environment_faults("the goal check failed"):
            self.result.success = bool(self.env.success())
        if self.result.success:
            raise EpisodeEnded("success")

    def _require_horizon(self) -> None:
        if self.config.horizon is not None and self.result.steps >= self.config.horizon:
            raise EpisodeEnded("failure", f"the horizon of {self.config.horizon} moves is reached")

    def require_known_costs(self) -> None:
        """Refuse to start where a capped kind's cost is unknown.

        Raises:
            UnknownCostError: Names the kind and the action.
        """
        for action in self.env.domain.admissible(self.state) or ():
            cost = self.env.domain.cost(self.state, action)
            unknown = [kind for kind in self.ledger.capped() if cost[kind] is None]
            if unknown:
                raise UnknownCostError(f"action {action!r} has an unknown cost in {unknown[0]} under a hard cap")


class Agent(ABC):
    """An agent: plays episodes of any environment with any model.

    Args:
        model: A model or its name, for instance ``bundled:mini``.
        config: The switches; or give them as keyword arguments.
        settings: Fields of :class:`tape.config.AgentConfig`.

    Raises:
        ConfigError: A switch is out of range or contradicts the agent, or both ``config`` and ``settings`` are given.
        UnknownNameError: There is no such model.
    """

    name: ClassVar[str] = ""

    def __init__(self, model: LanguageModel | str, config: AgentConfig | None = None, **settings: Any) -> None:
        if config is not None and settings:
            raise ConfigError(f"give either config or single settings, not both: {', '.join(settings)}")
        self.config = self.configure(config or AgentConfig.make(**settings))
        if isinstance(model, str):
            from tape.lm.registry import open_model

            model = open_model(model)
        self.model = model

    @classmethod
    def configure(cls, config: AgentConfig) -> AgentConfig:
        """Set or refuse the switches that the agent's name already decides; the others are ignored or used.

        Raises:
            ConfigError: A switch contradicts the agent.
        """
        return config

    @classmethod
    def most_lm_calls(cls, config: AgentConfig, steps: int, longest_plan: int) -> int | None:
        """An upper bound on the LM requests of one episode, for plans of an experiment; None where none is known.

        Requests that a backend repeats on its own are not counted, nor are the samples of one request.

        Args:
            config: The switches.
            steps: Most environment steps of the episode.
            longest_plan: Most actions of a sampled plan.
        """
        del config, steps, longest_plan
        return None

    def run(self, env: Environment, **options: Any) -> EpisodeResult:
        """Play one episode; the synchronous door to :meth:`arun`."""
        return asyncio.run(self.arun(env, **options))

    async def arun(
        self,
        env: Environment,
        *,
        budget: Budget | None = None,
        seed: int = 0,
        trace: TraceWriter | Path | None = None,
        parent: Ledger | None = None,
        simulator: WorldModel | None = None,
        model: LanguageModel | None = None,
    ) -> EpisodeResult:
        """Play one episode.

        Args:
            env: The environment; its own ``budget``, if it has one, is kept too.
            budget: Hard caps.
            seed: Root of all randomness.
            trace: A writer, or a file for the event log.
            parent: An enclosing ledger, for instance a run's.
            simulator: The exact world model for ``world_model="simulator"``.
            model: Answers instead of the agent's own model (a cohort's view of it).

        Returns:
            The result. What ends by a limit or a fault returns its partial episode too.

        Raises:
            ConfigError: The configuration asks for a simulator and none is given.
            UnknownCostError: A hard cap on a resource whose cost is unknown.
        """
        if (self.config.world_model == "simulator") != (simulator is not None):
            raise ConfigError("world_model='simulator' needs simulator=..., and only then")
        own = getattr(env, "budget", None)
        caps = (budget or Budget()) | (own if isinstance(own, Budget) else Budget())
        ledger = Ledger(caps, parent)
        writer = trace if isinstance(trace, TraceWriter) else TraceWriter(self.name, trace)
        lm = AccountedLM(model or self.model, ledger, writer)
        if "usd" in ledger.capped() and lm.price is None:
            raise UnknownCostError(f"the price of {lm.name} is unknown under a hard cap on usd; declare it or lift it")
        roles = RoleContext(lm, env.domain.dialect(lm.dialect), env.domain, writer)
        episode = Episode(env, self.config, ledger, writer, roles, derive(seed, "agent"), simulator)
        began = time.perf_counter()
        writer.write(StartedEvent(config=self.describe(), budget=dict(caps)))
        try:
            await self._episode(episode, derive(seed, "environment"))
        finally:
            self._account(episode, lm, caps, time.perf_counter() - began)
            if not isinstance(trace, TraceWriter):
                writer.close()
        return episode.result

    async def _episode(self, episode: Episode, env_seed: int) -> None:
        result = episode.result
        result.end_state = "interrupted"
        try:
            with environment_faults("reset failed"):
                observation = episode.env.reset(env_seed)
            episode.observe(observation)
            episode.require_known_costs()
            episode.end_if_solved()
            await self._play(episode)
            result.end_state = "failure"
        except EpisodeEnded as end:
            result.end_state, result.detail = end.end_state, end.detail
        except BudgetExceededError as error:
            result.end_state, result.detail = f"budget:{error.kind}", str(error)
        except (ModelError, ConstraintError) as error:
            result.end_state, result.detail = "model_error", str(error)
        except EnvironmentFaultError as error:
            result.end_state, result.detail = "env_error", str(error)
        except SolverError as error:
            result.end_state, result.detail = "solver_error", str(error)

    def _account(self, episode: Episode, lm: AccountedLM, caps: Budget, seconds: float) -> None:
        result = episode.result
        result.malformed = episode.roles.malformed
        result.lm_calls = dict(sorted(lm.calls.items()))
        result.prompt_tokens = dict(sorted(lm.prompts.items()))
        result.completion_tokens = dict(sorted(lm.completions.items()))
        result.used = dict(episode.ledger.used)
        result.budget = dict(caps)
        result.budget_violations = list(episode.ledger.overspent())
        result.broken_declarations = dict(episode.ledger.violations)
        result.wall_seconds = seconds
        episode.trace.write(FinishedEvent(result=result.model_dump()))

    def describe(self) -> dict[str, Any]:
        """Name, model and switches, for traces."""
        return {"agent": self.name, "model": self.model.name, **self.config.model_dump()}

    @abstractmethod
    async def _play(self, episode: Episode) -> None:
        """Play until the episode ends; returning means that the agent has given up (``failure``)."""

"""One episode in progress: the only way to the environment, the ledger and the trace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from tape.approval import DECISIONS, Approval, ApprovalRequest, Approver, amounts
from tape.budget import Ledger, Resources, kind_of, unknown
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline, blocking
from tape.engine.context import RoleContext
from tape.engine.method import counters
from tape.engine.project import LmProjector, Merger
from tape.engine.result import EpisodeResult
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError, EnvironmentFaultError, UnknownCostError, told
from tape.protocols import (
    Action,
    Environment,
    Observation,
    State,
    WorldModel,
)
from tape.seeds import derive
from tape.trace import ActedEvent, ApprovalEvent, LedgerEvent, ObservedEvent, TraceWriter
from tape.trace.declarations import report_broken

LIMITS = ("replan_limit", "infeasible", "no_plan")
"""End states by a limit, beside ``budget:<kind>``."""

UNJUDGED = ("env_error", "model_error", "interrupted", "stopped")
"""End states after which the environment is not asked for its verdict."""


class EpisodeEnded(Exception):  # noqa: N818 - it is how an episode ends, not an error
    """Raised by :class:`Episode` to end an episode with a given end state."""

    def __init__(self, end_state: str, detail: str = "", *, limit: bool = False) -> None:
        self.end_state, self.detail = end_state, detail
        self.limit = limit or end_state in LIMITS or end_state.startswith("budget:")
        """A limit ended it, rather than the goal or a fault: where it may, the agent answers for a last time."""
        super().__init__(end_state)


class ActionRefused(EpisodeEnded):
    """Raised by :class:`Episode` where an action was refused and not executed; an agent that can go on catches it."""

    def __init__(self, action: Action) -> None:
        self.action = action
        super().__init__("infeasible", f"{action!r} was refused, and nothing else was left to do")


@contextmanager
def environment_faults(what: str) -> Iterator[None]:
    """Turn any exception of an environment's own code, ``SystemExit`` too, into :class:`EnvironmentFaultError`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise EnvironmentFaultError(f"{what}: {told(error)}") from error


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
        deadline: Real time.
        approver: Is asked before an action is executed; None: nobody is.
        refused: The actions that were refused; none of them is executed in this episode.
        observation: What was observed last.
        state: The current abstract state.
        taken: The actions taken so far, by the key of the state they were taken in.
        result: Filled as the episode goes.
        merger: Merges states that the model takes for the same, only where the configuration asks for it.
    """

    env: Environment
    config: TapeConfig
    ledger: Ledger
    trace: TraceWriter
    roles: RoleContext
    seed: int
    simulator: WorldModel | None
    deadline: Deadline = field(default_factory=Deadline)
    approver: Approver | None = None
    refused: list[Action] = field(default_factory=list)
    observation: Observation | None = None
    state: State = None
    taken: dict[str, list[Action]] = field(default_factory=dict)
    result: EpisodeResult = field(default_factory=lambda: EpisodeResult(end_state="failure", success=False))
    merger: Merger | None = None
    _approved: tuple[int, Action] | None = None
    """The step and the action that need not be asked about any more."""

    def __post_init__(self) -> None:
        self.result.method = counters(self.config)

    def key(self, state: State) -> str:
        """The key of a state's node in plan graphs; the declared one, but for what was merged by :meth:`merge`."""
        return self.env.domain.key(state) if self.merger is None else self.merger.key(state)

    async def merge(self, states: Sequence[State], expected: str | None = None) -> None:
        """Let the model merge states, where the configuration asks for it (``projector="lm"``)."""
        if self.merger is not None:
            await self.merger.merge(states, expected)

    def is_no_op(self, action: Action) -> bool:
        """Whether the environment knows that an action changes nothing here, so that it is neither planned nor done.

        Not asked where whole states are compared (``mismatch="exact"``).
        """
        known = None if self.config.mismatch == "exact" else self.env.domain.no_ops
        if known is None:
            return False
        with environment_faults(f"whether {action!r} would change anything cannot be worked out"):
            return known.is_no_op(self.state, action)

    def remaining(self) -> dict[str, int]:
        """Counts left of every capped kind but real time, on which no prompt may depend."""
        left = {kind: self.ledger.remaining(kind) for kind in self.ledger.capped()}
        return {kind: value for kind, value in left.items() if value is not None}

    def require_affordable_action(self) -> None:
        """End the episode by its budget if not even the cheapest known action fits any more.

        Agents ask this before they ask a model: nothing is planned where nothing can be done.
        """
        self._require_horizon()
        refused: list[tuple[Action, BudgetExceededError]] = []
        for action, worst in self.possible_costs().items():
            try:
                self.ledger.release(self.ledger.reserve(worst))
                return
            except BudgetExceededError as error:
                refused.append((action, error))
        if refused:
            cheapest, first = min(refused, key=lambda one: (one[1].used + one[1].requested) / (one[1].limit or 1))
            first.wanted_for(f"no action fits any more, not even the cheapest, {cheapest}")
            raise first

    def seed_for(self, *names: object) -> int:
        """A seed derived by name from the episode's."""
        return derive(self.seed, *names)

    async def reset(self, seed: int) -> State:
        """Begin; observe."""
        with environment_faults("reset failed"):
            observation = await blocking(lambda: self.env.reset(seed), "environment reset")
        return await self.observe(observation)

    async def observe(self, observation: Observation) -> State:
        """Project an observation, remember it as the current state and log it."""
        self.observation = observation
        with environment_faults("the observation cannot be projected"):
            self.state = self.env.domain.project(observation)
        try:
            self.state = await LmProjector(self.roles).project(self.state)
        finally:
            self._log_observed()
        with environment_faults("what was read was not taken"):
            self.env.projected(self.state)
        return self.state

    def _log_observed(self) -> None:
        domain, left = self.env.domain, self.remaining()
        if self.deadline.is_set:
            left[WALL] = int((self.deadline.left() or 0) / float(kind_of(WALL).resolution))
        self.trace.write(
            ObservedEvent(
                step=self.result.steps,
                key=domain.key(self.state),
                picture=domain.render(self.state),
                remaining=left,
            )
        )

    async def approve(self, action: Action, rest: Sequence[Action] = ()) -> None:
        """Ask whether an action may be executed now, where somebody is to be asked; once in each step.

        :meth:`step` does it too. Whoever pays for writing an action that is already known asks before. The rest of the
        path is for the one who is asked.

        Raises:
            ActionRefused: It was refused, now or before in this episode.
            EpisodeEnded: ``stopped``.
            ApprovalError: Nothing that is understood was answered.
        """
        here = (self.result.steps, action)
        if self.approver is None or self._approved == here:
            return
        if action in self.refused:
            self._log_approval(action, Approval.REFUSE, "refused before")
            raise ActionRefused(action)
        with environment_faults(f"nobody can be asked about {action!r}"):
            request = self._request(action, rest)
        if request.reason == "destructive" or self.approver.selects(request):
            # Nobody is asked about what cannot be paid.
            self.ledger.release(self.ledger.reserve(self.env.domain.cost(self.state, action)))
            decision, reason = await self.approver.ask(request)
            self._log_approval(action, decision, reason)
            if decision is Approval.STOP:
                raise EpisodeEnded("stopped", f"stopped where {action!r} was to be approved")
            if decision is Approval.REFUSE:
                await self._refuse(action)
        self._approved = here

    def _request(self, action: Action, rest: Sequence[Action]) -> ApprovalRequest:
        domain = self.env.domain
        destructive = domain.destructive(action)
        return ApprovalRequest(
            action=action,
            shown=domain.spelled_out(self.state, action),
            picture=domain.render(self.state),
            cost=amounts(domain.cost(self.state, action)),
            left=amounts(self.remaining()),
            rest=tuple(rest),
            reason="destructive" if destructive else "selected",
            step=self.result.steps,
        )

    async def _refuse(self, action: Action) -> NoReturn:
        """Keep an action from being executed in this episode, and tell the environment, if it takes note."""
        self.refused.append(action)
        with environment_faults("the refusal was not taken"):
            observation = self.env.refuse(action)
        if observation is not None:
            await self.observe(observation)
        raise ActionRefused(action)

    def _log_approval(self, action: Action, decision: Approval, reason: str) -> None:
        event = ApprovalEvent(step=self.result.steps, action=action, decision=DECISIONS[decision], reason=reason)
        self.trace.write(event)

    async def step(
        self, action: Action, *, text: str = "", planned: Action | None = None, rest: Sequence[Action] = ()
    ) -> State:
        """Ask where somebody is to be asked, reserve the action's worst case, act, settle, observe.

        Args:
            action: The action.
            text: The words around it, for the trace.
            planned: The action of the path, for the trace.
            rest: The rest of the path, for the one who is asked.

        Raises:
            ActionRefused: It was refused; it was not executed.
            ApprovalError: Nothing that is understood was answered; it was not executed.
            BudgetExceededError: The action does not fit, or the time is up; it was not executed.
            EnvironmentFaultError: The environment failed.
            EpisodeEnded: The horizon is reached, or the environment says that the goal is.
        """
        self._require_horizon()
        await asyncio.sleep(0)  # an episode that was cancelled ends here, even where no model and no tool waits
        self.deadline.require()
        await self.approve(action, rest)
        worst, purpose = self.env.domain.cost(self.state, action), f"step:{action}"
        try:
            reservation = self.ledger.reserve(worst)
        except BudgetExceededError as error:
            error.wanted_for(action)
            raise
        try:
            self.trace.write(LedgerEvent(what="reserve", purpose=purpose, amounts=dict(worst)))
            observation, cost = await self._act(action)
        except BaseException:
            # What a failed or cancelled step used is unknown, so all of its worst case is booked.
            reservation.settle(unknown(worst))
            self.trace.write(LedgerEvent(what="settle", purpose=purpose, amounts=dict(worst)))
            raise
        broken = reservation.settle(cost)
        self.trace.write(LedgerEvent(what="settle", purpose=purpose, amounts=dict(cost)))
        report_broken(self.trace, purpose, broken)
        self.result.steps += 1
        self.result.actions.append(action)
        self.taken.setdefault(self.env.domain.key(self.state), []).append(action)
        self.trace.write(ActedEvent(step=self.result.steps, action=action, text=text, planned=planned, cost=dict(cost)))
        state = await self.observe(observation)
        self.end_if_solved()
        self._end_if_over()
        return state

    def to_choose_in(self) -> State:
        """The current state for a free choice: without what was refused, under ``no_repeat`` without what was done."""
        domain = self.env.domain
        left_out = [*self.refused, *(self.taken.get(domain.key(self.state), ()) if self.config.no_repeat else ())]
        if domain.choices is not None and (left_out or self.config.no_repeat):
            return domain.choices.without(self.state, left_out)
        return self.state

    async def _act(self, action: Action) -> tuple[Observation, Resources]:
        """Let the environment act."""
        with environment_faults(f"step({action!r}) failed"):
            observation, cost = await self.env.astep(action)
            if not isinstance(cost, Resources):
                raise TypeError(f"the cost must be Resources, not {cost!r}")
        return observation, cost

    def end_if_solved(self) -> None:
        """End the episode if the environment says that the goal is reached."""
        with environment_faults("the goal check failed"):
            self.result.success = bool(self.env.success())
        if self.result.success:
            raise EpisodeEnded("success")

    def conclude(self) -> None:
        """Say that the agent has stopped, where the environment judges then; see :data:`UNJUDGED`."""
        result = self.result
        if result.end_state in UNJUDGED:
            return
        try:
            with environment_faults("concluding the episode failed"):
                if self.env.conclude():
                    result.success = bool(self.env.success())
        except EnvironmentFaultError as error:
            result.end_state, result.detail = "env_error", str(error)
            return
        if result.success:
            result.end_state, result.detail = "success", ""

    def _end_if_over(self) -> None:
        with environment_faults("asking whether it has ended failed"):
            over = bool(self.env.ended())
        if over:
            raise EpisodeEnded("failure", "the environment has ended without success")

    def _require_horizon(self) -> None:
        if self.config.horizon is not None and self.result.steps >= self.config.horizon:
            raise EpisodeEnded("failure", f"the horizon of {self.config.horizon} moves is reached", limit=True)

    def require_known_costs(self) -> None:
        """Refuse to start where a capped kind's cost is unknown.

        Raises:
            UnknownCostError: Names the kind and the action.
        """
        for action, cost in self.possible_costs().items():
            unknown = [kind for kind in self.ledger.capped() if cost[kind] is None]
            if unknown:
                raise UnknownCostError(f"action {action!r} has an unknown cost in {unknown[0]} under a hard cap")

    def possible_costs(self) -> Mapping[str, Resources]:
        """The worst case of every action or family of actions that the domain can name; else empty."""
        domain = self.env.domain
        if (declared := domain.declared_costs()) is not None:
            return declared
        return {action: domain.cost(self.state, action) for action in domain.admissible(self.state) or ()}

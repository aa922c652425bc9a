"""One episode in progress: the only way to the environment, the ledger and the trace."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tape.approval import DECISIONS, SECOND, Approval, Approver, request_of
from tape.approval.forbid import REFUSED_BEFORE, forbidden
from tape.budget import Ledger, Resources, kind_of, unknown
from tape.budget.claims import Effect
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline, blocking
from tape.engine.context import RoleContext
from tape.engine.effects import ended, made_before, reserved
from tape.engine.in_turn import InTurn
from tape.engine.project import LmProjector
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError, EnvironmentFaultError, UnknownCostError, error_text
from tape.protocols import Action, Environment, Observation, State, WorldModel
from tape.protocols.hooks import NO_HOOKS, EpisodeHooks
from tape.protocols.method import counters
from tape.protocols.parts import DryRuns
from tape.protocols.result import EpisodeResult, judged_wrong
from tape.redaction import redacted
from tape.seeds import derive
from tape.trace import (
    ActedEvent,
    ApprovalEvent,
    CallBegunEvent,
    CallEndedEvent,
    LedgerEvent,
    ObservedEvent,
    TraceWriter,
)
from tape.trace.file import report_costs_above_bound

logger = logging.getLogger("tape.engine")

LIMITS = ("replan_limit", "infeasible", "no_plan")
"""End states at a limit; ``budget:<kind>`` is one too."""

UNJUDGED = ("env_error", "model_error", "interrupted", "stopped")
"""End states after which the environment does not judge the episode."""


class EpisodeEnded(Exception):  # noqa: N818 - an episode's normal end, not an error
    """Raised by :class:`Episode` to end an episode with a given end state."""

    def __init__(self, end_state: str, detail: str = "", *, limit: bool = False) -> None:
        self.end_state, self.detail = end_state, detail
        self.limit = limit or end_state in LIMITS or end_state.startswith("budget:")
        """A limit ended it, not the goal or a fault; with ``on_limit="final_answer"`` the agent then answers."""
        super().__init__(end_state)


class ActionRefused(EpisodeEnded):
    """Raised by :class:`Episode` if an action was refused and not executed; an agent that can go on catches it."""

    def __init__(self, action: Action) -> None:
        self.action = action
        super().__init__("infeasible", f"{action!r} was refused, and nothing else was left to do")


@contextmanager
def environment_faults(what: str) -> Iterator[None]:
    """Turn any exception of an environment's own code, ``SystemExit`` too, into :class:`EnvironmentFaultError`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise EnvironmentFaultError(f"{what}: {error_text(error)}") from error


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
        simulator: The exact world model; only with ``world_model="simulator"``.
        deadline: The limit on real time.
        approver: Approves actions before they are executed; None: no approval is needed.
        refused: The actions that were refused; none of them is executed in this episode.
        observation: The last observation.
        state: The current abstract state.
        taken: The actions taken so far, by the key of the state they were taken in.
        result: Filled during the episode.
        dry_run: Makes actions on copies; only with ``world_model="copy"``.
        at_once: What runs before its turn.
        notes: What the agent knows of effects before they are made (:mod:`tape.approval`).
        known_outcome: What came of an action that an episode which is resumed has done already; else None. It gets the
            action, and whether its effect is claimed.
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
    notes: dict[Action, str] = field(default_factory=dict)
    observation: Observation | None = None
    state: State = None
    taken: dict[str, list[Action]] = field(default_factory=dict)
    result: EpisodeResult = field(default_factory=lambda: EpisodeResult(end_state="failure", success=False))
    dry_run: DryRuns = field(default_factory=DryRuns)
    at_once: InTurn = field(default_factory=InTurn)
    known_outcome: Callable[[Action, bool], Mapping[str, Any] | None] = lambda *_: None
    _approved: tuple[int, Action] | None = None
    """The step and the action that are approved already."""

    def __post_init__(self) -> None:
        self.result.method = counters(self.config)

    def key(self, state: State) -> str:
        """The key of a state's node in plan graphs."""
        return self.env.domain.key(state)

    def is_no_op(self, action: Action) -> bool:
        """Whether the environment knows that an action changes nothing here; it is then neither planned nor done."""
        with environment_faults(f"the no-op test of {action!r} failed"):
            return self.hooks.is_no_op(self.state, action)

    @property
    def hooks(self) -> EpisodeHooks:
        """The environment's; none with ``mismatch="exact"``."""
        return NO_HOOKS if self.config.ablations.mismatch == "exact" else self.env.domain.hooks

    def remaining(self) -> dict[str, int]:
        """Counts left of every capped kind but real time; no prompt may depend on real time."""
        left = {kind: self.ledger.remaining(kind) for kind in self.ledger.capped()}
        return {kind: value for kind, value in left.items() if value is not None}

    def require_affordable_action(self) -> None:
        """End the episode by its budget if not even the cheapest known action fits.

        Agents call this before they call a model, so that they plan nothing they cannot do.
        """
        self._require_horizon()
        refused: list[tuple[Action, BudgetExceededError]] = []
        for action, worst in self.possible_costs().items():
            try:
                self.ledger.require(worst)
                return
            except BudgetExceededError as error:
                refused.append((action, error))
        if refused:
            cheapest, first = min(refused, key=lambda pair: (pair[1].used + pair[1].requested) / (pair[1].limit or 1))
            first.wanted_for(f"no action fits any more, not even the cheapest, {cheapest}")
            raise first

    def seed_for(self, *names: object) -> int:
        """A seed derived by name from the episode's."""
        return derive(self.seed, *names)

    async def reset(self, seed: int) -> State:
        """Reset the environment and observe its first state."""
        with environment_faults("reset failed"):
            observation = await blocking(lambda: self.env.reset(seed), "environment reset")
        return await self.observe(observation)

    async def observe(self, observation: Observation) -> State:
        """Project an observation into the current state and log it."""
        self.observation = observation
        with environment_faults("the observation cannot be projected"):
            self.state = self.env.domain.project(observation)
        try:
            self.state = await LmProjector(self.roles).project(self.state)
        finally:
            self._log_observed()
        with environment_faults("the projected state was not accepted"):
            self.env.projected(self.state)
        return self.state

    def _log_observed(self) -> None:
        domain, left = self.env.domain, self.remaining()
        if self.deadline.is_set:
            left[WALL] = int((self.deadline.left() or 0) / float(kind_of(WALL).resolution))
        self.trace.write(
            ObservedEvent(
                step=self.result.steps, key=domain.key(self.state), picture=domain.render(self.state), remaining=left
            )
        )

    async def approve(self, action: Action, rest: Sequence[Action] = ()) -> None:
        """Refuse what the setting ``destructive`` forbids; ask the approver, if there is one; at most once a step.

        :meth:`step` does so too. An agent that already knows its action calls this before it pays a model to write it.
        The approver is shown ``rest``, the rest of the path.

        Raises:
            ActionRefused: It was refused, now or before in this episode.
            EpisodeEnded: ``stopped``.
            ApprovalError: The answer was not understood.
        """
        here = (self.result.steps, action)
        if self._approved == here:
            return
        if action in self.refused:
            self._log_approval(action, Approval.REFUSE, REFUSED_BEFORE)
            raise ActionRefused(action)
        with environment_faults(f"approval of {action!r} cannot be requested"):
            why = forbidden(self.config.destructive, self.env.domain, action, self.trace.events, self.notes)
        if why:
            self._log_approval(action, Approval.REFUSE, why)
            await self._refuse(action)
        if self.approver is None:
            return
        with environment_faults(f"approval of {action!r} cannot be requested"):
            left, step = self.remaining(), self.result.steps
            request = request_of(self.env.domain, self.state, action, rest, left, step)
        request = replace(request, note=self.notes.get(action, ""))
        if request.reason == "destructive" or request.note in SECOND or self.approver.selects(request):
            # An action that cannot be paid for needs no approval.
            self.ledger.require(self.env.domain.cost(self.state, action))
            changes = await self.dry_run.difference(self.state, [action, *rest])
            request = replace(request, changes=tuple(changes))
            decision, reason = await self.approver.ask(request)
            self._log_approval(action, decision, reason)
            if decision is Approval.STOP:
                raise EpisodeEnded("stopped", f"stopped where {action!r} was to be approved")
            if decision is Approval.REFUSE:
                await self._refuse(action)
        self._approved = here

    @property
    def asks(self) -> bool:
        """Whether an approver decides by the moment what it is asked about."""
        return self.approver is not None and self.approver.selective

    async def _refuse(self, action: Action) -> NoReturn:
        """Exclude an action from this episode, and inform the environment."""
        self.refused.append(action)
        with environment_faults("the refusal was not accepted"):
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
        """Get the action approved, reserve its worst case, act, settle, observe.

        Args:
            action: The action.
            text: The text around it, for the trace.
            planned: The action of the path, for the trace.
            rest: The rest of the path, for the approver, and for what runs at once with the action.

        Raises:
            ActionRefused: It was refused; it was not executed.
            ApprovalError: The approver's answer was not understood; the action was not executed.
            BudgetExceededError: The action does not fit, or the time is up; it was not executed.
            EnvironmentFaultError: The environment failed.
            EpisodeEnded: The horizon is reached, or the goal by the environment's own check.
        """
        self._require_horizon()
        await self.trace.turn()  # lets a cancelled episode end here, even if no model or tool ever waits
        self.deadline.require()
        await self.approve(action, rest)
        worst, purpose = self.env.domain.cost(self.state, action), f"step:{action}"
        effect = self.env.effect(action)
        try:
            reservation = self.at_once.turn(action) or await reserved(self.ledger, action, effect, worst)
        except BudgetExceededError as error:
            error.wanted_for(action)
            raise
        try:
            self.trace.write(LedgerEvent(what="reserve", purpose=purpose, amounts=dict(worst)))
            self.at_once.begin(action, rest)
            observation, cost = await self._act(action, effect)
        except BaseException:
            # The cost of a failed or cancelled step is unknown, so its whole worst case is charged.
            reservation.settle(unknown(worst))
            self.trace.write(LedgerEvent(what="settle", purpose=purpose, amounts=dict(worst)))
            raise
        self.at_once.observed(action)
        above_bound = reservation.settle(cost)
        self.trace.write(LedgerEvent(what="settle", purpose=purpose, amounts=dict(cost)))
        report_costs_above_bound(self.trace, purpose, above_bound)
        self.result.steps += 1
        self.result.actions.append(action)
        logger.info("step %d: %s", self.result.steps, redacted(action))
        self.taken.setdefault(self.env.domain.key(self.state), []).append(action)
        self.trace.write(ActedEvent(step=self.result.steps, action=action, text=text, planned=planned, cost=dict(cost)))
        await self.observe(observation)
        self.end_if_solved()
        self._end_if_over()
        return self.state

    def to_choose_in(self) -> State:
        """The current state for a free choice, without refused actions and, under ``no_repeat``, without taken ones."""
        domain = self.env.domain
        left_out = [*self.refused, *(self.taken.get(domain.key(self.state), ()) if self.config.no_repeat else ())]
        if domain.choices is not None and (left_out or self.config.no_repeat):
            return domain.choices.without(self.state, left_out)
        return self.state

    async def _act(self, action: Action, effect: Effect | None) -> tuple[Observation, Resources]:
        """Let the environment act; an action on the world outside is recorded before and after."""
        env, known, step = self.env, None, self.result.steps
        if env.records:
            key = "" if effect is None or effect.claimed is None else effect.key
            self.trace.write(CallBegunEvent(step=step, action=action, pure=env.is_pure(action), key=key))
            known = self.known_outcome(action, bool(key))
            if known is None:
                known = await made_before(env, action, effect)
            await self.trace.turn()
        with environment_faults(f"step({action!r}) failed"):
            observation, cost = await (env.astep(action) if known is None else env.restore(action, known))
            if not isinstance(cost, Resources):
                raise TypeError(f"the cost must be Resources, not {cost!r}")
        if env.records:
            self.trace.write(CallEndedEvent(step=step, action=action, outcome=dict(env.outcome())))
            ended(effect, env.outcome())
        return observation, cost

    def end_if_solved(self) -> None:
        """End the episode if the goal is reached by the environment's own check."""
        with environment_faults("the goal check failed"):
            self.result.success = bool(self.env.success())
        if self.result.success:
            raise EpisodeEnded("success")

    def conclude(self) -> None:
        """Report that the agent has stopped, so that the environment can judge; not after :data:`UNJUDGED`."""
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
        with environment_faults("the check whether it has ended failed"):
            answer = self.env.answered_value() if (over := bool(self.env.ended())) else None
        if over:
            why = judged_wrong(answer) or f"after {self.result.actions[-1]}"
            raise EpisodeEnded("failure", f"the environment has ended without success: {why}")

    def _require_horizon(self) -> None:
        if self.config.horizon is not None and self.result.steps >= self.config.horizon:
            raise EpisodeEnded("failure", f"the horizon of {self.config.horizon} moves is reached", limit=True)

    def require_known_costs(self) -> None:
        """Refuse to start if the cost of an action in a capped kind is unknown.

        Raises:
            UnknownCostError: Names the kind and the action.
        """
        for action, cost in self.possible_costs().items():
            if unknown := [kind for kind in self.ledger.capped() if cost[kind] is None]:
                raise UnknownCostError(
                    f"{action} costs an unknown amount of {unknown[0]}, which is capped; declare it, for a tool by "
                    f"@tool({unknown[0]}=...), {unknown[0]}=0 if it takes none"
                )

    def possible_costs(self) -> Mapping[str, Resources]:
        """The worst case of every action or family of actions that the domain can list; else empty."""
        domain = self.env.domain
        if (declared := domain.declared_costs()) is not None:
            return declared
        return {action: domain.cost(self.state, action) for action in domain.admissible(self.state) or ()}

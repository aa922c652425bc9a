"""The SDP loop (algorithm 1 with the caps of appendix A): propose, realize, validate, replan."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from tape.engine.compare import end_if_broken
from tape.engine.episode import ActionRefused, Episode, EpisodeEnded, environment_faults
from tape.engine.replan import start_replanning
from tape.errors import BudgetExceededError, ConfigError, EnvironmentFaultError
from tape.methods.sdp.adapter import Adapter, Caps, KnowsTruth
from tape.methods.sdp.events import (
    CapsRecord,
    ChainEvent,
    CheckRecord,
    ConcludedEvent,
    Conclusion,
    TargetRecord,
    ValidatedEvent,
)
from tape.methods.sdp.operators import Check, Operators, Outcome, Realized, Verdict
from tape.methods.sdp.settings import SdpSettings
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Fields
from tape.protocols import Action

NOTHING_LEFT = "there is nothing left to try"
"""The reason of an attempt without an action, if REALIZE gives none."""


class ChainWatch(Protocol):
    """Observes every step; may find that the rest of a chain is void."""

    def saw(self, outcome: Outcome, verdict: Verdict, tail: Chain) -> str | None:
        """Why the rest of the tail is void after a step; None if it is not."""


class Loop:
    """One episode of SDP.

    Only validation changes the certified state, and failed attempts go to an append-only history. If REALIZE has
    nothing to try, the target is replanned at once, as after b failures.
    """

    def __init__(
        self, episode: Episode, adapter: Adapter, operators: Operators, caps: Caps, watch: ChainWatch | None = None
    ) -> None:
        self._episode, self._adapter, self._operators, self._caps = episode, adapter, operators, caps
        self._watch = watch
        self._settings = SdpSettings.of(episode.config)
        self._most = caps.attempts + self._settings.strict_algorithm1
        self._certified: Chain = ()
        self._tail: Chain = ()
        self._attempts: tuple[Attempt, ...] = ()
        self._history: list[Attempt] = []
        self._steps, self._replans, self._replans_here = 0, 0, 0
        self._why: Conclusion = "limit"

    async def run(self) -> None:
        """Play until the episode ends.

        Raises:
            EpisodeEnded: Always: success, or the cap, limit or fault that ended it.
            BudgetExceededError: A call or an action does not fit.
        """
        try:
            self._take(await self._operators.propose.propose(self._state()), "proposed")
            while self._tail:
                await self._attempt()
            self._why = "goal"
        except (EpisodeEnded, BudgetExceededError):
            raise
        except Exception:
            self._why = "environment"
            raise
        finally:
            self._conclude()
        raise EpisodeEnded(
            "failure", "the goal predicate was certified, but the environment's own goal check fails", limit=True
        )

    # --- one attempt ------------------------------------------------------------------------

    async def _attempt(self) -> None:
        episode, at = self._episode, self._at()
        episode.require_affordable_action()
        if self._steps >= self._caps.steps:
            self._why = "step_cap"
            raise EpisodeEnded("failure", f"the cap of {self._caps.steps} steps is reached", limit=True)
        self._steps += 1
        realized = await self._operators.realize.realize(at)
        if realized.action is None:
            await self._without_action(realized)
            return
        try:
            outcome, end = await self._act(realized)
        except ActionRefused as refused:
            nothing = Realized(None, f"{refused.action!r} was refused", counts_if_none=True)
            await self._without_action(nothing, refused.action)
            return
        verdict = await self._judge(outcome, end)
        self._note(realized, verdict, at.state.fields, (outcome.before, outcome.after), completed=outcome.completed)
        self._advance(realized, verdict, self._episode.env.domain.key(outcome.before))
        if end is not None:
            self._why = "goal" if not self._tail else "environment"
            raise end
        if self._settings.validation == "always":  # the outcome is not validated
            end_if_broken(episode, outcome.before)
        void = self._watch.saw(outcome, verdict, self._tail) if self._watch is not None and self._tail else None
        if void is not None:
            await self._replan(void)
        elif len(self._attempts) >= self._most:
            await self._replan(f"{len(self._attempts)} failed attempts")

    async def _without_action(self, realized: Realized, refused: Action | None = None) -> None:
        """An attempt without an action; a refused action is not tried again."""
        verdict = Verdict((), realized.text or NOTHING_LEFT, counts=realized.counts_if_none)
        here, state = self._fields(), self._episode.state
        self._note(realized, verdict, here, (state, state), completed=False)
        self._advance(replace(realized, action=refused), verdict, "")  # refused in every state
        if not realized.counts_if_none:
            await self._replan(verdict.reason)
        elif len(self._attempts) >= self._most:
            await self._replan(f"{len(self._attempts)} failed attempts")

    async def _act(self, realized: Realized) -> tuple[Outcome, EpisodeEnded | None]:
        """Execute the action; also returns the end of the episode, if the action caused it."""
        episode, action = self._episode, realized.action
        assert action is not None
        before, steps, end = episode.state, episode.result.steps, None
        rest = [target.by for target in self._tail[1:] if target.by is not None]
        try:
            await episode.step(action, text=realized.text, planned=self._tail[0].by, rest=rest)
        except EpisodeEnded as ended:
            if episode.result.steps == steps:
                raise  # a horizon, a refusal or a stop: nothing was executed
            end = ended
        assert episode.observation is not None
        done = end is not None and end.end_state == "success"
        return Outcome(before, action, episode.observation, episode.state, done), end

    async def _judge(self, outcome: Outcome, end: EpisodeEnded | None) -> Verdict:
        """VALIDATE; nothing is judged if the environment ended the episode in failure."""
        if end is not None and not outcome.completed:
            return Verdict((), f"the environment has ended the episode: {end.detail or end.end_state}", counts=False)
        if outcome.completed:
            return Verdict(
                tuple(Check(True, "completion", "the environment reports the task as done") for _ in self._tail)
            )
        verdict = await self._operators.validate.validate(self._tail, outcome)
        if verdict.k > len(self._tail):
            raise ConfigError(f"the validator certified {verdict.k} of {len(self._tail)} predicates")
        if verdict.k > 1 and not self._settings.cascade:
            return replace(verdict, checks=verdict.checks[:1], reason="")
        return verdict

    def _advance(self, realized: Realized, verdict: Verdict, node: str) -> None:
        """Certify predicates or record a failed attempt; only this method does."""
        counted, k = self._episode.result.method, verdict.k
        if k:
            self._certified, self._tail = self._certified + self._tail[:k], self._tail[k:]
            self._attempts, self._replans_here = (), 0
            counted["certified"] += k
            counted["certifying"] += 1
            counted["cascades"] += k >= 2
        elif verdict.counts:
            attempt = Attempt(self._tail[0], realized.action, verdict.reason, node)
            self._attempts += (attempt,)
            self._history.append(attempt)
            counted["rejections"] += 1

    # --- replanning -------------------------------------------------------------------------

    async def _replan(self, reason: str) -> None:
        """REPLAN replaces the plan tail; certified predicates stay."""
        episode, target = self._episode, self._tail[0]
        if not episode.config.ablations.replan:
            self._why = "replan_cap"
            raise EpisodeEnded("replan_limit", f"replanning is off, and {target.text!r} was not reached: {reason}")
        if self._replans_here >= self._caps.replans:
            self._why = "replan_cap"
            raise EpisodeEnded("replan_limit", f"{self._caps.replans} replans of {target.text!r} were not enough")
        start_replanning(episode, reason, episode.result.replans + 1)
        self._replans_here += 1
        self._replans += 1
        tail = await self._operators.replan.replan(self._at(), tuple(self._history))
        self._attempts = ()
        self._take(tail, reason)

    def _take(self, tail: Chain, reason: str) -> None:
        targets = [TargetRecord.of(target) for target in tail]
        self._episode.trace.write(
            ChainEvent(step=self._episode.result.steps, certified=len(self._certified), reason=reason, targets=targets)
        )
        if not tail:
            self._why = "no_chain"
            raise EpisodeEnded("invalid_output", "no chain of predicates could be made")
        if [target.goal for target in tail] != [False] * (len(tail) - 1) + [True]:
            raise ConfigError("a chain ends with its one goal predicate; this one, of an operator, does not")
        self._tail = tail

    # --- the typed state, and the trace -----------------------------------------------------

    def _fields(self) -> Fields:
        with environment_faults("the fields of the state cannot be read"):
            return self._adapter.fields(self._episode.state)

    def _state(self) -> CertifiedState:
        left = tuple(sorted(self._episode.remaining().items()))
        return CertifiedState(self._certified, self._fields(), self._episode.state, left)

    def _at(self) -> MarkovState:
        return MarkovState(self._state(), self._tail, self._attempts)

    def _note(
        self, realized: Realized, verdict: Verdict, before: Fields, states: tuple[object, object], *, completed: bool
    ) -> None:
        """Log an attempt with its verdict and the true values, if the environment knows them."""
        episode, key = self._episode, self._episode.env.domain.key
        truths: list[bool | None] = [None] * len(verdict.checks)
        if isinstance(episode.env, KnowsTruth):
            with environment_faults("the truth of a predicate cannot be computed"):
                truths = [episode.env.truth(target) for target in self._tail[: len(verdict.checks)]]
        checks = [CheckRecord.of(check, truth) for check, truth in zip(verdict.checks, truths, strict=True)]
        episode.trace.write(
            ValidatedEvent(
                step=episode.result.steps,
                certified=len(self._certified),
                failed=len(self._attempts),
                action=realized.action,
                text=realized.text,
                k=verdict.k,
                checks=checks,
                reason=verdict.reason,
                counts=verdict.counts,
                completed=completed,
                before=dict(before),
                after=dict(self._fields()),
                nodes=(key(states[0]), key(states[1])),
            )
        )

    def _conclude(self) -> None:
        """Log how the loop ended."""
        counted, length = self._episode.result.method, len(self._certified) + len(self._tail)
        counted["chain_length"] = length
        counted["goal_certified"] = bool(self._certified) and self._certified[-1].goal
        try:
            state = dict(self._fields())
        except EnvironmentFaultError:  # after another fault, which is reported instead
            state = None
        self._episode.trace.write(
            ConcludedEvent(
                why=self._why,
                certified=len(self._certified),
                planned=length,
                goal_certified=counted["goal_certified"],
                rejected=len(self._history),
                replans=self._replans,
                caps=CapsRecord(attempts=self._most, replans=self._caps.replans, steps=self._caps.steps),
                state=state,
            )
        )

"""Active epistemic control of an episode (AEC algorithm 1; the loop and what the paper leaves open are ours)."""

from __future__ import annotations

from collections.abc import Sequence

from tape.aec.events import CommittedEvent, PredictedEvent, RefusedEvent, VerifiedEvent
from tape.aec.gating import Commit, Decision, Gate, GiveUp, Query, Simulate
from tape.aec.hypothesis import Hypothesis, actions_of, costs_of, remainder
from tape.aec.monitor import Monitor
from tape.aec.predictor import Estimate, Predictor
from tape.aec.query import Queries
from tape.aec.settings import AecSettings
from tape.aec.state import EpistemicState
from tape.aec.verifier import Verdict
from tape.budget import Resources
from tape.engine.cost import spendable
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.execute import Executor, Outcome
from tape.engine.loop import Planner
from tape.engine.select import Path, log_selected
from tape.errors import ConfigError
from tape.protocols import Action, Actor, Plan
from tape.protocols.domain import require_predicates
from tape.protocols.predicates import Predicate


class Controller:
    """Plans with hypotheses, queries and beliefs, and commits to what the verifier accepts.

    One planning round: the k best paths of a sampled plan graph are the hypotheses. Those that the facts contradict are
    refused, and so are those that miss a fact for which no query is known or affordable. Of the rest the gate says what
    to query and what to simulate; beliefs set hypotheses aside. What the best survivor rests on by belief alone is
    queried before it is committed to. After a query that changed the state the survivors go on from there: actions that
    the query has done are past, the rest is rolled out anew and folded into a fresh plan graph, without sampling. If
    beliefs have set all hypotheses aside, the least unlikely is taken up again and its doubtful facts are queried: a
    belief alone never ends a round. If none is left, the round is refused and plans are sampled again.

    Args:
        episode: The episode; it has begun.
        planner: Samples, folds and selects.
        actor: Writes the actions of queries.
        gate: Decides.
        predictor: Predicts, where the gate needs it.

    Raises:
        ConfigError: The domain declares no predicates, or the gate needs predictions and nobody makes them.
    """

    def __init__(
        self,
        episode: Episode,
        planner: Planner,
        actor: Actor,
        gate: Gate,
        predictor: Predictor | None = None,
    ) -> None:
        if gate.predicts and predictor is None:
            raise ConfigError(f"{type(gate).__name__} needs predictions; give it a predictor")
        domain = require_predicates(episode.env.domain)
        self._episode, self._planner = episode, planner
        self._gate, self._predictor = gate, predictor
        self._settings = AecSettings.of(episode.config)
        self._grounded_only = self._settings.commit == "grounded"
        self._state = EpistemicState(episode, episode.env.domain)
        self._queries = Queries(episode, domain, self._state, actor, planner.memory, planner.calls.of)
        self.monitor = Monitor(episode, self._state, certifies=self._grounded_only)
        self._reserve: list[tuple[Action, ...]] = []
        self._asked: set[tuple[str, Predicate]] = set()
        self._refused, self._steps = 0, 0
        self._why = ""

    async def plan(self) -> Path | None:
        """One planning round: the path that is committed to, or None where every hypothesis was refused.

        Raises:
            EpisodeEnded: ``not_certified`` where round after round was refused and nothing was done in between;
                ``infeasible`` where no path keeps the budgets; or an end in a query.
            BudgetExceededError: A call does not fit.
        """
        self._state.beliefs.clear()
        self._reserve.clear()
        self._asked.clear()
        self._why = "no hypothesis"
        committed = await self._round()
        if committed is not None:
            self._refused = 0
            return committed
        result, config = self._episode.result, self._episode.config
        self._refused = self._refused + 1 if result.steps == self._steps else 1
        self._steps = result.steps
        self._episode.trace.write(RefusedEvent(step=result.steps, reason=self._why))
        if self._refused > config.resample or result.replans >= config.max_replans or not config.replan:
            raise EpisodeEnded("not_certified", self._why, limit=True)
        return None

    async def follow(self, executor: Executor, planned: Path) -> Outcome:
        """Execute a path that was committed to, and count it where the environment shows that it cannot be."""
        try:
            outcome = await executor.execute(planned)
        except EpisodeEnded as end:
            if end.end_state == "failure" and not end.limit:
                self.contradicted()
            raise
        # A path that runs to its end was to reach the goal (eq. 5); where it does, the episode is over before.
        if outcome in ("contradicted", "ended"):
            self.contradicted()
        return outcome

    def contradicted(self) -> None:
        """Count a committed path that did not run to its end."""
        self._episode.result.method["infeasible_commitments"] += 1

    async def _round(self) -> Path | None:
        pool = await self._bridged(await self._planner.candidates(self._settings.hypotheses))
        while True:
            hypotheses = self._examined(pool)
            if not hypotheses and self._reserve:
                pool, self._reserve = await self._refolded(self._reserve), []
                continue
            await self._predict(hypotheses)
            survivors = self._believed(hypotheses)
            match self._decide(hypotheses, survivors):
                case Simulate(predicate):
                    self._simulate(predicate)
                    pool = [h.planned for h in hypotheses]
                case Query(predicate):
                    self._say_predicted(predicate, None)
                    pool = await self._query(predicate, survivors, hypotheses)
                case Commit(hypothesis):
                    if self._commit(hypothesis):
                        return hypothesis.planned
                    pool = [h.planned for h in hypotheses if h is not hypothesis]
                case GiveUp(reason):
                    self._why = f"{self._why}; {reason}" if hypotheses else self._why
                    return None

    async def _bridged(self, pool: list[Path]) -> list[Path]:
        """The paths with bridging actions beside those without, rolled out anew where there are any.

        Which of two is better is for the budgets and the model to say: a bridge makes a path longer, and a precondition
        may hold as it is.
        """
        if not self._settings.bridges or not self._grounded_only:
            return pool
        before = [actions_of(planned) for planned in pool]
        after = [self._state.bridged(actions) for actions in before]
        if after == before:
            return pool
        both = [Plan(actions) for actions in dict.fromkeys([*after, *before])]
        return await self._planner.refold(both, self._settings.hypotheses) or pool

    # --- hypotheses -------------------------------------------------------------------------

    def _examined(self, pool: Sequence[Path]) -> list[Hypothesis]:
        """The paths that neither facts nor want of a query speak against."""
        remaining = spendable(self._episode)
        seen = [self._hypothesis(planned, remaining) for planned in pool]
        costs = self._query_costs(seen, remaining)
        found = []
        for hypothesis in seen:
            hopeless = [p for p in hypothesis.missing if p not in costs] if self._grounded_only else []
            if self._contradicted(hypothesis):
                self._refuse(hypothesis.actions, hypothesis.verdict)
            elif hopeless:
                self._refuse(
                    hypothesis.actions, hypothesis.verdict, f"no query for {hopeless[0]} is known and affordable"
                )
            else:
                found.append(hypothesis)
        return found

    def _hypothesis(self, planned: Path, remaining: dict[str, int]) -> Hypothesis:
        actions = actions_of(planned)
        verdict = self._state.verify(actions, costs_of(planned), remaining)
        expected, missing = dict(verdict.progression.pre), verdict.missing
        if not self._grounded_only:  # whether the goal is reached is the verifier's question
            at = verdict.progression.needed_at
            expected = {p: value for p, value in expected.items() if at[p] < len(actions)}
            asked = {w.predicate for w in verdict.witnesses if w.kind == "uncovered" and w.step < len(actions)}
            missing = {p: value for p, value in missing.items() if p in asked}
        return Hypothesis(planned, verdict, expected, missing)

    def _contradicted(self, hypothesis: Hypothesis) -> bool:
        if self._grounded_only:
            return hypothesis.verdict.contradicted
        known = hypothesis.verdict.closure.assignment
        return any(known.get(p, value) != value for p, value in hypothesis.expected.items())

    def _refuse(self, actions: Sequence[Action], verdict: Verdict, reason: str = "") -> None:
        """Count and log a refusal, with the verifier's witnesses."""
        witnesses = [str(witness) for witness in verdict.witnesses]
        self._why = reason or next(iter(witnesses), "a fact contradicts it")
        self._episode.result.method["refusals"] += 1
        self._episode.trace.write(
            VerifiedEvent(actions=list(actions), accepted=False, witnesses=witnesses, reason=reason)
        )

    def _query_costs(self, hypotheses: Sequence[Hypothesis], remaining: dict[str, int]) -> dict[Predicate, Resources]:
        here = self._episode.env.domain.key(self._episode.state)
        missing = [p for h in hypotheses for p in h.missing if (here, p) not in self._asked]
        return self._queries.costs(missing, remaining)

    # --- beliefs ----------------------------------------------------------------------------

    async def _predict(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Predict what is missing and not yet believed, from the facts of now."""
        beliefs = self._state.beliefs
        open_ = [p for h in hypotheses for p in h.missing if beliefs.value(p) is None]
        if self._predictor is None or not open_:
            return
        asked = list(dict.fromkeys(open_))
        for predicate, found in zip(asked, await self._predictor.predict(asked, self._state.grounded), strict=True):
            self._state.predicted(predicate, Estimate(*found))

    def _believed(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Those that no belief speaks against."""
        value = self._state.beliefs.value
        return [h for h in hypotheses if all(value(p) in (None, expected) for p, expected in h.missing.items())]

    def _simulate(self, predicate: Predicate) -> None:
        self._episode.result.method["simulations"] += 1
        self._say_predicted(predicate, self._state.beliefs.simulate(predicate))

    def _say_predicted(self, predicate: Predicate, simulated: bool | None) -> None:
        """Log the prediction that a decision goes by, if there is one."""
        belief = self._state.beliefs.get(predicate)
        if belief is not None:
            self._episode.trace.write(
                PredictedEvent(predicate=str(predicate), mu=belief.mu, sigma=belief.sigma, simulated=simulated)
            )

    # --- decisions --------------------------------------------------------------------------

    def _decide(self, hypotheses: Sequence[Hypothesis], survivors: Sequence[Hypothesis]) -> Decision:
        beliefs, remaining = self._state.beliefs, spendable(self._episode)
        if survivors:
            costs = self._query_costs(survivors, remaining)
            return self._gate.next(survivors, self._state.grounded, beliefs, remaining, costs)
        if not hypotheses:
            return GiveUp("")
        likeliest = max(hypotheses, key=lambda h: beliefs.likelihood(h.missing))
        doubted = [p for p, value in likeliest.missing.items() if beliefs.value(p) not in (None, value)]
        return Query(doubted[0]) if self._grounded_only else Commit(likeliest)

    async def _query(
        self, predicate: Predicate, survivors: Sequence[Hypothesis], hypotheses: Sequence[Hypothesis]
    ) -> list[Path]:
        """Ask, and go on from where that has led; returns the paths that are left."""
        key, before = self._episode.env.domain.key, self._episode.state
        self._asked.add((key(before), predicate))
        done = await self._queries.run(predicate)
        if key(before) == key(self._episode.state):
            return [h.planned for h in hypotheses]
        kept = {h.actions for h in survivors}
        aside = [*self._reserve, *(h.actions for h in hypotheses if h.actions not in kept)]
        self._reserve = [self._past(actions, done) for actions in aside]
        return await self._refolded([self._past(h.actions, done) for h in survivors])

    def _past(self, actions: Sequence[Action], done: Sequence[Action]) -> tuple[Action, ...]:
        """What is left of a plan after a query has done some of it.

        The query's own actions are past where the plan begins with them, and so is every other action whose declared
        effects hold already where it comes.
        """
        return self._state.to_do(remainder(actions, done))

    async def _refolded(self, plans: Sequence[tuple[Action, ...]]) -> list[Path]:
        """The rest of plans that the facts do not contradict, as paths from here."""
        live = [actions for actions in dict.fromkeys(plans) if actions and not self._ruled_out(actions)]
        if not live:
            return []
        return await self._planner.refold([Plan(actions) for actions in live], self._settings.hypotheses)

    def _ruled_out(self, actions: tuple[Action, ...]) -> bool:
        """Whether facts speak against a plan; then it is refused."""
        verdict = self._state.verify(actions)
        ruled_out = self._grounded_only and verdict.contradicted
        if ruled_out:
            self._refuse(actions, verdict)
        return ruled_out

    def _commit(self, hypothesis: Hypothesis) -> bool:
        """Verify on the facts of now; follow only what is accepted."""
        verdict, actions = hypothesis.verdict, list(hypothesis.actions)
        if self._grounded_only:
            if not verdict.accepted:
                self._refuse(actions, verdict)
                return False
            self._episode.trace.write(VerifiedEvent(actions=actions, accepted=True, witnesses=[], reason=""))
        log_selected(self._episode, "aec", hypothesis.planned, {})
        self._episode.result.method["commitments"] += 1
        self._episode.trace.write(
            CommittedEvent(
                step=self._episode.result.steps,
                actions=actions,
                certified=self._grounded_only,
                evidence={str(p): f"{_word(f.value)}, {f.evidence}" for p, f in verdict.evidence.items()},
                grounded_later=self._state.grounded_later(),
            )
        )
        return True


def _word(value: bool) -> str:
    return "true" if value else "false"

"""Active epistemic control of an episode (AEC algorithm 1; the loop and what the paper leaves open are ours)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tape.budget import Resources
from tape.engine.cost import spendable
from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.engine.execute import Executor, Outcome
from tape.engine.loop import Planner
from tape.engine.replan import most_replans
from tape.engine.select import Path, log_selected
from tape.engine.verification import Verification
from tape.errors import ConfigError
from tape.methods.aec.events import CommittedEvent, PredictedEvent, RefusedEvent, VerifiedEvent, word
from tape.methods.aec.gating import Commit, Decision, Gate, GiveUp, Hypothesis, Query, Simulate, remainder
from tape.methods.aec.predictor import Estimate, Predictor
from tape.methods.aec.prefix import prefix_length
from tape.methods.aec.query import Queries
from tape.methods.aec.settings import AecSettings
from tape.methods.aec.state import EpistemicState, Monitor
from tape.methods.aec.verifier import PlanVerdict
from tape.protocols import Action, Actor, Plan
from tape.protocols.domain import require_predicates
from tape.protocols.predicates import Predicate


class Controller(Verification):
    """Plans with hypotheses, queries and beliefs, and commits to what the verifier accepts.

    In a planning round the k best paths of a sampled plan graph are the hypotheses. A hypothesis is refused if facts
    or budgets contradict it, and set aside if not all of it can be certified: no query for a missing fact is known or
    affordable, or an own step leaves unknown what it needs. For the others the gate decides what to query and what to
    simulate; beliefs filter the hypotheses. The best survivor is committed to as soon as a prefix of it is certified
    (:mod:`tape.methods.aec.prefix`); else what is only believed of it is queried first. If a query changes the state,
    actions that it has executed are removed from the plans, and the rest is rolled out again and folded into a new plan
    graph, without sampling. If beliefs filter out all hypotheses, the likeliest is kept and the facts that beliefs deny
    it are queried: a belief alone never ends a round. If no other hypothesis is left, a prefix of one set aside is
    committed to, or an open predicate is queried. If there is none, the round is refused and plans are sampled again.

    Args:
        episode: The episode; it has begun.
        planner: Samples, folds and selects.
        actor: Writes the actions of queries.
        gate: Decides between query, simulation and commitment.
        predictor: Predicts, if the gate needs it.

    Raises:
        ConfigError: The domain declares no predicates, or the gate needs predictions and has no predictor.
    """

    def __init__(
        self, episode: Episode, planner: Planner, actor: Actor, gate: Gate, predictor: Predictor | None = None
    ) -> None:
        if gate.predicts and predictor is None:
            raise ConfigError(f"{type(gate).__name__} needs predictions; give it a predictor")
        super().__init__(planner)
        domain = require_predicates(episode.env.domain)
        self._episode, self._planner, self._domain = episode, planner, domain
        self._gate, self._predictor = gate, predictor
        self._settings = AecSettings.of(episode.config)
        self._grounded_only = self._settings.commit == "grounded"
        self._state = EpistemicState(episode, episode.env.domain)
        self._queries = Queries(episode, domain, self._state, actor, planner.memory, planner.calls.of)
        self.monitor: Monitor = Monitor(episode, self._state, certifies=self._grounded_only)
        self._reserve: list[tuple[Action, ...]] = []
        self._aside: list[Path] = []
        self._denied: list[Predicate] = []
        self._asked: set[tuple[str, Predicate]] = set()
        self._answered: set[Predicate] = set()  # not asked again where a later query has changed the value
        self._refused, self._steps = 0, 0
        self._why = ""

    async def plan(self) -> Path | None:
        """One planning round: the path that is committed to, or None if every hypothesis was refused.

        Raises:
            EpisodeEnded: ``not_certified`` if consecutive rounds were refused and no action was taken in between;
                ``infeasible`` if no path keeps the budgets; or an end during a query.
            BudgetExceededError: A call does not fit.
        """
        for memory in (self._state.beliefs, self._reserve, self._aside, self._denied, self._asked, self._answered):
            memory.clear()
        self._why = "no hypothesis"
        committed = await self._round()
        if committed is not None:
            self._refused = 0
            return committed
        result, config = self._episode.result, self._episode.config
        self._refused = self._refused + 1 if result.steps == self._steps else 1
        self._steps = result.steps
        self._episode.trace.write(RefusedEvent(step=result.steps, reason=self._why))
        tired = self._refused > config.ablations.resample or result.replans >= most_replans(self._episode)
        if tired or not config.ablations.replan:
            raise EpisodeEnded("not_certified", self._why, limit=True)
        return None

    async def follow(self, executor: Executor, path: Path) -> Outcome:
        """Execute a committed path, and count it if it turns out to be infeasible."""
        try:
            outcome = await executor.execute(path)
        except EpisodeEnded as end:
            if end.end_state == "failure" and not end.limit:
                self.contradicted()
            raise
        if outcome == "ended" and path.partial:
            return "prefix"
        # A whole plan has to reach the goal (eq. 5), which would have ended the episode.
        if outcome in ("contradicted", "ended"):
            self.contradicted()
        return outcome

    def contradicted(self) -> None:
        """Count a committed path that did not run to its end."""
        self._episode.result.method["infeasible_commitments"] += 1

    async def _round(self) -> Path | None:
        pool = await self._planner.candidates(self._settings.hypotheses)
        while True:
            hypotheses = self._examined(pool)
            if not hypotheses and self._reserve:
                pool, self._reserve = await self._refolded(self._reserve), []
                continue
            await self._predict(_missing(hypotheses))
            survivors = self._believed(hypotheses)
            match self._decide(hypotheses, survivors) if hypotheses else await self._decide_aside():
                case Simulate(predicate):
                    self._simulate(predicate)
                    pool = [h.path for h in hypotheses]
                case Query(predicate):
                    self._log_prediction(predicate, None)
                    pool = await self._query(predicate, survivors, hypotheses)
                case Commit(hypothesis):
                    if (path := self._commit(hypothesis)) is not None:
                        return path
                    pool = [h.path for h in hypotheses if h is not hypothesis]
                case GiveUp(reason) if hypotheses:
                    self._why = f"{self._why}; {reason}"
                    self._aside += [h.path for h in hypotheses]
                    pool = []
                case GiveUp():
                    return None

    # --- hypotheses -------------------------------------------------------------------------

    def _examined(self, pool: Sequence[Path]) -> list[Hypothesis]:
        """The paths that facts and queries may certify; what they do not contradict of the others is set aside."""
        remaining = spendable(self._episode)
        seen = [self._hypothesis(path, remaining) for path in pool]
        costs = self._affordable(_missing(seen), remaining)
        result = []
        for hypothesis in seen:
            verdict = hypothesis.verdict
            unanswerable = [p for p in hypothesis.missing if p not in costs] if self._grounded_only else []
            if self._contradicted(hypothesis) or (self._grounded_only and not verdict.open):
                self._refuse(hypothesis.actions, verdict)
            elif unanswerable:
                self._refuse(hypothesis.actions, verdict, f"no query for {unanswerable[0]} is known and affordable")
            else:
                result.append(hypothesis)
                continue
            if not self._contradicted(hypothesis):
                self._aside.append(hypothesis.path)
        return result

    def _hypothesis(self, path: Path, remaining: dict[str, int]) -> Hypothesis:
        actions = path.actions
        verdict = self._state.verify(actions, [edge.cost for edge in path.edges], remaining)
        expected, missing = dict(verdict.progression.pre), verdict.missing
        if not self._grounded_only:  # only the verifier checks the goal
            at = verdict.progression.needed_at
            expected = {p: value for p, value in expected.items() if at[p] < len(actions)}
            asked = {w.predicate for w in verdict.witnesses if w.kind == "uncovered" and w.step < len(actions)}
            missing = {p: value for p, value in missing.items() if p in asked}
        return Hypothesis(path, verdict, expected, missing)

    def _contradicted(self, hypothesis: Hypothesis) -> bool:
        if self._grounded_only:
            return hypothesis.verdict.contradicted
        known = hypothesis.verdict.closure.assignment
        return any(known.get(p, value) != value for p, value in hypothesis.expected.items())

    def _refuse(self, actions: Sequence[Action], verdict: PlanVerdict, reason: str = "") -> None:
        """Count and log a refusal, with the verifier's witnesses."""
        witnesses = [str(witness) for witness in verdict.witnesses]
        self._denied += [w.predicate for w in verdict.witnesses if w.predicate and w.denied]
        self._why = reason or next(iter(witnesses), "a fact contradicts it")
        self._episode.result.method["refusals"] += 1
        event = VerifiedEvent(actions=list(actions), accepted=False, witnesses=witnesses, reason=reason)
        self._episode.trace.write(event)

    def _affordable(self, predicates: Iterable[Predicate], remaining: dict[str, int]) -> dict[Predicate, Resources]:
        """The costs of the queries that can be paid, and were neither asked here nor answered in this round."""
        here = self._episode.env.domain.key(self._episode.state)
        open_ = [p for p in predicates if (here, p) not in self._asked and p not in self._answered]
        return self._queries.costs(open_, remaining)

    # --- beliefs ----------------------------------------------------------------------------

    async def _predict(self, missing: Sequence[Predicate]) -> None:
        """Predict missing predicates that have no believed value, from the current facts."""
        open_ = [p for p in missing if self._state.beliefs.value(p) is None]
        if self._predictor is None or not open_:
            return
        asked = list(dict.fromkeys(open_))
        for predicate, estimate in zip(asked, await self._predictor.predict(asked, self._state.grounded), strict=True):
            self._state.predicted(predicate, Estimate(*estimate))

    def _believed(self, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses that agree with all beliefs."""
        value = self._state.beliefs.value
        return [h for h in hypotheses if all(value(p) in (None, expected) for p, expected in h.missing.items())]

    def _simulate(self, predicate: Predicate) -> None:
        self._episode.result.method["simulations"] += 1
        self._log_prediction(predicate, self._state.beliefs.simulate(predicate))

    def _log_prediction(self, predicate: Predicate, simulated: bool | None) -> None:
        """Log the prediction behind a decision, if there is one."""
        belief = self._state.beliefs.get(predicate)
        if belief is not None:
            event = PredictedEvent(predicate=str(predicate), mu=belief.mu, sigma=belief.sigma, simulated=simulated)
            self._episode.trace.write(event)

    # --- decisions --------------------------------------------------------------------------

    def _decide(self, hypotheses: Sequence[Hypothesis], survivors: Sequence[Hypothesis]) -> Decision:
        beliefs, remaining = self._state.beliefs, spendable(self._episode)
        if survivors:
            if self._grounded_only and survivors[0].missing and self._prefix(survivors[0]):
                return Commit(survivors[0])
            costs = self._affordable(_missing(survivors), remaining)
            return self._gate.next(survivors, beliefs, costs)
        likeliest = max(hypotheses, key=lambda h: beliefs.likelihood(h.missing))
        denied = [p for p, value in likeliest.missing.items() if beliefs.value(p) not in (None, value)]
        return Query(denied[0]) if self._grounded_only else Commit(likeliest)

    async def _decide_aside(self) -> Decision:
        """Commit to a prefix of what is set aside, or query: an open predicate, else what may hold in place of one."""
        if not self._grounded_only:
            return GiveUp("")
        remaining = spendable(self._episode)
        aside = [self._hypothesis(path, remaining) for path in self._aside]
        ready = next((h for h in aside if self._prefix(h)), None)
        if ready is not None:
            return Commit(ready)
        costs = self._affordable(_missing(aside), remaining)
        asked = next((p for h in aside if not h.verdict.contradicted for p in h.missing if p in costs), None)
        asked = asked or await self._elsewhere(remaining)
        return GiveUp("") if asked is None else Query(asked)

    async def _elsewhere(self, remaining: dict[str, int]) -> Predicate | None:
        """The likeliest alternative to a predicate by which facts have contradicted a hypothesis."""
        here = self._episode.state
        with environment_faults("the alternatives of a predicate cannot be computed"):
            mapping = dict.fromkeys(q for p in self._denied for q in self._domain.alternatives(here, p))
        costs = self._affordable(mapping, remaining)
        await self._predict(list(costs))
        beliefs = {p: self._state.beliefs.get(p) for p in costs}
        return max(costs, key=lambda p: 0.0 if (held := beliefs[p]) is None else held.mu, default=None)

    async def _query(
        self, predicate: Predicate, survivors: Sequence[Hypothesis], hypotheses: Sequence[Hypothesis]
    ) -> list[Path]:
        """Run a query; returns the paths that are left from the state it has led to."""
        key, before = self._episode.env.domain.key, self._episode.state
        self._asked.add((key(before), predicate))
        done = await self._queries.run(predicate)
        if predicate in self._state.grounded:
            self._answered.add(predicate)
        if key(before) == key(self._episode.state):
            return [h.path for h in hypotheses]
        kept = {h.actions for h in survivors}
        aside = [*self._reserve, *(h.actions for h in hypotheses if h.actions not in kept)]
        aside += [path.actions for path in self._aside]
        self._aside.clear()
        self._reserve = [self._past(actions, done) for actions in aside]
        return await self._refolded([self._past(h.actions, done) for h in survivors])

    def _past(self, actions: Sequence[Action], done: Sequence[Action]) -> tuple[Action, ...]:
        """The rest of a plan after a query: without its executed prefix and without actions that are no-ops by now."""
        return self._state.to_do(remainder(actions, done))

    async def _refolded(self, plans: Sequence[tuple[Action, ...]]) -> list[Path]:
        """The plans that the facts do not contradict, as paths from the current state."""
        live = [actions for actions in dict.fromkeys(plans) if actions and not self._ruled_out(actions)]
        if not live:
            return []
        return await self._planner.refold([Plan(actions) for actions in live], self._settings.hypotheses)

    def _ruled_out(self, actions: tuple[Action, ...]) -> bool:
        """Whether facts contradict a plan; it is then refused."""
        verdict = self._state.verify(actions)
        if ruled_out := self._grounded_only and verdict.contradicted:
            self._refuse(actions, verdict)
        return ruled_out

    def _prefix(self, hypothesis: Hypothesis) -> int:
        """The number of steps of its longest certified prefix."""
        return prefix_length(hypothesis.verdict, self._domain.goals())

    def _commit(self, hypothesis: Hypothesis) -> Path | None:
        """Commit to what the verifier accepts of a hypothesis on the current facts: the whole of it, or a prefix."""
        verdict, path = hypothesis.verdict, hypothesis.path
        if self._grounded_only:
            if not verdict.accepted:
                steps = self._prefix(hypothesis)
                if not steps:
                    self._refuse(hypothesis.actions, verdict)
                    return None
                path = replace(path, edges=path.edges[:steps], partial=True)
            accepted = VerifiedEvent(actions=[*path.actions], accepted=True, witnesses=[], reason="")
            self._episode.trace.write(accepted)
        self.monitor.whole = path is hypothesis.path
        needed_at, end = verdict.progression.needed_at, len(path.edges) + self.monitor.whole
        evidence = {p: fact for p, fact in verdict.evidence.items() if needed_at[p] < end}
        log_selected(self._episode, "aec", path, {})
        self._episode.result.method["commitments"] += 1
        self._episode.trace.write(
            CommittedEvent(
                step=self._episode.result.steps,
                actions=[*path.actions],
                certified=self._grounded_only,
                evidence={str(p): f"{word(f.value)}, {f.evidence}" for p, f in evidence.items()},
                grounded_later=self._state.grounded_later(),
            )
        )
        return path


def _missing(hypotheses: Sequence[Hypothesis]) -> list[Predicate]:
    return [p for hypothesis in hypotheses for p in hypothesis.missing]

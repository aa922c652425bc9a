"""TAPE for plans that are programs [ours].

It samples as many programs as are needed, follows them along what was called, folds what they have still to do into the
plan graph, lets the solver choose, makes one call, and looks again: the steps of algorithm 1. Instead of scores by the
model, a path earns the share of the samples that come to the same answer and do the same for good
(:mod:`tape.plan.agreement`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from solvers import PathSolution, Status
from tape.agents.program_effects import REFUSED, EffectNotes, Possible
from tape.agents.program_graph import ProgramGraphs
from tape.agents.program_requests import ProgramRequest, agreed, furthest, lines_of, wanted
from tape.approval import PERHAPS_AGAIN
from tape.choice.graph import PlanGraph
from tape.engine.cost import spendable
from tape.engine.episode import ActionRefused, Episode, EpisodeEnded
from tape.engine.infeasible import FailedAttempt, infeasible
from tape.engine.replan import AT_LIMIT, start_replanning
from tape.engine.select import Path, Selector, given_up, log_selected
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError
from tape.lm.base import Request
from tape.plan.agreement import FEWEST, MOST, Agreement
from tape.plan.program import Program
from tape.plan.reader import read
from tape.plan.record import NOTHING, CallRecord, FollowedProgram, MadeCall
from tape.plan.unfold import PendingCall
from tape.plan.vocabulary import ASK, Vocabulary
from tape.protocols import PlannedActor
from tape.redaction import redacted
from tape.trace import GraphFoldedEvent, PlansSampledEvent, ReplannedEvent

logger = logging.getLogger("tape.agents")

TEMPERATURE, COMPUTING = 0.7, 0.4
"""Of all samples but the first, which is greedy; and of all, where operators are tools (measured, docs/evidence)."""
SHARE = 10
"""A call is cheap if it takes no more than this part of what is left; so much of it is also spent on looking around."""
MOST_OPEN = 3
"""Requests in a row that may only look; the next has to answer."""
MOST_ASKED = 5
"""Requests without anything done for good after which the next has to answer."""
MOST_IDLE = 2
"""Requests in a row after which nothing new was found out."""
STEADY = ("steps", "calls")
"""Resources of which a single call never takes much."""


class ProgramPlanner:
    """Plans by programs, for one episode."""

    def __init__(self, episode: Episode, actor: PlannedActor, solver: Selector) -> None:
        declared = episode.env.domain.programs
        assert declared is not None, "the domain's plans are programs"
        self._episode, self._domain, self._solver = episode, declared, solver
        self.graph = PlanGraph()
        self._asked, self._notes = ProgramRequest(), EffectNotes(episode, declared)
        self._rounds = self._open = self._idle = 0
        self._known = self._changed = self._since = 0
        self._dead: dict[str, str] = {}
        """Actions that could not be done, and why."""
        self._graphs = ProgramGraphs(episode, declared, actor, self._dead)
        self._possible = Possible(episode, declared, self._notes, self._dead)
        config, computes = episode.config, bool(self._words.operators)
        self._usual = config.num_plans + (config.num_plans > 1 and not computes)
        usual = config.temperature == TapeConfig.model_fields["temperature"].default
        self._temperature = (COMPUTING if computes else TEMPERATURE) if usual else config.temperature

    # --- the state of things ------------------------------------------------------------------

    @property
    def _words(self) -> Vocabulary:
        return self._domain.words(self._episode.ledger.capped())

    def _record(self) -> CallRecord:
        request = self._asked
        made = self._domain.made(self._episode.state)[request.turn :]
        since, effects = request.since - request.turn, self._domain.effects
        return CallRecord(self._words, made, since, effects, request.allowed, request.names, self._can_retry)

    def _can_retry(self, made: MadeCall) -> bool:
        """Whether a variant of a call is left that has not failed yet."""
        options = self._domain.options(made.name, made.arguments, self._graphs.results)
        return not self._possible.hopeless([option.action for option in options])

    def _runs(self) -> list[FollowedProgram]:
        """The programs of the request as far as what was called reaches, without what is not to be done for good."""
        record = self._record()
        runs = self._asked.followed(record)
        if not any(self._words.changes(call.name) for run in runs for call in run.unfolded.calls):
            return runs
        if len(Agreement(runs).readable) < FEWEST and len(runs) < MOST:
            return runs
        kept, texts = agreed(runs, record)
        for text in texts:
            if text not in self._asked.left_out:
                logger.warning("left out, since too few of the sampled programs have it: %s", redacted(text))
        result, before = self._episode.result, self._asked.left_out
        result.left_out = [*(text for text in result.left_out if text not in before), *texts]
        self._asked.left_out = texts
        return kept

    # --- sampling -----------------------------------------------------------------------------

    async def _sample(self, count: int) -> None:
        """Sample further programs of the request: the first of all greedily."""
        episode, asked = self._episode, self._asked
        request = episode.roles.prompt_format.program_request(asked.done, episode.remaining(), answer=asked.must_answer)
        first = count == 1 and not asked.programs and not asked.mends  # a model that is asked again says the same
        seed = episode.seed_for("plans", self._rounds, len(asked.programs))
        temperature = 0.0 if first else self._temperature
        programs = await self._generate(replace(request, n=count, temperature=temperature, seed=seed))
        asked.programs += programs
        if not asked.done:
            self._notes.written(programs)
        episode.result.plans += len(programs)
        texts = {program.text for program in programs}
        episode.result.distinct_plans += len(texts)
        lines = [[statement.text for statement in program.statements] for program in programs]
        valid = [program.stopped is None for program in programs]
        episode.trace.write(PlansSampledEvent(start=episode.key(episode.state), plans=lines, valid=valid))

    async def _sample_what_fits(self, count: int) -> None:
        """Sample programs; where they do not fit, one if there is none, else none, unless an effect depends on them."""
        try:
            await self._sample(count)
        except BudgetExceededError:
            effect = any(self._words.changes(call.name) for run in self._runs() for call in run.unfolded.calls)
            if effect or (count == 1 and not self._asked.programs):
                raise
            self._asked.short = True
            if not self._asked.programs:
                await self._sample(1)

    async def _generate(self, request: Request) -> list[Program]:
        episode = self._episode
        [completion] = await episode.roles.lm.generate([request])
        programs: list[Program] = []
        known: dict[str, Program] = {}
        for text in completion.texts:
            program = known[text] = known.get(text) or read(text, self._words, self._asked.names)
            if program.stopped is not None:
                episode.roles.count_malformed("plan", f"{text} [{program.stopped.why}]")
            programs.append(program)
        episode.roles.lm.report(readable=any(program.statements for program in programs))
        return programs

    def _first_samples(self) -> int:
        """How many samples a request begins with: all where each program computes, three after a failure, else one."""
        if self._usual == 1 or self._asked.must_answer:
            return 1
        return self._usual if self._words.operators else FEWEST if self._asked.mends else 1

    def _more(self, runs: Sequence[FollowedProgram], leader: FollowedProgram) -> int:
        return wanted(runs, leader, self._words, self._usual, self._is_dear) - len(runs)

    def _is_dear(self, call: PendingCall) -> bool:
        left = self._episode.remaining()
        worst = self._domain.options(call.name, call.arguments, self._graphs.results)[0].worst
        return any((worst[kind] or 0) * SHARE > left[kind] for kind in left if kind not in STEADY)

    # --- going on -----------------------------------------------------------------------------

    def _ask_anew(self, runs: Sequence[FollowedProgram]) -> None:
        """Begin the next request: what the best of the programs has come to, and why it goes on no further."""
        calls = self._domain.made(self._episode.state)
        made, known = len(calls), self._found()
        self._idle = self._idle + 1 if known == self._known else 0
        self._known = known
        run = furthest(runs)
        opened = not run.failed and run.ended
        self._open = self._open + 1 if opened and run.unfolded.made else 0
        failure = run.unfolded.failure
        if failure is not None and failure.why == REFUSED and (self._asked.must_answer or self._idle > MOST_IDLE):
            raise ActionRefused(self._episode.refused[-1])
        if self._asked.must_answer or self._idle > MOST_IDLE:
            raise EpisodeEnded("no_plan", "no program comes to an answer; the trace has what was tried", limit=True)
        start_replanning(self._episode, "mismatch" if run.failed else "prefix", self._episode.result.replans + 1)
        self._rounds += 1
        allowed = Counter(run.effects)
        for effect, count in self._asked.allowed.items():
            allowed[effect] = max(allowed[effect], count)
        lines, names = self._asked.carried(run, self._words)
        task, turn = self._asked.task, self._asked.turn
        changed = sum(call.changes and not call.failure for call in calls)
        self._since, self._changed = (0 if changed > self._changed else self._since + 1), changed
        last = self._open >= MOST_OPEN or self._since >= MOST_ASKED
        self._asked = ProgramRequest(lines, names, made, allowed, last, task=task, turn=turn, mends=run.failed)

    def _found(self) -> int:
        """Calls that have done or found something."""
        calls = self._domain.made(self._episode.state)
        return sum(not call.failure and (call.changes or call.value not in NOTHING) for call in calls)

    def _begin_turn(self) -> None:
        """Begin anew where something else is asked for, as a user may do in a conversation."""
        task = self._episode.env.domain.task_text()
        if task == self._asked.task:
            return
        calls = self._domain.made(self._episode.state)
        names = {f"r{number}": call.value for number, call in enumerate(calls, 1) if not call.failure}
        self._asked = ProgramRequest((), names, len(calls), task=task, turn=len(calls))
        self._open = self._idle = self._since = 0
        self._dead.clear()
        self._notes.begin()

    # --- choosing -----------------------------------------------------------------------------

    async def plan(self) -> Path:
        """The path to follow next: its first action is ready, and enough samples agree on it.

        Raises:
            EpisodeEnded: No program leads to an answer, or none fits.
            BudgetExceededError: A request does not fit.
        """
        episode = self._episode
        episode.require_affordable_action()
        self._begin_turn()
        while True:
            if not self._asked.programs:
                await self._sample_what_fits(self._first_samples())
            record, results = self._record(), self._graphs.results
            runs = self._possible.of(self._runs(), record, results, must_answer=self._asked.must_answer)
            leader = Agreement(runs).leader()
            if leader is None and len(runs) < FEWEST and not self._asked.short and self._may_differ(runs):
                await self._sample_what_fits(FEWEST - len(runs))
            elif leader is None:
                self._ask_anew(runs)
            elif len(runs) >= FEWEST and (look := self._look_around(runs)) is not None:
                return look
            elif not (self._asked.must_answer or self._asked.short) and (more := self._more(runs, leader)) > 0:
                await self._sample_what_fits(more)
            else:
                return await self._choose(runs)

    def _may_differ(self, runs: Sequence[FollowedProgram]) -> bool:
        """Whether other samples of the same request are worth their price: those that are there repeat a failure."""
        failed = {line.text for line in self._asked.done if line.failure}
        ends = [line.text for run in runs for line in lines_of(run, self._words)[-1:] if line.failure]
        unread = all(not run.program.statements for run in runs)
        return self._usual > 1 and (unread or (bool(ends) and failed.issuperset(ends)))

    def _look_around(self, runs: Sequence[FollowedProgram]) -> Path | None:
        """A cheap call of any of the programs that changes nothing, so that they can be compared by their values."""
        if len(runs) < 2 or self._words.operators:
            return None
        left = self._episode.remaining()
        for run, name in zip(runs, Agreement(runs).classes(), strict=True):
            for call in run.unfolded.calls:
                if not name or self._words.changes(call.name):
                    break
                options = self._domain.options(call.name, call.arguments, self._graphs.results)
                if not call.ready or len(options) > 1 or call.name == ASK:
                    break
                if any((options[0].worst[kind] or 0) * SHARE > left[kind] for kind in left):
                    return None
                return self._look(self._graphs.one(call))
        return None

    def _look(self, graph: PlanGraph) -> Path:
        solution = PathSolution(Status.FEASIBLE, solver="look", message="looked up to compare the programs")
        path = Path(graph, tuple(graph.edges()), solution)
        log_selected(self._episode, "look", path, {})
        return path

    async def _choose(self, runs: Sequence[FollowedProgram]) -> Path:
        """The solver's path; one that leaves enough for a further request where there is one."""
        episode = self._episode
        self._notes.write(runs, self._record(), self._graphs.results)
        graph = self.graph = self._graphs.fold(runs)
        start = graph.nodes[0]
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        remaining = spendable(episode)
        kept, horizon = self._reserved(remaining), len(graph.nodes) + 2
        if episode.config.horizon is not None:
            horizon = min(horizon, episode.config.horizon - episode.result.steps)
        for left in [kept, remaining] if kept != remaining else [remaining]:
            selection = await self._solver.select(graph, start, left, horizon, any_end=False)
            solution, problem = selection.solution, selection.problem
            episode.result.solver_seconds += solution.seconds
            if solution.has_path or left == remaining:
                path = Path(graph, tuple(graph.edge(number) for number in selection.path), solution)
                size = {
                    "nodes": problem.n_nodes,
                    "edges": len(problem.edges),
                    "horizon": horizon,
                    "budget": left,
                    "objective": "expect",
                }
                log_selected(episode, self._solver.name, path, size)
            if solution.has_path:
                if not episode.at_once.in_time(path.actions):
                    raise episode.at_once.too_late([path.actions])
                return path
        if solution.status is not Status.INFEASIBLE:
            raise given_up(episode, solution.status, solution.message)
        raise infeasible(episode, [FailedAttempt.now(episode, graph)])

    def _reserved(self, remaining: Mapping[str, int]) -> dict[str, int]:
        """What is left without the worst case of a further request; all of it where that does not fit."""
        request = self._episode.roles.prompt_format.program_request(self._asked.done, remaining)
        worst = self._episode.roles.lm.worst_case(request)
        left = {kind: count - (worst[kind] or 0) for kind, count in remaining.items()}
        return left if all(count >= 0 for count in left.values()) else dict(remaining)

    # --- executing ----------------------------------------------------------------------------

    async def play(self) -> None:
        """Play the episode: plan, make a call, and look again.

        Raises:
            EpisodeEnded: As the episode does.
        """
        while True:
            try:
                path = await self.plan()
            except (EpisodeEnded, BudgetExceededError) as end:
                await self._last_resort(end)
                raise
            action, rest, at_once = path.edges[0].action, path.actions[1:], self._episode.at_once
            if at_once.busy and not at_once.has(action):
                await self._give_up()
                continue
            if self._episode.approver is not None and self._episode.notes.get(action) == PERHAPS_AGAIN:
                self._domain.allow_again(action)
            before = self._episode.state
            made = self._domain.made(before)
            try:
                after = await self._episode.step(action, planned=action, rest=rest)
            except ActionRefused:
                if not self._episode.config.ablations.replan:
                    raise
                continue
            now = self._domain.made(after)
            if now != made and now[-1].late and now[-1].changes:
                if self._episode.approver is None:
                    raise EpisodeEnded("unknown_outcome", f"{action} gave no answer in time; what it did is unknown")
            elif now == made or now[-1].failure:
                self._dead[action] = self._domain.said(after)
            elif now[-1].changes:
                self._dead.clear()  # what could not be done before may be possible now

    async def _give_up(self) -> None:
        """Observe what has begun: it may change what is best."""
        before = len(self._domain.made(self._episode.state))
        await self._episode.at_once.give_up()
        for call in self._domain.made(self._episode.state)[before:]:
            if call.failure:
                for option in self._domain.options(call.name, call.arguments, self._graphs.results):
                    self._dead[option.action] = call.failure

    async def _last_resort(self, end: EpisodeEnded | BudgetExceededError) -> None:
        """Ask once more for the answer from what is there, where that fits."""
        episode = self._episode
        limit = isinstance(end, EpisodeEnded) and end.limit and episode.config.on_limit == "stop"
        if not limit or not self._found() or self._asked.must_answer:
            return
        runs = self._runs()
        lines, names = self._asked.carried(runs[0], self._words) if runs else (self._asked.done, self._asked.names)
        made, task, turn = len(self._domain.made(episode.state)), self._asked.task, self._asked.turn
        self._asked = ProgramRequest(lines, names, made, {}, True, task=task, turn=turn)
        episode.result.replans += 1
        episode.trace.write(ReplannedEvent(reason=AT_LIMIT, count=episode.result.replans))
        try:
            await self._sample(1)
        except BudgetExceededError:
            return
        [run] = [self._record().follow(program) for program in self._asked.programs]
        if run.unfolded.answer is None or not run.unfolded.answer.ready or run.unfolded.calls:
            return
        episode.result.final_answer = run.program.text
        await episode.step(self._domain.answering(run.unfolded.answer.value, self._graphs.results))

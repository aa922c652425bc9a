"""TAPE for plans that are programs [ours].

It samples as many programs as are needed, follows them along what was called, folds what they have still to do into the
plan graph, lets the solver choose, makes one call, and looks again: the steps of algorithm 1. Instead of scores by the
model, a path earns the share of the samples that come to the same answer and do the same for good
(:mod:`tape.plan.agreement`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from solvers import PathSolution, Status
from tape.budget import Resources
from tape.engine.cost import CallCosts, spendable
from tape.engine.episode import ActionRefused, Episode, EpisodeEnded
from tape.engine.graph import PlanGraph
from tape.engine.infeasible import FailedAttempt, infeasible
from tape.engine.replan import start_replanning
from tape.engine.select import Path, Selector, log_selected
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError
from tape.lm.base import Request
from tape.plan.agreement import FEWEST, MOST, Agreement, computes
from tape.plan.open import Open
from tape.plan.program import Program
from tape.plan.prompt import Done
from tape.plan.reader import read
from tape.plan.record import Record, Run
from tape.plan.unfold import Failure, Planned
from tape.plan.vocabulary import ASK, Vocabulary
from tape.protocols import PlannedActor
from tape.trace import GraphFoldedEvent, PlansSampledEvent

TEMPERATURE = 0.7
"""Of all samples but the first, which is greedy."""
SHARE = 10
"""A call is cheap if it takes no more than this part of what is left; so much of it is also spent on looking around."""
MOST_OPEN = 3
"""Requests in a row that may only look; the next has to answer."""
MOST_IDLE = 3
"""Requests in a row after which nothing new was found out."""
STEADY = ("steps", "calls")
"""Resources of which a single call never takes much."""
FIRST_BONUS, COST_WEIGHT = 1.05, 1e-4
"""Of equally large classes that of the first sample is taken, then the path with the lower worst case."""


@dataclass
class Asked:
    """One request for programs.

    Attributes:
        done: The lines before.
        names: Their values.
        since: Calls that had been made.
        allowed: How often an effect may be made in all.
        must_answer: It has to answer.
        programs: What was sampled.
        left_out: Statements that were not run, since too few samples have them.
    """

    done: tuple[Done, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)
    since: int = 0
    allowed: Mapping[str, int] = field(default_factory=dict)
    must_answer: bool = False
    programs: list[Program] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)


class ProgramPlanner:
    """Plans by programs, for one episode.

    Args:
        episode: The episode.
        actor: Its worst case is part of every call's cost.
        solver: Selects the path.
    """

    def __init__(self, episode: Episode, actor: PlannedActor, solver: Selector) -> None:
        declared = episode.env.domain.programs
        assert declared is not None, "the domain's plans are programs"
        self._episode, self._domain, self._solver = episode, declared, solver
        self._costs = CallCosts(episode, actor)
        self.graph = PlanGraph()
        self._asked = Asked()
        self._rounds = self._open = self._idle = 0
        self._known = 0
        self._dead: dict[str, str] = {}
        """Actions that could not be done, and why."""
        config = episode.config
        self._usual = 1 if config.num_plans == 1 else config.num_plans + 1
        default = config.temperature == TapeConfig.model_fields["temperature"].default
        self._temperature = TEMPERATURE if default else config.temperature

    # --- the state of things ------------------------------------------------------------------

    @property
    def _words(self) -> Vocabulary:
        return self._domain.words(self._episode.remaining())

    def _record(self, asked: Asked | None = None) -> Record:
        one = asked or self._asked
        made = self._domain.made(self._episode.state)
        return Record(self._words, made, one.since, self._domain.effects, one.allowed, one.names)

    def _runs(self) -> list[Run]:
        """The programs of the request as far as what was called reaches, without what is not to be done for good."""
        record, programs = self._record(), self._asked.programs
        runs = [record.follow(program) for program in programs]
        if not any(self._changes(call) for run in runs for call in run.unfolded.calls):
            return runs
        agreement = Agreement(runs)
        if len(agreement.readable) < FEWEST and len(runs) < MOST:
            return runs
        kept = []
        for run in runs:
            without, dropped = record.left_out(run, lambda effect, times: not agreement.supports(effect, times))
            self._asked.left_out |= {statement.text for statement in dropped}
            kept.append(without)
        return kept

    def _changes(self, call: Planned) -> bool:
        return call.name != ASK and self._words.tools[call.name].changes

    # --- sampling -----------------------------------------------------------------------------

    async def _sample(self, count: int) -> None:
        """Sample further programs of the request: the first of all greedily."""
        episode, asked = self._episode, self._asked
        request = episode.roles.prompt_format.program_request(asked.done, episode.remaining(), answer=asked.must_answer)
        first = not asked.programs
        seed = episode.seed_for("plans", self._rounds, len(asked.programs))
        temperature = 0.0 if first else self._temperature
        programs = await self._generate(replace(request, n=count, temperature=temperature, seed=seed))
        asked.programs += programs
        episode.result.plans += len(programs)
        texts = {program.text for program in programs}
        episode.result.distinct_plans += len(texts)
        lines = [[statement.text for statement in program.statements] for program in programs]
        valid = [program.stopped is None for program in programs]
        episode.trace.write(PlansSampledEvent(start=episode.key(episode.state), plans=lines, valid=valid))

    async def _generate(self, request: Request) -> list[Program]:
        episode = self._episode
        [completion] = await episode.roles.lm.generate([request])
        programs = []
        for text in completion.texts:
            program = read(text, self._words, self._asked.names)
            if program.stopped is not None:
                episode.roles.count_malformed("plan", f"{text} [{program.stopped.why}]")
            programs.append(program)
        return programs

    def _wanted(self, runs: Sequence[Run], leader: Run | None) -> int:
        """How many samples there should be before the next call."""
        count, agreement = len(runs), Agreement(runs)
        if leader is None or self._asked.must_answer:
            return count
        planned = leader.unfolded.calls
        effect = bool(planned) and self._changes(planned[0])
        if effect and len(agreement.readable) < FEWEST:
            return min(MOST, count + FEWEST - len(agreement.readable))
        answers = leader.unfolded.answer is not None and not planned and computes(leader)
        priced = bool(self._words.operators) or (bool(planned) and self._is_dear(planned[0]))
        if not (effect or answers or priced) or self._usual == 1:
            return count
        if count < FEWEST:
            return min(FEWEST, self._usual)
        return count if agreement.decided(self._usual) else max(count, self._usual)

    def _is_dear(self, call: Planned) -> bool:
        left = self._episode.remaining()
        worst = self._domain.options(call.name, call.arguments)[0].worst
        return any((worst[kind] or 0) * SHARE > left[kind] for kind in left if kind not in STEADY)

    # --- going on -----------------------------------------------------------------------------

    def _ask_anew(self, runs: Sequence[Run]) -> None:
        """Begin the next request: what the best of the programs has come to, and why it goes on no further.

        Raises:
            EpisodeEnded: There have been too many.
        """
        calls = self._domain.made(self._episode.state)
        made, known = len(calls), sum(not call.failure for call in calls)
        self._idle = self._idle + 1 if known == self._known else 0
        self._known = known
        run = max(runs, key=lambda run: (run.compatible, run.done, len(run.unfolded.made)))
        opened = not run.failed and run.ended
        self._open = self._open + 1 if opened and run.unfolded.made else 0
        if self._asked.must_answer or self._idle > MOST_IDLE:
            raise EpisodeEnded("no_plan", "no program comes to an answer; the trace has what was tried", limit=True)
        start_replanning(self._episode, "mismatch" if run.failed else "prefix", self._episode.result.replans + 1)
        self._rounds += 1
        names = {name: value for name, value in run.unfolded.names.items() if not isinstance(value, Open)}
        allowed = Counter(run.effects)
        for effect, count in self._asked.allowed.items():
            allowed[effect] = max(allowed[effect], count)
        self._asked = Asked(
            (*self._asked.done, *self._lines(run)), names, made, allowed, must_answer=self._open >= MOST_OPEN
        )

    def _lines(self, run: Run) -> list[Done]:
        """The lines of a program with what came of them, and why it goes on no further."""
        program, unfolded = run.program, run.unfolded
        lines = [
            Done(statement.text, value)
            for statement, value in zip(program.statements, unfolded.values, strict=False)
            if not statement.answers
        ]
        if (failure := unfolded.failure) is not None:
            text = next(one.text for one in program.statements if one.line == failure.line)
            lines.append(Done(text, failure=failure.why, tool=failure.tool, hint=failure.hint))
        elif program.stopped is not None:
            tool = next((tool for tool in self._words.tools if f"{tool}(" in program.stopped.text), "")
            lines.append(Done(program.stopped.text, failure=program.stopped.why, tool=tool))
        return lines

    # --- choosing -----------------------------------------------------------------------------

    async def plan(self) -> Path:
        """The path to follow next: its first action is ready, and enough samples agree on it.

        Raises:
            EpisodeEnded: No program leads to an answer, or none fits.
            BudgetExceededError: A request does not fit.
        """
        episode = self._episode
        episode.require_affordable_action()
        while True:
            if not self._asked.programs:
                await self._sample(1)
            runs = [self._without_dead(run) for run in self._runs()]
            leader = Agreement(runs).leader()
            if leader is None and len(runs) < FEWEST and self._may_differ(runs):
                await self._sample(FEWEST - len(runs))
            elif leader is None:
                self._ask_anew(runs)
            elif len(runs) >= FEWEST and (look := self._look_around(runs)) is not None:
                return look
            elif (more := self._wanted(runs, leader) - len(runs)) > 0:
                await self._sample(more)
            else:
                return await self._choose(runs)

    def _may_differ(self, runs: Sequence[Run]) -> bool:
        """Whether other samples of the same request may succeed where those that are there have not even begun."""
        return all(not run.program.statements for run in runs) and self._usual > 1

    def _without_dead(self, run: Run) -> Run:
        """A run that fails where what it does next could not be done, or was refused."""
        unfolded, why, line = run.unfolded, "", 0
        if unfolded.calls and unfolded.calls[0].ready:
            call = unfolded.calls[0]
            options = self._domain.options(call.name, call.arguments)
            if all(option.action in self._episode.refused for option in options):
                why = "it was refused; do without it"
            why = next((self._dead[option.action] for option in options if option.action in self._dead), why)
            failure = Failure(call.line, why, call.name)
        elif not unfolded.calls and unfolded.answer is not None:
            line = run.program.statements[-1].line
            why = self._dead.get(self._domain.answering(unfolded.answer.value), "")
            failure = Failure(line, why)
        return replace(run, unfolded=replace(unfolded, failure=failure)) if why else run

    def _look_around(self, runs: Sequence[Run]) -> Path | None:
        """A cheap call of any of the programs that changes nothing, so that they can be compared by their values."""
        if len(runs) < 2 or self._words.operators:
            return None
        left = self._episode.remaining()
        spent = Resources()
        for run, name in zip(runs, Agreement(runs).classes(), strict=True):
            for call in run.unfolded.calls:
                if not name or self._changes(call):
                    break
                options = self._domain.options(call.name, call.arguments)
                if not call.ready or len(options) > 1 or call.name == ASK:
                    break
                spent += options[0].worst
                if any((spent[kind] or 0) * SHARE > left[kind] for kind in left):
                    return None
                graph = self._new_graph()
                self._add(graph, graph.nodes[0], call, "looked up")
                return self._path(graph, Status.FEASIBLE)
        return None

    def _path(self, graph: PlanGraph, status: Status) -> Path:
        edges = tuple(graph.edges())
        path = Path(graph, edges, PathSolution(status, solver="look", message="looked up to compare the programs"))
        log_selected(self._episode, "look", path, {})
        return path

    def _new_graph(self) -> PlanGraph:
        graph = PlanGraph()
        graph.add_state(self._episode.key(self._episode.state))
        graph.objective = "expect"
        return graph

    def _fold(self, runs: Sequence[Run]) -> PlanGraph:
        """BuildPlanGraph and AnnotateGraph: what the programs have still to do, and what their ends are worth."""
        graph, agreement = self._new_graph(), Agreement(runs)
        classes, shares = agreement.classes(), agreement.shares()
        start = graph.nodes[0]
        for run, name in zip(runs, classes, strict=True):
            if not name:
                continue
            path, actions = [start], []
            effects: tuple[str, ...] = ()
            pure: frozenset[str] = frozenset()
            for call in run.unfolded.calls:
                if self._changes(call):
                    effects, pure = (*effects, self._domain.effects.of(call.name, call.arguments)), frozenset()
                else:
                    pure |= {call.text}
                path.append(f"then {'; '.join((*effects, *sorted(pure)))}")
                actions.append(self._add(graph, path[-2], call, path[-1]))
            end = f"answered {name}" if run.unfolded.answer is not None else path[-1]
            if run.unfolded.answer is not None:
                answer = self._answer(run)
                graph.add_variant(path[-1], answer, end)
                graph.set_cost(graph.find(path[-1], answer, end), Resources({"steps": 1}))
                path, actions = [*path, end], [*actions, answer]
            graph.fold(path, actions)
            first = name == next(one for one in classes if one)
            graph.set_reward(end, shares[name] * (FIRST_BONUS if first else 1.0), goal=True)
        return graph

    def _answer(self, run: Run) -> str:
        assert run.unfolded.answer is not None
        if run.unfolded.answer.ready:
            return self._domain.answering(run.unfolded.answer.value)
        return f"answer({run.program.statements[-1].text.removeprefix('answer(')}"

    def _add(self, graph: PlanGraph, before: str, call: Planned, after: str) -> str:
        """Add a call in all its variants; returns the first of them that was not refused."""
        left = self._episode.remaining()
        state = self._episode.state
        actions = []
        for option in self._domain.options(call.name, call.arguments):
            if option.action in self._episode.refused:
                continue
            graph.add_variant(before, option.action, after)
            edge = graph.find(before, option.action, after)
            reading = self._costs.reading(state, option.action) if call.ready else Resources()
            cost = option.worst + reading
            graph.set_cost(edge, cost)
            share = max((min(1.0, (cost[kind] or 0) / (left[kind] or 1)) for kind in left), default=0.0)
            graph.set_chance(edge, option.quality * (1 - COST_WEIGHT * share))
            actions.append(option.action)
        return actions[0] if actions else "(refused)"

    async def _choose(self, runs: Sequence[Run]) -> Path:
        """The solver's path; one that leaves enough for a further request where there is one.

        Raises:
            EpisodeEnded: None fits.
        """
        episode = self._episode
        graph = self.graph = self._fold(runs)
        start = graph.nodes[0]
        episode.trace.write(GraphFoldedEvent(graph=graph.to_dict(start=start)))
        remaining = spendable(episode)
        kept = self._reserved(remaining)
        for left in [kept, remaining] if kept != remaining else [remaining]:
            found = await self._solver.select(graph, start, left, len(graph.nodes) + 2, any_end=False)
            episode.result.solver_seconds += found.solution.seconds
            if found.solution.has_path:
                path = Path(graph, tuple(graph.edge(number) for number in found.path), found.solution)
                problem = found.problem
                size = {"nodes": problem.n_nodes, "edges": len(problem.edges), "budget": left}
                log_selected(episode, self._solver.name, path, size)
                return path
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
            action, rest = path.edges[0].action, path.actions[1:]
            before = self._episode.state
            made = self._domain.made(before)
            try:
                after = await self._episode.step(action, planned=action, rest=rest)
            except ActionRefused:
                if not self._episode.config.replan:
                    raise
                continue
            if self._domain.made(after) == made:
                self._dead[action] = self._domain.said(after)

    async def _last_resort(self, end: EpisodeEnded | BudgetExceededError) -> None:
        """Ask once more for the answer from what is there, where that fits."""
        episode = self._episode
        limit = end.limit if isinstance(end, EpisodeEnded) else False
        if not limit or not self._domain.made(episode.state) or self._asked.must_answer:
            return
        runs = self._runs()
        lines = self._lines(runs[0]) if runs else []
        names = self._asked.names
        self._asked = Asked((*self._asked.done, *lines), names, len(self._domain.made(episode.state)), {}, True)
        try:
            await self._sample(1)
        except BudgetExceededError:
            return
        [run] = [self._record().follow(program) for program in self._asked.programs]
        if run.unfolded.answer is None or not run.unfolded.answer.ready or run.unfolded.calls:
            return
        episode.result.final_answer = run.program.text
        await episode.step(self._domain.answering(run.unfolded.answer.value))

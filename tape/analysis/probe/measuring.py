"""Asking a model cases with known answers, some of each role in turn, within time and money; playing an episode."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tape.agents.base import Agent
from tape.analysis.probe.record import CaseAnswer, FirstCall, PricedEpisode, Probe, ProbeError, RoleRecord, fingerprint
from tape.budget import Budget, Ledger
from tape.budget.deadline import KIND as WALL
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError, TapeError
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, OneOf, Usage, weighs, worst_case, worst_case_of_scoring
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tape.protocols.role_cases import JudgedAnswer, RoleCase
from tape.seeds import derive

BATCH = 4
"""Cases that a model is asked at once; the first of a role comes alone."""

ROUND = 2
"""A planning round takes about as long as so many cases of every role."""

EPISODE_SHARE = 0.35
"""Of the time, kept back for the episode."""


@dataclass(frozen=True)
class ProbeLimits:
    """How much is measured at most.

    Attributes:
        cases: Of each role.
        seconds: In all; no batch is begun that would probably not be finished by then.
        usd: In millionths of a US dollar; None: no cap.
        plans: Samples of a plan in an episode, for the worst case of its call.
    """

    cases: int = 24
    seconds: float = 600.0
    usd: int | None = None
    plans: int = 4


Answered = tuple[RoleCase, JudgedAnswer, Usage]
"""A case, what came of it, and the tokens of its call."""


async def answers_to(model: LanguageModel, cases: Sequence[RoleCase]) -> list[Answered]:
    """Ask a model cases of one role at once, greedily.

    Raises:
        TapeError: It cannot be asked.
    """
    if weighs(model) and all(case.reading is not None for case in cases):
        read = [(case, *await case.reading.read(model)) for case in cases if case.reading is not None]
        return [(case, case.judge(text), usage) for case, text, usage in read]
    requests = [case.request for case in cases]
    if not cases[0].scored:
        completions = zip(cases, await model.generate(requests), strict=True)
        return [(case, case.judge(completion.texts[0]), completion.usage) for case, completion in completions]
    answers: list[Answered] = []
    for case, (weights, usage) in zip(cases, await model.score_options(requests), strict=True):
        assert isinstance(case.request.constraint, OneOf), "a score is asked for by a choice"
        text = case.request.constraint.options[weights.index(max(weights))] if any(weights) else ""
        answers.append((case, case.judge(text), usage))
    return answers


class Prober:
    """Measures one model in one environment and notes everything in a :class:`Probe` as it goes.

    Args:
        model: The model.
        probe: What was measured before, or nothing yet; it is filled in.
        limits: How much is measured at most.
        noted: Called whenever there is more in the probe.
        clock: In seconds.
    """

    def __init__(
        self,
        model: LanguageModel,
        probe: Probe,
        limits: ProbeLimits,
        noted: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model, self.probe, self._limits, self._noted, self._clock = model, probe, limits, noted, clock
        self._ends = clock() + limits.seconds
        self._ledger = Ledger(Budget() if limits.usd is None else Budget({"usd": limits.usd}), name="probe")
        self._lm = AccountedLM(model, self._ledger)
        self._before = probe.usd
        self.spent = False
        """Whether the money ended it."""

    async def ask(self, cases: Mapping[str, Sequence[RoleCase]], *, share: float = 1.0) -> None:
        """Ask the cases of all roles that have no answer yet, some of each role in turn.

        Args:
            cases: By role.
            share: Of the time.

        Raises:
            ProbeError: The model answers in no role.
        """
        probe = self.probe
        until = self._ends - (1 - share) * self._limits.seconds
        probe.stopped = ""
        probe.threads = _threads() if probe.threads is None else probe.threads
        open_ = self._open(cases)
        try:
            if probe.first is None:
                await self._first_call(open_)
            while open_:
                # The fewest answers first, of these the cheapest: a long plan must not use up the time of all.
                role = min(open_, key=lambda role: (probe.roles[role].n, probe.roles[role].worst_tokens))
                if not await self._some(role, open_[role], until):
                    del open_[role]
        except BudgetExceededError as error:
            self.spent = True
            probe.stopped = f"no more money for it: {error}"
            self._note()
        failures = [record.failure for record in probe.roles.values() if record.failure]
        if failures and not probe.measured:
            raise ProbeError(f"{probe.model} answers in no role of {probe.environment}: {failures[0]}")

    def _open(self, cases: Mapping[str, Sequence[RoleCase]]) -> dict[str, list[RoleCase]]:
        """The cases that have no answer; what was asked in other words before is forgotten."""
        role_cases: dict[str, list[RoleCase]] = {}
        for role, all_of_it in cases.items():
            names = {fingerprint(case, self._model.identity): case for case in all_of_it[: self._limits.cases]}
            record = self.probe.roles.setdefault(role, RoleRecord(role=role))
            record.failure = ""
            every = {fingerprint(case, self._model.identity) for case in all_of_it}
            if any(answer.request not in every for answer in record.answers[: len(names)]):
                record = self.probe.roles[role] = RoleRecord(role=role)
            self._note_worst(record, [*names.values()])
            known = {answer.request for answer in record.answers}
            if left := [case for name, case in names.items() if name not in known]:
                role_cases[role] = left
        self.probe.roles = {role: self.probe.roles[role] for role in cases}
        return role_cases

    def _note_worst(self, record: RoleRecord, cases: Sequence[RoleCase]) -> None:
        for case in cases:
            request = replace(case.request, n=self._limits.plans) if case.role == "plan" else case.request
            worst = (worst_case_of_scoring if case.scored else worst_case)(self._model, request)
            record.worst_tokens = max(record.worst_tokens, worst["tokens"] or 0)
            usd = worst["usd"]
            record.worst_usd = None if usd is None or record.worst_usd is None else max(record.worst_usd, usd)

    async def _first_call(self, open_: Mapping[str, list[RoleCase]]) -> None:
        """Time the first constrained call, and on this machine the same once more: the difference is its making."""
        fit = [left[0] for left in open_.values() if left[0].request.constraint is not None and not left[0].scored]
        if not fit:
            return
        case = min(fit, key=lambda case: self._model.prompt_tokens(case.request) + case.request.max_tokens)
        took, answers = [], list[Answered]()
        for _ in range(1 if getattr(self._model, "remote", False) else 2):
            began = time.monotonic()
            try:
                answers = await answers_to(self._lm, [case])
            except BudgetExceededError:
                raise
            except TapeError:
                return  # it is asked again with the others, and then reported
            took.append(time.monotonic() - began)
        self.probe.first = FirstCall(role=case.role, seconds=took[0], again=took[1] if len(took) > 1 else None)
        self._take(case.role, answers, took[-1])
        open_[case.role].remove(case)
        self._note()

    async def _some(self, role: str, left: list[RoleCase], until: float) -> bool:
        """Ask the next cases of a role; False where that was not done, or where no more are to come."""
        record = self.probe.roles[role]
        some = left[: BATCH if record.n else 1]
        if not some:
            return False
        if self._clock() + self._each(record) * len(some) > until:
            self.probe.stopped = "the time for it was over"
            return False
        began, failed_before = time.monotonic(), bool(record.failure)
        try:
            answers, record.failure = await answers_to(self._lm, some), ""
        except BudgetExceededError:
            raise
        except TapeError as error:
            answers, record.failure = [], str(error)
        self._take(role, answers, time.monotonic() - began)
        self._note()
        if record.failure:
            return not failed_before  # an endpoint may be busy once
        del left[: len(some)]
        return bool(left)

    def _each(self, record: RoleRecord) -> float:
        """Seconds that a case of a role takes: as before, else by its length, as long as others took for theirs."""
        if record.n:
            return record.seconds / record.n
        others = [other for other in self.probe.roles.values() if other.n and other.worst_tokens]
        tokens = sum(other.n * other.worst_tokens for other in others)
        return record.worst_tokens * sum(other.seconds for other in others) / tokens if tokens else 0.0

    def _take(self, role: str, answers: Sequence[Answered], seconds: float) -> None:
        record = self.probe.roles[role]
        record.seconds += seconds
        for case, judged, usage in answers:
            record.answers.append(
                CaseAnswer(
                    request=fingerprint(case, self._model.identity),
                    valid=judged.valid,
                    right=judged.right,
                    why=judged.why[:200],
                    chance=case.chance,
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                )
            )

    def _note(self) -> None:
        paid = self._ledger.paid.get("usd")
        if self._model.price is None:
            self.probe.usd = None
        elif self._before is not None:
            self.probe.usd = self._before + (paid or 0)
        self._noted()

    async def episode(self, plugin: EnvironmentPlugin, task: Task, agent: str, settings: Mapping[str, str]) -> None:
        """Play one episode in what is left of time and money."""
        seconds = self._ends - self._clock()
        # A model in this process finishes what it has begun: the first round, which asks in every role.
        if seconds < 1 + ROUND * sum(map(self._each, self.probe.roles.values())):
            self.probe.stopped = "the time for it was over"
            return
        config = TapeConfig.make(**settings)
        kind: type[Agent] = load("tape.agents", agent)
        env = plugin.make(task)
        result = await kind(self._model, config).arun(
            env,
            budget=task.budget | Budget({WALL: int(1000 * seconds)}),
            seed=derive(self.probe.seed, "probe", task.digest),
            payer=self._ledger,
            simulator=plugin.simulator(env) if config.world_model == "simulator" else None,
        )
        steps = task.budget.get("steps")
        most = kind.most_lm_calls(kind.resolve(config).resolved(env.domain), steps, steps) if steps else None
        if steps and most is not None and plugin.reads:
            most += steps + 1  # what is seen at the beginning and after each step is read
        worst = [(record.worst_tokens, record.worst_usd) for record in self.probe.roles.values()]
        dear = [usd for _, usd in worst]
        known = most is not None and worst
        self.probe.episode = PricedEpisode(
            task=task.id,
            settings=dict(settings),
            end_state=result.end_state,
            success=result.success,
            steps=result.steps,
            calls=sum(result.lm_calls.values()),
            prompt_tokens=sum(result.prompt_tokens.values()),
            completion_tokens=sum(result.completion_tokens.values()),
            usd=None if self._model.price is None else result.paid.get("usd", 0),
            seconds=result.wall_seconds,
            cut=result.end_state == f"budget:{WALL}" or self._ledger.refused is not None,
            most_calls=most,
            most_tokens=most * max(tokens for tokens, _ in worst) if known and most is not None else None,
            most_usd=most * max(u or 0 for u in dear) if known and most is not None and None not in dear else None,
        )
        self._note()


def _threads() -> int | None:
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())

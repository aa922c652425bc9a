"""The grounds on which agents are compared: their tasks, development and test parts, and caps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from experiments.harness.matrix import own_options, plugin_of
from experiments.harness.places import ROOT
from experiments.own_tools.calendar import CALENDAR
from experiments.own_tools.cinema import CINEMA
from experiments.own_tools.library import LIBRARY
from experiments.own_tools.school import SCHOOL
from experiments.own_tools.sets import Question, QuestionSet, World, judge
from experiments.own_tools.shop import SHOP
from tape.budget import Budget
from tape.errors import ConfigError
from tape.protocols import Environment
from tape.protocols.result import EpisodeResult
from tape.tools.environment import ToolEnvironment

OWN = "own"
"""The name of a task's own caps."""
DECLARED = {"proposer": "declared", "scorer": "declared"}
"""Plans are made from what the environment declares; the model reads what is asked for."""
DESK = str(ROOT / "experiments" / "desk.json")
BETWEEN = {"a third": 1 / 3, "two thirds": 2 / 3, "a third beyond": 4 / 3}
"""Further caps, by the share of the way from the tight ones to the loose ones."""
PLANNING = {OWN: Budget({"steps": 40})}
"""The caps of planning problems, beside tokens."""
SETS = (CINEMA, LIBRARY, SHOP, SCHOOL, CALENDAR)
BUDGET = "20 steps"
"""The caps of questions over tools of one's own, beside tokens."""
DATA = "TAPE_TEST_DATA"
"""The environment variable that names the folder of public data."""


Judge = Callable[[EpisodeResult], Mapping[str, Any]]
"""What came of an episode, in the place of the result's own fields."""


@dataclass(frozen=True)
class Trial:
    """One task of a ground.

    Attributes:
        id: Of the task within its ground.
        make: Makes its environment anew, and what judges an episode.
        caps: The caps by their names.
        own: Of a question over tools of one's own: the question, and its tools anew.
    """

    id: str
    make: Callable[[], tuple[Environment, Judge]]
    caps: Mapping[str, Budget]
    own: Callable[[], tuple[Question, World]] | None = None


@dataclass(frozen=True)
class Ground:
    """Tasks that are played under the same caps by all agents.

    Attributes:
        name: Of the ground.
        title: In tables.
        trials: All tasks in order. Raises ConfigError where their data is absent.
        test: Positions of the test part, from 1, both included; all others are for development.
        caps: The names of the caps, the usual one first.
        tokens: Cap on the model's tokens of an episode, for every agent.
        tape: Settings of TAPE+, as the probe advises for the model.
        react: The row that stands for ReAct beside it. Where tools have several prices, the one that takes the best
            that fits, since a model that writes `a * b` names none.
    """

    name: str
    title: str
    trials: Callable[[], Sequence[Trial]]
    test: tuple[int, int]
    caps: tuple[str, ...]
    tokens: int
    tape: Mapping[str, Any] = field(default_factory=dict)
    react: str = "ReAct"


def _made(environment: Callable[[], Environment]) -> tuple[Environment, Judge]:
    return environment(), lambda _: {}


def _tasks(environment: str, **options: Any) -> Sequence[Trial]:
    """The tasks of an environment under their own caps."""
    plugin = plugin_of(environment)
    return [
        Trial(f"{number}", partial(_made, partial(plugin.make, task)), {OWN: task.budget})
        for number, task in enumerate(plugin.tasks(own_options(environment, defaults=options)), 1)
    ]


def _trips() -> Sequence[Trial]:
    """Ten trips of three days, then ten of five; after these as many for development."""
    made = (_tasks("travelplanner", problems=part, count=30, tightness="tight") for part in ("test", "dev"))
    chosen = [trial for trials in made for days in (0, 1) for trial in trials[days::3]]
    return [replace(trial, id=f"{number}") for number, trial in enumerate(chosen, 1)]


def between(tight: Budget, loose: Budget) -> Mapping[str, Budget]:
    """Caps from the tight ones on to the loose ones and beyond, by the share of the way."""
    return {
        name: Budget({kind: round(tight[kind] + share * (loose[kind] - tight[kind])) for kind in tight})
        for name, share in BETWEEN.items()
    }


def data(*parts: str) -> Path:
    """A file of public data.

    Raises:
        ConfigError: It is absent.
    """
    file = Path(os.environ.get(DATA, "")).joinpath(*parts)
    if DATA not in os.environ or not file.is_file():
        raise ConfigError(f"{'/'.join(parts)} is not there; set {DATA} to the folder that has it")
    return file


@lru_cache(maxsize=1)
def gsm_hard() -> Sequence[Trial]:
    """Word problems with arithmetic by tools of three prices; beside the usual caps, caps between and beyond."""
    from envs.gsm_hard.environment import GsmHardEnvironment
    from envs.gsm_hard.loader import load
    from envs.gsm_hard.profiles import PROFILES, budget

    def caps(operations: int) -> Mapping[str, Budget]:
        tight, loose = (budget(PROFILES["priced"], operations, name) for name in ("tight", "loose"))
        return {"loose": loose, "tight": tight, **between(tight, loose)}

    return [
        Trial(f"{number}", partial(_made, partial(GsmHardEnvironment, problem)), caps(problem.operations))
        for number, problem in enumerate(load(data("gsm_hard", "gsmhard_even.jsonl")), 1)
    ]


@lru_cache(maxsize=1)
def musique() -> Sequence[Trial]:
    """Questions of several hops over their paragraphs, behind a search at five prices."""
    from envs.musique.environment import MusiqueEnvironment
    from envs.musique.loader import load
    from envs.musique.retrieval import Corpus, budget

    def made(question: Any) -> Environment:
        return MusiqueEnvironment(question, Corpus(question.passages), reader="ask")

    def caps(hops: int) -> Mapping[str, Budget]:
        tight, loose = budget(hops, "tight"), budget(hops, "loose")
        return {"loose": loose, "tight": tight, **between(tight, loose)}

    return [
        Trial(f"{number}", partial(_made, partial(made, question)), caps(question.operations))
        for number, question in enumerate(load(data("musique", "musique-dev.jsonl")), 1)
    ]


def _planbench(domain: str) -> Sequence[Trial]:
    """Twenty planning problems of a domain, with exact states."""
    from envs.pddl.environment import PddlEnvironment

    rules = data("planbench", domain, "domain.pddl")
    problems = sorted(rules.parent.glob("instance-*.pddl"), key=lambda file: int(file.stem.partition("-")[2]))[:20]
    return [
        Trial(problem.stem.partition("-")[2], partial(_made, partial(PddlEnvironment, rules, problem)), PLANNING)
        for problem in problems
    ]


@lru_cache(maxsize=1)
def own_tools() -> Sequence[Trial]:
    """Questions over tools as users write them: a cinema, then four earlier sets for development."""
    caps = {OWN: Budget.read(BUDGET)}

    def trial(questions: QuestionSet, question: Question) -> Trial:
        name = f"{questions.name} {question.name}"
        return Trial(name, partial(_asked, questions, question), caps, lambda: (question, questions.world()))

    return [trial(questions, question) for questions in SETS for question in questions.questions]


def _asked(questions: QuestionSet, question: Question) -> tuple[Environment, Judge]:
    world = questions.world()

    def judged(result: EpisodeResult) -> Mapping[str, Any]:
        answer = None if result.answer is None else result.answer.model_dump()
        verdict = judge(question, answer, world.sent)
        return {"right": verdict.right, "unasked": verdict.unasked}

    return ToolEnvironment(question.task, world.tools, answer=question.answer), judged


GROUNDS: Mapping[str, Ground] = {
    ground.name: ground
    for ground in (
        Ground("gsm_hard", "GSM-Hard, public", gsm_hard, (201, 300), ("loose", "tight", *BETWEEN), 20_000,
               react="ReAct, greedy with a reserve"),
        Ground("musique", "MuSiQue, public", musique, (51, 90), ("loose", "tight", *BETWEEN), 30_000),
        Ground("own_tools", "tools of one's own: a cinema", own_tools, (1, 24), (OWN,), 30_000),
        Ground("desk", "service desk: chains of typed tools", partial(_tasks, "tool_chains", data=DESK), (41, 100),
               (OWN,), 20_000, DECLARED),
        Ground("blocksworld", "Blocksworld, exact states", partial(_planbench, "blocksworld"), (1, 10), (OWN,), 10_000),
        Ground("logistics", "Logistics, exact states", partial(_planbench, "logistics"), (1, 10), (OWN,), 10_000),
        Ground("trips", "trips of three and five days", _trips, (1, 20), (OWN,), 40_000),
    )
}  # fmt: skip
"""The grounds by name."""

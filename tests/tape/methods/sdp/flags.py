"""A world of flags for tests of the loop: an action says what becomes true or false, and fake operators ask for it.

An action is words: ``+a`` sets a flag, ``-a`` clears it, ``win`` wins, ``end`` ends the episode, ``boom`` is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from tape.agents.base import Agent
from tape.budget import Budget, Resources
from tape.engine.episode import Episode
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.loop import Loop
from tape.methods.sdp.operators import Check, How, Operators, Outcome, Realized, Validate, Verdict
from tape.methods.sdp.predicate_adapter import PredicateValidate
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, Environment, Observation, PromptFormat, State
from tape.protocols.predicates import Assignment, Predicate
from tape.protocols.result import EpisodeResult
from tape.trace import Event, TraceWriter
from tests.tape.methods.aec.declared import Declared

NAMES = "abc"
GOAL = Target("won", "goal", goal=True)


def flag(name: str) -> Predicate:
    return Predicate("flag", (name,))


def target(*names: str) -> Target:
    """All the flags are to be true, and none is to be false: a name with ``-`` before it has to be cleared."""
    requires = tuple((flag(name.removeprefix("-")), not name.startswith("-")) for name in names)
    return Target(" ".join(names), "flags", requires)


def chain(*texts: str) -> Chain:
    """One target per text, and the goal."""
    return (*(target(*text.split()) for text in texts), GOAL)


class FlagDomain(Declared):
    """Everything is seen."""

    def key(self, state: Any) -> str:
        return " ".join(sorted(state))

    def project(self, observation: Observation) -> State:
        return frozenset(observation.text.split())

    def ground(self, state: Any) -> Assignment:
        return {flag(name): name in state for name in NAMES}


class FlagWorld(Environment):
    """The environment; it remembers what was true after every step."""

    def __init__(self, *, start: str = "", won: bool = False) -> None:
        self.domain: Any = FlagDomain()
        self.start = frozenset(start.split()) | ({"won"} if won else set())

    def reset(self, seed: int) -> Observation:
        self.true = set(self.start)
        self.over = False
        self.seen = [frozenset(self.true)]
        return self._shown()

    def step(self, action: Action) -> tuple[Observation, Resources]:
        for word in action.split():
            if word == "boom":
                raise RuntimeError("out of order")
            self.over |= word == "end"
            if word == "win":
                self.true.add("won")
            elif word.startswith("+"):
                self.true.add(word[1:])
            elif word.startswith("-"):
                self.true.discard(word[1:])
        self.seen.append(frozenset(self.true))
        return self._shown(), Resources({"steps": 1})

    def prompt_format(self, name: str) -> Any:
        return PromptFormat()

    def _shown(self) -> Observation:
        return Observation(" ".join(sorted(self.true)))

    def success(self) -> bool:
        return "won" in self.true

    def ended(self) -> bool:
        return self.over

    def truth(self, wanted: Target) -> bool | None:
        return holds(wanted, self.true)


def holds(wanted: Target, true: Any) -> bool:
    """Whether a target holds where some flags are true."""
    if wanted.goal:
        return "won" in true
    return all((predicate.args[0] in true) is value for predicate, value in wanted.requires)


class FlagAdapter:
    """What the loop asks of an adapter."""

    def fields(self, state: Any) -> Fields:
        return (("flags", tuple(sorted(state))),)


NOTHING, UNREADABLE = Realized(None, "nothing to try"), Realized(None, "unreadable", counts_if_none=True)


@dataclass
class Script:
    """Fake operators that answer in turn, from the start again; an exception is raised. They note what they were shown.

    Attributes:
        chains: The answers of PROPOSE and REPLAN; an empty one is none.
        moves: The answers of REALIZE.
        verdicts: k, by what, and whether k = 0 counts; without any, flags are checked.
    """

    chains: Sequence[Chain | BaseException]
    moves: Sequence[Realized | BaseException]
    verdicts: Sequence[tuple[int, How, bool] | BaseException] = ()
    proposed: list[CertifiedState] = field(default_factory=list)
    realized: list[MarkovState] = field(default_factory=list)
    judged: list[Chain] = field(default_factory=list)
    replanned: list[tuple[MarkovState, tuple[Attempt, ...]]] = field(default_factory=list)

    async def propose(self, state: CertifiedState) -> Chain:
        self.proposed.append(state)
        return _next(self.chains, 0)

    async def realize(self, at: MarkovState) -> Realized:
        self.realized.append(at)
        return _next(self.moves, len(self.realized) - 1)

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        self.replanned.append((at, tuple(history)))
        return _next(self.chains, len(self.replanned))

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        self.judged.append(tail)
        if not self.verdicts:
            return await PredicateValidate(cast(Any, FlagDomain())).validate(tail, outcome)
        k, how, counts = _next(self.verdicts, len(self.judged) - 1)
        k = min(k, len(tail))
        more = (Check(False, how, "not seen"),) if k < len(tail) else ()
        return Verdict((*(Check(True, how, "seen") for _ in range(k)), *more), "" if k else "not seen", counts)


def _next(answers: Sequence[Any], number: int) -> Any:
    answer = answers[number % len(answers)]
    if isinstance(answer, BaseException):
        raise answer
    return answer


class ScriptedSdp(Agent):
    """The loop with fake operators."""

    name = "scripted_sdp"
    methods = ("sdp",)
    operators: Operators
    caps: Caps
    watch: Any = None

    async def _play(self, episode: Episode) -> None:
        await Loop(episode, cast(Any, FlagAdapter()), self.operators, self.caps, self.watch).run()


@dataclass
class Played:
    """An episode that was played."""

    result: EpisodeResult | None
    events: list[Event]
    script: Script
    world: FlagWorld


def play(
    script: Script,
    caps: Caps,
    *,
    world: FlagWorld | None = None,
    validate: Validate | None = None,
    watch: Any = None,
    trace: Any = None,
    budget: Budget | None = None,
    raises: tuple[type[BaseException], ...] = (),
    sdp: Mapping[str, Any] | bool = True,
    **settings: Any,
) -> Played:
    """Play one episode; ``raises`` is what may come out of it instead of a result."""
    writer, world = TraceWriter("flags", trace), world or FlagWorld()
    agent = ScriptedSdp(ScriptedLM(_no_answer), sdp=sdp, **settings)
    agent.operators, agent.caps, agent.watch = Operators(script, script, validate or script, script), caps, watch
    result = None
    with suppress(*raises), closing(writer):
        result = agent.run(cast(Any, world), budget=budget, trace=writer)
    return Played(result, writer.events, script, world)


def _no_answer(request: Request, sample: int) -> str:
    raise AssertionError("no model is asked")

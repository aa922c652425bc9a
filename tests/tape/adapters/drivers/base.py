"""What a framework has to show of itself, so that one suite can demand the same of the guards of all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tape.guard.guard import REFUSALS, Guard
from tests.tape.adapters.drivers.scripted import USAGES, Truth, Turn, Usage, call


@dataclass(frozen=True)
class Played:
    """What came of a run or of a call.

    Attributes:
        answer: What the model text last.
        answers: What the tools have answered, refusals included, one after the other.
        refused: Why the run ended, if a call of the model did not fit.
    """

    answer: str = ""
    answers: Sequence[str] = ()
    refused: str = ""


@dataclass(frozen=True)
class Ask:
    """What a single call of a model asks for.

    Attributes:
        limit: The model's own limit of completion tokens.
        part: An image to show.
        wide: A format whose description has 3,000 letters.
        hosted: Whether a tool is offered that the provider would run.
    """

    limit: int | None = None
    part: Any = None
    wide: bool = False
    hosted: bool = False


@dataclass(frozen=True)
class Driver(ABC):
    """A framework with a scripted model and scripted tools. The tools are those of ``functions_of``.

    Attributes:
        awaits: Whether runs are asynchronous, where a framework has both kinds.
        failed: What a call of the model raises that has failed.
        ended: What a refused call of the model raises; nothing where the run ends without an error.
        tokens: A cap on tokens that some calls of the model fit into, and fifty do not.
        parts: Images as the framework takes them.
        hosted: The message about a tool of the provider.
        usages: Reports that are none, as far as the framework lets them through.
        one_by_one: Whether a turn calls one tool at most.
        more: Further tools that a turn may name, in sweeps.
        ways: Further things that sweeps do, by name: coroutines of a chance, a truth and a guard.
    """

    awaits: bool = False

    failed: ClassVar[type[Exception]]
    ended: ClassVar[type[Exception] | tuple[type[Exception], ...]] = ()
    tokens: ClassVar[int] = 6000
    parts: ClassVar[Sequence[Any]] = ()
    hosted: ClassVar[str] = "the provider runs"
    usages: ClassVar[Sequence[Usage]] = USAGES
    one_by_one: ClassVar[bool] = False
    more: ClassVar[Sequence[str]] = ()
    ways: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def use(self, *names: str, **options: Any) -> Turn:
        """A turn that calls tools."""
        return Turn(calls=tuple(call(name, query=str(number)) for number, name in enumerate(names)), **options)

    def end(self, **options: Any) -> list[Turn]:
        """The turns that end a run with the answer ``done``."""
        return [Turn("done", **options)]

    def play(self, truth: Truth, guard: Guard, **options: Any) -> Played:
        """Run an agent to its end; see :meth:`run`."""
        return self._ended(self.run(truth, guard, **options))

    def ask(self, truth: Truth, guard: Guard, **options: Any) -> Played:
        """Call the model once; the options are those of :class:`Ask`."""
        return self._ended(self.call(truth, guard, Ask(**options)))

    def nest(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        """Run an agent whose tool or teammate is another agent under a guard of its own."""
        return self._ended(self.nested(truth, guard, inner, own))

    def _ended(self, work: Any) -> Played:
        try:
            played: Played = asyncio.run(work)
            return played
        except self.ended as error:
            cause = error if isinstance(error, REFUSALS) else error.__cause__
            if not isinstance(cause, REFUSALS):
                raise
            return Played(refused=f"{error} {cause}")

    @abstractmethod
    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        """Run an agent with all tools.

        Args:
            truth: What the model and the tools do.
            guard: The budget.
            retries: How often a failed call of the model is repeated by the framework.
            gate: The model waits for it before it answers.
        """

    @abstractmethod
    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        """Call the model once."""

    @abstractmethod
    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        """Run an agent that has one tool ``ask``: another agent under a guard of its own."""

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        """Call the model and read its answer piece by piece; leave after the first if ``most`` is given."""
        raise NotImplementedError

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        """Call the client of a real provider once."""
        raise NotImplementedError

"""What a search agent has recorded, held against the environment in which its searches are made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tape.analysis.verdicts import Difference
from tape.cgdp.events import BeliefEvent, RetrievedEvent, StoppedEvent
from tape.protocols import Environment, Observation, State
from tape.protocols.search import UNANSWERABLE, SearchDomain, TellsGold
from tape.trace import StartedEvent


class Searches:
    """Follows an episode that is played again.

    Args:
        env: The environment that is played.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._kept: Mapping[str, int | None] | None = None
        self._made = self._facts = 0

    def started(self, event: StartedEvent, state: State) -> None:
        """A search agent keeps back the cost of its answer until that is given; no other agent does."""
        domain = self._env.domain
        if isinstance(domain, SearchDomain) and event.config.get("cgdp"):
            self._kept = dict(domain.cost(state, domain.answer(UNANSWERABLE)))

    def kept(self, kind: str) -> int:
        """How much of a resource is kept back for the answer."""
        return (self._kept or {}).get(kind) or 0

    def retrieved(self, event: RetrievedEvent, seen: Observation | None, done: str) -> Iterator[Difference]:
        """A search, after the action ``done`` has shown what was ``seen``."""
        self._made += 1
        found = () if seen is None else seen.data
        real = [(one.id, one.title, one.text) for one in found]
        yield "what was retrieved", [(one.id, one.title, one.text) for one in event.passages], real
        yield "the number of a search", event.round, self._made
        domain = self._env.domain
        assert isinstance(domain, SearchDomain)
        option = next((option for option in domain.options() if option.name == event.option), None)
        yield "a search", f"no option {event.option!r}" if option is None else domain.search(event.query, option), done

    def believed(self, event: BeliefEvent) -> None:
        """A belief after a search."""
        self._facts = len(event.facts)

    def stopped(self, event: StoppedEvent, done: str, *, right: bool) -> Iterator[Difference]:
        """The end, after the action ``done``."""
        yield "whether the answer was right", event.right, right
        if isinstance(self._env, TellsGold):
            answers, sources = self._env.gold()
            yield "what counts", [event.gold_answers, event.gold_sources], [[*answers], [*sources]]
        if event.answer:
            domain = self._env.domain
            assert isinstance(domain, SearchDomain)
            yield "the answer", domain.answer(event.answer), done

    def measured(self, recorded: Any, real: Mapping[str, float]) -> Difference:
        """The measures; a search agent adds some of itself, of which a prompt's length cannot be counted again."""
        if self._kept is not None and isinstance(recorded, Mapping):
            own = {"facts": float(self._facts), "rounds": float(self._made)}
            real = {**real, **{name: value for name, value in own.items() if name in recorded}}
            recorded = {name: value for name, value in recorded.items() if name != "longest_prompt"}
        return "the measures", recorded, dict(sorted(real.items()))

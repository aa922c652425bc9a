"""The stopping rule of a search: the configured gate, applied after every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tape.methods.cgdp.events import GateEvent
from tape.methods.cgdp.gates import CONFIGURATIONS, Signalling, Signals, StagnationGate, fixed_rounds
from tape.methods.cgdp.prices import SearchPrices
from tape.methods.cgdp.remembered import Remembered
from tape.protocols.search import Passage

_SHOWN = 3
"""Recent rounds shown to a model that judges the search."""


class Stopping:
    """The gate of one search.

    Args:
        search: The memory of the search.
        prices: The expected values of searches.
    """

    def __init__(self, search: Remembered, prices: SearchPrices) -> None:
        self._search, self._prices, self._name = search, prices, search.settings.gate
        self._signalling = Signalling(search.settings.jaccard_window)
        configuration = CONFIGURATIONS.get(self._name)
        self._gate = None if configuration is None else StagnationGate(configuration)
        self._last = Signals(0.0, 1.0)

    def after(self, query: str, passages: Sequence[Passage]) -> Signals:
        """Record a round; returns its signals."""
        self._last = self._signalling.after(query, [one.id for one in passages])
        return self._last

    async def reason(self) -> str:
        """Why the search stops after the last recorded round; empty: it continues.

        Raises:
            BudgetExceededError: The gate calls the model, and the call does not fit.
        """
        number, signals = len(self._search.rounds), self._last
        verdict, fired = "", False
        if self._gate is not None:
            fired = self._gate.fires(signals)
            verdict = self._gate.description
        elif self._name.startswith("lm_") and number > 1:
            verdict = await self._asked()
            fired = verdict == "EXHAUSTED"
        elif self._name == "voi":
            verdict, fired = self._priced()
        else:
            fired = number == fixed_rounds(self._name)
        signs = {"jaccard": signals.jaccard, "upr": signals.upr}
        event = GateEvent(round=number, gate=self._name, verdict=verdict, fired=fired, **signs)
        self._search.episode.trace.write(event)
        return f"the gate {self._name} fired" if fired else ""

    def resume(self) -> None:
        """Count stagnant rounds anew; queries and passages stay known."""
        configuration = CONFIGURATIONS.get(self._name)
        self._gate = None if configuration is None else StagnationGate(configuration)

    def _priced(self) -> tuple[str, bool]:
        """Fire if no further search that the agent can make is worth its price."""
        search = self._search
        able = [option for option in search.options if self._prices.fits(option)]
        options = able if search.settings.select == "solver" else search.options[:1]
        best = max(self._prices.expected_value("", option) for option in options)
        return f"the best further search is worth {best:.0f} tokens", best <= 0

    async def _asked(self) -> str:
        """The model's verdict; empty if it cannot be asked or read, so that the search continues."""
        search, style = self._search, style_of(self._name)
        last = 1 if search.settings.memory == "lobotomized" else _SHOWN
        recent = [
            f"{one.query!r} -> {', '.join(p.title for p in one.passages) or 'nothing'}" for one in search.rounds[-last:]
        ]
        bare = search.bare()
        while recent and not search.window.fits(search.prompts.gate_request(bare, recent, style)):
            recent = recent[1:]
        if not recent:
            return ""
        found = await search.ask(
            lambda view: search.prompts.gate_request(view, recent, style),
            search.view(),
            lambda _, text: search.prompts.read_gate(text),
        )
        return found or ""


def style_of(gate: str) -> Literal["conservative", "neutral"]:
    """The prompt style of a gate that asks the model."""
    return "conservative" if gate == "lm_conservative" else "neutral"

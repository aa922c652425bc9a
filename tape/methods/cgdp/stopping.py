"""The stopping rule of a search: the configured gate, applied after every round."""

from __future__ import annotations

from collections.abc import Sequence

from tape.methods.cgdp.events import GateEvent
from tape.methods.cgdp.gates import CONFIGURATIONS, Signalling, Signals, StagnationGate, fixed_rounds
from tape.methods.cgdp.prices import SearchPrices
from tape.methods.cgdp.remembered import Remembered
from tape.protocols.search import Passage


class Stopping:
    """The gate of one search."""

    def __init__(self, search: Remembered, prices: SearchPrices) -> None:
        self._search, self._prices, self._name = search, prices, search.settings.gate
        self._signalling = Signalling(search.settings.jaccard_window)
        configuration = CONFIGURATIONS.get(self._name)
        self._gate = None if configuration is None else StagnationGate(configuration)
        self._last = Signals(0.0, 1.0)

    def after(self, query: str, passages: Sequence[Passage]) -> Signals:
        """Record a round; returns its signals."""
        self._last = self._signalling.after(query, [passage.id for passage in passages])
        return self._last

    def reason(self) -> str:
        """Why the search stops after the last recorded round; empty: it continues."""
        number, signals = len(self._search.rounds), self._last
        verdict, fired = "", False
        if self._gate is not None:
            fired = self._gate.fires(signals)
            verdict = self._gate.description
        elif self._name == "voi":
            verdict, fired = self._priced()
        else:
            fired = number == fixed_rounds(self._name)
        signs = {"jaccard": signals.jaccard, "upr": signals.upr}
        event = GateEvent(round=number, gate=self._name, verdict=verdict, fired=fired, **signs)
        self._search.episode.trace.write(event)
        return f"the gate {self._name} fired" if fired else ""

    def _priced(self) -> tuple[str, bool]:
        """Fire if no further search that the agent can make is worth its price."""
        search = self._search
        able = [option for option in search.options if self._prices.fits(option)]
        options = able if search.settings.select == "solver" else search.options[:1]
        best = max(self._prices.expected_value("", option) for option in options)
        return f"the best further search is worth {best:.0f} tokens", best <= 0

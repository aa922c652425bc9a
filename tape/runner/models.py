"""The models that a worker keeps open, each checked against the run's configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tape.errors import ModelError
from tape.lm.base import LanguageModel

Opener = Callable[[str], LanguageModel]


def open_at_price(name: str, cache: Path | None = None, prices: Path | None = None) -> LanguageModel:
    """Open a model by its string, with its price, perhaps behind a completion cache (an SQLite file)."""
    from tape.lm.cache import CachedLM
    from tape.lm.price_table import PriceTable
    from tape.lm.priced import priced
    from tape.lm.registry import open_backend

    table = None if prices is None else PriceTable.load(prices)
    model = open_backend(name)
    return priced(model if cache is None else CachedLM(model, cache), name, table)


class Models:
    """Opens models by name and keeps the last few open; configurations with one model usually follow each other."""

    def __init__(self, opener: Opener, keep: int = 2) -> None:
        self._opener, self._keep = opener, keep
        self._open: dict[str, LanguageModel] = {}

    def holds(self, name: str) -> bool:
        """Whether the model of that name is open."""
        return name in self._open

    def get(self, name: str, identity: str) -> LanguageModel:
        """The model of that name.

        Raises:
            ModelError: It is not the model that the run was configured with, or cannot be loaded.
            UnknownNameError: There is no such model.
        """
        model = self._open.pop(name, None) or self._opener(name)
        self._open[name] = model  # now the last one used
        while len(self._open) > self._keep:
            self._close(self._open.pop(next(iter(self._open))))
        if model.identity != identity:
            raise ModelError(
                f"the model {name} is {model.identity} where the episodes are to be played, but the run was configured "
                f"with {identity}; use the same weights and version everywhere"
            )
        return model

    def close(self) -> None:
        """Close all models."""
        while self._open:
            self._close(self._open.popitem()[1])

    @staticmethod
    def _close(model: LanguageModel) -> None:
        close = getattr(model, "close", None)
        if callable(close):
            close()

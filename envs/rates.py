"""How often a simulated model errs, as its name says it: ``simulated:NAME?errors=0.1&verdicts=0.05&seed=1``."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl

from tape.errors import ConfigError


class Rates(NamedTuple):
    """How often it errs in what it does, and as a judge, each in [0, 1]; and the seed of its errors."""

    errors: float = 0.1
    verdicts: float = 0.1
    seed: float = 0

    @classmethod
    def parse(cls, name: str, query: str) -> Rates:
        """Read the options of a simulated model.

        Args:
            name: Its environment, for the message.
            query: The options.

        Raises:
            ConfigError: There is no such option, or it is out of range.
        """
        given = dict(parse_qsl(query, keep_blank_values=True))
        try:
            rates = cls(**{option: float(text) for option, text in given.items()})
        except (TypeError, ValueError):
            rates = cls(-1)
        if not (0 <= rates.errors <= 1 and 0 <= rates.verdicts <= 1):
            raise ConfigError(f"simulated:{name}?{query}: options are errors and verdicts (0 to 1) and seed, a number")
        return rates

r"""The exhaustion gate: when to stop a search that finds nothing new (CGDP section 5.2, appendix G).

Tokens of an action are its lower-cased words as a set. J of a round is the largest Jaccard index of its action with the
last :data:`RECENT` ones, UPR the share of retrieved passages that had not been retrieved before. In round one J = 0 and
UPR = 1; an observation that is empty has UPR 0. A round is stagnant where J >= tau_J and UPR <= tau_U; after p such
rounds in a row the gate fires.

The paper publishes one of its 16 configurations, ``f_j0.6_u0.3_p2``. Of the others it only reports that 7 are discrete
and 9 use moving averages ("smooth"), and the ranges of tau_U. All but that one, the window of J and the decay are ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tape.errors import ConfigError

RECENT = 3
"""Number of recent actions that a query is compared with (ours: the paper does not publish it)."""

_WORD = re.compile(r"[^\W_]+")
_FIXED = re.compile(r"fixed:([1-9][0-9]{0,2})")

OTHER_GATES = ("none", "fixed:R", "voi")


@dataclass(frozen=True)
class Signals:
    """The signals of a round.

    Attributes:
        jaccard: J, in [0, 1].
        upr: UPR, in [0, 1].
    """

    jaccard: float
    upr: float


@dataclass(frozen=True)
class GateConfiguration:
    """Thresholds of exhaustion.

    Attributes:
        tau_j: Least J of a stagnant round, in [0, 1].
        tau_u: Greatest UPR of a stagnant round, in [0, 1].
        patience: p, stagnant rounds in a row.
        decay: Weight of a new value in the moving averages of J and UPR; 1: no averages ("discrete").
        ours: Whether the paper lacks it.

    Raises:
        ConfigError: A threshold is outside [0, 1], the decay outside (0, 1], or p < 1.
    """

    tau_j: float
    tau_u: float
    patience: int
    decay: float = 1.0
    ours: bool = True

    def __post_init__(self) -> None:
        for name, value in (("tau_j", self.tau_j), ("tau_u", self.tau_u), ("decay", self.decay)):
            if not 0 <= value <= 1:
                raise ConfigError(f"gate: {name} = {value} is outside [0, 1]")
        if self.decay == 0:
            raise ConfigError("gate: decay = 0 would never look at a round; it is in (0, 1]")
        if self.patience < 1:
            raise ConfigError(f"gate: p = {self.patience}; it takes at least one stagnant round to fire")


def _named(configuration: GateConfiguration) -> str:
    kind = "f" if configuration.decay == 1 else "s"
    return f"{kind}_j{configuration.tau_j:g}_u{configuration.tau_u:g}_p{configuration.patience}"


_DISCRETE = (
    GateConfiguration(0.6, 0.3, 2, ours=False),
    GateConfiguration(0.6, 0.3, 3),
    GateConfiguration(0.5, 0.3, 2),
    GateConfiguration(0.5, 0.3, 3),
    GateConfiguration(0.7, 0.3, 2),
    GateConfiguration(0.6, 0.2, 2),
    GateConfiguration(0.6, 0.3, 1),
)
_SMOOTH = tuple(
    GateConfiguration(tau_j, tau_u, patience, decay=0.5)
    for tau_j, tau_u, patience in (
        (0.5, 0.1, 2),
        (0.5, 0.15, 2),
        (0.6, 0.1, 2),
        (0.6, 0.15, 2),
        (0.4, 0.1, 2),
        (0.4, 0.15, 2),
        (0.5, 0.3, 2),
        (0.5, 0.15, 1),
        (0.5, 0.15, 3),
    )
)

CONFIGURATIONS = MappingProxyType({_named(configuration): configuration for configuration in (*_DISCRETE, *_SMOOTH)})
"""Seven discrete and nine smooth configurations by name: ``f_`` or ``s_``, tau_J, tau_U and p."""


def require_gate(name: str) -> None:
    """Refuse an unknown gate.

    Raises:
        ConfigError: Lists the known ones.
    """
    if name in CONFIGURATIONS or name in ("none", "voi") or _FIXED.fullmatch(name):
        return
    known = ", ".join((*OTHER_GATES, *CONFIGURATIONS))
    raise ConfigError(
        f"there is no gate {name!r} (R in fixed:R is a number of rounds from 1 to 999); there is: {known}"
    )


def fixed_rounds(name: str) -> int | None:
    """R of ``fixed:R``; None for any other gate."""
    match = _FIXED.fullmatch(name)
    return int(match[1]) if match else None


def words(text: str) -> frozenset[str]:
    """The lower-cased words of an action."""
    return frozenset(_WORD.findall(text.lower()))


def jaccard(texts: Collection[str], other: Collection[str]) -> float:
    """The Jaccard index of two sets of words; two empty sets are equal."""
    union = len({*texts, *other})
    return len({*texts} & {*other}) / union if union else 1.0


class Signalling:
    """Computes J and UPR round by round."""

    def __init__(self, recent: int = RECENT) -> None:
        self._recent = recent
        self._actions: list[frozenset[str]] = []
        self._seen: set[str] = set()

    def after(self, query: str, passages: Sequence[str]) -> Signals:
        """The signals of a round."""
        here, texts = words(query), set(passages)
        if not self._actions:
            signals = Signals(0.0, 1.0 if texts else 0.0)
        else:
            recent = self._actions[-self._recent :]
            share = len(texts - self._seen) / len(texts) if texts else 0.0
            signals = Signals(max(jaccard(here, action) for action in recent), share)
        self._actions.append(here)
        self._seen |= texts
        return signals


class StagnationGate:
    """Fires after a number of stagnant rounds in a row."""

    def __init__(self, configuration: GateConfiguration) -> None:
        self._configuration = configuration
        self._averages: Signals | None = None
        self._in_a_row = 0

    def fires(self, signals: Signals) -> bool:
        """Whether the search is exhausted after this round."""
        chosen, before = self._configuration, self._averages
        if before is None:
            now = signals
        else:
            kept = 1 - chosen.decay
            now = Signals(
                chosen.decay * signals.jaccard + kept * before.jaccard, chosen.decay * signals.upr + kept * before.upr
            )
        self._averages = now
        stagnant = now.jaccard >= chosen.tau_j and now.upr <= chosen.tau_u
        self._in_a_row = self._in_a_row + 1 if stagnant else 0
        return self._in_a_row >= chosen.patience

    @property
    def description(self) -> str:
        """Its state in words."""
        now, chosen = self._averages, self._configuration
        smooth = "" if now is None or chosen.decay == 1 else f"averages J {now.jaccard:.2f}, UPR {now.upr:.2f}, "
        return f"{smooth}{self._in_a_row} of {chosen.patience} stagnant rounds in a row"

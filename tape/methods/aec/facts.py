"""The grounded store w: observed values and the evidence for them (AEC definition 3.1, eq. 2, 9, 10)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, final

from tape.errors import ConfigError
from tape.protocols import State
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Predicate

EvidenceKind = Literal["observation", "query", "execution", "entailed"]


@dataclass(frozen=True)
class Evidence:
    """Why a value is taken as true.

    Attributes:
        kind: The first ``observation``, a ``query``, the ``execution`` of a path, or ``entailed`` by a sound rule.
        step: Environment steps taken when it was observed.
        source: The action, the query, or the name of the rule.
        premises: Premises of an entailed value.
    """

    kind: EvidenceKind
    step: int
    source: str
    premises: tuple[Predicate, ...] = ()

    def __str__(self) -> str:
        """As in ``query at step 3: open box 2``."""
        premises = f" from {', '.join(map(str, self.premises))}" if self.premises else ""
        return f"{self.kind} at step {self.step}: {self.source}{premises}"


@dataclass(frozen=True)
class GroundedFact:
    """A value and the evidence for it."""

    value: bool
    evidence: Evidence


@dataclass(frozen=True)
class Claim:
    """The value that a rule or a declared effect asserts for a predicate before it is observed."""

    value: bool
    kind: Literal["rule", "effect"]
    name: str


@dataclass(frozen=True)
class Contradiction:
    """An observation contradicts a claim."""

    predicate: Predicate
    claim: Claim

    def __str__(self) -> str:
        """As in ``rule one place claims that in(gem, box 2) is true; it is false``."""
        claimed, seen = ("true", "false") if self.claim.value else ("false", "true")
        return f"{self.claim.kind} {self.claim.name} claims that {self.predicate} is {claimed}; it is {seen}"


@final
class _Seal:
    """Only this module holds one."""


_SEAL = _Seal()


@final
class Grounded(Mapping[Predicate, GroundedFact]):
    """A snapshot of the grounded store; only :class:`GroundedStore` makes one.

    Predictors and the verifier receive nothing else, so that neither can depend on a belief.
    """

    __slots__ = ("_facts", "assignment", "digest", "observed")

    def __init__(self, facts: Mapping[Predicate, GroundedFact], observed: State, key: str, seal: _Seal) -> None:
        if seal is not _SEAL:
            raise ConfigError("only GroundedStore.snapshot() makes a Grounded: only observations ground facts")
        self._facts = MappingProxyType(dict(facts))
        self.observed = observed
        """The state as observed, for prompts."""
        self.assignment = MappingProxyType({predicate: fact.value for predicate, fact in facts.items()})
        """The values without their evidence."""
        values = "\n".join(sorted(f"{predicate!r}={value}" for predicate, value in self.assignment.items()))
        self.digest = hashlib.sha256(f"{key}\n{values}".encode()).hexdigest()[:16]
        """Equal for equal values in equal states."""

    def __getitem__(self, predicate: Predicate) -> GroundedFact:
        return self._facts[predicate]

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)


class GroundedStore:
    """Facts, rebuilt from the domain's grounding of every observed state.

    Args:
        predicates: Their grounder is the only source of facts.
        key: The identity of a state.
    """

    def __init__(self, predicates: Predicates, key: Callable[[State], str]) -> None:
        self._predicates, self._key = predicates, key
        self._facts: dict[Predicate, GroundedFact] = {}
        self._initial: frozenset[Predicate] | None = None
        self._snapshot: Grounded | None = None

    def observe(
        self, state: State, evidence: Evidence, claims: Mapping[Predicate, Claim] | None = None
    ) -> list[Contradiction]:
        """Replace the facts by those of an observation.

        Unchanged values keep their evidence; new and changed ones get the given one.

        Args:
            state: The observed state.
            evidence: Evidence of new and changed values.
            claims: Values that rules and declared effects predict.

        Returns:
            The claims that the observation contradicts and overrides (AEC appendix B.4).
        """
        seen = self._predicates.ground(state)
        self._facts = {
            predicate: old
            if (old := self._facts.get(predicate)) is not None and old.value == value
            else GroundedFact(value, evidence)
            for predicate, value in seen.items()
        }
        if self._initial is None:
            self._initial = frozenset(seen)
        self._snapshot = Grounded(self._facts, state, self._key(state), _SEAL)
        return [
            Contradiction(p, claim) for p, claim in (claims or {}).items() if seen.get(p, claim.value) != claim.value
        ]

    def snapshot(self) -> Grounded:
        """The current facts.

        Raises:
            ConfigError: Nothing was observed yet.
        """
        if self._snapshot is None:
            raise ConfigError("nothing is grounded before the first observation")
        return self._snapshot

    def grounded_later(self) -> frozenset[Predicate]:
        """Q of theorem 3.4 (eq. 7): predicates that are grounded now and were not at the start ([R] in NOTES-AEC)."""
        return frozenset(self._facts) - (self._initial or frozenset())

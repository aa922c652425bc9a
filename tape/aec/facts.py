"""The grounded store w: what observations have shown, and the evidence for it (AEC definition 3.1, eq. 2, 9, 10)."""

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
        kind: The first ``observation``; what a ``query`` revealed; what was seen in the ``execution`` of a path; or
            ``entailed`` by a sound rule.
        step: Environment steps taken when it was seen.
        source: In words: the action that was seen to do it, the query, or the name of the rule.
        premises: What a rule concluded it from.
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
class Fact:
    """A value and the evidence for it."""

    value: bool
    evidence: Evidence


@dataclass(frozen=True)
class Claim:
    """What a rule or a declared effect says of a predicate, before it is observed.

    Attributes:
        value: What it says.
        kind: Who says it.
        name: The rule's name, or the action.
    """

    value: bool
    kind: Literal["rule", "effect"]
    name: str


@dataclass(frozen=True)
class Contradiction:
    """An observation that shows a claim to be wrong."""

    predicate: Predicate
    claim: Claim

    def __str__(self) -> str:
        """As in ``rule one place said in(gem, box 2) is true; it is false``."""
        said, seen = ("true", "false") if self.claim.value else ("false", "true")
        return f"{self.claim.kind} {self.claim.name} said {self.predicate} is {said}; it is {seen}"


@final
class _Seal:
    """Only this module holds one."""


_SEAL = _Seal()


@final
class Grounded(Mapping[Predicate, Fact]):
    """A snapshot of the grounded store; only :class:`GroundedStore` makes one.

    It is all that a predictor and the verifier are given, so that neither can come to rest on a belief.
    """

    __slots__ = ("_facts", "assignment", "digest", "observed")

    def __init__(self, facts: Mapping[Predicate, Fact], observed: State, key: str, seal: _Seal) -> None:
        if seal is not _SEAL:
            raise ConfigError("a Grounded is made by GroundedStore.snapshot() alone: only observations ground facts")
        self._facts = MappingProxyType(dict(facts))
        self.observed = observed
        """The state as observed, for prompts."""
        self.assignment = MappingProxyType({predicate: fact.value for predicate, fact in facts.items()})
        """The values without their evidence."""
        told = "\n".join(sorted(f"{predicate!r}={value}" for predicate, value in self.assignment.items()))
        self.digest = hashlib.sha256(f"{key}\n{told}".encode()).hexdigest()[:16]
        """Equal for equal values in equal states."""

    def __getitem__(self, predicate: Predicate) -> Fact:
        return self._facts[predicate]

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)


class GroundedStore:
    """Facts, rebuilt from what the domain's grounder says of every observed state.

    Args:
        predicates: Their grounder is the only source of facts.
        key: The identity of a state.
    """

    def __init__(self, predicates: Predicates, key: Callable[[State], str]) -> None:
        self._predicates, self._key = predicates, key
        self._facts: dict[Predicate, Fact] = {}
        self._initial: frozenset[Predicate] | None = None
        self._snapshot: Grounded | None = None

    def observe(
        self, state: State, evidence: Evidence, claims: Mapping[Predicate, Claim] | None = None
    ) -> list[Contradiction]:
        """Take over what an observation shows.

        A value that is what it was keeps its evidence, a changed or new one gets this one, and what is no longer
        asserted goes.

        Args:
            state: The observed state.
            evidence: Of all that is new in it.
            claims: What rules and declared effects said that would be seen.

        Returns:
            The claims that the observation contradicts; it overrides them (AEC appendix B.4).
        """
        seen = self._predicates.ground(state)
        self._facts = {
            predicate: old
            if (old := self._facts.get(predicate)) is not None and old.value == value
            else Fact(value, evidence)
            for predicate, value in seen.items()
        }
        if self._initial is None:
            self._initial = frozenset(seen)
        self._snapshot = Grounded(self._facts, state, self._key(state), _SEAL)
        return [
            Contradiction(p, claim) for p, claim in (claims or {}).items() if seen.get(p, claim.value) != claim.value
        ]

    def snapshot(self) -> Grounded:
        """The facts as they are now.

        Raises:
            ConfigError: Nothing was observed yet.
        """
        if self._snapshot is None:
            raise ConfigError("nothing is grounded before the first observation")
        return self._snapshot

    def grounded_later(self) -> frozenset[Predicate]:
        """Q of theorem 3.4 (eq. 7): predicates that are grounded now and were not at the start ([R] in NOTES-AEC)."""
        return frozenset(self._facts) - (self._initial or frozenset())

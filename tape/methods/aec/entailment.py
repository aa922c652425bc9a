"""Facts that follow by sound rules (the entailment of AEC eq. 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tape.methods.aec.facts import Claim, Contradiction, Evidence, Grounded, GroundedFact
from tape.protocols.predicates import InferenceRule, Predicate


class Closure(Mapping[Predicate, GroundedFact]):
    """Grounded facts and their closure under the rules; an entailed fact names its rule and premises.

    An observation overrides a rule. If two rules disagree, neither conclusion is kept. Both cases are reported as
    :attr:`contradictions`.
    """

    def __init__(self, grounded: Grounded, rules: Sequence[InferenceRule]) -> None:
        self._grounded = grounded
        self.assignment: dict[Predicate, bool] = {}
        """All values, grounded and entailed."""
        self.contradictions: list[Contradiction] = []
        self._by: dict[Predicate, tuple[InferenceRule, dict[Predicate, bool]]] = {}
        disputed: set[Predicate] = set()
        self._facts: dict[Predicate, GroundedFact] = {}
        while not self._closed(rules, disputed):
            continue  # start again without the disputed predicates: other conclusions may rest on them

    def _closed(self, rules: Sequence[InferenceRule], disputed: set[Predicate]) -> bool:
        self.assignment = dict(self._grounded.assignment)
        self._by.clear()
        grew = True
        while grew:
            grew = False
            for rule in rules:
                before = dict(self.assignment)
                for predicate, value in rule(before).items():
                    known = self.assignment.get(predicate)
                    if known is None and predicate not in disputed:
                        self.assignment[predicate] = value
                        self._by[predicate] = rule, before
                        grew = True
                    elif known is not None and known != value:
                        self._contradict(Contradiction(predicate, Claim(value, "rule", rule.name)))
                        if predicate in self._by:
                            self._contradict(
                                Contradiction(predicate, Claim(known, "rule", self._by[predicate][0].name))
                            )
                            disputed.add(predicate)
                            return False
        return True

    def _contradict(self, contradiction: Contradiction) -> None:
        if contradiction not in self.contradictions:
            self.contradictions.append(contradiction)

    def entailed(self) -> dict[Predicate, Claim]:
        """The conclusions of rules that are not grounded."""
        return {p: Claim(self.assignment[p], "rule", rule.name) for p, (rule, _) in self._by.items()}

    def __getitem__(self, predicate: Predicate) -> GroundedFact:
        if predicate not in self._by:
            return self._grounded[predicate]
        if predicate not in self._facts:  # premises are searched on demand
            rule, known = self._by[predicate]
            premises = premises_of(rule, known, predicate, self.assignment[predicate])
            step = max((self[p].evidence.step for p in premises), default=0)
            self._facts[predicate] = GroundedFact(
                self.assignment[predicate], Evidence("entailed", step, rule.name, premises)
            )
        return self._facts[predicate]

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self.assignment)

    def __len__(self) -> int:
        return len(self.assignment)


def premises_of(
    rule: InferenceRule, known: Mapping[Predicate, bool], predicate: Predicate, value: bool
) -> tuple[Predicate, ...]:
    """A minimal set of known predicates from which a rule still draws a conclusion.

    Found by bisection, as few premises are needed of many facts. For a rule that is not monotone, all known predicates
    are returned.
    """
    needed: list[Predicate] = []
    rest = list(known)

    def draws(names: Sequence[Predicate]) -> bool:
        return rule({name: known[name] for name in names}).get(predicate) is value

    while not draws(needed):
        low, high = 1, len(rest)  # the shortest prefix of the rest that suffices with what is needed
        if high == 0 or not draws([*needed, *rest]):
            return tuple(known)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if draws([*needed, *rest[:middle]]) else (middle + 1, high)
        needed.append(rest[low - 1])
        rest = rest[: low - 1]
    return tuple(sorted(needed))

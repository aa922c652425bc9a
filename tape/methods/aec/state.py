"""The epistemic state (w, w^) of an episode, and the only way to change w (AEC definition 3.1, eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.budget import Resources
from tape.engine.episode import Episode, environment_faults
from tape.methods.aec.beliefs import BeliefStore
from tape.methods.aec.events import JudgedEvent
from tape.methods.aec.facts import Contradiction, Evidence, EvidenceKind, Grounded, GroundedStore
from tape.methods.aec.predictor import Estimate
from tape.methods.aec.repair import Repair, claims_of
from tape.methods.aec.verifier import PlanVerdict, Rulebook, Verifier
from tape.protocols import Action
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.predicates import Effects, Predicate


class EpistemicState:
    """Facts and beliefs of an episode."""

    def __init__(self, episode: Episode, domain: Domain) -> None:
        self._episode = episode
        self._predicates = predicates = require_predicates(domain)
        self._store = GroundedStore(predicates, domain.key)
        rulebook = Rulebook(tuple(predicates.rules()))
        self._verifier = Verifier(predicates, rulebook)
        self._repair = Repair(rulebook, episode.trace)
        self._rulebook = rulebook
        self.beliefs = BeliefStore()
        self._open: dict[Predicate, Estimate] = {}
        with environment_faults("the predicates of the first observation cannot be computed"):
            self._store.observe(episode.state, Evidence("observation", episode.result.steps, "what was seen first"))
        self._repaired([])

    @property
    def grounded(self) -> Grounded:
        """The current facts w."""
        return self._store.snapshot()

    def grounded_later(self) -> list[str]:
        """Q of theorem 3.4, as text."""
        return sorted(map(str, self._store.grounded_later()))

    def observed(self, kind: EvidenceKind, action: Action, source: str) -> None:
        """Update the facts by the observation after an action, which overrides declared and entailed values."""
        with environment_faults(f"the predicates after {action!r} cannot be computed"):
            claims = claims_of(self._predicates, self._verifier.closure(self.grounded), action)
            observation = self._store.observe(
                self._episode.state, Evidence(kind, self._episode.result.steps, source), claims
            )
        self._repaired(observation)
        self._judge()

    def predicted(self, predicate: Predicate, estimate: Estimate) -> None:
        """Believe a prediction; the last one of a predicate is judged when its value is revealed."""
        self.beliefs.predicted(predicate, estimate.mu, estimate.sigma)
        self._open[predicate] = estimate

    def _judge(self) -> None:
        """Log the predictions whose true value is known now.

        This is the current value: if an action of the agent changed it before it was revealed, the event judges that
        action rather than the prediction.
        """
        closure = self._verifier.closure(self.grounded)
        for predicate in [p for p in self._open if p in closure]:
            estimate = self._open.pop(predicate)
            event = JudgedEvent(
                step=self._episode.result.steps,
                predicate=predicate.name,
                args=list(predicate.args),
                mu=estimate.mu,
                value=closure[predicate].value,
            )
            self._episode.trace.write(event)

    def _repaired(self, contradictions: Sequence[Contradiction]) -> None:
        """Count counterexamples until no further rule is disabled."""
        result = self._episode.result
        self._repair.take(contradictions)
        before = None
        while before != self._rulebook.disabled:
            before = set(self._rulebook.disabled)
            self._repair.take(self._verifier.closure(self.grounded).contradictions)
        result.method["counterexamples"] = self._repair.counts()
        result.method["disabled_rules"] = sorted(self._rulebook.disabled)

    def verify(
        self, actions: Sequence[Action], costs: Sequence[Resources] = (), remaining: Mapping[str, int] | None = None
    ) -> PlanVerdict:
        """V on the current facts."""
        with environment_faults("the declarations of the actions cannot be used"):
            return self._verifier.verify(actions, costs, self.grounded, remaining or {})

    def effects(self, action: Action) -> Effects:
        """The declared effects of an action, given the current facts."""
        with environment_faults(f"the effects of {action!r} cannot be computed"):
            return self._predicates.effects(action, self._verifier.closure(self.grounded).assignment)

    def to_do(self, actions: Sequence[Action]) -> tuple[Action, ...]:
        """The actions of a plan without no-ops, whose known declared effects all hold already at their place."""
        with environment_faults("the effects of a plan cannot be computed"):
            known: dict[Predicate, bool] = dict(self._verifier.closure(self.grounded).assignment)
            left: list[Action] = []
            for action in actions:
                effects = self._predicates.effects(action, known)
                certain = {p: value for p, value in effects.items() if value is not None}
                if certain and all(known.get(p) is value for p, value in certain.items()):
                    continue
                left.append(action)
                known = {p: value for p, value in known.items() if p not in effects} | certain
            return tuple(left)

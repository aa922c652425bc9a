"""The epistemic state (w, w^) of an episode, and the only way to change w (AEC definition 3.1, eq. 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tape.budget import Resources
from tape.choice.graph_problem import Edge
from tape.engine.episode import Episode, environment_faults
from tape.engine.execute import Seen, Watch
from tape.methods.aec.entailment import Closure
from tape.methods.aec.events import JudgedEvent, RuleDisabledEvent
from tape.methods.aec.facts import Claim, Contradiction, Evidence, EvidenceKind, Grounded, GroundedStore
from tape.methods.aec.gating import BeliefStore
from tape.methods.aec.predictor import Estimate
from tape.methods.aec.verifier import PlanVerdict, Rulebook, Verifier
from tape.protocols import Action, State
from tape.protocols.domain import Domain, require_predicates
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Effects, Predicate

MOST = 2
"""A rule with this many counterexamples is disabled."""


class EpistemicState:
    """Facts and beliefs of an episode."""

    def __init__(self, episode: Episode, domain: Domain) -> None:
        self._episode = episode
        self._predicates = predicates = require_predicates(domain)
        self._store = GroundedStore(predicates, domain.key)
        self._rulebook = Rulebook(tuple(predicates.rules()))
        self._verifier = Verifier(predicates, self._rulebook)
        self._against: dict[Contradiction, None] = {}
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
        """Count counterexamples until no further rule is disabled (AEC appendix B.4)."""
        method, before = self._episode.result.method, None
        self._count(contradictions)
        while before != self._rulebook.disabled:
            before = set(self._rulebook.disabled)
            self._count(self._verifier.closure(self.grounded).contradictions)
        counted = Counter(f"{contradiction.claim.kind} {contradiction.claim.name}" for contradiction in self._against)
        method["counterexamples"] = dict(sorted(counted.items()))
        method["disabled_rules"] = sorted(self._rulebook.disabled)

    def _count(self, contradictions: Sequence[Contradiction]) -> None:
        """Take in distinct counterexamples and disable rules that keep failing."""
        for contradiction in contradictions:
            if contradiction in self._against:
                continue
            self._against[contradiction] = None
            name = contradiction.claim.name
            against = [str(c) for c in self._against if (c.claim.kind, c.claim.name) == ("rule", name)]
            if len(against) >= MOST and name not in self._rulebook.disabled:
                self._rulebook.disabled.add(name)
                self._episode.trace.write(RuleDisabledEvent(rule=name, counterexamples=against))

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


def claims_of(domain: Predicates, closure: Closure, action: Action) -> Mapping[Predicate, Claim]:
    """The values that rules and declarations predict after an action.

    Entailed values persist except for the action's effects. Effects are claimed only if all preconditions are known to
    hold.
    """
    claims = closure.entailed()
    known = closure.assignment
    effects = domain.effects(action, known)
    sure = all(known.get(p) is value for p, value in domain.preconditions(action).items())
    for predicate, value in effects.items():
        claims.pop(predicate, None)
        if sure and value is not None:
            claims[predicate] = Claim(value, "effect", action)
    return claims


class Monitor(Watch):
    """Watches the execution of a committed path: counterevidence stops it before its next step (AEC appendix B.3).

    Args:
        episode: The episode.
        state: Receives the observations.
        certifies: Whether paths are verified; otherwise none is ever ``certified``.
    """

    verifies = True

    def __init__(self, episode: Episode, state: EpistemicState, *, certifies: bool) -> None:
        self._episode, self._state, self._certifies = episode, state, certifies
        self.whole = True
        """Whether the committed path is a whole plan, which has to reach the goal, or a prefix of one."""

    def possible(self, action: Action) -> bool:
        """Whether the environment admits the next action at all."""
        admissible = self._episode.env.domain.admissible(self._episode.state)
        return admissible is None or action in admissible

    def saw(self, before: State, action: Action, rest: Sequence[Edge]) -> Seen:
        """Update the state after a step and judge the rest of the path.

        Returns:
            ``contradicted`` if the action failed (an observation contradicts its declared effects, or nothing changed
            although something should) or an observation contradicts what the rest requires; ``certified`` if the
            verifier accepts the rest; else ``open``.
        """
        expected, effective = self._state.effects(action), self._state.to_do([action])
        self._state.observed("execution", action, action)
        facts, key = self._state.grounded.assignment, self._episode.env.domain.key
        verdict = self._state.verify(
            [edge.action for edge in rest], [edge.cost for edge in rest], self._episode.remaining()
        )
        if any(value is not None and facts.get(predicate, value) != value for predicate, value in expected.items()):
            return "contradicted"
        if expected and effective and key(before) == key(self._episode.state):
            return "contradicted"
        if any(witness.denied and witness.step < len(rest) for witness in verdict.witnesses):
            return "contradicted"
        against_steps = any(witness.step < len(rest) for witness in verdict.witnesses)
        accepted = verdict.accepted if self.whole else not against_steps
        return "certified" if self._certifies and accepted else "open"

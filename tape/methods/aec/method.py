"""AEC as a method of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tape.engine.episode import Episode
from tape.engine.loop import Planner
from tape.engine.settings import TapeConfig
from tape.engine.verification import VerifyingMethod
from tape.methods.aec.controller import Controller
from tape.methods.aec.events import QueriedEvent, RefusedEvent, VerifiedEvent
from tape.methods.aec.gating import Gate, gate_of
from tape.methods.aec.predictor import EnsemblePredictor, Predictor
from tape.methods.aec.settings import AecSettings
from tape.protocols import Domain, PlannedActor
from tape.protocols.domain import require_predicates
from tape.protocols.method import JudgedPath, Verdicts
from tape.trace import Event


@dataclass(frozen=True)
class AecMethod(VerifyingMethod):
    """Commits only to paths that grounded evidence certifies."""

    def require(self, domain: Domain) -> None:
        """Refuse a domain that declares no predicates."""
        require_predicates(domain)

    def verification(self, episode: Episode, planner: Planner, actor: PlannedActor) -> Controller:
        """The controller of one episode."""
        gate = self.gate(episode)
        return Controller(episode, planner, actor, gate, self.predictor(episode) if gate.predicts else None)

    def check(self, config: TapeConfig) -> None:
        """Refuse settings under which no path is committed to, or more than what is declared and observed counts."""
        if config.ablations.selector != "solver":
            raise ValueError("aec takes the k best paths, so it needs selector='solver'")
        if config.execution == "free":
            raise ValueError("aec commits to actions, so it needs execution='constrained' or 'forced'")
        if config.costs != "declared":
            raise ValueError("aec commits to what is declared and observed, so it needs costs='declared'")

    def verdicts(self, events: Sequence[Event]) -> Verdicts:
        """The verdicts, queries and refusals of a round."""
        refusals = [event.reason for event in events if isinstance(event, RefusedEvent)]
        return Verdicts(
            hypotheses=tuple(
                JudgedPath(tuple(event.actions), event.accepted, event.reason or next(iter(event.witnesses), ""))
                for event in events
                if isinstance(event, VerifiedEvent)
            ),
            queries=tuple(_query(event) for event in events if isinstance(event, QueriedEvent)),
            refusal=refusals[-1] if refusals else "",
        )

    def gate(self, episode: Episode) -> Gate:
        """What to query and what to simulate."""
        return gate_of(AecSettings.of(episode.config))

    def predictor(self, episode: Episode) -> Predictor:
        """f(p given w); asked for only where the gate needs it."""
        members = AecSettings.of(episode.config).ensemble
        return EnsemblePredictor(episode.roles, members, episode.seed_for("predict"))


def _query(event: QueriedEvent) -> str:
    answer = {True: "true", False: "false", None: "no answer"}[event.value]
    return f"{event.predicate} by {'; '.join(event.actions) or 'looking'} ({answer})"


AEC = AecMethod(
    "aec",
    AecSettings,
    "--verify aec",
    {
        "queries": 0,
        "simulations": 0,
        "commitments": 0,
        "refusals": 0,
        "infeasible_commitments": 0,
        "counterexamples": {},
        "disabled_rules": [],
    },
)
"""The counters: queries begun; predictions by which hypotheses were filtered; paths committed to; hypotheses that the
verifier, or the lack of a query, refused; committed paths that did not run to their end; observations against each rule
or declared effect; rules of inference that failed too often to be used on.
"""

"""The base of toy domains with declared predicates: one step per action, and nothing else declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.budget import Resources
from tape.protocols import Action, Observation, State
from tape.protocols.domain import Domain
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro


class Declared(Domain, Predicates):
    deterministic = True

    @property
    def predicates(self) -> Any:
        return self

    def key(self, state: Any) -> str:
        return str(state)

    def render(self, state: Any) -> str:
        return self.key(state)

    def project(self, observation: Observation) -> State:
        return observation.data

    def admissible(self, state: State) -> Sequence[Action] | None:
        return None

    def cost(self, state: State, action: Action) -> Resources:
        return Resources({"steps": 1})

    def preconditions(self, action: Action) -> Assignment:
        return {}

    def effects(self, action: Action, known: Assignment) -> Effects:
        return {}

    def goals(self) -> Sequence[Assignment]:
        return ()

    def rules(self) -> Sequence[InferenceRule]:
        return ()

    def query(self, state: Any, predicate: Predicate) -> QueryMacro | None:
        return None

    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        return None

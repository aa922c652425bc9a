"""What the parts of the engine expect of each other: environments, domains, prompt formats, roles, plain values."""

from tape.protocols.domain import DeclaredDomain, DeclaresCosts, Domain, GradedDomain
from tape.protocols.environment import (
    AsyncEnvironment,
    Concludes,
    Ends,
    Environment,
    EnvironmentPlugin,
    Measures,
    TakesAnswers,
    TakesProjections,
)
from tape.protocols.roles import Actor, PlannedActor, Proposer, Scorer, WorldModel
from tape.protocols.types import Acted, Action, Observation, Plan, Prediction, Score, State, Task

__all__ = [
    "Acted",
    "Action",
    "Actor",
    "AsyncEnvironment",
    "Concludes",
    "DeclaredDomain",
    "DeclaresCosts",
    "Domain",
    "Ends",
    "Environment",
    "EnvironmentPlugin",
    "GradedDomain",
    "Measures",
    "Observation",
    "Plan",
    "PlannedActor",
    "Prediction",
    "Proposer",
    "Score",
    "Scorer",
    "State",
    "TakesAnswers",
    "TakesProjections",
    "Task",
    "WorldModel",
]

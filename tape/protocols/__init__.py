"""What the parts of the engine expect of each other: environments, domains, prompt formats, roles, plain values."""

from tape.protocols.domain import (
    Domain,
)
from tape.protocols.environment import (
    Answers,
    AsyncEnvironment,
    BelongsToLoop,
    Concludes,
    Ends,
    Environment,
    EnvironmentPlugin,
    Measures,
    NamesAgent,
    NeedsInstalled,
    ReplaysActions,
    TakesAnswers,
    TakesProjections,
    TakesRefusals,
    prompt_version,
)
from tape.protocols.prompt_format import OfferedPath
from tape.protocols.roles import Actor, PlannedActor, Proposer, Scorer, WorldModel
from tape.protocols.types import Acted, Action, Observation, Plan, Prediction, Score, State, Task

__all__ = [
    "Acted",
    "Action",
    "Actor",
    "Answers",
    "AsyncEnvironment",
    "BelongsToLoop",
    "Concludes",
    "Domain",
    "Ends",
    "Environment",
    "EnvironmentPlugin",
    "Measures",
    "NamesAgent",
    "NeedsInstalled",
    "Observation",
    "OfferedPath",
    "Plan",
    "PlannedActor",
    "Prediction",
    "Proposer",
    "ReplaysActions",
    "Score",
    "Scorer",
    "State",
    "TakesAnswers",
    "TakesProjections",
    "TakesRefusals",
    "Task",
    "WorldModel",
    "prompt_version",
]

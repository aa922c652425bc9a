"""What the parts of the engine expect of each other: environments, domains, prompt formats, roles, plain values."""

from tape.protocols.domain import Domain
from tape.protocols.environment import AnswersAtLimit, Environment, EnvironmentPlugin, prompt_version
from tape.protocols.prompt_format import OfferedPath, PromptFormat
from tape.protocols.roles import Actor, PlannedActor, Proposer, Scorer, WorldModel
from tape.protocols.types import Acted, Action, AnswerT, FailedCall, Observation, Plan, Prediction, Score, State, Task

__all__ = [
    "Acted",
    "Action",
    "Actor",
    "AnswerT",
    "AnswersAtLimit",
    "Domain",
    "Environment",
    "EnvironmentPlugin",
    "FailedCall",
    "Observation",
    "OfferedPath",
    "Plan",
    "PlannedActor",
    "Prediction",
    "PromptFormat",
    "Proposer",
    "Score",
    "Scorer",
    "State",
    "Task",
    "WorldModel",
    "prompt_version",
]

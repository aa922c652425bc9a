"""The plain values that all modules exchange: actions, observations, plans, predictions, scores, tasks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import TypeVar

from tape.budget import Budget

Action: TypeAlias = str
"""An action is its text."""


AnswerT = TypeVar("AnswerT", default=Any)
"""The type of an episode's answer, None included where there may be none."""

State: TypeAlias = Hashable
"""An abstract state; opaque to the engine, which identifies it by ``Domain.key``."""


@dataclass(frozen=True)
class Observation:
    """An observation of an environment.

    Attributes:
        text: The observation as text.
        data: The same in structured form, if the environment has one.

    Examples:
        >>> from tape.protocols import Observation
        >>> Observation("You are in the hall.", data={"room": "hall"}).data["room"]
        'hall'
    """

    text: str
    data: Any = None


@dataclass(frozen=True)
class Plan:
    """A sampled plan: actions only; states are added by the world model.

    Attributes:
        actions: The actions in order; may be empty if the sample could not be read.
        valid: False if the sample was malformed; it then has its readable beginning.

    Examples:
        >>> from tape.protocols import Plan
        >>> Plan(("left", "up"), valid=False)  # the model's third action could not be read
        Plan(actions=('left', 'up'), valid=False)
    """

    actions: tuple[Action, ...]
    valid: bool = True


@dataclass(frozen=True)
class FailedCall:
    """A call of a tool that gave nothing.

    Attributes:
        call: The call as it was planned, for instance ``search(query=#1)``.
        arguments: What the tool was called with, as JSON values.
        error: The exception's type and text, or why there is no result.
        traceback: Where it was raised; only where that was asked for.

    Examples:
        >>> from tape.protocols import FailedCall
        >>> FailedCall("population(city=#1)", {"city": "Atlantis"}, "ToolFailedError: there is no city Atlantis").error
        'ToolFailedError: there is no city Atlantis'
    """

    call: str
    arguments: Mapping[str, Any]
    error: str
    traceback: str = ""


@dataclass(frozen=True)
class Prediction:
    """A predicted transition.

    Attributes:
        state: The next state; None if the action is predicted to be invalid.
        confidence: Probability in [0, 1] that the world model gives its own answer.
        readable: False if the model's answer could not be read; ``state`` is then None.

    Examples:
        >>> from tape.protocols import Prediction
        >>> Prediction("hall", confidence=0.9).state
        'hall'
        >>> Prediction(None).state is None  # the action cannot be taken
        True
    """

    state: State | None
    confidence: float = 1.0
    readable: bool = True


@dataclass(frozen=True)
class Score:
    """How good a state is, in [-1, 1]: 1 solved, -1 hopeless.

    Attributes:
        likely: The value of the most probable answer (the three-valued scores of TAPE appendix F.2).
        mean: The mean over the answers' probabilities (E_theta[R] of TAPE section 3.1).

    Examples:
        >>> from tape.protocols import Score
        >>> Score(likely=1.0, mean=0.8)  # "solved" is the likeliest answer, and not certain
        Score(likely=1.0, mean=0.8)
    """

    likely: float
    mean: float


@dataclass(frozen=True)
class Acted:
    """What an actor wrote.

    Attributes:
        action: The action; None where the text names none.
        text: The text around it, such as a thought.

    Examples:
        >>> from tape.protocols import Acted
        >>> Acted("left", "The box is to the left, so I go left.").action
        'left'
    """

    action: Action | None
    text: str = ""


@dataclass(frozen=True)
class Task:
    """One level, game or problem of an environment.

    Attributes:
        id: Unique within its set; part of the episode key.
        level_set: The name of the set it comes from.
        budget: The task's own hard caps.
        digest: A hash of the task's content.
        facts: Further facts for tables of results.

    Examples:
        >>> from tape import Budget
        >>> from tape.protocols import Task
        >>> task = Task("two boxes", "easy", Budget.of(steps=12), digest="5f2c", facts={"boxes": 2})
        >>> task.budget["steps"], task.facts["boxes"]
        (12, 2)
    """

    id: str
    level_set: str
    budget: Budget
    digest: str
    facts: Mapping[str, Any] = field(default_factory=dict)

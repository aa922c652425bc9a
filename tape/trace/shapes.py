"""The bases of events, and what readers rely on inside of the objects that events hold; the rest may be anything.

Fields may be missing where a program of its own writes the trace, but one that is there is of the type that readers
expect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count: TypeAlias = int  # the reader of the file bounds its length


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Config(_Part):
    agent: str = ""
    model: str = ""
    horizon: Count | None = None
    discount: float = 1.0
    world_model: str = ""


class _Node(_Part):
    id: str
    goal: bool = False


class _Graph(_Part):
    nodes: list[_Node] = []
    links: list[dict[str, Any]] = []
    start: str | None = None


class _Problem(_Part):
    budget: dict[str, Count] | None = None
    horizon: Annotated[int, Field(ge=0, lt=1 << 63)] | None = None
    confidence: float = 0.0


class _Cap(_Part):
    resource: str
    ledger: str
    cap: float


class _Option(_Part):
    caps: list[_Cap]
    plan: list[str]
    proven: bool


class _Explanation(_Part):
    options: list[_Option] = []


class _Result(_Part):
    end_state: str = ""
    success: bool = False
    steps: Count = 0
    replans: Count = 0
    mismatches: Count = 0
    malformed: Count = 0
    method: dict[str, Any] = {}
    detail: str = ""
    final_answer: str | None = None
    lm_calls: dict[str, Count] = {}
    prompt_tokens: dict[str, Count] = {}
    completion_tokens: dict[str, Count] = {}
    used: dict[str, Count | None] = {}
    measures: dict[str, float | None] = {}
    budget_violations: list[str] = []
    explanation: _Explanation | None = None
    solver_seconds: float = 0.0
    wall_seconds: float = 0.0


def _like(shape: type[_Part]) -> AfterValidator:
    """Checks an object, and leaves it as it is."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        shape.model_validate(value)
        return value

    return AfterValidator(check)


Config: TypeAlias = Annotated[dict[str, Any], _like(_Config)]
Graph: TypeAlias = Annotated[dict[str, Any], _like(_Graph)]
Problem: TypeAlias = Annotated[dict[str, Any], _like(_Problem)]
Explanation: TypeAlias = Annotated[dict[str, Any], _like(_Explanation)]
Result: TypeAlias = Annotated[dict[str, Any], _like(_Result)]


class Event(BaseModel):
    """Base of all events; a subclass declares its ``type``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    type: ClassVar[str] = ""


class DescribedEvent(Event, ABC):
    """Base of events that describe themselves when they are replayed."""

    @abstractmethod
    def description(self) -> str:
        """One or more plain lines."""


class PlanningEvent(DescribedEvent):
    """Base of events that hold a plan of a method's own."""

    @abstractmethod
    def planned(self) -> list[str]:
        """Its actions."""


class ClosingEvent(DescribedEvent):
    """Base of events that say how a method's own loop has ended."""

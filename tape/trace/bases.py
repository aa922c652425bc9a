"""The bases of events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


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

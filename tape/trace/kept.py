"""The events of an episode beside its result: what the result is explained by and shown with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, PrivateAttr

from tape.errors import TraceError
from tape.plugins import load
from tape.trace.events import PathSelectedEvent
from tape.trace.shapes import Event


@dataclass
class _Played:
    """The events of an episode beside its result; no part of the result's value: equal results stay equal."""

    events: tuple[Event, ...] | None = field(default=None, compare=False)
    history: Any = field(default=None, compare=False)


class KeptEvents(BaseModel):
    """A result that may hold the events of its episode."""

    _played: _Played = PrivateAttr(default_factory=_Played)

    def keep(self, events: Iterable[Event], history: Any = None) -> None:
        """Take the events of the episode, and the conversation with it."""
        self._played.events, self._played.history = tuple(events), history

    @property
    def history(self) -> Any:
        """The conversation up to here (:class:`tape.tools.history.History`), for the next turn; None without tools."""
        return self._played.history

    @property
    def events(self) -> tuple[Event, ...] | None:
        """The events of the episode, in order; None of a result that was read from a file."""
        return self._played.events

    @property
    def plan(self) -> tuple[str, ...]:
        """The actions of the path that was selected last; empty where none was.

        Raises:
            TraceError: There are no events.
        """
        events = reversed(self._required_events())
        chosen = (event.actions for event in events if isinstance(event, PathSelectedEvent) and event.actions)
        return tuple(next(chosen, ()))

    def why(self) -> str:
        """Why the agent did what it did, as ``tape why`` writes it; raises as :attr:`plan` does."""
        return str(_view("why").text_of(self._required_events()))

    def show(self) -> None:
        """Print the episode as ``tape show`` does, and draw its last plan graph, in a notebook as a picture.

        Raises as :attr:`plan` does.
        """
        _view("result").show(self._required_events())

    def _required_events(self) -> tuple[Event, ...]:
        if self.events is None:
            raise TraceError(
                "this result was read from a file and holds no events; `tape why TRACE` and `tape show TRACE` read "
                "them from the episode's trace"
            )
        return self.events

    def __repr__(self) -> str:
        return str(_view("result").text_of(self))

    __str__ = __repr__

    def __rich__(self) -> Any:
        return _view("result").rich_of(self)

    def _repr_html_(self) -> str:
        return str(_view("result").html_of(self))


def _view(name: str) -> Any:
    """A module that shows or explains results: it is registered, and loads when asked for."""
    return load("tape.views", name)

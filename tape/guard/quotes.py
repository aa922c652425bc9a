"""What one call costs: the parts of its price, asked before the call and settled after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tape.budget import STEP, Resources
from tape.guard.errors import ChargeError


@dataclass(frozen=True)
class Answer:
    """What prices read of a result.

    Attributes:
        text: The text of its contents.
        structured: Its structured content; anything.
    """

    text: str = ""
    structured: Any = None


class Part(ABC):
    """A part of a price."""

    @abstractmethod
    def worst(self, arguments: Mapping[str, Any] | None) -> Resources:
        """The most that a call takes.

        Args:
            arguments: Of the call; None for any call.

        Raises:
            ChargeError: The arguments are beyond what the price was declared for.
        """

    def actual(self, worst: Resources, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What a call took that was answered; as it was reserved, unless the part depends on the answer.

        Args:
            worst: What was reserved for this part.
            arguments: Of the call, as they were before it.
            answer: What came back.
        """
        del arguments, answer
        return worst


@dataclass(frozen=True)
class Quote:
    """The price of one call, which nothing that happens to its arguments changes any more.

    Attributes:
        arguments: Of the call, as they were; not to be changed.
        parts: The parts of the price, with what each takes at most.
    """

    arguments: Mapping[str, Any] = field(hash=False)
    parts: tuple[tuple[Part, Resources], ...] = field(hash=False)

    @property
    def worst(self) -> Resources:
        """What has to be reserved."""
        return sum((worst for _, worst in self.parts), STEP)

    def actual(self, answer: Answer) -> Resources:
        """What the call took that was answered; None for a resource of which that is unknown."""
        return sum((part.actual(worst, self.arguments, answer) for part, worst in self.parts), STEP)


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a call cannot change: a tool may empty the very list that its price counts.

    Raises:
        ChargeError: They hold themselves, or are too deep.
    """
    try:
        return {name: _copied(value) for name, value in arguments.items()}
    except RecursionError:
        raise ChargeError("the arguments hold themselves, or are too deep") from None


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(one) for name, one in value.items()}
    if isinstance(value, set):
        return set(value)
    return [_copied(one) for one in value] if isinstance(value, list | tuple) else value

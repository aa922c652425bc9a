"""How trips are written for models: ``chat``, and ``declared`` where a model only picks one of listed options."""

from __future__ import annotations

from collections.abc import Callable

from envs.travelplanner.domain import TripDomain
from envs.travelplanner.prompts.chat import ChatTripFormat
from envs.travelplanner.prompts.declared import DeclaredTripFormat
from tape.protocols.prompt_format import PromptFormat, pick

PROMPT_FORMATS: dict[str, Callable[[TripDomain], PromptFormat]] = {
    "chat": ChatTripFormat,
    "declared": DeclaredTripFormat,
}


def prompt_format(domain: TripDomain, name: str) -> PromptFormat:
    """The prompts of a trip in a prompt format.

    Raises:
        UnknownNameError: There is no such format.
    """
    return pick(PROMPT_FORMATS, name, "trips", "Use a model that reads one of them.")(domain)

"""How trips are written for models: ``chat``, and ``declared`` where a model only picks one of listed options."""

from __future__ import annotations

from collections.abc import Callable

from envs.travelplanner.domain import TripDomain
from envs.travelplanner.prompts.chat import ChatTripFormat
from envs.travelplanner.prompts.declared import DeclaredTripFormat
from tape.protocols.prompt_format import PromptFormat, picking

prompt_format: Callable[[TripDomain, str], PromptFormat] = picking(
    {"chat": ChatTripFormat, "declared": DeclaredTripFormat}, "trips", "Use a model that reads one of them."
)
"""The prompts of a trip in a prompt format."""

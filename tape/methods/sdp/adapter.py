"""The adapter of an environment to SDP's loop (SDP appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.base import Request
from tape.methods.sdp.operators import Operators, Validate
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, State


@dataclass(frozen=True)
class Caps:
    """Caps of the loop (SDP tables 7, 8, 10 and 11).

    Attributes:
        attempts: b, failed attempts at a target before it is replanned.
        replans: Most replans of one target.
        steps: Global cap on steps of an episode, attempts without an action included.
    """

    attempts: int
    replans: int
    steps: int

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.replans < 0 or self.steps < 1:
            raise ValueError(f"caps need attempts >= 1, replans >= 0 and steps >= 1, got {self}")


@dataclass(frozen=True)
class Tools:
    """Resources of an adapter's operators.

    Attributes:
        roles: Model, prompts and trace.
        config: The agent's settings.
        seed: Derives the seed of a request from its inputs, so that equal typed inputs give equal seeds.
    """

    roles: RoleContext
    config: TapeConfig
    seed: Callable[..., int]

    async def ask(self, request: Request, sample: int = 0, temperature: float | None = None) -> str:
        """One completion, seeded by the request itself and the sample's number.

        Args:
            request: The request.
            sample: Number of the sample, if the request is repeated.
            temperature: None: the configured one.

        Raises:
            BudgetExceededError: The call does not fit; it was not made.
        """
        warmth = self.config.temperature if temperature is None else temperature
        asked = replace(request, n=1, temperature=warmth, seed=self.seed(request.role, request.prompt, sample))
        [completion] = await self.roles.lm.generate([asked])
        return completion.texts[0]


class Adapter(Protocol):
    """An environment's plan kinds, validators and hyper-parameters."""

    @property
    def caps(self) -> Caps:
        """The environment's caps; the agent's settings override them."""

    def fields(self, state: State) -> Fields:
        """The projector's fields of an abstract state, as plain values."""

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """The chain of a path: one target per edge, from the node it leads to, and then the goal predicate.

        :func:`tape.methods.sdp.path.chain_of` adds nodes and edges, and replaces the last target by the goal if the
        path ends there.

        Args:
            states: The states along the path, one more than actions.
            actions: The actions.
        """

    def validator(self, tools: Tools) -> Validate:
        """VALIDATE."""

    def operators(self, tools: Tools) -> Operators | None:
        """The environment's own operators (``chain="adapter"``); None if only paths make chains."""


@runtime_checkable
class SdpEnvironment(Protocol):
    """An environment with an adapter; optional."""

    def sdp(self) -> Adapter:
        """Its adapter; stateless, or new for every episode."""


@runtime_checkable
class KnowsTruth(Protocol):
    """An environment that knows the truth of predicates; optional, only for measurements.

    The truth is logged in the trace, where it shows the validators' errors, and hidden from agents.
    """

    def truth(self, target: Target) -> bool | None:
        """Whether a target holds now; None if that is unknown."""


@runtime_checkable
class Foresees(Adapter, Protocol):
    """An adapter that foresees failures from the rules of a task, so that they are not attempted; optional."""

    def lost(self, target: Target, state: State) -> str | None:
        """Why a target can no longer become true, so that it is replanned at once; None if it can."""

    def ways(self, target: Target, state: State) -> Sequence[Action] | None:
        """All actions that may make a target true in a state; None if they cannot be listed."""

    def refused(self, action: Action, state: State) -> bool:
        """Whether the environment would refuse an action in a state."""


@runtime_checkable
class PreparingAdapter(Adapter, Protocol):
    """An adapter with actions that only prepare an attempt; optional.

    Its validator returns ``Verdict(counts=False)`` for them; the ablation without a validator calls this instead.
    """

    def prepares(self, action: Action) -> bool:
        """Whether an action only prepares an attempt, such as a search."""

"""What an environment adds to SDP's loop: one adapter per environment (SDP appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.base import Request
from tape.protocols import Action, State
from tape.sdp.operators import Operators, Validate
from tape.sdp.target import Chain, Fields, Target


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
    """What an adapter's operators may use.

    Attributes:
        roles: Model, prompts and trace.
        config: The agent's switches.
        seed: A seed for a request, from what the request is made of: equal typed inputs give equal seeds.
    """

    roles: RoleContext
    config: TapeConfig
    seed: Callable[..., int]

    async def ask(self, request: Request, sample: int = 0, temperature: float | None = None) -> str:
        """One completion, seeded by the request itself and the sample's number.

        Args:
            request: What is asked.
            sample: Its number, where the same is asked several times.
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
        """The environment's caps; the agent's switches go before them."""

    def fields(self, state: State) -> Fields:
        """What the projector reads of an abstract state, as plain values."""

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """The chain of a path: one target per edge, from the node it leads to, and then the goal predicate.

        Nodes and edges are added by the caller, who also lets the goal take the last edge's place where the path is to
        end at the goal (:func:`tape.sdp.path.chain_of`).

        Args:
            states: The states along the path, one more than actions.
            actions: The actions.
        """

    def validator(self, tools: Tools) -> Validate:
        """VALIDATE."""

    def operators(self, tools: Tools) -> Operators | None:
        """The environment's own operators (``chain="adapter"``); None where only paths make chains."""


@runtime_checkable
class SdpEnvironment(Protocol):
    """An environment with an adapter; optional."""

    def sdp(self) -> Adapter:
        """Its adapter; stateless, or fresh for every episode."""


@runtime_checkable
class KnowsTruth(Protocol):
    """An environment that knows whether a predicate is really true; optional, for measurements alone.

    The answer goes into the trace and never to an agent: from it the validators' errors are counted.
    """

    def truth(self, target: Target) -> bool | None:
        """Whether a target holds now; None where it cannot be told."""


@runtime_checkable
class Regrounds(Adapter, Protocol):
    """An adapter that can go back from what was recorded to what it was made from; optional, for checking records."""

    def restored(self, fields: Mapping[str, Any]) -> State:
        """The abstract state that some fields were read from.

        Raises:
            ValueError: There is none, or the fields are of another task.
        """

    def facts(self, target: Target, state: State) -> Sequence[tuple[str, bool]]:
        """The values of the typed predicates that a target requires, as far as a state shows them."""

    def at_goal(self, state: State) -> bool | None:
        """Whether the task is done in a state; None where the state alone does not tell."""

    def retold(self, target: Target) -> Target | None:
        """The target in the words that its typed content is written in; None where the words are a model's own.

        Raises:
            ValueError: There is no target of such content.
        """


@runtime_checkable
class ChecksSteps(Regrounds, Protocol):
    """An adapter that knows from the rules of a task alone what a step may change; optional, for checking records.

    Where actions must not be played again, for they reach something outside, this is what is left to hold a step to.
    """

    def contradiction(self, before: State | None, action: Action | None, after: State) -> str:
        """What in a step the rules do not allow; empty where nothing. No state before: the episode begins there."""


@runtime_checkable
class Foresees(Adapter, Protocol):
    """An adapter that can tell from the rules of a task alone what is in vain; optional. It is then not attempted."""

    def lost(self, target: Target, state: State) -> str | None:
        """Why a target will not come true any more, so that it is replanned at once; None where it may."""

    def ways(self, target: Target, state: State) -> Sequence[Action] | None:
        """All actions that may bring a target about in a state; None where they cannot be listed."""

    def refused(self, action: Action, state: State) -> bool:
        """Whether the environment would refuse an action in a state."""


@runtime_checkable
class PreparingAdapter(Adapter, Protocol):
    """An adapter some of whose actions only prepare an attempt; optional.

    Its validator says so with ``Verdict(counts=False)``; the ablation without a validator asks here.
    """

    def prepares(self, action: Action) -> bool:
        """Whether an action is no attempt of its own, as a search is none."""

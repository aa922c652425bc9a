"""What only some environments need of an episode, in one object; each method does nothing by default [ours]."""

# ruff: noqa: ARG002 - what an environment or a format leaves out does nothing with its arguments

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from tape.protocols.parts import Part
from tape.protocols.predicates import Predicate
from tape.protocols.types import Action, State

Beliefs: TypeAlias = Callable[[State, Sequence[Predicate]], Awaitable[Mapping[Predicate, float]]]
"""Asks the model how likely predicates are in a state; predicates without a question are left out of the answer."""

Transition: TypeAlias = tuple[State, Action, State]
"""A state, an action and the state after it."""


class EpisodeHooks(Part):
    """Hooks of an environment into an episode.

    A domain that inherits this class is its own hooks. Three kinds of environments have any:

    - **Partially observed ones** (``unseen``). A plan is rolled out under its own assumptions about what was not seen.
      They are not part of a state's key until the plan observes them, so plans with different assumptions share their
      first nodes. The reward of a state is multiplied by the likelihood of the assumptions on the way to it.
    - **Those that know which differences from a prediction matter** (``still_good``, ``denies``, ``is_no_op``). The
      paper compares whole states.
    - **Those with uncertain outcomes** (``uncertain``). Observed outcomes give each prediction its chance, and the path
      of the greatest expected value is selected.
    """

    unseen: ClassVar[bool] = False
    """Whether plans assume something about what was not seen."""
    uncertain: ClassVar[bool] = False
    """Whether outcomes have chances."""

    # --- what was not seen ----------------------------------------------------------------------

    async def suppose(self, ask: Beliefs, state: State, count: int, seed: int) -> Sequence[State]:
        """States with the assumptions of ``count`` plans, different for each, so that none assumes what is false.

        Returns:
            None of them where nothing must be assumed, or the model cannot be asked.
        """
        return ()

    def assume(self, state: State, actions: Sequence[Action]) -> State:
        """The state with exactly the unseen assumptions that the actions need."""
        return state

    async def likelihood(
        self, ask: Beliefs, state: State, plans: Sequence[tuple[Sequence[Action], Sequence[State]]]
    ) -> Sequence[Sequence[float]]:
        """The likelihood of each plan's assumptions, up to each of the states after its actions.

        Args:
            ask: Asks the model.
            state: The start of the plans.
            plans: The actions of each, and the state after each action.
        """
        return [[1.0] * len(reached) for _, reached in plans]

    def plain(self, state: State) -> State:
        """The state without assumptions."""
        return state

    def assumed(self, state: State) -> str:
        """The identity of what is assumed in a state."""
        return ""

    # --- which differences matter ---------------------------------------------------------------

    def still_good(
        self,
        predicted: Sequence[State],
        observed: State,
        actions: Sequence[Action],
        *,
        taken: tuple[State, Action] | None = None,
        goals: bool = True,
    ) -> bool:
        """Whether the rest of a path works from an observed state as it would from the predicted one.

        Args:
            predicted: The predicted state in the place of ``observed``, and that after each of the actions.
            observed: The observed state.
            actions: The rest of the path.
            taken: The state before the last action, and that action.
            goals: Whether the declared goal may be used.

        Returns:
            False if something that is needed does not hold or is unknown.
        """
        return False

    def denies(self, state: State, action: Action, after: State | None) -> bool:
        """Whether an action's declarations contradict a prediction, which is then requested again.

        ``after`` is None if the action was predicted to be invalid.
        """
        return False

    def is_no_op(self, state: State, action: Action) -> bool:
        """Whether an action is known to change nothing in a state; it is then neither planned nor done.

        In a nondeterministic domain observed transitions are not certain, so without this a wrong prediction may repeat
        the same action for ever.
        """
        return False

    # --- uncertain outcomes ---------------------------------------------------------------------

    def situation(self, state: State) -> str:
        """The identity of a state without counters, for instance of how long has been waited."""
        return str(state)

    def outcome_key(self, state: State) -> str:
        """What an action has led to as far as plans rest on it; equal outcomes are counted as one."""
        return str(state)

    def weigh(self, graph: Any, observed: Sequence[Transition], wrong: Sequence[Transition]) -> None:
        """Set the chance of every edge of a :class:`tape.choice.graph.PlanGraph`, and its objective.

        ``observed`` are the transitions of the episode, ``wrong`` the predictions that ended a path.
        """


NO_HOOKS = EpisodeHooks()
"""Of an environment that needs nothing of the kind."""

"""The worlds of the toy analysis, and the noisy planner that plays in them.

A world is deterministic and knows the exact cost-to-go of every state, so that "viable" (definition 2.1 under a
budget of steps) is computed, never guessed. Actions are numbered 0 to 3; every one costs a step, whatever it does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from random import Random

from envs.sokoban.generator import generate
from envs.sokoban.oracle import Oracle
from envs.sokoban.state import ACTIONS, Level, State, step
from experiments.studies.toy.bounds import ErrorRates

N_ACTIONS = 4
DEAD = -1
Shares = tuple[float, float, float, float]


class World(ABC):
    """A start, deterministic moves and an exact cost-to-go."""

    def __init__(self, start: Hashable) -> None:
        self.start = start
        self._after: dict[tuple[Hashable, int], tuple[int | None, ...]] = {}

    @abstractmethod
    def move(self, state: Hashable, action: int) -> Hashable:
        """The state after an action."""

    @property
    def horizon(self) -> int:
        """T*, the steps of a shortest solution."""
        cost = self.cost(self.start)
        assert cost is not None, "a world must be solvable"
        return cost

    @abstractmethod
    def cost(self, state: Hashable) -> int | None:
        """Steps to the goal; None if it cannot be reached any more."""

    def after(self, state: Hashable, remaining: int) -> tuple[int | None, ...]:
        """The cost-to-go after each action, None if that action is not viable with ``remaining`` steps left."""
        if (state, remaining) not in self._after:
            costs = (self.cost(self.move(state, action)) for action in range(N_ACTIONS))
            all_costs = tuple(cost if cost is not None and cost < remaining else None for cost in costs)
            self._after[state, remaining] = all_costs
        return self._after[state, remaining]

    def pool(self, state: Hashable, remaining: int) -> tuple[int, tuple[int, ...]]:
        """The oracle's action, and what planning errors choose from (appendix A).

        Errors take a non-viable action if there is one, else any other than the oracle's.
        """
        after = self.after(state, remaining)
        best = min((a for a in range(N_ACTIONS) if after[a] is not None), key=lambda a: (after[a], a))
        fatal = tuple(a for a in range(N_ACTIONS) if after[a] is None)
        return best, fatal or tuple(a for a in range(N_ACTIONS) if a != best)

    def planned(self, state: Hashable, remaining: int, epsilon_p: float) -> Shares:
        """Chances of the planned action."""
        best, errors = self.pool(state, remaining)
        shares = [epsilon_p * (action in errors) / len(errors) for action in range(N_ACTIONS)]
        shares[best] += 1.0 - epsilon_p
        return shares[0], shares[1], shares[2], shares[3]

    def plan(self, rng: Random, state: Hashable, remaining: int, epsilon_p: float) -> int:
        """One planned action."""
        best, errors = self.pool(state, remaining)
        return errors[rng.randrange(len(errors))] if rng.random() < epsilon_p else best

    def rates(self, state: Hashable, remaining: int, epsilon_p: float, epsilon_s: float) -> ErrorRates:
        """The rates of section 2.3 at a critical state, where deviations are uniform over the other actions."""
        _, errors = self.pool(state, remaining)
        fatal, others = len(errors), N_ACTIONS - 1
        return ErrorRates(epsilon_p, epsilon_s, fatal / others, (N_ACTIONS - fatal) / others)


class Chain(World):
    """A corridor of T cells: forward, back, and two sides.

    Going back costs two steps in all and is recoverable while the slack lasts. The sides are traps (never
    recoverable) on every ``every``-th cell and walls elsewhere, where bumping costs one step.
    """

    def __init__(self, length: int, every: int) -> None:
        super().__init__(length)
        self.every = every

    def move(self, state: Hashable, action: int) -> Hashable:
        """Forward, back, or to a side."""
        assert isinstance(state, int)
        if state == DEAD or action == 0:
            return max(state - 1, DEAD)
        if action == 1:
            return state + 1
        return DEAD if state % self.every == 0 else state

    def cost(self, state: Hashable) -> int | None:
        """The cells left."""
        assert isinstance(state, int)
        return None if state == DEAD else state


class Sokoban(World):
    """A level of the simulator with its exact oracle, as in appendix A; a blocked move costs a step."""

    def __init__(self, level: Level) -> None:
        super().__init__(level.start)
        self.level, self._oracle = level, Oracle(level)
        self._costs: dict[Hashable, int | None] = {}

    def move(self, state: Hashable, action: int) -> Hashable:
        """The simulator's step."""
        assert isinstance(state, State)
        return step(self.level, state, ACTIONS[action]) or state

    def cost(self, state: Hashable) -> int | None:
        """The oracle's answer, remembered."""
        if state not in self._costs:
            assert isinstance(state, State)
            self._costs[state] = self._oracle.cost_to_go(state)
        return self._costs[state]


@dataclass(frozen=True)
class Kind:
    """A family of worlds.

    Attributes:
        title: For people.
        constant_rates: Whether assumption 2.2 holds: some action is fatal at every state.
        horizons: The T that are measured.
        instances: Worlds per T, over which is averaged.
    """

    title: str
    constant_rates: bool
    horizons: tuple[int, ...]
    instances: int = 1


KINDS = {
    "narrow": Kind("corridor, traps beside every cell", True, (1, 2, 4, 6, 8, 10, 12, 16, 20, 24)),
    "open": Kind("corridor, traps beside every third cell", False, (1, 2, 4, 6, 8, 10, 12, 16, 20, 24)),
    "sokoban": Kind("Sokoban, generated levels", False, (2, 4, 6, 8, 10, 12, 14, 16), 10),
}


def make(kind: str, horizon: int, instance: int) -> World:
    """The worlds that are measured: the same ones for every seed."""
    if kind == "sokoban":
        return Sokoban(generate(1000 * horizon + instance, horizon))
    return Chain(horizon, {"narrow": 1, "open": 3}[kind])

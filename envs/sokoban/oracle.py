"""The exact oracle: shortest solutions, cost-to-go and deadlock proofs for levels of any size.

Small boards are answered from a table of all their states (:mod:`envs.sokoban.table`), others by
search (:mod:`envs.sokoban.push_search`). Every answer is exact; where the state limit is reached
first, :class:`envs.sokoban.errors.OracleLimitError` is raised instead of a guess.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from envs.sokoban.errors import SokobanError
from envs.sokoban.push_search import PushSearch
from envs.sokoban.state import ACTIONS, Level, State, step
from envs.sokoban.table import CostToGo

MAX_STATES = 2_000_000
"""Default limit on the states stored by one search (about 0.3 GB)."""

TABLE_ENTRIES = 300_000
"""A board gets a table if it needs no more entries than this (some tens of milliseconds)."""

_KNOWN = 100_000
"""Searched states remembered per board before the memory is emptied."""


class Oracle:
    """Exact answers about all states of one board, which remember what was computed before.

    Args:
        level: The board; of its start only the player's region matters.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self._tables: dict[int, CostToGo] = {}
        # Per searched state: moves to go and the first of them, or None where there is no solution.
        # What is known of a state is known of all states on its solution.
        self._known: dict[State, tuple[int, str] | None] = {}

    @cached_property
    def _push_search(self) -> PushSearch:
        return PushSearch(self.level)

    def solve(self, state: State, max_states: int = MAX_STATES) -> list[str] | None:
        """A shortest solution in moves, always the same one in a process; None: proven unsolvable.

        Raises:
            SokobanError: The state is not one of this board.
            OracleLimitError: The search stored ``max_states`` states without an answer.
        """
        if self.cost_to_go(state, max_states) is None:
            return None
        current, moves = self._playable(state), []
        while current is not None:
            action = self._first_move(current)
            if not action:
                break
            moves.append(action)
            current = step(self.level, current, action)
        return moves

    def cost_to_go(self, state: State, max_states: int = MAX_STATES) -> int | None:
        """Moves to the nearest solved state, or None: proven that there is none. Raises like :meth:`solve`."""
        return self._cost(state, max_states, None)

    def viable(self, state: State, remaining: int, max_states: int = MAX_STATES) -> bool:
        """Whether a solution of at most ``remaining`` moves exists (TAPE section 4).

        Cheaper than :meth:`cost_to_go`, since longer solutions are never looked at. Raises like :meth:`solve`.
        """
        cost = self._cost(state, max_states, remaining)
        return cost is not None and cost <= remaining

    def _cost(self, state: State, max_states: int, limit: int | None) -> int | None:
        playable = self._playable(state)
        if playable is None:
            return None
        table = self._table(len(playable.boxes))
        if table is not None:
            return table[playable]
        if playable not in self._known:
            moves = self._push_search.search(playable, max_states, limit)
            if moves is None and limit is not None:
                return None  # nothing so short; a longer solution may exist, so nothing is remembered
            self._learn(playable, moves)
        known = self._known[playable]
        return None if known is None else known[0]

    def _playable(self, state: State) -> State | None:
        """Check a state and drop the boxes out of the player's reach; None where one of them is off its goal."""
        floor, boxes = self._floor, state.boxes
        if state.player not in floor or state.player in boxes:
            raise SokobanError(f"the player cannot stand at {self.level.coordinate(state.player)} in this state")
        if tuple(sorted(set(boxes))) != boxes or not self.level.walls.isdisjoint(boxes):
            raise SokobanError(f"boxes must be distinct, ascending and off the walls, got cells {boxes}")
        if floor.issuperset(boxes):
            return state
        if any(box not in floor and box not in self.level.goals for box in boxes):
            return None
        return State(state.player, tuple(box for box in boxes if box in floor))

    @cached_property
    def _floor(self) -> frozenset[int]:
        return frozenset(self.level.floor)

    def _table(self, boxes: int) -> CostToGo | None:
        if len(self._floor) ** (boxes + 1) > TABLE_ENTRIES:
            return None
        if boxes not in self._tables:
            self._tables[boxes] = CostToGo(self.level, boxes)
        return self._tables[boxes]

    def _first_move(self, state: State) -> str:
        """The first move of the solution from a state with one; empty where it is solved."""
        table = self._table(len(state.boxes))
        if table is None:
            known = self._known[state]
            return known[1] if known else ""
        cost = table[state] or 0
        for action in ACTIONS if cost else ():
            after = step(self.level, state, action)
            if after is not None and table[after] == cost - 1:
                return action
        return ""

    def _learn(self, state: State, moves: list[str] | None) -> None:
        if len(self._known) >= _KNOWN:
            self._known.clear()
        if moves is None:
            self._known[state] = None
            return
        current: State | None = state
        for done, action in enumerate([*moves, ""]):
            if current is None:
                raise AssertionError("the search returned a move that the simulator refuses")
            self._known[current] = (len(moves) - done, action)
            current = step(self.level, current, action) if action else None


@lru_cache(maxsize=32)
def _shared(board: Level) -> Oracle:
    return Oracle(board)


def oracle_for(level: Level) -> Oracle:
    """The oracle of a level's board; levels that differ only in their start share one (of the last 32)."""
    return _shared(level.with_start(State(level.floor[0], ()), ""))


def solve(level: Level, state: State | None = None, max_states: int = MAX_STATES) -> list[str] | None:
    """A shortest solution from ``state`` (the start by default), see :meth:`Oracle.solve`."""
    return oracle_for(level).solve(level.start if state is None else state, max_states)


def cost_to_go(level: Level, state: State, max_states: int = MAX_STATES) -> int | None:
    """The length of a shortest solution, see :meth:`Oracle.cost_to_go`."""
    return oracle_for(level).cost_to_go(state, max_states)

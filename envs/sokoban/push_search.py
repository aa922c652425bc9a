"""A* over pushes for single states of any level: shortest in moves, or proven unsolvable.

A solution is a chain of (walk, push) pairs, and the walk between two pushes may as well be a
shortest one. So it is enough to search states just after a push, with edges of walk + 1 moves; that
is exact in moves and has far fewer states than a search move by move.

Sets of cells are bit masks. Cells are renumbered with one empty column between the rows, so that a
shift sideways never wraps from one row into the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from envs.sokoban.errors import OracleLimitError
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.table import CostToGo

FORBIDDEN = 10**6
"""A cost that marks a pair as impossible; larger than any sum of real costs."""


def min_assignment(costs: Sequence[Sequence[int]]) -> int | None:
    """Solve the assignment problem exactly (the Hungarian method with potentials, O(n^2 m)).

    Args:
        costs: ``costs[i][j]`` of giving row i the column j, non-negative; :data:`FORBIDDEN` where
            the pair is impossible. At most as many rows as columns.

    Returns:
        The least total cost with every row on a column of its own, or None where there is no such
        assignment.
    """
    n, m = len(costs), len(costs[0]) if costs else 0
    if n > m:
        return None
    if n == 1:
        best = min(costs[0])
        return None if best >= FORBIDDEN else best
    row_potential, col_potential = [0] * (n + 1), [0] * (m + 1)
    owner = [0] * (m + 1)  # row (from 1) of each column (from 1), 0 where free
    for row in range(1, n + 1):
        # Grow a shortest augmenting path from `row` (entered at the artificial column 0).
        owner[0] = row
        col = 0
        slack = [FORBIDDEN * (n + 2)] * (m + 1)
        came_from = [0] * (m + 1)
        used = [False] * (m + 1)
        while owner[col]:
            used[col] = True
            line, offset = costs[owner[col] - 1], row_potential[owner[col]]
            delta, nearest = FORBIDDEN * (n + 2), 0
            for j in range(1, m + 1):
                if used[j]:
                    continue
                reduced = line[j - 1] - offset - col_potential[j]
                if reduced < slack[j]:
                    slack[j], came_from[j] = reduced, col
                if slack[j] < delta:
                    delta, nearest = slack[j], j
            for j in range(m + 1):
                if used[j]:
                    row_potential[owner[j]] += delta
                    col_potential[j] -= delta
                else:
                    slack[j] -= delta
            col = nearest
        while col:
            owner[col] = owner[came_from[col]]
            col = came_from[col]
    total = sum(costs[owner[j] - 1][j - 1] for j in range(1, m + 1) if owner[j])
    return None if total >= FORBIDDEN else total


_MEMO = 200_000
"""Bounds remembered per board before the memory is emptied."""

_ALONE_CELLS = 1_000
"""Floors up to this size get the table of single boxes (its square in entries)."""


class PushSearch:
    """Lower bounds, deadlock rules and the search for one board.

    Args:
        level: The board; of its start only the player's region matters.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        stride = level.cols + 1
        self._bit = {cell: cell + cell // level.cols for cell in level.floor}
        self._cell = {bit: cell for cell, bit in self._bit.items()}
        self._deltas = (-stride, stride, -1, 1)
        self._floor = sum(1 << bit for bit in self._bit.values())
        goals = [cell for cell in level.goals if cell in self._bit]
        self._goals = sum(1 << self._bit[cell] for cell in goals)
        dead = sum(1 << bit for cell, bit in self._bit.items() if cell in level.dead_squares)
        self._alive = self._floor & ~dead
        # Along an axis a box cannot move, ever or usefully, where a wall stands on either side or
        # both sides are dead squares. The last terms are the edge of the board before bit 0.
        wall = ((1 << (stride * (level.rows + 1))) - 1) & ~self._floor
        self._stuck_across = (wall << 1) | (wall >> 1) | ((dead << 1) & (dead >> 1)) | 1
        edge = (1 << stride) - 1
        self._stuck_along = (wall << stride) | (wall >> stride) | ((dead << stride) & (dead >> stride)) | edge
        self._stride = stride
        self._pushes = self._push_distances(goals)
        self._alone = CostToGo(level, 1) if len(level.floor) <= _ALONE_CELLS else None
        self._bounds: dict[int, int | None] = {}

    def bound(self, state: State) -> int | None:
        """A lower bound on the remaining moves; None is a proof that there is no solution.

        It is the larger of two consistent bounds: the cheapest assignment of boxes to goals by
        pushes, and for each box the exact moves if it were alone on the board.
        """
        boxes = self._mask(state.boxes)
        if self._frozen_off_goal(boxes):
            return None
        return self._bound(boxes, self._bit[state.player])

    def search(self, state: State, max_states: int, limit: int | None = None) -> list[str] | None:
        """Find a shortest solution.

        Args:
            state: Where to start; all boxes on the player's floor.
            max_states: States stored before giving up.
            limit: Only solutions of at most this many moves are wanted.

        Returns:
            The moves, or None: proven that there is no solution (within ``limit``).

        Raises:
            OracleLimitError: ``max_states`` was reached first.
        """
        first = self.bound(state)
        if first is None or (limit is not None and first > limit):
            return None
        shift = (self._stride * (self.level.rows + 1)).bit_length()
        low = (1 << shift) - 1
        root = self._mask(state.boxes) << shift | self._bit[state.player]
        cost, parent, closed = {root: 0}, {root: root}, set()
        # Equal estimates: deepest first, then the smallest key, so that the result is always the same.
        heap = [(first, 0, root)]
        while heap:
            _, depth, key = heappop(heap)
            if key in closed:
                continue
            closed.add(key)
            boxes, player = key >> shift, key & low
            if not boxes & ~self._goals:
                return self._moves(key, parent, shift)
            for walked, box, delta in self._push_moves(boxes, player):
                after = boxes ^ (1 << box) ^ (1 << (box + delta))
                child = after << shift | box
                moves = walked + 1 - depth
                if child in closed or moves >= cost.get(child, moves + 1):
                    continue
                rest = self._bound(after, box)
                if rest is None or (limit is not None and moves + rest > limit):
                    continue
                if child not in cost:
                    if len(cost) >= max_states:
                        raise OracleLimitError(self.level, state, max_states)
                    if self._frozen_off_goal(after):
                        continue
                cost[child], parent[child] = moves, key
                heappush(heap, (moves + rest, -moves, child))
        return None

    def _mask(self, boxes: tuple[int, ...]) -> int:
        return sum(1 << self._bit[cell] for cell in boxes)

    def _push_moves(self, boxes: int, player: int) -> list[tuple[int, int, int]]:
        """All useful pushes: moves walked before, the box's bit, the direction as a bit offset."""
        free, room = self._floor & ~boxes, self._alive & ~boxes
        stride = self._stride
        # Where the player must stand for a push in each direction onto a free cell that is not dead.
        stands = (
            ((boxes & (room << stride)) << stride) & free,
            ((boxes & (room >> stride)) >> stride) & free,
            ((boxes & (room << 1)) << 1) & free,
            ((boxes & (room >> 1)) >> 1) & free,
        )
        wanted = stands[0] | stands[1] | stands[2] | stands[3]
        frontier, walked, pairs = 1 << player, 0, []
        unseen = free & ~frontier
        while frontier and wanted:
            hits = frontier & wanted
            wanted &= ~hits
            while hits:
                bit = hits & -hits
                hits ^= bit
                position = bit.bit_length() - 1
                for stand, delta in zip(stands, self._deltas, strict=True):
                    if stand & bit:
                        pairs.append((walked, position + delta, delta))
            frontier = ((frontier << 1) | (frontier >> 1) | (frontier << stride) | (frontier >> stride)) & unseen
            unseen &= ~frontier
            walked += 1
        return pairs

    def _bound(self, boxes: int, player: int) -> int | None:
        if boxes not in self._bounds:
            if len(self._bounds) >= _MEMO:
                self._bounds.clear()
            self._bounds[boxes] = min_assignment([self._pushes[bit] for bit in _bits(boxes)])
        best = self._bounds[boxes]
        if best is None:
            return None
        cell = self._cell[player]
        if self._alone is None:
            return best
        for bit in _bits(boxes & ~self._goals):
            alone = self._alone[State(cell, (self._cell[bit],))]
            if alone is None:
                return None
            best = max(best, alone)
        return best

    def _frozen_off_goal(self, boxes: int) -> bool:
        """Say whether some box off its goal can never usefully move again.

        Take all boxes for frozen and drop those that walls, dead squares and the boxes still taken
        for frozen do not hold on both axes, until nothing changes. The first of the rest to move
        would have to pass another one, or end on a dead square: none ever does in a solution.
        """
        frozen, stride = boxes, self._stride
        while True:
            across = self._stuck_across | (frozen << 1) | (frozen >> 1)
            along = self._stuck_along | (frozen << stride) | (frozen >> stride)
            rest = frozen & across & along
            if rest == frozen:
                return bool(frozen & ~self._goals)
            frozen = rest

    def _push_distances(self, goals: list[int]) -> dict[int, list[int]]:
        """Per floor cell (as a bit), the pushes to each goal with no other box on the board."""
        table = {bit: [FORBIDDEN] * len(goals) for bit in self._cell}
        for column, goal in enumerate(goals):
            queue = [self._bit[goal]]
            table[queue[0]][column] = 0
            for bit in queue:
                for delta in self._deltas:
                    source, stand = bit - delta, bit - 2 * delta
                    if source in table and stand in table and table[source][column] == FORBIDDEN:
                        table[source][column] = table[bit][column] + 1
                        queue.append(source)
        return table

    def _moves(self, key: int, parent: dict[int, int], shift: int) -> list[str]:
        """Spell out the chain of pushes that ends at ``key``, walks included."""
        low = (1 << shift) - 1
        chain = [key]
        while parent[chain[-1]] != chain[-1]:
            chain.append(parent[chain[-1]])
        chain.reverse()
        moves: list[str] = []
        for before, after in pairwise(chain):
            boxes, player, box = before >> shift, before & low, after & low
            delta = ((after >> shift) & ~boxes).bit_length() - 1 - box
            moves += self._walk(self._floor & ~boxes, player, box - delta)
            moves.append(ACTIONS[self._deltas.index(delta)])
        return moves

    def _walk(self, free: int, start: int, end: int) -> list[str]:
        """A shortest walk over free cells, the first in the order of the actions."""
        came: dict[int, tuple[int, int]] = {start: (start, 0)}
        queue = [start]
        for bit in queue:
            for action, delta in enumerate(self._deltas):
                target = bit + delta
                if target >= 0 and free >> target & 1 and target not in came:
                    came[target] = (bit, action)
                    queue.append(target)
        moves = []
        while end != start:
            end, action = came[end]
            moves.append(ACTIONS[action])
        return moves[::-1]


def _bits(mask: int) -> list[int]:
    bits = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest.bit_length() - 1)
        mask ^= lowest
    return bits

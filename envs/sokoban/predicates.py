"""Sokoban in typed predicates: what holds, what a move needs, what it changes (AEC section 3.2).

Written from the rules of the game on coordinates, not with the simulator: whether the two agree is a test.

A move is named by its direction alone, so its precondition is relative to the player: ``clear(U)`` holds where the
cell above the player is floor without a box, or floor with a box that has floor without a box behind it. Its value
follows from the other predicates, by a rule and in the effects of the moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache, cached_property

from envs.sokoban.state import ACTIONS, Level, State
from tape.errors import ConfigError
from tape.protocols import Action
from tape.protocols import State as AbstractState
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro

Point = tuple[int, int]
_BY: dict[Action, Point] = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


@cache
def cell(name: str, point: Point) -> Predicate:
    """A predicate about a cell: ``player_at``, ``box_at`` or ``floor``, for instance ``box_at((2,4))``."""
    return Predicate(name, (f"({point[0]},{point[1]})",))


def clear(action: Action) -> Predicate:
    """That a move in this direction is not blocked."""
    return Predicate("clear", (action,))


class SokobanPredicates(Predicates):
    """The predicates of one level."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def ground(self, state: AbstractState) -> Assignment:
        """Everything: the whole board is seen."""
        assert isinstance(state, State), f"not a Sokoban state: {state!r}"
        player, boxes = self._point(state.player), {self._point(box) for box in state.boxes}
        known = dict(self._floor)
        for point in self._board:
            known[cell("player_at", point)] = point == player
            known[cell("box_at", point)] = point in boxes
        return known | self._clearance(known, player)

    def preconditions(self, action: Action) -> Assignment:
        """The way is clear: see the module on what that means.

        Raises:
            ConfigError: It is none of the four moves.
        """
        _checked(action)
        return {clear(action): True}

    def effects(self, action: Action, known: Assignment) -> Effects:
        """The player goes one cell on, and a box that stands there goes one cell on too.

        What depends on cells of which too little is known is unknown afterwards; without the player's place, all is.

        Raises:
            ConfigError: It is none of the four moves.
        """
        _checked(action)
        player = self._player(known)
        if player is None:
            return dict.fromkeys(self._changing)
        target = _next(player, action)
        beyond = _next(target, action)
        changed: dict[Predicate, bool | None] = {cell("player_at", player): False, cell("player_at", target): True}
        pushed = known.get(cell("box_at", target))
        if pushed is not False:
            changed[cell("box_at", target)] = False  # pushed away if there was one
            # Without a box to push, whatever is behind stays as it is: a box there or none.
            behind = known.get(cell("box_at", beyond))
            if beyond in self._points:
                changed[cell("box_at", beyond)] = True if pushed or behind else None
        after = {name: value for name, value in ({**known, **changed}).items() if value is not None}
        return changed | {clear(name): self._is_clear(after, target, name) for name in ACTIONS}

    def goals(self) -> Sequence[Assignment]:
        """A box on every goal; where there are more goals than boxes, no box on any other floor."""
        goals = {self._point(goal) for goal in self.level.goals}
        if len(self.level.start.boxes) == len(goals):
            return ({cell("box_at", point): True for point in sorted(goals)},)
        return ({cell("box_at", point): False for point in self._board if point not in goals},)

    def rules(self) -> Sequence[InferenceRule]:
        """One player; and what is clear follows from where everything stands."""
        return (_OnePlayer(self), _Clearance(self))

    def query(self, state: AbstractState, predicate: Predicate) -> QueryMacro | None:
        """No step is needed: everything is seen. None for what is no predicate of this level."""
        return QueryMacro(predicate, ()) if predicate in self.ground(state) else None

    def establishing(self, state: AbstractState, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """The shortest way of the player to a cell that moves no box; None for all else."""
        if predicate.name != "player_at" or not value:
            return None
        known = self.ground(state)
        start = self._player(known)
        assert start is not None, "a state has a player"
        ways: dict[Point, tuple[Action, ...]] = {start: ()}
        queue = deque([start])
        while queue:
            point = queue.popleft()
            if cell("player_at", point) == predicate:
                return ways[point]
            for action in ACTIONS:
                target = _next(point, action)
                if target not in ways and self._is_free(known, target):
                    ways[target] = (*ways[point], action)
                    queue.append(target)
        return None

    @cached_property
    def _board(self) -> tuple[Point, ...]:
        return tuple((row, col) for row in range(self.level.rows) for col in range(self.level.cols))

    @cached_property
    def _points(self) -> frozenset[Point]:
        return frozenset(self._board)

    @cached_property
    def _floor(self) -> Mapping[Predicate, bool]:
        walls = {self._point(wall) for wall in self.level.walls}
        return {cell("floor", point): point not in walls for point in self._board}

    @cached_property
    def _changing(self) -> tuple[Predicate, ...]:
        places = [cell(name, point) for name in ("player_at", "box_at") for point in self._board]
        return (*places, *map(clear, ACTIONS))

    def _point(self, number: int) -> Point:
        return divmod(number, self.level.cols)

    def _player(self, known: Assignment) -> Point | None:
        return next((point for point in self._board if known.get(cell("player_at", point))), None)

    def _clearance(self, known: Assignment, player: Point) -> dict[Predicate, bool]:
        verdicts = {clear(action): self._is_clear(known, player, action) for action in ACTIONS}
        return {name: value for name, value in verdicts.items() if value is not None}

    def _is_free(self, known: Assignment, point: Point) -> bool | None:
        """Floor without a box; None where that is unknown."""
        if point not in self._points:
            return False
        floor, box = known.get(cell("floor", point)), known.get(cell("box_at", point))
        if floor is False or box is True:
            return False
        return True if floor is True and box is False else None

    def _is_clear(self, known: Assignment, player: Point, action: Action) -> bool | None:
        """Whether a move is possible; None where that is unknown."""
        target = _next(player, action)
        if target not in self._points or known.get(cell("floor", target)) is False:
            return False
        free, behind = self._is_free(known, target), self._is_free(known, _next(target, action))
        if free:
            return True
        if known.get(cell("floor", target)) is None:
            return None
        if free is False:  # there is a box
            return behind
        return True if behind else None


class _OnePlayer:
    """There is one player, who stands nowhere else, and neither on a box nor on a wall."""

    name = "one player"

    def __init__(self, domain: SokobanPredicates) -> None:
        self._domain = domain

    def __call__(self, known: Assignment) -> Assignment:
        player = self._domain._player(known)
        if player is None:
            return {}
        others = {cell("player_at", point): point == player for point in self._domain._board}
        return others | {cell("floor", player): True, cell("box_at", player): False}


class _Clearance:
    """What is clear follows from the places of the player and the boxes and from the floor."""

    name = "clearance"

    def __init__(self, domain: SokobanPredicates) -> None:
        self._domain = domain

    def __call__(self, known: Assignment) -> Assignment:
        player = self._domain._player(known)
        return {} if player is None else self._domain._clearance(known, player)


def _next(point: Point, action: Action) -> Point:
    return point[0] + _BY[action][0], point[1] + _BY[action][1]


def _checked(action: Action) -> None:
    if action not in _BY:
        raise ConfigError(f"there is no action {action!r}; Sokoban has U, D, L and R")

"""The domain of a level of Sokoban."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envs.sokoban.errors import SokobanError
from envs.sokoban.predicates import SokobanPredicates
from envs.sokoban.state import ACTIONS, Level, State, step
from envs.sokoban.xsb import draw
from tape.budget import Resources
from tape.protocols import Action, Observation, Prediction
from tape.protocols import State as AbstractState
from tape.protocols.domain import Domain

_COORDINATE = re.compile(r"\((\d+),(\d+)\)")


def as_state(state: AbstractState) -> State:
    """Narrow the engine's opaque state."""
    assert isinstance(state, State), f"not a Sokoban state: {state!r}"
    return state


class SokobanDomain(SokobanPredicates, Domain):
    """What one level declares."""

    deterministic = True

    def task_text(self) -> str:
        """The same for every level."""
        return "Push every box onto a goal."

    def key(self, state: AbstractState) -> str:
        """Player and boxes, for instance ``player (3,3) box (2,4)``."""
        player, boxes = as_state(state)
        return f"player {self.level.coordinate(player)} box " + " ".join(map(self.level.coordinate, boxes))

    def render(self, state: AbstractState) -> str:
        """The board in XSB characters."""
        return draw(self.level, as_state(state))

    def observation(self, state: State) -> Observation:
        """The text an agent sees: everything on the board, in coordinates."""
        level = self.level
        lines = [
            f"size: {level.rows}x{level.cols}",
            "wall: " + (" ".join(map(level.coordinate, level.inner_walls)) or "none"),
            f"player: {level.coordinate(state.player)}",
            "box: " + " ".join(map(level.coordinate, state.boxes)),
            "goal: " + " ".join(map(level.coordinate, level.goals)),
        ]
        return Observation("\n".join(lines), state)

    def project(self, observation: Observation) -> State:
        """Read player and boxes off the observation's text.

        Raises:
            SokobanError: The text is cut off or garbled: not all of the level's boxes are in it, or not the player.
        """
        fields = dict(line.partition(": ")[::2] for line in observation.text.splitlines())
        players, boxes = self.cells(fields.get("player", "")), self.cells(fields.get("box", ""))
        if len(players) != 1 or len(boxes) != len(self.level.start.boxes):
            raise SokobanError(f"the board is not all there in {observation.text!r}")
        return State(players[0], tuple(sorted(boxes)))

    def cells(self, text: str) -> list[int]:
        """All coordinates in a text, as cells; those off the board are left out."""
        pairs = [(int(row), int(col)) for row, col in _COORDINATE.findall(text)]
        return [r * self.level.cols + c for r, c in pairs if r < self.level.rows and c < self.level.cols]

    def admissible(self, state: AbstractState) -> Sequence[Action]:
        """The four moves; one that is blocked changes nothing and costs its step."""
        del state
        return ACTIONS

    def cost(self, state: AbstractState, action: Action) -> Resources:
        """One step."""
        del state, action
        return Resources({"steps": 1})


class SimulatorWorldModel:
    """Exact transitions of one level: an upper bound, never used in the default mode."""

    def __init__(self, level: Level) -> None:
        self._level = level

    async def predict(self, pairs: Sequence[tuple[AbstractState, Action]]) -> list[Prediction]:
        """The true next states."""
        return [Prediction(step(self._level, as_state(state), action)) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[AbstractState, Sequence[Action]]]) -> list[list[Prediction]]:
        """The true states along each plan, up to its first invalid action."""
        rollouts = []
        for state, actions in items:
            current, predictions = as_state(state), []
            for action in actions:
                after = step(self._level, current, action)
                predictions.append(Prediction(after))
                if after is None:
                    break
                current = after
            rollouts.append(predictions)
        return rollouts

"""A stand-in for the simulator that replays recorded games, so that most tests need no Java."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from envs.scienceworld.engine import SimulatorView, missing
from envs.scienceworld.environment import after, started
from envs.scienceworld.reading import REFUSALS
from envs.scienceworld.state import ScienceState, ScienceTask

NO_SIMULATOR = missing()


@cache
def recorded() -> dict[str, dict[str, Any]]:
    games = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
    return {game["task"]: game for game in games}


def views(task: str) -> list[tuple[str, SimulatorView]]:
    game = recorded()[task]
    texts = game["texts"]
    return [
        (action, SimulatorView(text, texts[look], texts[held], score, done))
        for action, text, look, held, score, done in game["steps"]
    ]


class RecordedGame:
    """Goes along a recorded gold path; steps that change nothing may be skipped, all else is refused."""

    asked: list[str]

    def __init__(self, task: str, variation: int, simplification: str = "easy", *, gold: bool = False) -> None:
        game = recorded()[task]
        assert game["variation"] == variation
        self.task, self.description, self._rooms = task, game["description"], game["rooms"]
        self._views, self._at, self.asked = views(task), 0, []

    def reset(self) -> SimulatorView:
        self._at = 0
        return self._views[0][1]

    def step(self, text: str) -> SimulatorView:
        self.asked.append(text)
        here = self._views[self._at][1]
        for i in range(self._at + 1, len(self._views)):
            action, view = self._views[i]
            if action == text:
                self._at = i
                return view
            if (view.look, view.inventory, view.score) != (here.look, here.inventory, here.score):
                break
        return here._replace(text=REFUSALS[0])

    def valid_actions(self) -> list[str]:
        return list(self._rooms)

    def gold(self) -> list[str]:
        return [action for action, _ in self._views[1:]]

    def close(self) -> None:
        pass


def states(task: str) -> list[ScienceState]:
    """The states along a recorded path."""
    game = recorded()[task]
    [(_, first), *rest] = views(task)
    state = started(ScienceTask(task, game["variation"], "easy", game["description"]), first)
    result = [state]
    for action, view in rest:
        result.append(after(result[-1], action, view))
    return result

"""Writes ``recorded.json``, gold paths with all answers: ``python -m tests.envs.scienceworld.record``."""

import json
from pathlib import Path

from envs.scienceworld.engine import ScienceGame

FILE = Path(__file__).parent / "recorded.json"
GAMES = (("boil", 0), ("find-living-thing", 150), ("power-component", 10), ("use-thermometer", 270))


def record(task: str, variation: int) -> dict[str, object]:
    game = ScienceGame(task, variation, gold=True)
    path, view = game.gold(), game.reset()
    # Descriptions repeat, so each is kept once.
    texts: list[str] = []

    def number(text: str) -> int:
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    rooms = [action for action in game.valid_actions() if action.startswith("teleport to ")]
    steps = [["", view.text, number(view.look), number(view.inventory), view.score, view.done]]
    for action in path:
        view = game.step(action)
        steps.append([action, view.text, number(view.look), number(view.inventory), view.score, view.done])
        if view.done:
            break
    return {
        "task": task, "variation": variation, "description": game.description, "rooms": rooms, "texts": texts,
        "steps": steps,
    }  # fmt: skip


if __name__ == "__main__":
    FILE.write_text(json.dumps([record(*game) for game in GAMES], indent=0) + "\n", encoding="utf-8")

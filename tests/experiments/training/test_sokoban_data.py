"""Training data of the bundled LM: no evaluation board in it, right answers, masks that isolate queries."""

import random

from envs.sokoban.generator import random_board
from envs.sokoban.level_sets import load_set, names
from envs.sokoban.state import Level, is_held_out, is_solved, replay
from envs.sokoban.table import CostToGo
from experiments.training.families import SOKOBAN
from experiments.training.sokoban import data as lm_data
from experiments.training.tokenizer import build
from tape.lm.bundled import weights_folder


def boards_seen(seed: int, size: str, count: int, monkeypatch) -> list[Level]:  # type: ignore[no-untyped-def]
    seen: list[Level] = []
    original = lm_data.draw_states

    def spy(rng, level, *rest):  # type: ignore[no-untyped-def]
        seen.append(level)
        return original(rng, level, *rest)

    monkeypatch.setattr(lm_data, "draw_states", spy)
    for index in range(count):
        lm_data.batch(seed, size, 8, index)
    return seen


def test_no_evaluation_board_is_ever_trained_on(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    held = {level.board_hash for name in names() for level in load_set(name)}
    for size in lm_data.MIXES:
        seen = boards_seen(0, size, 40, monkeypatch)
        assert not any(is_held_out(level) for level in seen)
        assert not held & {level.board_hash for level in seen}
    assert all(is_held_out(level) for name in names() for level in load_set(name))


def test_plans_are_shortest_solutions() -> None:
    rng = random.Random(3)
    for _ in range(20):
        level = random_board(rng)
        table = CostToGo(level)
        for state in lm_data.draw_states(rng, level, table, 4, 20):
            if not table[state]:
                continue
            plan, masks = lm_data.optimal_plan(rng, level, table, state)
            assert len(plan) == table[state]
            assert is_solved(level, replay(level, plan, state)[-1])
            assert all((mask >> "UDLR".index(a)) & 1 for a, mask in zip(plan, masks, strict=True))


def test_the_shipped_tokenizer_is_the_one_of_the_vocabulary() -> None:
    assert build(SOKOBAN.words).to_str(pretty=True) == (weights_folder() / "tokenizer.json").read_text(encoding="utf-8")

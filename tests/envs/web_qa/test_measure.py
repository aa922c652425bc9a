"""AssistantBench's measure: by hand, and as it was published beside the official scorer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from envs.web_qa.measure import score
from tape.reading import read_json
from tests.places import ROOT

RESULT = ROOT / "experiments" / "results" / "web_qa_measure.json"
ROW = '{"name": "Iron Gym", "price": 40}'


@pytest.mark.parametrize(
    ("given", "gold", "accuracy"),
    [
        ("The Iron-Gym!", "iron gym", 1.0),
        ("Iron Gym Oskhaven", "Iron Gym", 0.8),
        ("Gym 5", "Gym 7", 0.0),  # another number
        ("$1,5", "1.5", 1.0),
        (1100, "1000", 1 - math.log(1.1)),
        (5000, "1000", 0.0),
        (-20, "20", 0.0),
        ([5, 6], "5", 0.0),
        (["B", "A C"], "A C\nB", 1.0),
        ('["B"]', "A C\nB", 0.5),
        ({"price": "$40", "name": "iron gym"}, ROW, 1.0),
        ({"name": "Iron Gym"}, ROW, 2 / 3),
        ({"name": "Iron Gym", "price": "forty"}, ROW, 0.5),
        ([{"name": "Iron Gym", "price": 40}, {"name": "Mill Gym"}], ROW, 0.5),
        (f"{ROW}\n{ROW}", f"{ROW}\n{ROW}", 1.0),
        ("{'name': 'Iron Gym', 'price': 40}", ROW, 1.0),
        ("no object", ROW, 0.0),
        ([[1], None], ROW, 0.0),
    ],
)
def test_answers_are_compared_in_the_way_of_their_kind(given: Any, gold: str, accuracy: float) -> None:
    answer_score = score(given, gold)
    assert (answer_score.accuracy, answer_score.answered) == (pytest.approx(accuracy), True)
    assert answer_score.exact is (accuracy == 1.0)


@pytest.mark.parametrize("given", [None, "", [], {}, [""], [None], "null", "[]", float("nan")])
def test_no_answer_is_not_a_wrong_one(given: Any) -> None:
    for gold in ("5", "Iron Gym", "A\nB", ROW):
        assert score(given, gold) == (0.0, False)


def test_what_is_published_of_the_comparison_adds_up() -> None:
    kept = read_json(RESULT)
    counts = list(kept["counts"].values())
    assert sum(sum(kind.values()) for kind in counts) == kept["pairs"] == 1000
    assert sum(kind["same"] for kind in counts) == 1000 - len(kept["not the same"])
    for row in kept["not the same"]:  # what is ours can be scored again without the package
        answer_score = score(row["given"], row["gold"])
        assert [round(answer_score.accuracy, 4), answer_score.answered] == row["ours"]

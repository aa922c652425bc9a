"""`PathProblem` refuses malformed input and says where it is; JSON keeps everything."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from solvers import PathProblem, ProblemError

GOOD: dict[str, Any] = {
    "n_nodes": 3, "edges": [(0, 1), (1, 2)], "rewards": [0.0, 0.5, 1.0], "costs": [[1, 2], [3, 4]], "budgets": [5, 6],
    "start": 0, "terminals": [2], "horizon": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "index"),
    [
        ("n_nodes", 0, None),
        ("n_nodes", 2.0, None),
        ("edges", [(0, 1), (1, 3)], (1, 1)),
        ("edges", [(-1, 1), (1, 2)], (0, 0)),
        ("edges", [(0, 1), (1,)], 1),
        ("edges", [(0, 1), 7], None),
        ("edges", [(0, 1), (1, True)], (1, 1)),
        ("edges", 3, None),
        ("rewards", [0.0, float("nan"), 1.0], 1),
        ("rewards", [0.0, float("inf"), 1.0], 1),
        ("rewards", [0.0, 10**400, 1.0], 1),
        ("rewards", [0.0, 1e308, 1.0], 1),
        ("rewards", [0.0, "1", 1.0], 1),
        ("rewards", [0.0, True, 1.0], 1),
        ("rewards", [0.0, None, 1.0], 1),
        ("rewards", [0.0, 1.0], None), ("costs", [[1, 2], [3, -4]], (1, 1)), ("costs", [[1, 2], [3, 4.0]], (1, 1)),
        ("costs", [[1, 2], [True, 4]], (1, 0)), ("costs", [[1, 2], [np.bool_(True), 4]], (1, 0)),
        ("costs", [[1, 2], [3]], 1), ("costs", [[1, 2]], None), ("costs", [], None), ("costs", "ab", None),
        ("budgets", [5, 6.5], 1), ("budgets", [5, False], 1), ("start", 3, None), ("start", None, None),
        ("terminals", [2, 3], 1), ("terminals", ["2"], 0), ("terminals", 2, None), ("horizon", 0, None),
        ("horizon", 1.5, None), ("discount", 0.0, None), ("discount", 1.01, None),
        ("discount", float("nan"), None), ("discount", True, None), ("discount", "1", None),
        ("resources", ["usd"], None), ("resources", ["usd", "usd"], 1), ("resources", ["usd", ""], 1),
        ("resources", ["usd", 3], 1), ("spreads", [[0, 0], [3, -4]], (1, 1)),
        ("spreads", [[0, 0], [3, 4.0]], (1, 1)), ("spreads", [[0, 0], [3, float("nan")]], (1, 1)),
        ("spreads", [[0, 0], [3, 4, 5]], 1), ("spreads", [[0, 0]], None), ("spreads", 7, None),
        ("risk", 0.1, None),
        ("risk", {"probability": 0.1}, None),
    ],
)  # fmt: skip
def test_malformed_input_is_refused_by_name_and_place(field: str, value: Any, index: Any) -> None:
    with pytest.raises(ProblemError) as caught:
        PathProblem(**{**GOOD, field: value})
    assert (caught.value.field, caught.value.index) == (field, index)
    assert field in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_any_sequences_become_tuples_of_plain_numbers() -> None:
    plain = PathProblem(**GOOD, spreads=[[0, 1], [2, 3]])
    fields = {name: np.array(getattr(plain, name)) for name in ("edges", "rewards", "costs", "budgets", "spreads")}
    arrays = PathProblem(**{**GOOD, **fields, "n_nodes": np.int64(3), "start": np.int32(0), "terminals": {2}})
    assert arrays == plain
    assert hash(arrays) == hash(plain)
    assert type(arrays.costs[0][0]) is int
    assert type(PathProblem(**{**GOOD, "rewards": [0, 1, 1]}).rewards[0]) is float


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda data: "nonsense", "json"),
        (lambda data: "[1]", "schema"),
        (lambda data: json.dumps({**data, "schema": "tape.path_problem/99"}), "schema"),
        (lambda data: json.dumps({key: data[key] for key in data if key != "costs"}), "json"),
        (lambda data: json.dumps({**data, "extra": 1}), "json"),
        (lambda data: json.dumps({**data, "rewards": [0, float("nan"), 1]}), "rewards"),
        (lambda data: json.dumps({**data, "start": 8}), "start"),
        (lambda data: json.dumps({**data, "risk": 0.1}), "risk"),
        (lambda data: json.dumps({**data, "risk": {"probability": 0.1}}), "risk"),
        (lambda data: json.dumps({**data, "risk": {"probability": 0.1, "assumption": "normal", "more": 1}}), "risk"),
        (lambda data: json.dumps({**data, "risk": {"probability": math.nan, "assumption": "any"}}), "risk.probability"),
        (lambda data: json.dumps({**data, "risk": {"probability": 0.7, "assumption": "normal"}}), "risk.probability"),
        (lambda data: json.dumps({**data, "risk": {"probability": 0.1, "assumption": 3}}), "risk.assumption"),
    ],
)
def test_bad_json_is_refused(change: Any, field: str) -> None:
    with pytest.raises(ProblemError) as caught:
        PathProblem.from_json(change(json.loads(PathProblem(**GOOD).to_json())))
    assert caught.value.field == field

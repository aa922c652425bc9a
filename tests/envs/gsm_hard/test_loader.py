from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.data_files import DataFileError
from envs.gsm_hard.loader import DEFAULT_OPERATIONS, load, operations_of

_DATA = os.environ.get("TAPE_TEST_DATA", "")
GOOD = {
    "input": "A rope of 2287720 meters is cut in half. How long is a part?",
    "code": "x = 2287720 / 2",
    "target": 1143860.0,
}


def write(path: Path, *rows: Any) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_problems_are_read(tmp_path: Path) -> None:
    odd = {**GOOD, "input": "One\u2028line.", "code": "def (", "target": 7}
    problem, two = load(write(tmp_path / "mine.jsonl", GOOD, "", json.dumps(odd, ensure_ascii=False)))
    assert (problem.id, problem.text, problem.target, problem.operations, problem.program) == (
        "mine-1",
        GOOD["input"],
        1143860.0,
        1,
        None,
    )
    assert (two.id, two.text, two.target, two.operations) == ("mine-3", "One\u2028line.", 7.0, DEFAULT_OPERATIONS)


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({**GOOD, "input": "  "}, "input", "give a text that is not empty"),
        ({"input": "x", "target": 1}, "code", "is missing"),
        ({"input": "x", "code": "1"}, "target", "is missing"),
        ({**GOOD, "target": "3"}, "target", "give a number"),
        ({**GOOD, "target": True}, "target", "give a number"),
        ({**GOOD, "target": math.nan}, "", "NaN is no number"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: Any, field: str, message: str) -> None:
    path = write(tmp_path / "bad.jsonl", GOOD, row)
    with pytest.raises(DataFileError, match=message) as caught:
        load(path)
    assert (caught.value.file, caught.value.place, caught.value.field) == (str(path), 2, field)
    assert f"{path}:2" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "operations"),
    [
        ("a = 3\nb = a / 2\nreturn_ = a + b", 2), ("a = 1\na += 2\na **= 3\nb = a // 2 % 5 - 1", 5), ("a = 3", 1),
        ("x = '\\d' + 'a'", 1), ("def (", DEFAULT_OPERATIONS), ("\0", DEFAULT_OPERATIONS),
        ("raise SystemExit(1 + 2)", 1),
    ],
)  # fmt: skip
def test_operations_are_counted_and_nothing_is_run(code: str, operations: int) -> None:
    assert operations_of(code) == operations


@given(st.text(max_size=200))
def test_any_code_has_operations(code: str) -> None:
    assert operations_of(code) >= 1


@pytest.mark.skipif(not _DATA, reason="TAPE_TEST_DATA is not set")
def test_the_public_problems() -> None:
    problems = load(Path(_DATA, "gsm_hard", "gsmhard_even.jsonl"))
    assert len(problems) == 659
    assert len({problem.id for problem in problems}) == 659
    mean = sum(problem.operations for problem in problems) / 659
    assert abs(mean - DEFAULT_OPERATIONS) < 1

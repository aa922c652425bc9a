"""Files of problems: what they hold comes out, and what is wrong with them is named with its line."""

from __future__ import annotations

import contextlib
import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solvers import FileFormatError, RcspProblem, read_rcsp, shortest_path

OPTIMA = {1: 131, 3: 2, 5: 100, 7: 6, 9: 420, 11: 6, 13: 448, 15: 9, 17: 652, 19: 6, 21: 858, 23: 4}
"""Of the odd-numbered instances of Beasley and Christofides (1989), as published."""

SMALL = """ 3 3 2
 0 1
 9 8.5
 1 0
 0 0
 2 0
 1 2 10 1 1
 1 3 30 4 4.5
 2 3 -5 2 2
"""


def file(tmp_path: Path, text: str | bytes, name: str = "problem.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("number", sorted(OPTIMA))
def test_published_optima(number: int) -> None:
    folder = os.environ.get("TAPE_TEST_DATA")
    if not folder:
        pytest.skip("TAPE_TEST_DATA is not set")
    answer = shortest_path(read_rcsp(Path(folder) / "rcsp" / f"rcsp{number}.txt"))
    assert (answer.status, answer.cost) == ("OPTIMAL", OPTIMA[number])


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (" 3 3 2", " 3 3", "there are 27"),
        (" 3 3 2", " 3 -3 2", ":1: a problem begins with three integers"),
        (" 3 3 2", " 3.5 3 2", ":1: a problem begins with three integers"),
        (" 3 3 2", " 0 3 2", ":1: 0 nodes and 3 edges; there must be 1 to"),
        (" 3 3 2", " 999999999999 3 0", ":1: 999999999999 nodes and 3 edges; there must be 1 to"),
        ("10 1 1", "10 1 x", ":7: expected numbers, found ' 1 2 10 1 x'"),
        ("10 1 1", "10 1 1_0", ":7: expected numbers, found '_'"),
        ("10 1 1", "10 1 nan", ":7: what is not finite"),
        ("10 1 1", "10 1 1e999", ":7: what is not finite"),
        ("10 1 1", "10 1 99999999999999999999", ":7: what is not finite, or 2**53"),
        ("10 1 1", "10 1", ":9: 3 nodes, 3 edges and 2 resources make 28 numbers"),
        ("1 3 30", "1 4 30", ":8: the first two numbers of an edge must be nodes, from 1 to 3"),
        ("1 3 30", "1.5 3 30", ":8: the first two numbers of an edge must be nodes"),
        ("-5 2 2", "-5 2 -2", ":9: use[2][1] = -2.0: must not be negative"),
        (" 2 0\n 1 2", " 2 -1\n 1 2", ":6: node_use[2][1] = -1: must not be negative"),
        ("30 4 4.5", "30 4 4.5\n\n 7", ":11: 3 nodes, 3 edges and 2 resources make 28 numbers"),
    ],
)
def test_a_wrong_problem_is_refused_with_its_line(tmp_path: Path, old: str, new: str, text: str) -> None:
    assert SMALL.count(old) == 1
    with pytest.raises(FileFormatError) as error:
        read_rcsp(file(tmp_path, SMALL.replace(old, new)))
    assert text in str(error.value)
    assert error.value.path == str(tmp_path / "problem.txt")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r":3: upper\[1\] = .*within 2\*\*60"):
        read_rcsp(file(tmp_path, SMALL.replace("4.5", "4").replace("8.5", str(2**61))))
    for text in ("", "\n\n", "3", "\x00\x01", "3 3 3 3 3", "{}"):
        with pytest.raises(FileFormatError):
            read_rcsp(file(tmp_path, text))
    with pytest.raises(FileFormatError, match=r"none\.txt: No such file"):
        read_rcsp(tmp_path / "none.txt")
    with pytest.raises(FileFormatError, match="Is a directory"):
        read_rcsp(tmp_path)
    with pytest.raises(FileFormatError, match="gz"):
        read_rcsp(file(tmp_path, SMALL, "problem.gz"))
    with pytest.raises(FileFormatError, match="gz"):
        read_rcsp(file(tmp_path, gzip.compress(SMALL.encode())[:-9], "cut.gz"))


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.rcsp.reading.LARGEST_FILE", 1000)
    with pytest.raises(FileFormatError, match="more than 1,000 bytes"):
        read_rcsp(file(tmp_path, gzip.compress(b" " * 10**6), "spaces.gz"))


def test_long_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.rcsp.reading._PIECE", 5)
    assert read_rcsp(file(tmp_path, SMALL)).cost.tolist() == [10, 30, -5]
    with pytest.raises(FileFormatError, match=":7: expected numbers"):
        read_rcsp(file(tmp_path, SMALL.replace("10 1 1", "10 1 x")))


WORDS = st.sampled_from(["0", "1", "2", "3", "-1", "2.5", "nan", "1e400", "a", "p", "sp", "c", "9" * 30, "x", "\xff"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=12).map("\n".join)
CHANGED = st.tuples(st.just(SMALL), st.integers(0, 200), st.integers(0, 3), WORDS).map(
    lambda pair: pair[0][: pair[1]] + pair[3] + pair[0][pair[1] + pair[2] :]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(TEXTS, CHANGED, st.binary(max_size=60)))
def test_any_text_is_a_problem_or_refused(tmp_path: Path, text: str | bytes) -> None:
    path = file(tmp_path, text)
    with contextlib.suppress(FileFormatError):
        assert isinstance(read_rcsp(path), RcspProblem)


@given(st.data())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    n, m, k = (data.draw(st.integers(least, 6)) for least in (1, 0, 0))
    amounts = st.one_of(st.integers(0, 10**6), st.floats(0, 10**6))
    row = st.lists(amounts, min_size=k, max_size=k)
    lower, upper = data.draw(row), data.draw(row)
    nodes = data.draw(st.lists(row, min_size=n, max_size=n))
    ends = st.integers(1, n)
    edges = data.draw(st.lists(st.tuples(ends, ends, st.floats(-1e6, 1e6), row), min_size=m, max_size=m))
    rows = [[n, m, k], lower, upper, *nodes, *([t, h, c, *u] for t, h, c, u in edges)]
    path = tmp_path_factory.mktemp("written") / "problem.txt"
    path.write_text("\n".join(" ".join(map(repr, item)) for item in rows))
    problem = read_rcsp(path)
    assert (problem.n_nodes, list(problem.lower), list(problem.upper)) == (n, lower, upper)
    assert problem.node_use.tolist() == nodes
    assert problem.use.tolist() == [use for _, _, _, use in edges]
    assert [tuple(pair) for pair in zip(problem.tails + 1, problem.heads + 1, problem.cost, strict=True)] == [
        (tail, head, cost) for tail, head, cost, _ in edges
    ]

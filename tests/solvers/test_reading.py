"""JSON from outside: what is beyond the bounds is refused by the caller's error."""

from __future__ import annotations

import pytest

from solvers import reading
from solvers.errors import BackendError
from solvers.reading import parse_json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[-" + "9" * 100_000 + "]", "100000 digits"),
        ("[" * 100_000, "nested too deeply"),
        ("{", "not JSON"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_what_is_beyond_the_bounds_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(BackendError, match=f"^here.*{says}"):
        parse_json(text, "here", BackendError)


def test_values_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_VALUES", 10)
    assert parse_json("[1, 2, 3, 4]", "here", BackendError) == [1, 2, 3, 4]
    with pytest.raises(BackendError, match="more than 10 values"):
        parse_json("[[],[],[],[],[],[]]", "here", BackendError)


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse_json(b"\xef\xbb\xbf1", "here", BackendError) == 1

"""Secrets are taken out in whatever spelling, and nothing else is."""

import io
import json
import logging
import random
import string
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import redaction
from tape.errors import EndpointWarning
from tape.redaction import MARK, hide, redacted, redacted_lines
from tests.profiles import examples
from tests.tape.spellings import found_in, spellings

KEY = "sk-Proj/9aZ3_kq7Wb0xT5+Lm2Yc8"


pytestmark = pytest.mark.usefixtures("nothing_hidden")


@pytest.mark.parametrize("name", spellings(KEY))
def test_every_spelling_is_taken_out(name: str) -> None:
    hide(KEY)
    for seed in range(3):
        spelt = spellings(KEY, seed)[name]
        text = f"the key: {spelt} : and more"
        clean = redacted(text)
        assert MARK in clean
        assert not found_in(clean, KEY), clean
        assert (clean[:9], clean[-10:]) == ("the key: ", ": and more"), "nothing else goes with it"
        assert redacted({"a": [spelt, {spelt: 1}]}) == redacted({"a": [redacted(spelt), {redacted(spelt): 1}]})
        assert not found_in(json.dumps(redacted([{spelt: (spelt, 5)}])), KEY)


def test_the_search_for_what_is_left_finds_every_spelling() -> None:
    missed = [name for name, spelt in spellings(KEY).items() if not found_in(f"the key: {spelt} : and more", KEY)]
    assert missed == []


def test_keys_of_objects_are_searched_and_other_secrets_are_too() -> None:
    value: Any = {KEY: [1, 2.5, True, None, 10**400], "deep": [({"x": KEY + "!"},)]}
    assert redacted(value) is value, "nothing is hidden yet"
    other = "AIzaSyD-4f8Gh2_Kl9QwErTy7UiOp1AsDf"
    hide(KEY)
    hide(other)
    assert redacted(value) == {MARK: [1, 2.5, True, None, 10**400], "deep": [({"x": f"{MARK}!"},)]}
    value = [f"{KEY} and {other} and {KEY}", other.lower()]
    assert redacted(value) == [f"{MARK} and {MARK} and {MARK}", MARK]
    assert KEY not in repr(redaction._hidden)


PLACEHOLDERS = ["a", "5", "U", "EMPTY", "none", "sk-none", "key-of-openai", "x" * 40, "ababababababababab"]
PLACEHOLDERS += ["0123456789012345678", "your-api-key-goes-here", "MOVE_THE_BOX_TO_THE_RIGHT", "sk-" + "-" * 30]
PLACEHOLDERS += ["LM-Studio-Local-Server", "my-local-server-key-1", "test-key-for-development-2"]
PLACEHOLDERS += ["changeme-changeme-me1"]


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_never_alters_an_answer_and_is_warned_of_once(placeholder: str) -> None:
    with pytest.warns(EndpointWarning, match="the key in SOME_VARIABLE is not hidden") as warned:
        assert [hide(placeholder, "the key in SOME_VARIABLE") for _ in range(2)] == [False, False]
    assert len(warned) == 1
    assert len(placeholder) < 3 or placeholder not in str(warned[0].message)
    text = f"move U 5 times: {placeholder} your api key goes here, move the box to the right " + "x" * 50
    assert redacted(text) == text


def test_no_key_is_no_key() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hide("")
        assert not hide("short", quietly=True)


def test_real_keys_are_hidden() -> None:
    r = random.Random(1)
    for alphabet in (string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_letters):
        for length in (24, 164):
            key = "".join(r.choices(alphabet, k=length))
            assert hide(key), key
            assert redacted(f"({key})") == f"({MARK})"
    assert hide("550e8400-e29b-41d4-a716-446655440000")


@given(st.text(), st.integers(0, 50))
@examples(300)
def test_ordinary_texts_stay_as_they_are(text: str, tail: int) -> None:
    hide(KEY)
    assert redacted(text) == text
    # Part of a key is none: what is split over several texts is out of reach.
    assert redacted(text + KEY[: min(tail, 12)]) == text + KEY[: min(tail, 12)]


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 10**6))
@examples(200)
def test_around_and_among_anything_no_spelling_stays(before: str, after: str, seed: int) -> None:
    hide(KEY)
    spelt = spellings(KEY, seed)
    name = sorted(spelt)[seed % len(spelt)]
    around = before + " " + spelt[name] + " " + after
    assert not found_in(redacted(around), KEY) or found_in(before + " " + after, KEY), name
    assert redacted(redacted(around)) == redacted(around)


LONG = ["s" + "\\" * 100_000, "s" + "-" * 100_000, "%25" * 30_000, "\\u0073" * 15_000, "c2stUHJvai" * 10_000]


@pytest.mark.parametrize("text", [*LONG, "k-" * 50_000], ids=range(6))
def test_no_text_makes_the_search_slow(text: str) -> None:
    hide(KEY)
    # Searching 100,000 characters takes some 0.3 s; with a pattern that backtracks it takes minutes.
    assert not found_in(redacted(text + " " + KEY)[-200:], KEY)


def test_lines_of_json_stay_lines_of_json() -> None:
    assert redacted_lines("no json") == "no json", "nothing is hidden yet"
    hide(KEY)
    lines = [{"a": KEY, "b": [1, "\u2028"]}, {"c": "clean"}, {"d": spellings(KEY)["json, some"]}]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    clean = redacted_lines(text)
    assert [json.loads(line) for line in clean.splitlines()] == redacted(lines)
    assert clean.splitlines()[1] == text.splitlines()[1]
    assert clean.endswith("}\n")


def test_logs_hold_no_key_whoever_writes_them() -> None:
    hide(KEY)
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    logger = logging.getLogger("some.client")
    logger.addHandler(handler)
    try:
        logger.warning("headers: %s", {"authorization": f"Bearer {KEY}"})
        try:
            raise ValueError(f"wrong key {KEY}")
        except ValueError:
            logger.exception("it failed")
        logger.warning("%d of %d", 1, 2)
    finally:
        logger.removeHandler(handler)
    odd = logging.getLogRecordFactory()("x", logging.INFO, "file", 1, "two %s", (1, 2), None)
    assert odd.args == (1, 2), "arguments that do not fit are left for logging to report"
    for text in ("headers: {'authorization': 'Bearer [key]'}", "ValueError: wrong key [key]", "1 of 2"):
        assert text in out.getvalue()
    assert KEY not in out.getvalue()

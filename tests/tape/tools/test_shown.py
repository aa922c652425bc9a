"""What a person is shown of a call before approving it: every name, and of every value all or both its ends."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import redaction
from tape.tools.shown import (
    LONGEST,
    MOST_CHARACTERS,
    MOST_ROWS,
    UnshowableError,
    escaped,
    pages_of,
    rows_of,
    shown_action,
)
from tests.profiles import examples

pytestmark = pytest.mark.timeout(120)

SECRET = "sk-Ab3dE6gH9jK2mN5pQ8"
LONG_TEXTS = st.builds(
    lambda words, long: "".join(random.Random(long).choices(words, k=long)),
    st.lists(st.text(), min_size=3),
    st.integers(30, 450),
)
ODD = [*'ab/ \n\t"\\=.,[]{}', "\u202e", "\u200b", "\u0430", "\u2215", "\u0301", "\ufe0f", "\ud800", "\U000e0041", "路"]
TEXTS = st.one_of(st.text(max_size=30), st.text(alphabet=ODD, max_size=30), LONG_TEXTS.map(lambda text: text[:450]))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=12), inner)), max_leaves=25
)
ARGUMENTS = st.dictionaries(st.text(max_size=12), VALUES, max_size=8)


def shown(arguments: dict[str, Any]) -> str:
    return "\n".join(map(str, rows_of(arguments)))


def names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, held in value.items():
            yield name
            yield from names(held)
    elif isinstance(value, list):
        for held in value:
            yield from names(held)


def texts(value: Any, spread: bool) -> Iterator[str]:
    """Texts of which all or both ends have to be seen: of a long list without names the middle may be left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from texts(held, spread)
    elif isinstance(value, list):
        for held in value if spread or any(names(value)) else [*value[:3], *value[-3:]]:
            yield from texts(held, spread)


def read(quoted: str) -> list[str]:
    """The texts that stand in quotes."""
    return [json.loads(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', quoted)]


def is_seen(name: str, output: str, quoted: set[str]) -> bool:
    return name in quoted or (re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", name) is not None and name in output)


def is_honest(arguments: dict[str, Any]) -> bool:
    """Whether a question shows all that it must; a refusal is honest."""
    try:
        rows, whole = rows_of(arguments), "\n".join(pages_of(arguments))
    except UnshowableError:
        return False
    output = "\n".join(map(str, rows))
    assert len(output) <= MOST_CHARACTERS
    assert len(output.splitlines()) == len(rows) <= MOST_ROWS, "one line each, whatever it holds"
    assert all(c.isprintable() or c == "\n" for c in output)
    quoted = set(read(output))
    for name in names(arguments):
        assert is_seen(name, output, quoted), name
    for text in texts(arguments, spread=False):
        assert text in quoted or (text[:80] in quoted and text[-80:] in quoted), text
    pieces = read(whole)
    for text in texts(arguments, spread=True):
        assert text in pieces or text in "".join(pieces), text
    if not any(row.cut for row in rows):
        assert all(text in quoted for text in texts(arguments, spread=True))
    return True


@examples(50)
@given(ARGUMENTS)
def test_every_name_and_both_ends_of_every_value_are_shown_or_it_is_refused(arguments: dict[str, Any]) -> None:
    is_honest(arguments)


def test_a_long_value_hides_no_argument_behind_it() -> None:
    output = shown({"a": "x" * 700, "path": "/ IMPORTANT", "recursive": True})
    assert output == (
        f'a = "{"x" * 80}" ... 540 of 700 characters left out ... "{"x" * 80}"\npath = "/ IMPORTANT"\nrecursive = true'
    )
    assert shown({"n": list(range(900))}) == "n = [0, 1, 2, ... 894 of 900 items left out ..., 897, 898, 899]"
    nested = shown({"o": {"keep": "k" * LONGEST, "paths": [{"path": "/", "why": "w" * 300}]}})
    assert [line.partition(" = ")[0] for line in nested.split("\n")] == ["o.keep", "o.paths[0].path", "o.paths[0].why"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({f"k{n}": n for n in range(101)}, "101 lines, and at most 100"),
        ({"n" * 201: 1}, "a name has 201 characters"),
        ({"a": {"b" * 150: {"c" * 150: "x" * 300}}}, "a name has"),
        ({str(n): "\u202e" * 160 for n in range(40)}, "characters, and at most 16,000"),
        ({"a": float("nan")}, "a is float that JSON does not hold"),
        ({"a": object()}, "a is object that JSON does not hold"),
        ({"a": {1: 2}}, "a name in them is no text but int"),
        ({"a": 10**5000}, "a is int"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(UnshowableError, match=why):
        rows_of(arguments)


def test_what_is_too_deep_is_refused() -> None:
    deep: Any = "x" * 300
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(UnshowableError, match=r"nested deeper|a name has"):
        rows_of({"a": deep})
    lists: Any = "x" * 300
    for _ in range(3000):
        lists = [lists]
    with pytest.raises(UnshowableError, match="too deep"):
        rows_of({"a": lists})


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('x"\nAt most: usd 0.', '"x\\"\\nAt most: usd 0."'),
        ("a\u202eb\u200bc\u2028d\x1b[2J", '"a\\u202eb\\u200bc\\u2028d\\u001b[2J"'),
        ("/\u0440\u0430th", '"/\\u0440\\u0430th" (letters: CYRILLIC)'),
        ("\u0441\u043e\u0440\u0443", '"\u0441\u043e\u0440\u0443" (letters: CYRILLIC)'),
        ("a\u2215b\uff0fc\u00a0d\u2024e", '"a\\u2215b\\uff0fc\\u00a0d\\u2024e"'),
        ("e\u0301 \u00e9", '"e\\u0301 \u00e9"'),
        ("\u3164\u2800\ufe0f\U000e0041", '"\\u3164\\u2800\\ufe0f\\udb40\\udc41" (letters: HANGUL)'),
        ("\u00bd \ud800", '"\u00bd \\ud800"'),
    ],
)
def test_what_is_unseen_or_imitates_others_is_shown_as_an_escape(text: str, output: str) -> None:
    assert shown({"a": text}) == f"a = {output}"
    assert read(shown({"a": text})) == [text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")]


def test_names_that_look_alike_are_distinguished() -> None:
    assert shown({"path": 1, "p\u0430th": 2, "a.b": 3, "c": {"b": "x" * 300}}).split("\n")[:3] == [
        "path = 1",
        '"p\\u0430th" (letters: CYRILLIC) = 2',
        '"a.b" = 3',
    ]


def test_a_hidden_secret_is_named_with_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_hidden", (redaction.Secret(SECRET),))
    output = shown({"header": f"Bearer {SECRET}", "plain": "[key]"})
    assert output == 'header = "Bearer [key]" (a secret in it is hidden; 28 characters in all)\nplain = "[key]"'
    assert "hidden, since it holds a secret" in shown({"codes": list(SECRET)})
    with pytest.raises(UnshowableError, match="a name holds a secret"):
        rows_of({SECRET: 1})
    with pytest.raises(UnshowableError, match="spread over several"):
        rows_of({"a": [SECRET[:6]], "b": 1} and {"sk": "Ab3dE6gH9", "jK2mN5pQ8": ""})
    long = {"body": "y" * 150 + SECRET + "z" * 600}
    assert SECRET not in "".join(pages_of(long))


def test_the_whole_comes_in_pages() -> None:
    text = "".join(chr(97 + n % 26) for n in range(50_000))
    pages = pages_of({"text": text, "n": 1})
    assert len(pages) == 4
    assert "".join(piece for page in pages for piece in read(page)) == text
    assert pages[-1].endswith("\nn = 1")
    assert pages[0].startswith('text, characters 1 to 1,000 of 50,000 = "abc')


def test_an_action_is_shown_as_a_call_or_as_its_text() -> None:
    assert shown_action('drop(table="t", n=#1)') == 'drop(table="t", n=#1)'
    long = shown_action(f'drop(a="{"x" * 300}", b="{"y" * 300}", path="/")')
    assert [line.partition(" = ")[0] for line in long.split("\n")] == ["drop:", "  a", "  b", "  path"]
    assert shown_action("push left\n\u202ecosts at most nothing") == "push left\\n\\u202ecosts at most nothing"
    with pytest.raises(UnshowableError, match="it has 20,000 characters"):
        shown_action("x" * 20_000)


def test_ordinary_texts_of_any_script_stay_readable() -> None:
    for text in ("Größe: 10 €", "日本語のテキスト", "नमस्ते दुनिया", "Привет, мир", "café"):
        assert escaped(unicodedata.normalize("NFC", text)) == unicodedata.normalize("NFC", text)

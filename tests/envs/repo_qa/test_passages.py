"""Passages show their definitions within the bounds on their length."""

from __future__ import annotations

import ast
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from envs.repo_qa import read_package, read_repo
from envs.repo_qa.index import Repository
from envs.repo_qa.passages import CHARACTERS, LINES, WORDS, word_count
from envs.repo_qa.sources import ParsedSource, SourcePlace
from tests.envs.repo_qa.helpers import write_shop
from tests.profiles import examples


def shop(folder: Path) -> Repository:
    return read_repo(write_shop(folder))


def text_of(repository: Repository, title: str) -> str:
    [result] = [passage for passage in repository.passages if passage.title == title]
    return result.text


def test_a_function_shows_signature_docstring_and_body(tmp_path: Path) -> None:
    assert text_of(shop(tmp_path), "shop.prices.discount").split("\n") == [
        'def discount(price, share=0.25, *, label="sale", limit: int = 90) -> float:  # in shop.prices',
        '    """Take a share off a price."""',
        "    if price < 0:",
        '        raise PriceError("below nothing")',
        "    return price * (1 - share)",
    ]


def test_a_class_shows_its_names(tmp_path: Path) -> None:
    repository = shop(tmp_path)
    assert text_of(repository, "shop.shelves.Shelf").split("\n") == [
        "class Shelf(Thing):  # in shop.shelves",
        '    """Holds things."""',
        "    # attributes: colour, room",
        "    # methods: __init__, put_away, copy",
    ]
    climb = text_of(repository, "shop.shelves.TallShelf.climb")
    assert climb.startswith("def climb(self, rung=7, /):  # method of TallShelf\n")


def test_ids_are_files_and_lines(tmp_path: Path) -> None:
    repository = shop(tmp_path)
    for definition, passage in zip(repository.definitions, repository.passages, strict=True):
        path, _, line = passage.id.rpartition(":")
        word = "class" if definition.kind == "class" else "def"
        assert (
            repository.sources[path].lines[int(line) - 1].split("(")[0].split(":")[0].strip()
            == f"{word} {definition.name}"
        )


def test_what_is_long_is_cut_with_a_mark(tmp_path: Path) -> None:
    names = ", ".join(f"name_{n}=None" for n in range(80))
    body = "".join(f"    step_{n}()\n" for n in range(80))
    methods = "".join(f"    def method_{n}(self): pass\n" for n in range(80))
    text = f"def f({names}):\n    pass\ndef g():\n    '''{'Word ' * 90}.'''\n{body}class C:\n{methods}"
    (tmp_path / "a.py").write_text(f"{text}def h(x={'a' * 5000!r}):\n    y = {'b' * 5000!r}\n    return y\n")
    repository = read_repo(tmp_path)
    for title in ("a.f", "a.g", "a.C", "a.h"):
        assert "..." in text_of(repository, title)
    whole = {definition.title: repository.shown(definition) for definition in repository.definitions}
    assert not whole["a.f"].whole_header
    assert not whole["a.g"].whole
    assert not whole["a.C"].whole
    assert whole["a.C.method_3"].whole
    bounded(repository)


def bounded(repository: Repository) -> None:
    for passage in repository.passages:
        assert word_count(passage.text) <= WORDS, passage
        lines = passage.text.split("\n")
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= 3 * CHARACTERS  # the header and the comment of where


def test_passages_of_a_real_package_are_bounded_and_unique() -> None:
    repository = read_package("email")
    bounded(repository)
    assert len({passage.id for passage in repository.passages}) == len(repository.passages) > 300


LINE = st.sampled_from(
    [
        "x = 1", "def f(a, b=2): pass", "class C(B): pass", "def g(*, k='v') -> int:\n    '''Doc.'''\n    return 1",
        "if x:\n    def h(): raise E", "async def j(a=(1,\n  2)):\n    await x",
        "class D:\n    a: int = 1\n    def m(self): pass", "@property\ndef p(self): return 1", "def one(): x; y",
        "def t(a=1,):\n\n    # nothing\n\n    def u(): pass\n    return u",
        "def later(\n    a,\n    b=3): 'é'; return (a,\n    b)",
    ]
)  # fmt: skip


@given(st.lists(LINE, max_size=12))
@examples(60)
def test_any_module_is_shown_within_bounds_and_in_its_own_lines(parts: list[str]) -> None:
    text = "\n".join(parts) + "\n"
    source = ParsedSource("m.py", "m", tuple(text.split("\n")), ast.parse(text), False)
    place = SourcePlace("m", Path("."), Path("."))
    repository = Repository(place, [source])
    bounded(repository)
    for definition in repository.definitions:
        shown = repository.shown(definition)
        assert definition.name in shown.header
        for number, line in shown.lines.items():
            if number != definition.line:
                assert line.strip() in source.lines[number - 1]

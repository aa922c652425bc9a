"""Sources are found and parsed, whatever they hold, cut into passages, and never executed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.repo_qa import RepoQaError, questions, read_package, read_repo
from envs.repo_qa.index import Repository
from envs.repo_qa.passages import CHARACTERS, LINES, WORDS, word_count
from envs.repo_qa.sources import MOST_BYTES, ParsedSource, SourcePlace, find_package
from tests.envs.repo_qa.helpers import FILES, write_shop
from tests.places import ROOT
from tests.profiles import examples


def skipped(folder: Path) -> dict[str, str]:
    return {item.path: item.reason for item in read_repo(folder).skipped}


def test_nothing_is_executed_or_imported(tmp_path: Path) -> None:
    package = tmp_path / "loud_package"
    package.mkdir()
    marker = tmp_path / "executed"
    loud = f"open({str(marker)!r}, 'w').write('x')\nraise SystemExit('executed')\n"
    (package / "__init__.py").write_text(loud + "def f(a=5): pass\n")
    (package / "inner.py").write_text(f"{loud}\nclass C(print('executed')): x = __import__('os').abort()\n")
    (package / "sitecustomize.py").write_text(loud)
    code = (
        "import sys; from envs.repo_qa import *\n"
        "for one in (read_package('loud_package'), read_package('loud_package.inner')):\n"
        "    assert one.passages, one\n"
        "    questions(one, 0, 'dev'); questions(one, 0, 'test')\n"
        "assert not [name for name in sys.modules if 'loud_package' in name], 'imported'\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not marker.exists()


DEEP, SYNTAX = "nested too deep", "a syntax error"
BAD = {
    "broken.py": (b"def f(:\n", SYNTAX), "zero.py": (b"x = 1\x00\n", "zero bytes"),
    "wrong.py": (b"x = '\xff\xfe'\n", "no text in its declared encoding"),
    "unknown.py": (b"# coding: klingon\nx = 1\n", "no text in its declared encoding"),
    "hex.py": (b"# coding: hex\nx = 1\n", "an encoding that is not read"),
    "punycode.py": (b"# coding: punycode\n" + b"a" * 1000 + b"-" + b"9" * 1000, "an encoding that is not read"),
    "deep.py": (b"x = " + b"(" * 5000 + b")" * 5000, DEEP), "chain.py": (b"x = " + b"-" * 200_000 + b"1", DEEP),
    "sum.py": (b"x = " + b"1 + " * 100_000 + b"1", DEEP),
    "blocks.py": (b"".join(b" " * n + b"if 1:\n" for n in range(150)) + b" " * 150 + b"x = 1\n", DEEP),
    "digits.py": (b"x = " + b"9" * 10_000, SYNTAX),
    "large.py": (b"# " + b"x" * MOST_BYTES, f"larger than {MOST_BYTES} bytes"),
    "tests": (b"def test_a(): pass\n", "tests"), "test_b.py": (b"def test_b(): pass\n", "tests"),
}  # fmt: skip


def test_what_cannot_be_parsed_is_left_out_and_counted(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / "tests").mkdir()
    for name, (data, _) in BAD.items():
        (tmp_path / ("tests/test_a.py" if name == "tests" else name)).write_bytes(data)
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\ndef caf\xe9(x=1): pass\n")  # can be read
    os.mkfifo(tmp_path / "pipe.py")
    texts = skipped(tmp_path)
    blocks = texts["blocks.py"]
    assert texts == {name: reason for name, (_, reason) in BAD.items()} | {
        "pipe.py": "no regular file",
        "blocks.py": blocks,
    }
    assert blocks in (DEEP, SYNTAX)  # the tokenizer allows for 100 indentations
    repository = read_repo(tmp_path)
    assert set(repository.sources) == {*FILES, "latin.py"}
    assert repository.unusable.total() == len(texts) - 2
    assert [definition.name for definition in repository.definitions if definition.path == "latin.py"] == ["café"]


def test_what_parses_but_is_deep_breaks_nothing(tmp_path: Path) -> None:
    chain = "x" + ".y" * 900
    nested = "".join("    " * n + f"class C{n}:\n" for n in range(60)) + "    " * 60 + "def m(self): pass\n"
    text = f"def f(a={chain}, b=[{'[' * 60}{']' * 60}]) -> {chain}:\n    raise {chain}\nclass A({chain}): pass\n"
    (tmp_path / "deep.py").write_text(text)
    (tmp_path / "nested.py").write_text(nested)
    repository = read_repo(tmp_path)
    assert {definition.name for definition in repository.definitions} >= {"f", "A", "C0", "C19"}
    assert all(len(line) < 400 for passage in repository.passages for line in passage.text.split("\n"))
    for part in ("dev", "test"):
        questions(repository, 0, part)


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_shop(outside)
    (outside / "secret.py").write_text("def secret(): pass\n")
    inside = write_shop(tmp_path / "inside")
    (inside / "secret.py").symlink_to(outside / "secret.py")
    (inside / "away").symlink_to(outside)
    (inside / "around").symlink_to(inside)
    assert skipped(inside) == {"secret.py": "a link", "away": "a link", "around": "a link"}
    assert set(read_repo(inside).sources) == set(FILES)
    (tmp_path / "entry").symlink_to(inside)  # the folder that is named may be one
    assert set(read_repo(tmp_path / "entry").sources) == set(FILES)


def test_hidden_folders_and_environments_are_not_entered(tmp_path: Path) -> None:
    for folder in (".git", "__pycache__", "myenv"):
        (write_shop(tmp_path) / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("def x(): pass\n")
    (tmp_path / "myenv" / "pyvenv.cfg").touch()
    assert set(read_repo(tmp_path).sources) == set(FILES)


def test_modules_are_named_from_their_outermost_package_in_the_order_of_paths(tmp_path: Path) -> None:
    modules = {
        "scripts/run.py": "scripts.run", "src/a/__init__.py": "a", "src/a/b.py": "a.b", "src/a/c/d.py": "a.c.d",
        "src/single.py": "single", "top.py": "top",
    }  # fmt: skip
    for name in reversed(modules):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("def f(): pass\n")
    repository = read_repo(tmp_path)
    assert [(path, source.module) for path, source in repository.sources.items()] == list(modules.items())
    assert repository is read_repo(tmp_path)  # a repository is read once in a process


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("networkxx", "perhaps 'networkx' is meant.*by --repo"),
        ("json.nothing", "holds no 'nothing'"), ("json.decoder.JSONDecoder", "holds no 'JSONDecoder'"),
        ("sys", "no Python source"), ("../etc", "as it is imported"), ("", "as it is imported"),
        ("a\x00b", "as it is imported"),
    ],
)  # fmt: skip
def test_an_unknown_package_is_an_error_with_a_remedy(name: str, message: str) -> None:
    with pytest.raises(RepoQaError, match=message):
        find_package(name)


def test_modules_and_packages_inside_of_packages_are_found() -> None:
    assert set(read_package("json.decoder").sources) == {"json/decoder.py"}
    assert set(read_package("os").sources) == {"os.py"}  # the interpreter holds a compiled one
    assert {path.split("/")[1] for path in read_package("email.mime").sources} == {"mime"}


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    file, loop, empty = tmp_path / "a.py", tmp_path / "loop", tmp_path / "empty"
    file.write_text("x = 1\n")
    loop.symlink_to(loop)
    empty.mkdir()
    none = (tmp_path / "none", "does not exist")
    for folder, message in (
        none,
        (file, "is a file"),
        (empty, "no Python"),
        (loop, "--repo"),
        (Path("a\x00b"), "--repo"),
    ):
        with pytest.raises(RepoQaError, match=message):
            read_repo(folder)


def test_too_many_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.repo_qa.sources.MOST_FILES", 3)
    with pytest.raises(RepoQaError, match="more than 3 Python files; name one of its folders"):
        read_repo(write_shop(tmp_path))


def test_names_are_counted_wherever_they_are_defined(tmp_path: Path) -> None:
    text = "def f():\n    def g(): pass\nif 1:\n    class f: pass\ntry:\n    pass\nexcept E:\n    async def f(): pass\n"
    (tmp_path / "a.py").write_text(text + "match 1:\n    case 1:\n        def g(): pass\n")
    assert read_repo(tmp_path).names == Counter({"f": 3, "g": 2})


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

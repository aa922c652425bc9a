"""Finds Python sources and parses them. They are data: nothing here imports or executes them.

A package is located by ``importlib.util.find_spec`` of its top-level name, which imports nothing; sub-packages are
folders below it. Every file that cannot be used is counted with its reason, none is lost silently.
"""

from __future__ import annotations

import ast
import codecs
import difflib
import importlib.util
import io
import os
import stat
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envs.repo_qa.errors import RepoQaError
from tape.reading import short

MOST_BYTES = 1 << 20
"""Largest source file that is read."""
MOST_FILES = 5_000
"""Most source files of one corpus."""
MOST_LEVELS = 40
"""Deepest folder that is entered."""

TEST_FOLDERS = frozenset({"tests", "test"})
"""Folders of tests are not part of the corpus: what they define is no part of what a package offers."""

_ENCODINGS = ("utf-8", "ascii", "iso8859", "cp125", "cp932", "cp949", "koi8", "gb", "big5", "shift_jis", "euc")
"""What declared encodings begin with that are read. Others (punycode, unicode-escape) take time that grows with the
square, or decode to another text than the file shows."""


@dataclass(frozen=True)
class SourcePlace:
    """Where sources are.

    Attributes:
        name: What they are called: the package, or the folder's name.
        root: The folder that paths are relative to.
        top: The folder or the one file with the sources, below the root or the root itself.
    """

    name: str
    root: Path
    top: Path


@dataclass(frozen=True)
class ParsedSource:
    """One parsed file.

    Attributes:
        path: Relative to the root, with ``/``.
        module: Its dotted name.
        lines: Its lines, without their ends; line n is ``lines[n - 1]``.
        tree: What it holds.
        is_package: Whether it is an ``__init__.py``.
    """

    path: str
    module: str
    lines: tuple[str, ...]
    tree: ast.Module
    is_package: bool


@dataclass(frozen=True)
class Skipped:
    """A file or folder that is not part of the corpus.

    Attributes:
        path: Relative to the root.
        reason: Why, in a few words that are the same for all of its kind.
    """

    path: str
    reason: str


def find_package(name: str) -> SourcePlace:
    """Locate an installed package or module by the name that it is imported by; nothing is imported.

    Raises:
        RepoQaError: There is none, or it has no Python source.
    """
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        raise RepoQaError(f"--package takes the name of a package as it is imported, got {short(name)}")
    top = _located(parts[0])
    for number, part in enumerate(parts[1:], 2):
        folder, file = top / part, top / f"{part}.py"
        if not (folder.is_dir() or file.is_file()):
            raise RepoQaError(f"the package {'.'.join(parts[: number - 1])!r} holds no {part!r}; looked in {top}")
        top = folder if folder.is_dir() else file
    root = top.parents[len(parts) - 1]
    return SourcePlace(name, root, top)


def find_repo(folder: Path) -> SourcePlace:
    """A folder with sources.

    Raises:
        RepoQaError: There is none.
    """
    try:
        root = folder.resolve()
        if not root.is_dir():
            what = "is a file" if root.exists() else "does not exist"
            raise RepoQaError(f"--repo {short(str(folder))} {what}; name the folder of a repository")
    except (OSError, ValueError, RuntimeError) as problem:
        if isinstance(problem, RepoQaError):
            raise
        raise RepoQaError(f"--repo {short(str(folder))} cannot be read: {problem}; name a folder") from problem
    return SourcePlace(root.name or "root", root, root)


def _located(name: str) -> Path:
    """The folder of a top-level package, or the file of a top-level module."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # a half-made module of that name is loaded
        spec = None
    if spec is None:
        near = difflib.get_close_matches(name, sorted(sys.stdlib_module_names) + _installed(), 1)
        meant = f"; perhaps {near[0]!r} is meant" if near else ""
        raise RepoQaError(
            f"no package {name!r} is installed{meant}. Install it, give the name by which it is imported, or give the "
            "folder of its sources by --repo"
        )
    if spec.submodule_search_locations:
        for location in spec.submodule_search_locations:
            if Path(location).is_dir():
                return Path(location).resolve()
    frozen = getattr(spec.loader_state, "filename", None)  # os and a few others are compiled into the interpreter
    for origin in (spec.origin, frozen):
        if origin and origin.endswith(".py") and Path(origin).is_file():
            return Path(origin).resolve()
    raise RepoQaError(f"the package {name!r} has no Python source here; take one that is written in Python")


def _installed() -> list[str]:
    from importlib.metadata import packages_distributions  # reads every installed distribution

    return sorted(packages_distributions())


def read_sources(place: SourcePlace) -> tuple[tuple[ParsedSource, ...], tuple[Skipped, ...]]:
    """Read and parse all sources of a place, in the order of their paths.

    Links are not followed, neither out of the folder nor inside of it. Folders that begin with a dot, ``__pycache__``,
    virtual environments and tests are left out.

    Returns:
        What could be parsed, and what could not, or was left out, with the reasons.

    Raises:
        RepoQaError: There are no usable sources, or too many.
    """
    skipped: list[Skipped] = []
    sources: list[ParsedSource] = []
    for number, file in enumerate(_files(place, skipped), 1):
        if number > MOST_FILES:
            raise RepoQaError(f"{place.top}: more than {MOST_FILES} Python files; name one of its folders")
        path = file.relative_to(place.root).as_posix()
        problem = source = None
        try:
            source = _parsed(file, path, place)
        except _UnusableError as error:
            problem = str(error)
        if source is None:
            skipped.append(Skipped(path, problem or ""))
        else:
            sources.append(source)
    if not sources:
        why = f" ({skipped[0].path}: {skipped[0].reason})" if skipped else ""
        raise RepoQaError(f"{place.top}: no Python file that can be parsed{why}; name a folder of Python sources")
    return tuple(sources), tuple(skipped)


class _UnusableError(Exception):
    """Why a file cannot be used."""


def _files(place: SourcePlace, skipped: list[Skipped]) -> Iterator[Path]:
    """The Python files, by path; what is no file or stands in a folder that is left out is noted."""
    if place.top.is_file():
        yield place.top
        return

    def note(path: Path, reason: str) -> None:
        relative = path.relative_to(place.root).as_posix()
        skipped.append(Skipped(relative.encode("utf-8", "backslashreplace").decode(), reason))

    folders = [(place.top, 0)]
    files: list[Path] = []
    while folders:
        folder, level = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            note(folder, "a folder that cannot be read")
            continue
        for entry in entries:
            path = folder / entry.name
            kind = _kind(entry)
            if kind == "link":
                if entry.name.endswith(".py") or path.is_dir():
                    note(path, "a link")
            elif kind == "folder":
                if entry.name.startswith(".") or entry.name == "__pycache__" or (path / "pyvenv.cfg").exists():
                    continue
                if entry.name in TEST_FOLDERS:
                    note(path, "tests")
                elif level >= MOST_LEVELS:
                    note(path, "nested too deep")
                else:
                    folders.append((path, level + 1))
            elif entry.name.endswith(".py"):
                _sort_out(path, kind, note, files)
    yield from sorted(files, key=lambda path: path.relative_to(place.root).as_posix())


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _sort_out(path: Path, kind: str, note: Callable[[Path, str], None], files: list[Path]) -> None:
    name = path.name
    if kind != "file":
        note(path, "no regular file")
    elif not str(path).isprintable():
        note(path, "a name that cannot be printed")
    elif name.startswith("test_") or name == "conftest.py":
        note(path, "tests")
    else:
        files.append(path)


def _parsed(file: Path, path: str, place: SourcePlace) -> ParsedSource:
    """Read and parse one file."""
    text = _text(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and comparisons in a foreign file
            tree = ast.parse(text)
    except RecursionError:
        raise _UnusableError("nested too deep") from None
    except MemoryError:  # which the parser raises where its own stack is full
        raise _UnusableError("nested too deep") from None
    except (SyntaxError, ValueError) as error:
        deep = "too many" in str(error)  # "too many statically nested blocks", "too many nested parentheses"
        raise _UnusableError("nested too deep" if deep else "a syntax error") from None
    lines = tuple(io.StringIO(text, newline=None).read().split("\n"))
    return ParsedSource(path, _module_name(file, place), lines, tree, file.name == "__init__.py")


def _text(file: Path) -> str:
    """The text of a source file, decoded as Python does."""
    try:
        # Not to be kept waiting by a pipe that has taken the place of the file in the meantime.
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise _UnusableError("no regular file")
            data = opened.read(MOST_BYTES + 1)
    except OSError:
        raise _UnusableError("a file that cannot be read") from None
    if len(data) > MOST_BYTES:
        raise _UnusableError(f"larger than {MOST_BYTES} bytes")
    if b"\x00" in data:
        raise _UnusableError("zero bytes")
    try:
        declared, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        codec = codecs.lookup(declared).name
        if not codec.startswith(_ENCODINGS):
            raise _UnusableError("an encoding that is not read")
        return data.decode(declared)
    except (SyntaxError, LookupError, UnicodeError):
        raise _UnusableError("no text in its declared encoding") from None


def _module_name(file: Path, place: SourcePlace) -> str:
    """The dotted name: from the outermost folder of an unbroken chain of packages, else from the root."""
    parts = list(file.relative_to(place.root).parts)
    parts[-1] = parts[-1].removesuffix(".py")
    first = len(parts) - 1
    while first > 0 and (place.root.joinpath(*parts[:first]) / "__init__.py").is_file():
        first -= 1
    if first == len(parts) - 1 and first > 0:  # in no package: as if the root, or its src, were on the path
        first = 1 if parts[0] in ("src", "lib") else 0
    parts = parts[first:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)

"""A folder of files as a state."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from pathlib import Path

from tape.tools.copies.base import MOST_BYTES, CopyableState, CopyError

MOST_FILES = 10_000
"""A folder with more is not copied."""

LARGEST_SHOWN = 100_000
"""Bytes of a text file whose lines are compared."""


class Folder(CopyableState):
    """A folder; tools get its path. Copies are temporary folders, and go with the process.

    Args:
        path: The folder.

    Raises:
        CopyError: There is no such folder.

    Examples:
        >>> from tape.tools.copies import Folder
        >>> from pathlib import Path
        >>> Path("notes").mkdir()
        >>> notes = Folder("notes")
        >>> copied = notes.copy()
        >>> _ = (copied.value / "may.txt").write_text("buy pears")
        >>> notes.difference(copied)
        ['new: may.txt']
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path).resolve()
        if not self._path.is_dir():
            raise CopyError(f"there is no folder {path}")
        self._remove: Callable[[], object] | None = None

    @property
    def value(self) -> Path:
        """The path."""
        return self._path

    @property
    def roots(self) -> Sequence[Path]:
        """The folder alone."""
        return (self._path,)

    def copy(self) -> Folder:
        """Files and links as they are; a link that leads outside is refused."""
        size = 0
        self._contents()  # all are files, folders or links
        for number, file in enumerate(self._files()):
            if file.is_symlink():
                self._require_inside(file)
            size += file.lstat().st_size
            if size > MOST_BYTES or number >= MOST_FILES:
                raise CopyError(
                    f"{self._path} has more than {MOST_BYTES >> 20} MiB or {MOST_FILES} files, and no more are copied"
                )
        with _readable(self._path):
            return self._copied()

    def _require_inside(self, link: Path) -> None:
        """Refuse a link that a copy would share."""
        if link.readlink().is_absolute() or not link.resolve().is_relative_to(self._path):
            raise CopyError(f"the link {link} leads out of {self._path}, or has a whole path; a copy would share it")

    def _copied(self) -> Folder:
        above = Path(tempfile.mkdtemp(prefix="tape-copy-"))
        shutil.copytree(self._path, above / "copy", symlinks=True)
        copied = Folder(above / "copy")
        # Whenever it is collected, perhaps while some call is tried: in a context of its own.
        copied._remove = weakref.finalize(copied, Context().run, shutil.rmtree, above, ignore_errors=True)
        return copied

    def close(self) -> None:
        """Remove a copy."""
        if self._remove is not None:
            self._remove()

    def _files(self) -> Iterator[Path]:
        for folder, folders, files in os.walk(self._path):
            folders.sort()
            yield from (Path(folder) / name for name in sorted([*files, *folders]))

    def _contents(self) -> dict[str, str]:
        """What every file holds, hashed, every link's target, and a mark for a folder."""
        texts = {}
        for file in self._files():
            if file.is_symlink():
                held = f"link to {file.readlink()}"
            elif not file.is_dir() and not file.is_file():
                raise CopyError(f"{file} is neither a file nor a folder")
            else:
                held = "folder" if file.is_dir() else hashlib.sha256(file.read_bytes()).hexdigest()
            texts[file.relative_to(self._path).as_posix()] = held
        return texts

    def key(self) -> str:
        """Names and contents of all files, hashed; not their times."""
        with _readable(self._path):
            return self._key()

    def _key(self) -> str:
        return hashlib.sha256(repr(self._contents()).encode("utf-8", "surrogatepass")).hexdigest()

    def difference(self, after: CopyableState) -> Sequence[str]:
        """The files that are new, gone or changed; of short texts the lines."""
        assert isinstance(after, Folder)
        old, new, texts = self._contents(), after._contents(), []
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                word = "new" if name not in old else "gone" if name not in new else "changed"
                texts.append(f"{word}: {name}")
                texts += [f"  {line}" for line in _lines(self._path / name, after._path / name)]
        return texts


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into :class:`CopyError`."""
    try:
        yield
    except OSError as error:  # shutil's errors too
        raise CopyError(f"{path} cannot be read or copied: {error}") from error


def _lines(old: Path, new: Path) -> list[str]:
    """The lines that differ in two texts; none where one is long, or no text."""
    texts = [_text(file) for file in (old, new)]
    before, after = texts
    if before is None or after is None:
        return []
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _text(file: Path) -> list[str] | None:
    if not file.is_file() or file.stat().st_size > LARGEST_SHOWN:
        return None
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return None

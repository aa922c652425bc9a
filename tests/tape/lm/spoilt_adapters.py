"""Adapters with something wrong in them, from a seed."""

import json
import math
import random
import struct
from collections.abc import Callable
from typing import Any

NAME = "model.layers.0.mlp.up_proj.weight"
ROWS, COLUMNS, RANK = 4, 3, 2
_DTYPES = ("I8", "F32", "F16", "BF16", "F64", "BOOL", "F4", "F6_E2M3", "F8_E8M0", "C64", "U64", "I7", "", "f32")
_NUMBERS = (0, 1, -1, 2, 5, 2**31, 2**62, 2**63, 2**64, 10**30, 0.5, 1e400, None, True, "2", [], math.nan)
_NAMES = (
    "", ".", ".down", "down", "lm_head.weight", f"{NAME}.", f"{NAME}.alpha", "\x1b[2J\n\x00", "x" * 70_000, "\u202e.up",
    "../../etc.down", "model.embed_tokens.weight.down", "__metadata__", "a.b.c.up_scale",
)  # fmt: skip
_FLOATS = (math.nan, math.inf, -math.inf, 3.4e38, -3.4e38, 1e30, 0.0, 1e-45)
_CARDS: tuple[Any, ...] = (
    None, [], {}, {"name": 1}, {"name": "a", "base": "b", "about": "c", "rank": 0}, {"name": "a", "base": "b",
    "about": "c", "rank": 10**300, "alpha": "Infinity", "target_modules": ["lm_head"]}, "[" * 100_000, b"\xff\xfe",
    '{"name": "a", "base": "\\ud800", "about": "", "rank": 1}', '{"rank": NaN}', '{"rank": 1e999}',
    '{"rank": ' + "9" * 5000,
)  # fmt: skip

Header = dict[str, Any]


def sound() -> tuple[Header, bytearray]:
    """The header and the numbers of an adapter of one matrix."""
    header: Header = {}
    data = bytearray()
    whole = [("down", "I8", [RANK, COLUMNS]), ("up", "I8", [ROWS, RANK])]
    scales = [("down_scale", "F32", [RANK]), ("up_scale", "F32", [RANK])]
    for part, dtype, shape in [*whole, *scales]:
        count = math.prod(shape)
        written = bytes(range(1, count + 1)) if dtype == "I8" else struct.pack(f"<{count}f", *[0.5] * count)
        header[f"{NAME}.{part}"] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(written)],
        }
        data += written
    return header, data


def _one(header: Header, rng: random.Random) -> Header:
    """The entry of one tensor; an unused one where it was spoilt already."""
    found = header[rng.choice(sorted(header))]
    return found if isinstance(found, dict) else {}


def _dtype(header: Header, _data: bytearray, rng: random.Random) -> None:
    _one(header, rng)["dtype"] = rng.choice(_DTYPES)


def _whole_dtype(header: Header, data: bytearray, rng: random.Random) -> None:
    """Another kind of number of the same size, so that the file as such is sound."""
    same = {"I8": ("U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"), "F32": ("I32", "U32", "F4")}
    found = _one(header, rng)
    if found.get("dtype") in same:
        found["dtype"] = rng.choice(same[found["dtype"]])
        if found["dtype"] == "F4":
            found["shape"] = [8 * RANK]


def _shape(header: Header, _data: bytearray, rng: random.Random) -> None:
    _one(header, rng)["shape"] = [rng.choice(_NUMBERS) for _ in range(rng.randrange(4))]


def _empty(header: Header, _data: bytearray, rng: random.Random) -> None:
    """No numbers at all, in as large a shape as there is."""
    at = rng.choice((0, 6, 14, 22, 30))
    huge = rng.choice(([0, 2**63], [2**62, 0, 4], [0], [2**64 - 1, 0], [0] * 100, [0, 2**40]))
    header[rng.choice((f"{NAME}.down", "other.up", "x"))] = {"dtype": "I8", "shape": huge, "data_offsets": [at, at]}


def _offsets(header: Header, data: bytearray, rng: random.Random) -> None:
    places = (0, 1, 6, len(data), len(data) + 1, *_NUMBERS)
    _one(header, rng)["data_offsets"] = [rng.choice(places) for _ in range(rng.choice((2, 2, 2, 0, 1, 3)))]


def _name(header: Header, _data: bytearray, rng: random.Random) -> None:
    old = rng.choice(sorted(header))
    header[rng.choice(_NAMES)] = header[old] if rng.random() < 0.3 else header.pop(old)


def _renamed(header: Header, _data: bytearray, rng: random.Random) -> None:
    """All parts of the matrix under another name."""
    name = rng.choice(_NAMES)
    for key in sorted(header):
        header[key.replace(NAME, name)] = header.pop(key)


def _kind(header: Header, _data: bytearray, rng: random.Random) -> None:
    header[rng.choice([*sorted(header), "__metadata__"])] = rng.choice((None, 1, [], {}, "x", {"format": 5}, {"a": {}}))


def _numbers(header: Header, data: bytearray, rng: random.Random) -> None:
    """Scales that are none, or that make the weights infinite."""
    for at in range(14, 30, 4):
        if rng.random() < 0.5:
            data[at : at + 4] = struct.pack("<f", rng.choice(_FLOATS))


def _more(header: Header, data: bytearray, rng: random.Random) -> None:
    """A tensor that no adapter has, at the end."""
    header[rng.choice((f"{NAME}.alpha", "extra", "x.y"))] = {
        "dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4],
    }  # fmt: skip
    data += struct.pack("<f", math.inf)


SPOILT: tuple[Callable[[Header, bytearray, random.Random], None], ...] = (
    _dtype, _whole_dtype, _shape, _empty, _offsets, _name, _renamed, _kind, _numbers, _more,
)  # fmt: skip


def spoilt(seed: int) -> tuple[bytes, bytes]:
    """An adapter's file and its card, of which at least one has something wrong in it."""
    rng = random.Random(seed)
    header, data = sound()
    for change in rng.choices(SPOILT, k=rng.choice((1, 1, 1, 2, 3))):
        change(header, data, rng)
    text = json.dumps(header).encode()
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice((b"", b"[" * 300, b"\xff", b'"', b"}", b"NaN", text[:40])) + text[at + 1 :]
    length = len(text) if rng.random() < 0.9 else rng.choice((0, 1, len(text) + 1, 2**32, 2**63, 2**64 - 1))
    file = struct.pack("<Q", length) + text + data
    if rng.random() < 0.1:
        file = file[: rng.randrange(len(file))]
    card = rng.choice(_CARDS) if rng.random() < 0.3 else {"name": "a", "base": "b", "about": "c", "rank": RANK}
    written = card if isinstance(card, bytes) else card.encode() if isinstance(card, str) else json.dumps(card).encode()
    return file, written

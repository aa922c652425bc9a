"""Files from outside: valid ones, changed until they are invalid."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

_MARK = "\x07raw{}\x07"
_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "-0.0", "9" * 5000, "9" * 350, "-" + "9" * 350)
_NESTED = ("[" * 100_000, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000)
RAW = (*_NUMBERS, '"\\ud800"', '{"\\udfff": 1}', *_NESTED, '{"a": 1, "a": "two"}', "'single'", "// nothing", '"\x00"')
"""What JSON values are replaced by as it stands: some of it is JSON, some is nearly."""

_WHOLE = (0, -1, 1, 3, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30)
_TEXTS = ("", "text", "0", "../../x", "\u202e\x1b[31m", "x" * 10_000)
_HOLDERS = ([], {}, [None], [[]], [1, 2, 3], ["a", "b"], {"a": 1}, {"": None}, [{}], [[1, 2], [3]])
VALUES: tuple[Any, ...] = (None, True, False, *_WHOLE, 0.5, -0.5, 1.5, 1e300, *_TEXTS, *_HOLDERS)
"""Values of every type, and extreme ones, to stand where another was."""

WHOLE = (b"", b" ", b"\n\n\n", b"null", b"[]", b"{}", b"3", b'"text"', b"\xff\xfe\x00\x00", b"\x00" * 1000)
WHOLE += (b"\xef\xbb\xbf{}", b"[" * 200_000, b'{"a":' * 100_000, b"9" * 20_000, bytes(range(256)))
WHOLE += (b"PK\x03\x04" + bytes(100), b"{" * 5, b"\xed\xa0\x80")
"""Contents that stand for a whole file."""

_PIECES = (b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"null", b"1e999")


def mutated(rng: random.Random, content: bytes) -> bytes:
    """A changed copy of a file: JSON, JSON Lines, or anything else."""
    way = rng.random()
    if way < 0.7:
        for _ in range(5):
            changed = _changed_value(rng, content)
            if changed is not None:
                return _edited(rng, changed) if rng.random() < 0.03 else changed
    if way > 0.97:
        return rng.choice(WHOLE)
    return _edited(rng, content)


def _edited(rng: random.Random, content: bytes) -> bytes:
    """Bytes changed, put in, left out, repeated or cut off, without regard to what they mean."""
    for _ in range(rng.randint(1, 3)):
        at, to = sorted(rng.randint(0, len(content)) for _ in range(2))
        to = min(to, at + rng.choice((1, 3, 50, 2000)))
        match rng.randrange(6):
            case 0:
                content = content[:at] + content[to:]
            case 1:
                content = content[:at] + rng.choice(_PIECES) + content[at:]
            case 2:
                content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
            case 3:
                content = content[:at]
            case 4:
                content = content[:at] + content[at:to] * rng.randint(2, 5) + content[to:]
            case 5:
                lines = content.split(b"\n")
                rng.shuffle(lines)
                content = b"\n".join(lines)
    return content


def _changed_value(rng: random.Random, content: bytes) -> bytes | None:
    """One value of the file at some JSON path replaced, left out, put twice or moved; None if the file is no JSON."""
    lines = content.split(b"\n")
    try:
        whole = json.loads(content)
        number = None
    except (ValueError, RecursionError):
        full = [i for i, line in enumerate(lines) if line.strip()]
        if not full:
            return None
        number = rng.choice(full)
        try:
            whole = json.loads(lines[number])
        except (ValueError, RecursionError):
            return None
    places = list(_places(whole))
    raw: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(rng, *rng.choice(places), raw) if places else None
    text = json.dumps([whole] if not isinstance(whole, dict | list) else whole)
    for i, part in enumerate(raw):
        text = text.replace(json.dumps(_MARK.format(i)), part)
    changed = text.encode("utf-8", "surrogatepass")
    if number is None:
        return changed
    lines[number] = changed
    return b"\n".join(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value: what holds it, and under which key or index."""
    inside = [*value] if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in inside:
        yield value, key
        yield from _places(value[key])


def _change(rng: random.Random, holder: Any, key: Any, raw: list[str]) -> None:
    try:
        old = holder[key]
    except (KeyError, IndexError):
        return  # an earlier change has taken it away
    match rng.randrange(10):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(("extra", "", "schema", f"{key} "))] = old
        case 1 | 2 if isinstance(holder, list):
            holder.insert(key, rng.choice((old, None, [], {}, 7)))
        case 2:
            holder[key] = [old]
        case 3 | 4:
            holder[key] = _MARK.format(len(raw))
            raw.append(rng.choice(RAW))
        case 5 if isinstance(old, int | float) and not isinstance(old, bool):
            holder[key] = rng.choice((-old, old + 1, old * 10**18, str(old), float(old) if abs(old) < 1e300 else 0.0))
        case 5 if isinstance(old, str):
            holder[key] = rng.choice((old + "x", old[:-1], old.upper(), [*old][:50], old * 3))
        case 5 if isinstance(old, list | dict):
            holder[key] = rng.choice(([old], list(old), {"x": old}, None))
        case _:
            holder[key] = rng.choice(VALUES)

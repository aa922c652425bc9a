"""A secret in many encodings, written independently of what takes them out, and the search for what is left."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote


def spellings(key: str, seed: int = 0) -> dict[str, str]:
    """The key by the name of its encoding; where only some characters are escaped, the seed chooses them."""
    r = random.Random(seed)
    raw = key.encode()

    def some(escape: Callable[[str], str]) -> str:
        return "".join(escape(c) if r.random() < 0.5 else c for c in key)

    def json_escape(c: str) -> str:
        return f"\\u{ord(c):04{r.choice('xX')}}"

    def percent(c: str) -> str:
        return f"%{ord(c):02{r.choice('xX')}}"

    base = base64.b64encode(raw).decode()
    return {
        "plain": key, "upper": key.upper(), "lower": key.lower(), "json": "".join(map(json_escape, key)),
        "json, some": some(json_escape), "json, slash": key.replace("/", "\\/"),
        "json in json": json.dumps(json.dumps(some(json_escape))), "percent": quote(key, safe=""),
        "percent, all": "".join(map(percent, key)), "percent, some": some(percent),
        "percent, twice": quote(some(percent), safe=""),
        "percent, three times": quote(quote(some(percent), safe=""), safe=""), "base64": base,
        "base64, no padding": base.rstrip("="), "base64, later": base64.b64encode(b"x" + raw).decode(),
        "base64, later still": base64.b64encode(b"a:" + raw + b"\n!").decode(),
        "base64 of URLs": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "base64, lines": base64.encodebytes(b"Authorization: Bearer " * 3 + raw).decode(),
        "base64 in a URL": quote(base, safe=""), "spaced": " ".join(key), "invisible": "\u200b".join(key),
        "lines": "\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
        "mixed": "".join(r.choice([str, percent, json_escape])(c) for c in key),
    }  # fmt: skip


def readings(text: str) -> Iterator[str]:
    """What a patient reader makes of a text."""
    for _ in range(5):
        yield text
        text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
        text = unquote(text.replace("\\/", "/"))


def found_in(text: str, key: str, window: int = 8) -> list[str]:
    """How much of a key is left in a text, in any of its encodings: every so many characters in a row count."""
    parts = [key[i : i + window].lower() for i in range(len(key) - window + 1)]
    left = []
    for reading in {*readings(text)}:
        low = reading.lower()
        left += [name for name, spelt in spellings(key).items() if spelt.lower() in low]
        left += [f"part {i}" for i, part in enumerate(parts) if part in low]
        for run in re.findall(r"[0-9A-Za-z+/_-]{12,}", reading):
            whole = run.replace("-", "+").replace("_", "/")
            for start in range(4):
                piece = whole[start : start + (len(whole) - start) // 4 * 4]
                decoded = base64.b64decode(piece).decode("latin1").lower()
                left += [f"base64 {i}" for i, part in enumerate(parts) if part in decoded]
    return left

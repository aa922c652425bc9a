"""A secret in many spellings, written independently of what takes them out, and the search for what is left."""

from __future__ import annotations

import base64
import codecs
import html
import json
import random
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote


def spellings(key: str, seed: int = 0) -> dict[str, str]:
    """The key by the name of its spelling; where only some characters are escaped, the seed says which."""
    r = random.Random(seed)
    raw = key.encode()

    def some(escape: Callable[[str], str]) -> str:
        return "".join(escape(c) if r.random() < 0.5 else c for c in key)

    def each(escape: Callable[[str], str]) -> str:
        return "".join(map(escape, key))

    def json_escape(c: str) -> str:
        return f"\\u{ord(c):04{r.choice('xX')}}"

    def percent(c: str) -> str:
        return f"%{ord(c):02{r.choice('xX')}}"

    def entity(c: str) -> str:
        return r.choice([f"&#{ord(c)};", f"&#x{ord(c):x};", f"&#X{ord(c):04X};", f"&#{ord(c):05d};"])

    base = base64.b64encode(raw).decode()
    return {
        "plain": key,
        "upper": key.upper(),
        "lower": key.lower(),
        "backwards": key[::-1],
        "rot13": codecs.encode(key, "rot13"),
        "json": each(json_escape),
        "json, some": some(json_escape),
        "json, slash": key.replace("/", "\\/"),
        "json in json": json.dumps(json.dumps(some(json_escape))),
        "c": each(lambda c: f"\\x{ord(c):02x}"),
        "octal": each(lambda c: f"\\{ord(c):03o}"),
        "braces": each(lambda c: f"\\u{{{ord(c):x}}}"),
        "percent": quote(key, safe=""),
        "percent, all": each(percent),
        "percent, some": some(percent),
        "percent, twice": quote(some(percent), safe=""),
        "percent, three times": quote(quote(some(percent), safe=""), safe=""),
        "percent u": each(lambda c: f"%u{ord(c):04x}"),
        "entities": each(entity),
        "entities, some": some(lambda c: f"&#{ord(c)};"),
        "entities, twice": html.escape(each(entity)),
        "quoted-printable": each(lambda c: f"={ord(c):02X}"),
        "quoted-printable, some": some(lambda c: f"={ord(c):02X}"),
        "base64": base,
        "base64, no padding": base.rstrip("="),
        "base64, later": base64.b64encode(b"x" + raw).decode(),
        "base64, later still": base64.b64encode(b"a:" + raw + b"\n!").decode(),
        "base64 of URLs": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "base64, lines": base64.encodebytes(b"Authorization: Bearer " * 3 + raw).decode(),
        "base64 of base64": base64.b64encode(base64.b64encode(b"k=" + raw)).decode(),
        "base64 in a URL": quote(base, safe=""),
        "base64 of UTF-16": base64.b64encode(key.encode("utf-16-le")).decode(),
        "base32": base64.b32encode(raw).decode(),
        "base85": base64.b85encode(raw).decode(),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "hex with colons": raw.hex(":"),
        "0x": ", ".join(map(hex, raw)),
        "codes": str(list(raw)),
        "bits": " ".join(f"{b:08b}" for b in raw),
        "spaced": " ".join(key),
        "invisible": "\u200b".join(key),
        "lines": "\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
        "wide": each(lambda c: chr(ord(c) + 0xFEE0)),
        "UTF-16": key.encode("utf-16-le").decode("latin1"),
        "mixed": "".join(r.choice([str, percent, json_escape, entity])(c) for c in key),
    }


def readings(text: str) -> Iterator[str]:
    """What a patient reader makes of a text."""
    for _ in range(5):
        yield text
        text = re.sub(r"\\+u\{?([0-9a-fA-F]{2,6})\}?", lambda found: chr(int(found[1], 16) % 0x110000), text)
        text = re.sub(r"\\+x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text).replace("\\/", "/")
        text = unquote(html.unescape(text))


def found_in(text: str, key: str, window: int = 8) -> list[str]:
    """How much of a key is left in a text, in any of its spellings: every so many characters in a row count."""
    left = []
    for reading in {*readings(text)}:
        low = reading.lower()
        left += [name for name, spelt in spellings(key).items() if spelt.lower() in low]
        for i in range(len(key) - window + 1):
            part = key[i : i + window]
            for name, spelt in {"": part, "hex ": part.encode().hex(), "backwards ": part[::-1]}.items():
                if spelt.lower() in low:
                    left.append(f"{name}{i}")
        for run in re.findall(r"[0-9A-Za-z+/_-]{12,}", reading):
            whole = run.replace("-", "+").replace("_", "/")
            for start in range(4):
                piece = whole[start : start + (len(whole) - start) // 4 * 4]
                said = base64.b64decode(piece).decode("latin1").lower()
                left += [f"base64 {i}" for i in range(len(key) - window + 1) if key[i : i + window].lower() in said]
    return left

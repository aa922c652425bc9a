"""Secrets of this process, and texts without them: an endpoint or a tool may repeat a key in any spelling.

:func:`hide` registers a secret, :func:`redacted` takes it out of texts, lists and objects. Both stand wherever text
from outside enters and wherever anything is written down, so that a key reaches neither disk nor log.

Found are, whatever their case and whatever stands between the letters (white space, dashes, line breaks): the secret as
it is, backwards and in ROT13; in base64 (of UTF-8 and UTF-16, of base64 too), base32 and base85, at any place within a
longer text, with either alphabet; in hexadecimal, decimal, octal and binary codes; and any letters of any of these
escaped as in JSON, C, URLs, HTML and quoted-printable, several times over. Not found are encryption, compression, and a
secret that is spread over several texts.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import unquote

from tape.errors import EndpointWarning

T = TypeVar("T")

MARK = "[key]"
"""What stands in a secret's place."""
LEAST = 16
"""Fewest letters and digits of a secret that is hidden."""
LEAST_DIFFERENT = 8
"""Fewest different ones, whatever their case."""
LEAST_UNSPOKEN = 8
"""Fewest of them in parts that do not look like words, perhaps with a number behind."""
ROUNDS = 4
"""How often escapes within escapes are resolved."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_FOLD = bytes(range(256)).lower()
_LOWER = dict(zip(range(65, 91), range(97, 123), strict=True))
_OTHERS = bytes(set(range(256)) - set(_LETTERS + _LETTERS.upper()))

_known: dict[str, Secret | None] = {}
"""Every secret that was named; None for one that is not hidden."""
_hidden: tuple[Secret, ...] = ()


def hide(secret: str, name: str = "a key", *, quietly: bool = False) -> bool:
    """Take a secret out of everything that is written from now on, in this process.

    Only what is long and random enough can be told from ordinary text: at least 16 letters and digits, 8 different
    ones among them, of two kinds at least (small letters, capitals, digits), and 8 of them in parts that are no words
    or numbers (``my-local-server-key-1`` has none). What is not (a placeholder such as ``EMPTY``) is left alone, since
    it would alter answers, and a warning says so, once.

    Args:
        secret: The secret; nothing is done about an empty one.
        name: What it is, for the warning, for instance the variable that holds it.
        quietly: Do not warn.

    Returns:
        Whether it is hidden.
    """
    global _hidden  # noqa: PLW0603  # one registry for the process, as there is one disk and one log
    if not secret:
        return False
    if secret not in _known:
        if _is_random(secret):
            if not _hidden:
                _guard_logs()
            _known[secret] = Secret(secret)
            _hidden = tuple(found for found in _known.values() if found is not None)
        else:
            _known[secret] = None
            if not quietly:
                warnings.warn(
                    f"{name} is not hidden where an answer repeats it: it is too short or too regular to be told from "
                    f"ordinary text (it takes {LEAST} letters and digits, {LEAST_DIFFERENT} different ones, of two "
                    "kinds: small letters, capitals, digits; words do not count). That is right for a placeholder; a "
                    "real key should be longer",
                    EndpointWarning,
                    stacklevel=2,
                )
    return _known[secret] is not None


def redacted(value: T) -> T:
    """The same text, list, tuple or object without the hidden secrets; keys of objects and numbers are searched too.

    A secret that cannot be cut out of a text, as it is spelt in several ways at once, takes the whole text with it.
    A number that spells one becomes 0. Nothing is changed, nor copied, where nothing is hidden.
    """
    return cast("T", _walk(value)) if _hidden else value


def redacted_lines(text: str) -> str:
    """JSON Lines without the hidden secrets; lines that hold none stay as they are."""
    if not _hidden:
        return text
    return "\n".join(json.dumps(_walk(json.loads(line))) if _holds(line) else line for line in text.split("\n"))


def _walk(value: Any) -> Any:
    match value:
        case str():
            return _without(value)
        case dict():
            return {_walk(key): _walk(held) for key, held in value.items()}
        case list():
            return [_walk(held) for held in value]
        case tuple():
            return tuple(_walk(held) for held in value)
        case int() if abs(value) >= _LEAST_NUMBER and value.bit_length() <= _LONGEST_NUMBER:
            return 0 if _holds(str(value)) else value
        case _:
            return value


_LEAST_NUMBER = 10 ** (2 * LEAST - 1)
"""A secret has letters, so only its codes make a number, two digits for each character at least."""
_LONGEST_NUMBER = 10_000
"""Bits. The interpreter refuses to write out numbers that are not much longer."""


def _without(text: str) -> str:
    """A text without the hidden secrets."""
    if len(text) < LEAST:
        return text
    squeezed = [_squeezed(view) for view in _views(text)]
    for secret in _hidden:
        if secret.stands_in(squeezed):
            text = secret.cut_out_of(text, squeezed)
            squeezed = [_squeezed(view) for view in _views(text)]
            if secret.stands_in(squeezed):
                return MARK
    return text


def _holds(text: str) -> bool:
    squeezed = [_squeezed(view) for view in _views(text)] if len(text) >= LEAST else []
    return any(secret.stands_in(squeezed) for secret in _hidden)


class Secret:
    """A hidden secret and its spellings."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spellings = tuple(dict.fromkeys(_spellings(text)))
        self._patterns: dict[bytes, re.Pattern[str]] = {}

    def __repr__(self) -> str:
        return "Secret()"

    def stands_in(self, squeezed: Sequence[bytes]) -> bool:
        """Whether it stands in one of some texts of which only lower-case letters and digits are left."""
        for text in squeezed:
            for spelling in self._spellings:  # a loop, since this is asked of every text that is written
                if spelling in text:
                    return True
        return False

    def cut_out_of(self, text: str, squeezed: Sequence[bytes]) -> str:
        """The text without it, as far as it is not spelt in several ways at once.

        Args:
            text: The text.
            squeezed: What it says, in all readings.
        """
        for spelling in self._spellings:
            if any(spelling in view for view in squeezed):
                for found in reversed(list(self._pattern(spelling).finditer(text.translate(_LOWER)))):
                    text = text[: found.start()] + MARK + text[found.end() :]
        return text

    def _pattern(self, spelling: bytes) -> re.Pattern[str]:
        """Matches a spelling in a text of small letters; compiled when needed, since that takes a while."""
        if spelling not in self._patterns:
            if spelling == self._spellings[0]:
                source = _escaped_in_part(self._text)
            else:
                # What is left and right of whole groups of base64 and its likes holds a part of the outer letters.
                source = _EDGE + f"{_OTHER}{_GAP}".join(spelling.decode()) + _EDGE + "=*"
            self._patterns[spelling] = re.compile(source)
        return self._patterns[spelling]


_EDGE = "[0-9a-z+/_-]{0,7}"
_OTHER, _GAP = "[^0-9a-z]", "{0,6}"
"""What may stand between two letters. Bounded, so that no text makes the search slow."""


def _is_random(secret: str) -> bool:
    letters = [c for c in secret if c.isascii() and c.isalnum()]
    kinds = {(c.isdigit(), c.isupper()) for c in letters}
    unspoken = sum(len(part) for part in re.split("[^A-Za-z0-9]+", secret) if not _SPOKEN.fullmatch(part))
    different = len({c.lower() for c in letters})
    return len(letters) >= LEAST and different >= LEAST_DIFFERENT and len(kinds) > 1 and unspoken >= LEAST_UNSPOKEN


_SPOKEN = re.compile("(?:[A-Z]?[a-z]{2,}|[A-Z]{2,})+[0-9]*|[0-9]+")
"""Words, one after the other as in CamelCase, perhaps with a number behind; or a number."""


def _squeezed(text: str) -> bytes:
    """The letters and digits of a text, in lower case; what looks like a letter is one."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.encode("utf-8", "surrogatepass").translate(_FOLD, _OTHERS)


_ESCAPE = re.compile(
    r"(?:\\+|%)u([0-9a-f]{4})|\\+(?:u\{([0-9a-f]{1,6})\}|U([0-9a-f]{8})|x\{?([0-9a-f]{2})\}?|([0-7]{2,3})|([^u]))",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"=(?:([0-9a-f]{2})|\r?\n)", re.IGNORECASE)
_CONTROLS = "abefnrtv"


def _views(text: str) -> Iterator[str]:
    """The text, and what it says where escapes are resolved."""
    yield text
    for _ in range(ROUNDS):
        resolved = text
        if "\\" in text or "%u" in text or "%U" in text:
            resolved = _ESCAPE.sub(_unescaped, resolved)
        if "&" in resolved:
            resolved = html.unescape(resolved)
        if "%" in resolved:
            resolved = unquote(resolved)
        if "=" in resolved:
            resolved = _QUOTED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", resolved)
        if resolved == text:
            return
        yield resolved
        text = resolved


def _unescaped(found: re.Match[str]) -> str:
    octal, other = found[5], found[6]
    if octal:
        return chr(int(octal, 8))
    if other:
        return "" if other in _CONTROLS else other
    code = int(next(group for group in found.groups() if group), 16)
    return chr(code) if code <= 0x10FFFF else ""


def _spellings(secret: str) -> Iterator[bytes]:
    """A secret's spellings, of which only lower-case letters and digits are left; the plain one comes first."""
    plain = secret.encode()
    codes: list[Callable[[int], str]] = [
        lambda c: f"{c:02x}",
        lambda c: f"x{c:02x}",
        lambda c: f"0x{c:02x}",
        lambda c: f"u{c:04x}",
        lambda c: f"{c:04x}",
        lambda c: f"{c}",
        lambda c: f"{c:o}",
        lambda c: f"{c:03o}",
        lambda c: f"{c:08b}",
    ]
    texts = [secret, secret[::-1], codecs.encode(secret, "rot13")]
    texts += ["".join(map(code, plain)) for code in codes]
    sixty_four = [
        core for raw in (plain, plain[::-1], *_utf_16(secret)) for core in _cores(base64.b64encode, raw, 3, 4)
    ]
    texts += sixty_four
    texts += [core for text in sixty_four[:3] for core in _cores(base64.b64encode, text.encode(), 3, 4)]
    texts += _cores(base64.b32encode, plain, 5, 8)
    texts += [*_cores(base64.b85encode, plain, 4, 5), *_cores(base64.a85encode, plain, 4, 5)]
    for text in texts:
        yield _squeezed(text)


def _utf_16(secret: str) -> tuple[bytes, bytes]:
    return secret.encode("utf-16-le"), secret.encode("utf-16-be")


def _cores(encode: Callable[[bytes], bytes], raw: bytes, group: int, written: int) -> Iterator[str]:
    """What a code writes for the whole groups within some bytes, for each place where a group may begin."""
    for start in range(group):
        whole = raw[start : start + (len(raw) - start) // group * group]
        core = encode(whole).decode()
        assert len(core) == len(whole) // group * written, "no padding"
        yield core


def _escaped_in_part(secret: str) -> str:
    """A pattern of the secret, in small letters, with any of its characters escaped, perhaps several times over."""
    parts: list[str] = []
    between: list[str] = []
    for c in secret:
        if c.isascii() and c.isalnum():
            if parts:
                parts.append(f"(?:{'|'.join([*between, _OTHER])}){_GAP}")
            parts.append(f"(?:{'|'.join([c.lower(), *dict.fromkeys(_escapes(c.lower()) + _escapes(c.upper()))])})")
            between = []
        else:
            between += _escapes(c)
    return "".join(parts)


_SLASHES = r"\\{1,15}"


def _escapes(c: str) -> list[str]:
    code, sixteen = ord(c), f"{ord(c):02x}"
    return [
        rf"(?:{_SLASHES}|%(?:25){{0,4}})u\{{?0{{0,4}}{sixteen}\}}?",
        rf"{_SLASHES}x\{{?{sixteen}\}}?",
        rf"{_SLASHES}0?{code:o}",
        rf"{_SLASHES}{re.escape(c)}",
        rf"%(?:25){{0,4}}{sixteen}",
        rf"=(?:3d){{0,4}}{sixteen}",
        rf"&(?:amp;){{0,4}}#0{{0,4}}{code};?",
        rf"&(?:amp;){{0,4}}#x0{{0,4}}{sixteen};?",
    ]


def _guard_logs() -> None:
    """Take secrets out of what is logged, whoever logs it and wherever it goes: clients log headers and answers."""
    make = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            said = record.getMessage()
        except Exception:
            return record  # arguments that do not fit; logging itself reports that
        if (clean := redacted(said)) != said:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0] is not None:
            trace = logging.Formatter().formatException(record.exc_info)
            if (clean := redacted(trace)) != trace:
                record.exc_info, record.exc_text = None, clean
        return record

    logging.setLogRecordFactory(factory)

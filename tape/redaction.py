"""Secrets of this process, and texts without them: an endpoint or a tool may repeat a key in another encoding.

:func:`hide` registers a secret, :func:`redacted` takes it out of texts, lists and objects. Both stand wherever text
from outside enters and wherever anything is written down, so that a key reaches neither disk nor log.

A secret is found in these encodings, whatever its case and whatever stands between its letters (white space, dashes,
line breaks): as it is; in base64, at any place within a longer text, with either alphabet; and with any letters of
these escaped as in JSON or URLs, several times over. Other encodings, encryption, compression and a secret that is
spread over several texts are not found.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
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

    Only what is long and random enough can be distinguished from ordinary text: at least 16 letters and digits, 8
    different ones among them, of two kinds at least (small letters, capitals, digits), and 8 of them in parts that are
    no words or numbers (``my-local-server-key-1`` has none). What is not (a placeholder such as ``EMPTY``) is left
    alone, since it would alter answers, and one warning is issued.

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
            _hidden = tuple(result for result in _known.values() if result is not None)
        else:
            _known[secret] = None
            if not quietly:
                warnings.warn(
                    f"{name} is not hidden where an answer repeats it: it is too short or too regular to be "
                    f"distinguished from ordinary text (it takes {LEAST} letters and digits, {LEAST_DIFFERENT} of them "
                    "different, of two kinds: small letters, capitals, digits; words do not count). Ignore this for a "
                    "placeholder; a real key should be longer",
                    EndpointWarning,
                    stacklevel=2,
                )
    return _known[secret] is not None


def redacted(value: T) -> T:
    """The same text, list, tuple or object without the hidden secrets; keys of objects are searched too.

    A secret that is encoded in several ways at once cannot be cut out of its text; then the whole text is replaced.
    Nothing is changed or copied where nothing is hidden.
    """
    return cast("T", _clean(value)) if _hidden else value


def redacted_lines(text: str) -> str:
    """JSON Lines without the hidden secrets; lines that hold none stay as they are."""
    if not _hidden:
        return text
    return "\n".join(json.dumps(_clean(json.loads(line))) if _holds(line) else line for line in text.split("\n"))


def _clean(value: Any) -> Any:
    match value:
        case str():
            return _without(value)
        case dict():
            return {_clean(key): _clean(held) for key, held in value.items()}
        case list():
            return [_clean(held) for held in value]
        case tuple():
            return tuple(_clean(held) for held in value)
        case _:
            return value


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
        """The text without it, as far as it is not spelt in several ways at once."""
        for spelling in self._spellings:
            if any(spelling in view for view in squeezed):
                for match in reversed(list(self._pattern(spelling).finditer(text.translate(_LOWER)))):
                    text = text[: match.start()] + MARK + text[match.end() :]
        return text

    def _pattern(self, spelling: bytes) -> re.Pattern[str]:
        """Matches a spelling in a text of small letters; compiled when needed, since that takes a while."""
        if spelling not in self._patterns:
            if spelling == self._spellings[0]:
                source = _escaped_in_part(self._text)
            else:
                # The groups to the left and to the right hold parts of the first and the last letters.
                source = _EDGE + f"{_OTHER}{_GAP}".join(spelling.decode()) + _EDGE + "=*"
            self._patterns[spelling] = re.compile(source)
        return self._patterns[spelling]


_EDGE = "[0-9a-z+/_-]{0,3}"
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
    """The ASCII letters and digits of a text, in lower case."""
    return text.encode("utf-8", "surrogatepass").translate(_FOLD, _OTHERS)


_ESCAPE = re.compile(r"\\+(?:u([0-9a-f]{4})|([^u]))", re.IGNORECASE)
_CONTROLS = "bfnrt"


def _views(text: str) -> Iterator[str]:
    """The text, and its readings once escapes are resolved."""
    yield text
    for _ in range(ROUNDS):
        resolved = _ESCAPE.sub(_unescaped, text) if "\\" in text else text
        resolved = unquote(resolved) if "%" in resolved else resolved
        if resolved == text:
            return
        yield resolved
        text = resolved


def _unescaped(match: re.Match[str]) -> str:
    code, other = match.groups()
    return chr(int(code, 16)) if code else "" if other in _CONTROLS else other


def _spellings(secret: str) -> Iterator[bytes]:
    """A secret's encodings, reduced to lower-case letters and digits; the plain one comes first."""
    yield _squeezed(secret)
    raw = secret.encode()
    for start in range(3):  # base64 writes groups of three bytes, and a group may begin anywhere
        whole = raw[start : start + (len(raw) - start) // 3 * 3]
        yield _squeezed(base64.b64encode(whole).decode())


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


def _escapes(c: str) -> list[str]:
    slashes, sixteen = r"\\{1,15}", f"{ord(c):02x}"
    return [rf"{slashes}u00{sixteen}", rf"{slashes}{re.escape(c)}", rf"%(?:25){{0,4}}{sixteen}"]


def _guard_logs() -> None:
    """Take secrets out of every log record of the process: clients log headers and answers."""
    make = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            message = record.getMessage()
        except Exception:
            return record  # arguments that do not fit; logging itself reports that
        if (clean := redacted(message)) != message:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0] is not None:
            trace = logging.Formatter().formatException(record.exc_info)
            if (clean := redacted(trace)) != trace:
                record.exc_info, record.exc_text = None, clean
        return record

    logging.setLogRecordFactory(factory)

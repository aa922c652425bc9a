"""Arguments of a call as people see them before they approve it: every name, and each value whole or by both its ends.

Texts stand in quotes, as in JSON, so none can be taken for another argument or for the question around it. Invisible
characters, those that turn the direction of text and those that imitate others are written as escapes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tape.errors import TapeError
from tape.redaction import redacted
from tape.tools.calls import LONGEST_VALUE, is_placeholder, parse
from tape.tools.errors import InvalidCallError

LONGEST = 200
"""Characters of a value that is shown whole; of a longer one each end has :data:`_END`."""
MOST_ROWS = 100
"""Lines of arguments in one question; a call that takes more cannot be shown."""
MOST_CHARACTERS = 16_000
"""Of the arguments in one question, and of a page of the whole."""
LONGEST_NAME = 200
"""Characters of an argument's name, and of the names that lead to a value within it."""

_END = 80
_ITEMS = 3
"""Of a long list, shown at each end."""
_CHUNK = 1000
"""Characters of a text, or of another value, on one line of the whole."""
_DEEPEST = 50
_MOST_LETTERS = 3
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORD = re.compile(r"\w+")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(code) for code in range(0x180B, 0x1810)}
_HIDDEN_SORTS = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Sm", "Sk"))
"""Categories of characters that are escaped where they are not ASCII: unseen ones, blanks, signs like others."""


class UnshowableError(TapeError):
    """Arguments that cannot be shown in full, so that no person can approve them."""


@dataclass(frozen=True)
class Row:
    """One line of what is shown.

    Attributes:
        name: The argument, or the place within it, as in ``options.paths[3]``.
        value: Its value; a long one by both ends.
        cut: Whether something is left out.
    """

    name: str
    value: str
    cut: bool = False

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


def rows_of(arguments: Mapping[str, Any], longest: int = LONGEST) -> list[Row]:
    """Every argument, long values cut one by one."""
    rows = _Reader(min(_END, longest // 2), longest).rows(arguments)
    if len(rows) > MOST_ROWS:
        raise UnshowableError(f"they take {len(rows):,} lines, and at most {MOST_ROWS} are shown; pass fewer names")
    size = sum(len(str(row)) + 1 for row in rows)
    if size > MOST_CHARACTERS:
        raise UnshowableError(f"they take {size:,} characters, and at most {MOST_CHARACTERS:,} are shown; pass less")
    return rows


def pages_of(arguments: Mapping[str, Any]) -> list[str]:
    """The whole of all arguments, in pages; a long text is continued on lines of its own."""
    pages, size = [list[str]()], 0
    for line in map(str, _Reader(None, _CHUNK).rows(arguments)):
        if pages[-1] and size + len(line) > MOST_CHARACTERS:
            pages.append([])
            size = 0
        pages[-1].append(line)
        size += len(line) + 1
    return ["\n".join(lines) for lines in pages]


def arguments_of(action: str) -> tuple[str, dict[str, Any]] | None:
    """The name and the arguments of an action that is a call, results filled in; None where it is none."""
    try:
        made = parse(action, 2 * LONGEST_VALUE)
    except InvalidCallError:
        return None
    return made.tool, {name: value if is_placeholder(value) else json.loads(value) for name, value in made.args}


def shown_action(action: str, longest: int = LONGEST) -> str:
    """An action for people: a call with every argument, another action as its text.

    Raises:
        UnshowableError: See :func:`rows_of`; or it is no call, and too long.
    """
    called = arguments_of(action)
    if called is None:
        if len(action) > MOST_CHARACTERS:
            raise UnshowableError(f"it has {len(action):,} characters, and at most {MOST_CHARACTERS:,} are shown")
        return escaped(redacted(action))
    name, arguments = called
    rows = [
        Row(row.name, arguments[row.name]) if is_placeholder(str(arguments.get(row.name))) else row
        for row in rows_of(arguments, longest)
    ]
    line = f"{name}({', '.join(f'{row.name}={row.value}' for row in rows)})"
    return line if len(line) <= 2 * LONGEST else "\n  ".join([f"{name}:", *map(str, rows)])


def escaped(text: str) -> str:
    """A text in one line, in which invisible and imitating characters are escaped as in JSON."""
    if text.isascii() and text.isprintable():
        return text
    mixed = {at for word in _WORD.finditer(text) if _is_mixed(word[0]) for at in range(*word.span())}
    return "".join(_escape(c) if _is_hidden(text, at, mixed) else c for at, c in enumerate(text))


def _quoted(text: str) -> str:
    return '"' + escaped(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else r"\u007f"


def _is_hidden(text: str, at: int, mixed: set[int]) -> bool:
    c = text[at]
    if c.isascii():
        return not c.isprintable()
    sort = unicodedata.category(c)
    if sort in _HIDDEN_SORTS or c in _BLANK or unicodedata.normalize("NFKC", c).isascii():
        return True
    if sort.startswith("M"):  # accents on nothing, on ASCII, or heaped up; variants of what stands before
        before = text[max(0, at - 2) : at]
        heaped = len(before) > 1 and all(unicodedata.category(name).startswith("M") for name in before)
        return not before or before[-1].isascii() or heaped or unicodedata.name(c, "").startswith("VARIATION")
    return at in mixed and not _is_latin(c)


def _is_mixed(word: str) -> bool:
    return any(c.isascii() and c.isalpha() for c in word) and not all(map(_is_latin, word))


def _is_latin(c: str) -> bool:
    return c.isascii() or unicodedata.name(c, "").startswith("LATIN")


class _Reader:
    """Writes arguments as rows.

    Args:
        end: Characters of each end of a long text; None leaves nothing out.
        longest: Characters of a value that stands on one line whole.
    """

    def __init__(self, end: int | None, longest: int) -> None:
        self._end, self._longest = end, longest

    def rows(self, arguments: Mapping[str, Any]) -> list[Row]:
        """The rows of all arguments."""
        try:
            all_arguments = [
                row for name, value in arguments.items() for row in self._rows(self._name("", name), value, 0)
            ]
        except RecursionError:
            raise UnshowableError("lists in them are nested too deep") from None
        shown = "\n".join(map(str, all_arguments))
        if redacted(shown) != shown:
            raise UnshowableError("a secret is spread over several of them")
        return all_arguments

    def _name(self, path: str, name: Any) -> str:
        if not isinstance(name, str):
            raise UnshowableError(f"a name in them is no text but {type(name).__name__}")
        if redacted(name) != name:
            raise UnshowableError(f"a name {f'within {path} ' if path else ''}holds a secret")
        written = name if _PLAIN.fullmatch(name) else f"{_quoted(name)}{_letters(name)}"
        return self._checked(f"{path}.{written}" if path else written)

    @staticmethod
    def _checked(path: str) -> str:
        if len(path) > LONGEST_NAME:
            most = f"at most {LONGEST_NAME} are shown"
            raise UnshowableError(f"a name has {len(path):,} characters, and {most}: {path[:40]}...")
        return path

    def _rows(self, path: str, value: Any, depth: int) -> Iterator[Row]:
        if depth > _DEEPEST:
            raise UnshowableError(f"{path[:40]} is nested deeper than {_DEEPEST}, which is the most that is shown")
        if isinstance(value, Mapping) and value and not self._fits(path, value):
            for name, held in value.items():
                yield from self._rows(self._name(path, name), held, depth + 1)
        elif self._is_spread(value) and not self._fits(path, value):
            for at, held in enumerate(value):
                yield from self._rows(self._checked(f"{path}[{at}]"), held, depth + 1)
        elif isinstance(value, str) and self._end is None and len(value) > self._longest:
            yield from self._chunks(path, value)
        else:
            yield self._row(path, value)

    def _is_spread(self, value: Any) -> bool:
        """Whether the items of a list get lines of their own, where it does not fit on one."""
        return isinstance(value, list | tuple) and (self._end is None or _holds_objects(value))

    def _fits(self, path: str, value: Any) -> bool:
        """Whether a value stands on one line whole. One that holds many more parts is not written to see that."""
        return _parts(value, self._longest) > 0 and len(self._written(path, value, None)[0]) <= self._longest

    def _chunks(self, path: str, value: str) -> Iterator[Row]:
        clear, note = redacted(value), self._note(value)
        for start in range(0, len(clear), self._longest):
            part = clear[start : start + self._longest]
            place = f"{path}, characters {start + 1:,} to {start + len(part):,} of {len(clear):,}"
            yield Row(place, _quoted(part) + note)

    def _row(self, path: str, value: Any) -> Row:
        text, cut = self._written(path, value, self._end)
        if redacted(text) != text:  # spelt by several items, or by a number
            return Row(path, f"(hidden, since it holds a secret; {len(text):,} characters)")
        return Row(path, text + self._note(value), cut)

    def _written(self, path: str, value: Any, end: int | None) -> tuple[str, bool]:
        """A value as JSON, texts and lists cut where an end is given; and whether they are."""
        match value:
            case str():
                clear = redacted(value)
                if end is None or len(clear) <= self._longest:
                    return _quoted(clear), False
                out = len(clear) - 2 * end
                head, tail = clear[:end], clear[-end:]
                return f"{_quoted(head)} ... {out:,} of {len(clear):,} characters left out ... {_quoted(tail)}", True
            case Mapping():
                held = {self._key(name): self._written(path, item, end) for name, item in value.items()}
                text = ", ".join(f"{name}: {item}" for name, (item, _) in held.items())
                return f"{{{text}}}", any(cut for _, cut in held.values())
            case list() | tuple():
                return self._list(path, value, end)
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise UnshowableError(f"{path[:40]} is {type(value).__name__} that JSON does not hold") from None
        if end is None or len(text) <= self._longest:
            return text, False
        return f"{text[:end]} ... {len(text) - 2 * end:,} of {len(text):,} digits left out ... {text[-end:]}", True

    def _list(self, path: str, value: list[Any] | tuple[Any, ...], end: int | None) -> tuple[str, bool]:
        whole = end is None or self._fits(path, value)
        if whole or len(value) <= 2 * _ITEMS:
            items = [self._written(path, item, None if whole else end) for item in value]
            return f"[{', '.join(text for text, _ in items)}]", any(cut for _, cut in items)
        first, last = (
            [self._written(path, item, end)[0] for item in part] for part in (value[:_ITEMS], value[-_ITEMS:])
        )
        out = f"... {len(value) - 2 * _ITEMS:,} of {len(value):,} items left out ..."
        return f"[{', '.join([*first, out, *last])}]", True

    def _key(self, name: Any) -> str:
        self._name("", name)
        return _quoted(name) + _letters(name)

    @staticmethod
    def _note(value: Any) -> str:
        texts = list(_texts(value))
        hidden = any(redacted(text) != text for text in texts)
        note = f" (a secret in it is hidden; {sum(map(len, texts)):,} characters in all)" if hidden else ""
        return note + _letters("".join(texts))


def _letters(text: str) -> str:
    """A note of the scripts of letters and digits that could be taken for others."""
    if text.isascii():
        return ""
    letters = {c for c in set(text) if not c.isascii() and (c.isalpha() or c.isdecimal())}
    words = sorted({unicodedata.name(c, "?").split()[0] for c in letters} - {"LATIN"})
    more = " and others" if len(words) > _MOST_LETTERS else ""
    return f" (letters: {', '.join(words[:_MOST_LETTERS])}{more})" if words else ""


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)


def _holds_objects(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list | tuple) and any(map(_holds_objects, value))


def _parts(value: Any, left: int) -> int:
    """What is left of some characters after those that a value takes at least; 0 where they do not do."""
    match value:
        case str():
            return max(0, left - len(value) - 2)
        case Mapping() | list() | tuple():
            left -= 2
            for item in value.values() if isinstance(value, Mapping) else value:
                if left <= 0:
                    return 0
                left = _parts(item, left)
    return max(0, left - 1)

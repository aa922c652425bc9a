"""Values that are not there yet: expressions over the results of calls that a program has still to make.

Two of them are the same where they are written alike; sums, differences, products, quotients and whole powers where
they come to the same at three fixed points.

An expression that is too large, or has no value, raises a `FailedError`.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tape.plan.checks import NotInLanguageError, ProgramChecker, format_of
from tape.plan.evaluator import Evaluator
from tape.plan.program import symbol
from tape.plan.values import FailedError, binary, formatted, negative
from tape.plan.vocabulary import ASK, Vocabulary

DIGITS = 9
"""Significant digits by which fractions are compared."""
EXACT = 10**31
"""Below this, whole numbers are compared by all their digits."""
MOST_NODES = 2_000
"""Parts of an expression over results."""
LONGEST_SHOWN = 300
"""Characters of a call inside of another one's text; of a longer one a hash stands there."""
MARK = "ꙮ"
"""Begins the name of a result inside an expression."""

Points: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Open:
    """A value that is not there yet.

    Attributes:
        node: The expression; the result of the k-th call of the program stands in it as the name ``MARK + k``.
        text: The same, each call written out.
        points: Its values where every result is a certain number; for what is no arithmetic a number of its text.
        computed: It is arithmetic, so its points say what it is.
    """

    node: ast.expr
    text: str
    points: Points
    computed: bool = False

    @property
    def key(self) -> str:
        """Equal for two that are the same."""
        if not self.computed:
            return self.text
        shown = [_rounded(point) for point in self.points]
        return shown[0] if len(set(shown)) == 1 else f"[{', '.join(shown)}]"


def key_of(value: Any) -> str:
    """What stands for a value where calls and answers are compared: fractions by nine digits, all else as JSON.

    Whole numbers are compared by all their digits: a number of an order may have more than nine.
    """
    if isinstance(value, Open):
        return value.key
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if value == value // 1 and abs(value) < EXACT else _rounded(value)
    if isinstance(value, list):
        return f"[{', '.join(map(key_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(name)}: {key_of(value[name])}' for name in sorted(value))}}}"
    return json.dumps(value, ensure_ascii=False)


def _rounded(number: float) -> str:
    return f"{number:.{DIGITS}g}".replace("-0", "0") if number == 0 else f"{number:.{DIGITS}g}"


def result(number: int, text: str) -> Open:
    """The result of the k-th call, which is written so."""
    shown = text if len(text) <= LONGEST_SHOWN else f"result_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return Open(ast.Name(f"{MARK}{number}", ast.Load()), shown, _own_points(text))


def variable(name: str) -> Open:
    """The variable of a comprehension whose list is not there."""
    return Open(ast.Name(name, ast.Load()), name, _own_points(name))


def _own_points(text: str) -> Points:
    """Three numbers that belong to a text: one is negative, one is not whole."""
    seed = hashlib.sha256(text.encode()).digest()
    first, second, third = (int.from_bytes(seed[at : at + 4], "big") for at in (0, 4, 8))
    return 2.0 + first % 9973, -(2.0 + second % 9973), 0.5 + (third % 9973) / 7


def rebuilt(node: ast.expr, of: Callable[[ast.expr], Any], texts: Mapping[str, str]) -> Open:
    """An expression whose parts are values or open."""
    parts: list[Any] = []

    def placed(part: ast.expr) -> ast.expr:
        parts.append(value := of(part))
        return value.node if isinstance(value, Open) else ast.Constant(value)

    made = mapped(node, placed)
    return closed(made, texts, _arithmetic(node, parts))


def closed(node: ast.expr, texts: Mapping[str, str], points: Points | None = None) -> Open:
    """An open value of an expression; with ``points`` it is arithmetic."""
    for count, _ in enumerate(ast.walk(node)):
        if count > MOST_NODES:
            raise FailedError("an expression over results that are not there is too large; write several statements")
    text = written(node, lambda name: texts.get(name, name))
    return Open(node, text, points or _own_points(text), points is not None)


def _arithmetic(node: ast.expr, parts: list[Any]) -> Points | None:
    """The points of a sum, difference, product, quotient or whole power; None of all else."""
    numbers = [part.points if isinstance(part, Open) else (part,) * 3 for part in parts if _is_number(part)]
    if len(numbers) < len(parts):
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _each(negative, *numbers)
    if isinstance(node, ast.BinOp) and symbol(node.op) in ("+", "-", "*", "/", "**"):
        if symbol(node.op) == "**" and not isinstance(parts[1], int):
            return None
        return computed(symbol(node.op), *numbers)
    return None


def computed(operator: str, left: Points, right: Points) -> Points | None:
    """The points of a binary operation; None where it has no number at one of them."""
    return _each(lambda a, b: binary(operator, a, b), left, right)


def points_of(value: Any) -> Points | None:
    """The points of an operand; None of what is no number."""
    if isinstance(value, Open):
        return value.points
    return (value,) * 3 if _is_number(value) else None


def _each(function: Callable[..., Any], *numbers: tuple[Any, ...]) -> Points | None:
    try:
        first, second, third = (float(function(*at)) for at in zip(*numbers, strict=True))
    except (FailedError, OverflowError, TypeError):
        return None
    return first, second, third


def _is_number(part: Any) -> bool:
    return isinstance(part, Open | int | float) and not isinstance(part, bool)


def mapped(node: Any, of: Callable[[ast.expr], ast.expr]) -> Any:
    """A copy of an expression with other parts; slices and the pieces of f-strings are gone into."""
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            plain = isinstance(node, ast.JoinedStr)  # its texts are no parts
            kept = [plain and isinstance(item, ast.Constant) for item in value]
            setattr(made, name, [item if keep else _part(item, of) for item, keep in zip(value, kept, strict=True)])
        elif not (name == "func" and isinstance(value, ast.Name)) and name != "format_spec":
            setattr(made, name, _part(value, of))
    return made


def _part(value: Any, of: Callable[[ast.expr], ast.expr]) -> Any:
    if isinstance(value, ast.keyword | ast.Slice | ast.Attribute):
        return mapped(value, of)
    if isinstance(value, ast.FormattedValue):
        made = mapped(value, of)
        if isinstance(made.value, ast.Constant):  # quotes inside of an f-string could not be written
            return ast.Constant(formatted(made.value.value, format_of(value)))
        return made
    return of(value) if isinstance(value, ast.expr) else value


def written(node: ast.expr, name: Callable[[str], str]) -> str:
    """An expression as text, its results under other names."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):  # quotes that no f-string of this version of Python can hold
        text = ast.dump(node)
    return _MARKED.sub(lambda match: name(match[0]), text)


_MARKED = re.compile(rf"{MARK}\d+")
_NUMBER = "\ua66d"
"""Stands for a number sign in a text while an expression is written; both letters are kept out of texts there."""
_REFERENCE = re.compile(r"#([1-9][0-9]{0,2})(?![0-9])")


def with_references(value: Open, number: Callable[[int], int]) -> str:
    """An expression in which ``#k`` stands for a result; number signs in its texts are escaped."""
    return _referring(copy.deepcopy(value.node), number)


def _referring(node: ast.expr, number: Callable[[int], int]) -> str:
    for part in _texts(node):
        part.value = str(part.value).replace(MARK, "?").replace(_NUMBER, "?").replace("#", _NUMBER)
    text = written(node, lambda name: f"#{number(int(name[len(MARK) :]))}")
    return text.replace(_NUMBER, "\\x23")


def _texts(node: ast.expr) -> list[ast.Constant]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def referred(text: str, new: Callable[[int], str]) -> str:
    """An expression with something else for each ``#k``."""
    return _REFERENCE.sub(lambda match: new(int(match[1])), text)


def references(text: str) -> list[int]:
    """The results that an expression names."""
    return [int(outcome) for outcome in _REFERENCE.findall(text)]


def expression_of(text: str) -> str:
    """An expression over the results of calls as it is kept: a number sign in one of its texts is escaped there."""
    node = _parsed(text)
    if any(_MARKED.search(str(part.value)) for part in _texts(node)):
        for part in _texts(node):
            part.value = _MARKED.sub(lambda match: f"#{match[0][len(MARK) :]}", str(part.value))
        return _referring(node, lambda k: k)
    return text


def value_of(text: str, results: Sequence[Any]) -> Any:
    """The value of an expression over the results of calls."""
    names = {f"{MARK}{number}": value for number, value in enumerate(results, 1)}
    return Evaluator().value(_parsed(text), names)


def _parsed(text: str) -> ast.expr:
    try:
        node = ast.parse(referred(text, lambda number: f"{MARK}{number}"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FailedError(f"{text[:80]} is no expression") from error
    if not _only_values(node):
        raise FailedError(f"{text[:80]} is no expression over results")
    return node


def _only_values(node: ast.expr) -> bool:
    """Whether an expression holds nothing but what programs have, and calls no tool."""
    try:
        ProgramChecker(Vocabulary({}), {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}).expression(
            node
        )
    except NotInLanguageError:
        return False
    return not any(isinstance(part, ast.Name) and part.id == ASK for part in ast.walk(node))

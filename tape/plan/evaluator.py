"""Runs a program up to its next call: an evaluator of its own over ``ast``, within bounds, without ``eval``.

A program has no state but the results of its calls. :func:`advance` evaluates it from the start with the results that
are there, and returns the first thing that needs more: a call, the answer, a failure, or the end. So a run is resumed
by its results alone, and every sampled program can be evaluated as far as the calls that were made reach.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.plan.checks import format_of
from tape.plan.program import Program, Statement, symbol
from tape.plan.values import (
    FailedError,
    as_text,
    binary,
    compare,
    formatted,
    function,
    item,
    items,
    negative,
    part,
    size,
    text_within,
)
from tape.plan.vocabulary import ANSWER, ASK, FUNCTIONS, Vocabulary

MOST_WORK = 50_000
"""Parts of expressions and items of lists that are looked at in one evaluation."""


@dataclass(frozen=True)
class Called:
    """The next call.

    Attributes:
        name: Of the tool, or ``ask``.
        arguments: By the names of the parameters; for ``ask`` the question and ``values``.
        line: Where it stands in the program.
    """

    name: str
    arguments: Mapping[str, Any]
    line: int


@dataclass(frozen=True)
class Answered:
    """The program has answered.

    Attributes:
        value: A dict of the answer's fields, or the one value.
    """

    value: Any


@dataclass(frozen=True)
class Failure:
    """A line cannot be evaluated.

    Attributes:
        line: Where.
        why: The reason, in words for the model.
    """

    line: int
    why: str


@dataclass(frozen=True)
class Ended:
    """The program ends here without an answer; a request for the rest goes on with its names.

    Attributes:
        names: What has been computed, by name.
    """

    names: Mapping[str, Any]


Next = Called | Answered | Failure | Ended


def advance(
    program: Program, results: Sequence[Any], words: Vocabulary, names: Mapping[str, Any] | None = None
) -> Next:
    r"""What a program does after the calls that have been made.

    Args:
        program: As :func:`tape.plan.reader.read` gave it.
        results: Of its calls, in order, as JSON has values.
        words: What may be called.
        names: Values from before, where the program continues another one.

    Examples:
        >>> from tape.plan.evaluator import advance
        >>> from tape.plan.reader import read
        >>> from tape.plan.vocabulary import Parameter, Signature, Vocabulary
        >>> words = Vocabulary.of(Signature("price", (Parameter("item", "str"),), "float"))
        >>> program = read("p = price('lamp')\nanswer(3 * p)", words)
        >>> advance(program, [], words)
        Called(name='price', arguments={'item': 'lamp'}, line=1)
        >>> advance(program, [12.5], words)
        Answered(value=37.5)
    """
    run = _Run(results, words, dict(names or {}))
    for statement in program.statements:
        try:
            value = run.evaluate(statement)
        except _NextCall as called:
            return called.call
        except FailedError as error:
            return Failure(statement.line, str(error))
        if statement.answers:
            return Answered(value)
        if statement.target:
            run.names[statement.target] = value
    return Ended(run.names)


class _NextCall(Exception):  # noqa: N818  (no error: it carries what is to be done)
    """A call has no result yet."""

    def __init__(self, call: Called) -> None:
        super().__init__(call.name)
        self.call = call


class _Run:
    """One evaluation of a program."""

    def __init__(self, results: Sequence[Any], words: Vocabulary, names: dict[str, Any]) -> None:
        self._results: Iterator[Any] = iter(results)
        self._words, self.names = words, names
        self._line, self._work = 0, 0

    def evaluate(self, statement: Statement) -> Any:
        """The value of a statement.

        Raises:
            FailedError: It has none.
            _NextCall: A call is to be made first.
        """
        self._line = statement.line
        node = statement.value
        if statement.answers:
            assert isinstance(node, ast.Call), "an answer is a call"
            fields = {str(keyword.arg): self._of(keyword.value, self.names) for keyword in node.keywords}
            return fields if self._words.answer else self._of(node.args[0], self.names)
        return self._of(node, self.names)

    def _of(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """The value of an expression."""
        self._take(1)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name not in names:  # a comprehension or a branch may not have come to it
                    raise FailedError(f"the name {name} has no value")
                return names[name]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return self._built([self._of(element, names) for element in elements])
            case ast.Dict():
                return self._dict(node, names)
            case ast.JoinedStr():
                return self._text(node, names)
            case ast.Subscript():
                return self._subscript(node, names)
            case ast.BinOp():
                return self._binary(node, names)
            case ast.UnaryOp(op=operator, operand=operand):
                value = self._of(operand, names)
                return not value if isinstance(operator, ast.Not) else self._signed(operator, value)
            case ast.BoolOp():
                return self._bool(node, names)
            case ast.Compare():
                return self._compare(node, names)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._of(body if self._of(test, names) else other, names)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, names)
            case ast.Call():
                return self._call(node, names)
        raise AssertionError(f"the reader lets no {type(node).__name__} pass")

    def _take(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise FailedError("the program computes too much; let a tool do it, or take fewer items")

    def _built(self, value: Any) -> Any:
        """A list or dict that was made here, whose size counts as work."""
        self._take(size(value, MOST_WORK))
        return value

    @staticmethod
    def _signed(operator: ast.unaryop, value: Any) -> Any:
        return negative(value) if isinstance(operator, ast.USub) else negative(negative(value))

    def _dict(self, node: ast.Dict, names: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            assert key is not None, "the reader lets no ** pass"
            name = self._of(key, names)
            if not isinstance(name, str):
                raise FailedError("the keys of a dict are texts")
            result[name] = self._of(value, names)
        self._built(result)
        return result

    def _text(self, node: ast.JoinedStr, names: Mapping[str, Any]) -> str:
        text = ""
        for piece in node.values:
            if isinstance(piece, ast.FormattedValue):
                value = self._of(piece.value, names)
                self._take(size(value, MOST_WORK))
                text = text_within(text + formatted(value, format_of(piece)))
            else:
                assert isinstance(piece, ast.Constant), "an f-string has plain texts and values"
                text = text_within(text + str(piece.value))
        return text

    def _subscript(self, node: ast.Subscript, names: Mapping[str, Any]) -> Any:
        value = self._of(node.value, names)
        if not isinstance(node.slice, ast.Slice):
            return item(value, self._of(node.slice, names))
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return part(value, *(None if bound is None else self._of(bound, names) for bound in bounds))

    def _binary(self, node: ast.BinOp, names: Mapping[str, Any]) -> Any:
        left, right = self._of(node.left, names), self._of(node.right, names)
        self._take(sum(len(value) for value in (left, right) if isinstance(value, list)))
        if (tool := self._words.operators.get(symbol(node.op))) is None:
            return binary(symbol(node.op), left, right)
        first, second = self._words.tools[tool].parameters
        return self._result(tool, {first.name: left, second.name: right})

    def _bool(self, node: ast.BoolOp, names: Mapping[str, Any]) -> Any:
        value: Any = None
        for operand in node.values:
            value = self._of(operand, names)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare, names: Mapping[str, Any]) -> bool:
        left = self._of(node.left, names)
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self._of(comparator, names)
            self._take(sum(size(value, MOST_WORK) for value in (left, right)))
            if not compare(type(operator).__name__, left, right):
                return False
            left = right
        return True

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, names: Mapping[str, Any]) -> list[Any]:
        [loop] = node.generators
        assert isinstance(loop.target, ast.Name), "the reader lets one variable pass"
        inner = dict(names)
        values = []
        for element in items(self._of(loop.iter, names)):
            inner[loop.target.id] = element
            if all(self._of(condition, inner) for condition in loop.ifs):
                values.append(self._of(node.elt, inner))
        self._built(values)
        return values

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        arguments = [self._of(argument, names) for argument in node.args]
        if isinstance(node.func, ast.Attribute):
            return self._get(self._of(node.func.value, names), arguments)
        assert isinstance(node.func, ast.Name), "the reader lets names alone be called"
        named = {str(keyword.arg): self._of(keyword.value, names) for keyword in node.keywords}
        name = node.func.id
        assert name != ANSWER, "an answer is a statement of its own"
        if name in FUNCTIONS:
            self._take(sum(size(argument, MOST_WORK) for argument in arguments))
            return function(name, arguments, named)
        if name == ASK:
            return self._result(ASK, {"question": as_text(arguments[0]), "values": arguments[1:]})
        return self._result(name, named)

    @staticmethod
    def _get(value: Any, arguments: Sequence[Any]) -> Any:
        if not isinstance(value, dict):
            raise FailedError(".get is for a dict")
        default = arguments[1] if len(arguments) > 1 else None
        return value.get(arguments[0], default) if isinstance(arguments[0], str) else default

    def _result(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a call, if it was made.

        Raises:
            _NextCall: It was not.
        """
        try:
            return next(self._results)
        except StopIteration:
            raise _NextCall(Called(name, arguments, self._line)) from None

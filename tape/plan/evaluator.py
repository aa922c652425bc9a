"""Computes expressions that call no tool: an evaluator of its own over ``ast``, within bounds, without ``eval``.

What has no value raises a `FailedError`, which says why in words for the model.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tape.plan.checks import format_of
from tape.plan.program import symbol
from tape.plan.values import (
    FailedError,
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

MOST_WORK = 50_000
"""Parts of expressions and items of lists that are looked at in one evaluation."""


class Evaluator:
    """Computes expressions, all of them together within :data:`MOST_WORK`."""

    def __init__(self) -> None:
        self._work = 0

    def take(self, work: int) -> None:
        """Count work."""
        self._work += work
        if self._work > MOST_WORK:
            raise FailedError("the program computes too much; let a tool do it, or take fewer items")

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """The value of an expression."""
        self.take(1)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name not in names:  # a comprehension or a branch may not have come to it
                    raise FailedError(f"the name {name} has no value")
                return names[name]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return self._built([self.value(element, names) for element in elements])
            case ast.Dict():
                return self._dict(node, names)
            case ast.JoinedStr():
                return self._text(node, names)
            case ast.Subscript():
                return self._subscript(node, names)
            case ast.BinOp():
                return self._binary(node, names)
            case ast.UnaryOp(op=operator, operand=operand):
                value = self.value(operand, names)
                return not value if isinstance(operator, ast.Not) else self._signed(operator, value)
            case ast.BoolOp():
                return self._bool(node, names)
            case ast.Compare():
                return self._compare(node, names)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.value(body if self.value(test, names) else other, names)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, names)
            case ast.Call():
                return self._call(node, names)
        raise AssertionError(f"the reader lets no {type(node).__name__} pass")

    def _built(self, value: Any) -> Any:
        """A list or dict that was made here, whose size counts as work."""
        self.take(size(value, MOST_WORK))
        return value

    @staticmethod
    def _signed(operator: ast.unaryop, value: Any) -> Any:
        return negative(value) if isinstance(operator, ast.USub) else negative(negative(value))

    def _dict(self, node: ast.Dict, names: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            assert key is not None, "the reader lets no ** pass"
            name = self.value(key, names)
            if not isinstance(name, str):
                raise FailedError("the keys of a dict are texts")
            result[name] = self.value(value, names)
        self._built(result)
        return result

    def _text(self, node: ast.JoinedStr, names: Mapping[str, Any]) -> str:
        text = ""
        for piece in node.values:
            if isinstance(piece, ast.FormattedValue):
                value = self.value(piece.value, names)
                self.take(size(value, MOST_WORK))
                text = text_within(text + formatted(value, format_of(piece)))
            else:
                assert isinstance(piece, ast.Constant), "an f-string has plain texts and values"
                text = text_within(text + str(piece.value))
        return text

    def _subscript(self, node: ast.Subscript, names: Mapping[str, Any]) -> Any:
        value = self.value(node.value, names)
        if not isinstance(node.slice, ast.Slice):
            return item(value, self.value(node.slice, names))
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return part(value, *(None if bound is None else self.value(bound, names) for bound in bounds))

    def _binary(self, node: ast.BinOp, names: Mapping[str, Any]) -> Any:
        left, right = self.value(node.left, names), self.value(node.right, names)
        self.take(sum(len(value) for value in (left, right) if isinstance(value, list)))
        return binary(symbol(node.op), left, right)

    def _bool(self, node: ast.BoolOp, names: Mapping[str, Any]) -> Any:
        value: Any = None
        for operand in node.values:
            value = self.value(operand, names)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare, names: Mapping[str, Any]) -> bool:
        left = self.value(node.left, names)
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, names)
            self.take(sum(size(value, MOST_WORK) for value in (left, right)))
            if not compare(type(operator).__name__, left, right):
                return False
            left = right
        return True

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, names: Mapping[str, Any]) -> list[Any]:
        [loop] = node.generators
        assert isinstance(loop.target, ast.Name), "the reader lets one variable pass"
        inner = dict(names)
        values = []
        for element in items(self.value(loop.iter, names)):
            inner[loop.target.id] = element
            if all(self.value(condition, inner) for condition in loop.ifs):
                values.append(self.value(node.elt, inner))
        self._built(values)
        return values

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        arguments = [self.value(argument, names) for argument in node.args]
        if isinstance(node.func, ast.Attribute):
            return self._get(self.value(node.func.value, names), arguments)
        assert isinstance(node.func, ast.Name), "the reader lets names alone be called"
        named = {str(keyword.arg): self.value(keyword.value, names) for keyword in node.keywords}
        self.take(sum(size(argument, MOST_WORK) for argument in arguments))
        return function(node.func.id, arguments, named)

    @staticmethod
    def _get(value: Any, arguments: Sequence[Any]) -> Any:
        if not isinstance(value, dict):
            raise FailedError(".get is for a dict")
        default = arguments[1] if len(arguments) > 1 else None
        return value.get(arguments[0], default) if isinstance(arguments[0], str) else default

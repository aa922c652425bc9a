"""Unfolds a program as far as the results of its calls are there: what it calls next and after that, and its answer.

A program has no state but the results of its calls. It is evaluated from the start, and asks for each result by the
call; so a run is resumed by its results alone, and every sampled program can be evaluated as far as the calls reach
that were made for any of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tape.plan.evaluator import Evaluator
from tape.plan.open import MARK, Open, closed, computed, key_of, mapped, points_of, rebuilt, result, variable
from tape.plan.program import Program, Statement, called, symbol
from tape.plan.values import FailedError, as_text, compare, items
from tape.plan.vocabulary import AGAIN, ASK, Vocabulary

Resolve: TypeAlias = Callable[[str, Mapping[str, Any]], Any]
"""The result of a call by the name of its tool and its arguments; raises :class:`NotMadeError` or
:class:`CallFailedError`."""


class NotMadeError(Exception):
    """A call has not been made."""


class CallFailedError(FailedError):
    """A call was made and has failed; ``hint`` says what may help."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.hint = hint


@dataclass(frozen=True)
class PendingCall:
    """A call that a program has still to make.

    Attributes:
        name: Of the tool, or ``ask``.
        arguments: By the names of the parameters, values or :class:`~tape.plan.open.Open`; for ``ask`` the question
            and ``values``.
        line: Where it stands in the program.
        again: It asks for an effect that was made already.
        sure: It is made once; else it stands in a branch, or in a comprehension whose list is not there.
        text: The call as it is compared with others.
    """

    name: str
    arguments: Mapping[str, Any]
    line: int
    again: bool = False
    sure: bool = True
    text: str = ""

    @property
    def ready(self) -> bool:
        """Whether all its arguments are there."""
        return self.sure and not any(isinstance(value, Open) for value in self.arguments.values())


@dataclass(frozen=True)
class LineFailure:
    """A line cannot be evaluated.

    Attributes:
        line: Where.
        why: The reason, in words for the model.
        tool: The tool whose call has failed; empty where the line itself is at fault.
        hint: What may help.
    """

    line: int
    why: str
    tool: str = ""
    hint: str = ""


@dataclass(frozen=True)
class PlannedAnswer:
    """What a program answers.

    Attributes:
        value: A dict of the answer's fields, or the one value; values of it may be open.
    """

    value: Any

    @property
    def ready(self) -> bool:
        """Whether all of it is there."""
        values = self.value.values() if isinstance(self.value, dict) else [self.value]
        return not any(isinstance(value, Open) for value in values)


@dataclass(frozen=True)
class Unfolded:
    """A program as far as its results are there.

    Attributes:
        made: Its calls whose results are there, by tool and arguments, in order.
        calls: Those that it has still to make, in order.
        answer: None where it ends without one, or fails before.
        failure: Why it cannot go on.
        values: What its statements came to, by their places.
        names: Every name with its value.
    """

    made: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    calls: tuple[PendingCall, ...] = ()
    answer: PlannedAnswer | None = None
    failure: LineFailure | None = None
    values: tuple[Any, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> dict[str, Any]:
        """The names whose values are there."""
        return {name: value for name, value in self.names.items() if not isinstance(value, Open)}


def unfold(program: Program, words: Vocabulary, resolve: Resolve, names: Mapping[str, Any] | None = None) -> Unfolded:
    r"""Unfold a program.

    Examples:
        >>> from tape.plan.reader import read
        >>> from tape.plan.unfold import in_order, unfold
        >>> from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
        >>> words = Vocabulary.of(ToolSignature("price", (Parameter("item", "str"),), "float"))
        >>> program = read("p = price('lamp')\nanswer(3 * p)", words)
        >>> unfold(program, words, in_order([])).calls[0].text
        'price(item="lamp")'
        >>> unfold(program, words, in_order([12.5])).answer
        Answer(value=37.5)
    """
    run = _Unfolding(words, resolve, dict(names or {}))
    values: list[Any] = []
    answer = failure = None
    for statement in program.statements:
        try:
            value = run.statement(statement)
        except CallFailedError as error:
            failure = LineFailure(statement.line, str(error), run.last, error.hint)
            break
        except FailedError as error:
            failure = LineFailure(statement.line, str(error))
            break
        values.append(value)
        if statement.answers:
            answer = PlannedAnswer(value)
            break
        if statement.target:
            run.names[statement.target] = value
    return Unfolded(tuple(run.made), tuple(run.calls), answer, failure, tuple(values), run.names)


def in_order(results: Sequence[Any]) -> Resolve:
    """Results in the order in which they are asked for."""
    waiting: Iterator[Any] = iter(results)

    def resolve(name: str, arguments: Mapping[str, Any]) -> Any:
        del name, arguments
        for value in waiting:
            return value
        raise NotMadeError

    return resolve


def _parts_of(node: ast.expr) -> tuple[int, frozenset[str], frozenset[str], frozenset[str]]:
    """How many nodes an expression has, what it calls, the names that it reads, and its operators.

    A program is unfolded again after each result, so they are kept with the node.
    """
    kept: tuple[int, frozenset[str], frozenset[str], frozenset[str]] | None = node.__dict__.get("parts")
    if kept is None:
        nodes = [*ast.walk(node)]
        calls = frozenset(filter(None, map(called, nodes)))
        read = frozenset(inner.id for inner in nodes if isinstance(inner, ast.Name))
        operators = frozenset(symbol(inner.op) for inner in nodes if isinstance(inner, ast.BinOp))
        kept = node.__dict__["parts"] = (len(nodes), calls, read, operators)
    return kept


class _Unfolding:
    """One evaluation of a program."""

    def __init__(self, words: Vocabulary, resolve: Resolve, names: dict[str, Any]) -> None:
        self._words, self._resolve, self.names = words, resolve, names
        self._evaluator = Evaluator()
        self._line, self._sure = 0, True
        self._texts: dict[str, str] = {}
        self.made: list[tuple[str, Mapping[str, Any]]] = []
        self.calls: list[PendingCall] = []
        self.last = ""

    def statement(self, statement: Statement) -> Any:
        """The value of a statement."""
        self._line, node = statement.line, statement.value
        if not statement.answers:
            return self._of(node, self.names)
        assert isinstance(node, ast.Call), "an answer is a call"
        fields = {str(keyword.arg): self._of(keyword.value, self.names) for keyword in node.keywords}
        return fields if self._words.answer else self._of(node.args[0], self.names)

    def _of(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """The value of an expression, or what it is as long as it is open."""
        if not self._touched(node, names):
            return self._evaluator.value(node, names)
        match node:
            case ast.Name(id=name):
                return names[name]
            case ast.BoolOp():
                return self._bool(node, names)
            case ast.IfExp():
                return self._if(node, names)
            case ast.Compare():
                return self._compare(node, names)
            case ast.ListComp() | ast.GeneratorExp():
                return self._comprehension(node, names)
            case ast.BinOp() if (tool := self._words.operators.get(symbol(node.op))) is not None:
                first, second = self._words.tools[tool].parameters
                left, right = self._of(node.left, names), self._of(node.right, names)
                return self._call(tool, {first.name: left, second.name: right}, operator=symbol(node.op))
            case ast.Call() if called(node) in self._words.tools:
                named = {str(keyword.arg): self._of(keyword.value, names) for keyword in node.keywords}
                return self._call(called(node), named)
            case ast.Call() if called(node) == ASK:
                question, *values = [self._of(argument, names) for argument in node.args]
                return self._ask(question, values)
        return self._plain(node, names)

    def _touched(self, node: ast.expr, names: Mapping[str, Any]) -> bool:
        """Whether an expression calls a tool, or reads what is open."""
        size, calls, read, operators = _parts_of(node)
        tools = self._words.tools
        if any(name == ASK or name in tools for name in calls) or not operators.isdisjoint(self._words.operators):
            return True
        if any(isinstance(names.get(name), Open) for name in read):
            return True
        self._evaluator.take(size)
        return False

    def _plain(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """An expression whose parts are all evaluated, in order."""
        values: list[Any] = []

        def evaluated(part: ast.expr) -> ast.expr:
            values.append(self._of(part, names))
            return part

        mapped(node, evaluated)
        waiting = iter(values)
        if any(isinstance(value, Open) for value in values):
            return rebuilt(node, lambda _: next(waiting), self._texts)
        return self._evaluator.value(mapped(node, lambda _: ast.Constant(next(waiting))), names)

    def _unsure(self, nodes: Sequence[ast.expr], names: Mapping[str, Any]) -> list[ast.expr]:
        """Expressions that are perhaps not evaluated, or several times."""
        before, self._sure = self._sure, False
        try:
            return [self._node(self._of(node, names)) for node in nodes]
        finally:
            self._sure = before

    @staticmethod
    def _node(value: Any) -> ast.expr:
        return value.node if isinstance(value, Open) else ast.Constant(value)

    def _bool(self, node: ast.BoolOp, names: Mapping[str, Any]) -> Any:
        value: Any = None
        for place, operand in enumerate(node.values):
            value = self._of(operand, names)
            if isinstance(value, Open):
                rest = self._unsure(node.values[place + 1 :], names)
                return closed(ast.BoolOp(node.op, [value.node, *rest]), self._texts) if rest else value
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _if(self, node: ast.IfExp, names: Mapping[str, Any]) -> Any:
        test = self._of(node.test, names)
        if not isinstance(test, Open):
            return self._of(node.body if test else node.orelse, names)
        body, other = self._unsure([node.body, node.orelse], names)
        return closed(ast.IfExp(test.node, body, other), self._texts)

    def _compare(self, node: ast.Compare, names: Mapping[str, Any]) -> Any:
        left = self._of(node.left, names)
        for place, (operator, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self._of(comparator, names)
            if isinstance(left, Open) or isinstance(right, Open):
                rest = self._unsure(node.comparators[place + 1 :], names)
                made = ast.Compare(self._node(left), node.ops[place:], [self._node(right), *rest])
                return closed(made, self._texts)
            if not compare(type(operator).__name__, left, right):
                return False
            left = right
        return True

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, names: Mapping[str, Any]) -> Any:
        [loop] = node.generators
        assert isinstance(loop.target, ast.Name), "the reader lets one variable pass"
        name, source = loop.target.id, self._of(loop.iter, names)
        if isinstance(source, Open):
            inner = {**names, name: variable(name)}
            *tests, element = self._unsure([*loop.ifs, node.elt], inner)
            made = ast.ListComp(element, [ast.comprehension(loop.target, source.node, tests, 0)])
            return closed(made, self._texts)
        values: list[Any] = []
        for item in items(source):
            inner = {**names, name: item}
            kept = [self._of(test, inner) for test in loop.ifs]
            if any(isinstance(test, Open) for test in kept):
                self._unsure([node.elt], inner)
                values.append(closed(ast.IfExp(self._all(kept), self._node(None), ast.Constant(None)), self._texts))
            elif all(kept):
                values.append(self._of(node.elt, inner))
        if any(isinstance(value, Open) for value in values):
            return closed(ast.List([self._node(value) for value in values], ast.Load()), self._texts)
        return values

    def _all(self, tests: Sequence[Any]) -> ast.expr:
        nodes = [self._node(test) for test in tests]
        return nodes[0] if len(nodes) == 1 else ast.BoolOp(ast.And(), nodes)

    def _ask(self, question: Any, values: list[Any]) -> Any:
        """A question about results."""
        if not isinstance(question, Open):
            question = as_text(question)
        held: Any = values
        if any(isinstance(value, Open) for value in values):
            held = closed(ast.List([self._node(value) for value in values], ast.Load()), self._texts)
        return self._call(ASK, {"question": question, "values": held})

    def _call(self, name: str, named: Mapping[str, Any], operator: str = "") -> Any:
        """The result of a call; open where it was not made."""
        again = named.get(AGAIN, False) is True
        arguments = {key: value for key, value in named.items() if key != AGAIN}
        self.last = name
        if not any(isinstance(value, Open) for value in arguments.values()) and self._sure:
            try:
                value = self._resolve(name, arguments | ({AGAIN: True} if again else {}))
            except NotMadeError:
                pass
            else:
                self.made.append((name, arguments))
                return value
        text = self._text(name, arguments)
        mark, number = f"{MARK}{len(self.calls)}", len(self.calls)
        self.calls.append(PendingCall(name, arguments, self._line, again, self._sure, text))
        made = result(number, text)
        self._texts[mark] = made.text
        points = None
        if operator:
            left, right = map(points_of, arguments.values())
            points = computed(operator, left, right) if left and right else None
        return Open(made.node, made.text, points or made.points, points is not None)

    def _text(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A call with its arguments in the order of the tool's parameters, without those that are the defaults."""
        order: Sequence[str] = [*arguments]
        defaults: dict[str, str] = {}
        if name in self._words.tools:
            parameters = self._words.tools[name].parameters
            order = [parameter.name for parameter in parameters]
            defaults = {parameter.name: parameter.default for parameter in parameters if not parameter.required}
        shown = [(key, key_of(arguments[key])) for key in order if key in arguments]
        return f"{name}({', '.join(f'{key}={text}' for key, text in shown if defaults.get(key) != text)})"

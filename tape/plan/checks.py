"""What an expression of a program may be; everything else is refused with a reason that a model can act on.

The reason is a `RefusedError`.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Collection, Iterable, Sequence

from tape.plan.program import symbol
from tape.plan.vocabulary import AGAIN, ANSWER, ASK, FUNCTIONS, OPERATORS, Parameter, Vocabulary

LONGEST_TEXT = 10_000
"""Characters of a text in a program, and of one that it computes."""
LARGEST_NUMBER = 10**30
"""Of a whole number in a program, and of one that it computes."""
MOST_NODES, DEEPEST = 2_000, 40
"""Parts of one statement, and how deep they may be inside each other."""
FORMAT = re.compile(r",?(\.([0-9]|1[0-2])f)?")
"""What may follow the colon in an f-string."""
KEYWORDS = {"sorted": ("key", "reverse"), "min": ("key", "default"), "max": ("key", "default")}
"""Of functions, what may be given by name."""
COUNTS = {"len": (1, 1), "sum": (1, 1), "str": (1, 1), "int": (1, 1), "float": (1, 1), "sorted": (1, 1),
          "round": (1, 2), "min": (1, 100), "max": (1, 100)}  # fmt: skip
"""Of functions, how many values they take."""


class NotInLanguageError(Exception):
    """A statement is not of the language; the message says why."""


class ProgramChecker:
    """Checks the statements of one program, and gives the arguments of calls their names."""

    def __init__(self, words: Vocabulary, defined: Iterable[str] = ()) -> None:
        self._words, self.defined = words, set(defined)

    def define(self, name: str) -> None:
        """Take a name as the target of a statement."""
        if name in FUNCTIONS or name in (ASK, ANSWER):
            raise NotInLanguageError(f"{name} is a function; give the value another name")
        self.defined.add(name)

    def expression(self, node: ast.expr) -> None:
        """Check an expression."""
        self._sized(node)
        self._check(node, self.defined, branch=False)

    def answer(self, node: ast.Call) -> None:
        """Check the arguments of an answer, and give fields their names; a value of any type has none."""
        self._sized(node)
        self._no_stars(node)
        fields = self._words.answer or (Parameter("value"),)
        if self._words.answer or len(node.args) != 1:
            self._name_arguments(node, ANSWER, fields)
            if not self._words.answer:
                node.args, node.keywords = [keyword.value for keyword in node.keywords], []
        elif node.keywords:
            raise NotInLanguageError("the answer is one value: answer(value)")
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._check(value, self.defined, branch=False)

    def _sized(self, node: ast.expr) -> None:
        level: list[ast.AST] = [node]
        nodes = depth = 0
        while level:
            nodes, depth = nodes + len(level), depth + 1
            if nodes > MOST_NODES or depth > DEEPEST:
                raise NotInLanguageError("the statement is too large; write several")
            level = [inner for outer in level for inner in ast.iter_child_nodes(outer)]

    def _check(self, node: ast.expr, names: Collection[str], *, branch: bool) -> None:
        """One expression; ``branch`` says that it may be evaluated more or less often than once."""
        inner: Iterable[ast.expr | None] = ()
        match node:
            case ast.Constant():
                _constant(node.value)
            case ast.Name():
                if node.id not in names:
                    raise NotInLanguageError(f"the name {node.id} is not defined{_near(node.id, names)}")
            case ast.List() | ast.Tuple():
                inner = node.elts
            case ast.Dict():
                if None in node.keys:
                    raise NotInLanguageError("** is not allowed in a dict; write its keys")
                inner = [*node.keys, *node.values]
            case ast.Subscript():
                at = node.slice
                inner = [node.value, *([at.lower, at.upper, at.step] if isinstance(at, ast.Slice) else [at])]
            case ast.JoinedStr():
                inner = [_formatted(part) for part in node.values]
            case ast.BinOp():
                if not symbol(node.op):
                    raise NotInLanguageError(f"this operator is not allowed; there are {' '.join(OPERATORS)}")
                self._operator(symbol(node.op))
                inner = [node.left, node.right]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not()):
                inner = [node.operand]
            case ast.Compare():
                inner = [node.left, node.comparators[0]]
                self._check_all(node.comparators[1:], names, branch=True)  # a < b < f(): f is perhaps not called
                _comparisons(node)
            case ast.BoolOp():
                self._check(node.values[0], names, branch=branch)
                self._check_all(node.values[1:], names, branch=True)
            case ast.IfExp():
                self._check(node.test, names, branch=branch)
                self._check_all([node.body, node.orelse], names, branch=True)
            case ast.ListComp() | ast.GeneratorExp():
                self._comprehension(node, names, branch=branch)
            case ast.Call():
                self._call(node, branch=branch)
                inner = [*node.args, *(keyword.value for keyword in node.keywords)]
                if isinstance(node.func, ast.Attribute):
                    inner = [node.func.value, *inner]
            case ast.Attribute():
                raise NotInLanguageError(
                    f'attributes such as .{node.attr} are not allowed; take a part by ["{node.attr}"]'
                )
            case _:
                raise NotInLanguageError(f"{_NAMES.get(type(node), type(node).__name__)} is not allowed")
        self._check_all([part for part in inner if part is not None], names, branch=branch)

    def _check_all(self, nodes: Iterable[ast.expr], names: Collection[str], *, branch: bool) -> None:
        for node in nodes:
            self._check(node, names, branch=branch)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, names: Collection[str], *, branch: bool) -> None:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise NotInLanguageError("a comprehension has one `for`")
        [loop] = node.generators
        if not isinstance(loop.target, ast.Name):
            raise NotInLanguageError("the `for` of a comprehension names one variable")
        if loop.target.id in self._words.tools or loop.target.id in FUNCTIONS:
            raise NotInLanguageError(f"{loop.target.id} is a function; name the variable otherwise")
        self._check(loop.iter, names, branch=branch)
        self._check_all([*loop.ifs, node.elt], {*names, loop.target.id}, branch=True)

    def _call(self, node: ast.Call, *, branch: bool) -> None:
        """The name of a call and its arguments' names; what the arguments are is checked with all else."""
        self._no_stars(node)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr != "get" or node.keywords or not 1 <= len(node.args) <= 2:
                raise NotInLanguageError(
                    f"the method .{node.func.attr}(...) is not allowed; there is .get(key, default)"
                )
            return
        if not isinstance(node.func, ast.Name):
            raise NotInLanguageError("only tools and functions are called")
        name = node.func.id
        if name in self._words.tools:
            signature = self._words.tools[name]
            if signature.changes and branch:
                raise NotInLanguageError(f"{name} changes something, so it cannot stand in a branch or a comprehension")
            self._name_arguments(node, name, signature.parameters, again=signature.changes)
        elif name == ASK:
            _ask(node)
        elif name in FUNCTIONS:
            _function(node, name)
            self._operator(name if name in ("sum", "round") else "")
        elif name == ANSWER:
            raise NotInLanguageError("answer(...) is a statement of its own")
        else:
            raise NotInLanguageError(f"there is no tool {name}{_near(name, [*self._words.tools, *FUNCTIONS])}")

    def _operator(self, operator: str) -> None:
        priced = self._words.operators
        if operator and priced and operator not in priced:
            tools = ", ".join(f"{known} is {name}" for known, name in priced.items())
            raise NotInLanguageError(f"{operator} cannot be used here: computing is done by tools ({tools})")

    @staticmethod
    def _no_stars(node: ast.Call) -> None:
        if any(isinstance(value, ast.Starred) for value in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        ):
            raise NotInLanguageError("* and ** are not allowed in a call; write each argument")

    @staticmethod
    def _name_arguments(node: ast.Call, name: str, parameters: Sequence[Parameter], *, again: bool = False) -> None:
        """Give positional arguments their names, in the order of the parameters."""
        known = [parameter.name for parameter in parameters]
        listed = f"{name}({', '.join(known)})"
        if len(node.args) > len(known):
            raise NotInLanguageError(f"{listed} takes {len(known)} arguments, not {len(node.args)}")
        named = [ast.keyword(key, value) for key, value in zip(known, node.args, strict=False)]
        named += node.keywords
        given = [str(keyword.arg) for keyword in named]
        for key in given:
            if key not in known and not (again and key == AGAIN):
                raise NotInLanguageError(f"{name} has no parameter {key}{_near(key, known)}; it is {listed}")
            if given.count(key) > 1:
                raise NotInLanguageError(f"{name} is given {key} twice")
        missing = [parameter.name for parameter in parameters if parameter.required and parameter.name not in given]
        if missing:
            raise NotInLanguageError(f"{name} needs {', '.join(missing)}; it is {listed}")
        node.args, node.keywords = [], named


def _constant(value: object) -> None:
    match value:
        case None | bool():
            return
        case str():
            if len(value) > LONGEST_TEXT:
                raise NotInLanguageError(f"a text has at most {LONGEST_TEXT} characters")
        case int():
            if abs(value) > LARGEST_NUMBER:
                raise NotInLanguageError("a whole number has at most 30 digits")
        case float():
            if not math.isfinite(value):
                raise NotInLanguageError("a number is finite")
        case _:
            raise NotInLanguageError(f"{type(value).__name__} is no value of the language; there are numbers and texts")


def _formatted(part: ast.expr) -> ast.expr | None:
    """The value in a part of an f-string; None for plain text."""
    if isinstance(part, ast.Constant):
        _constant(part.value)
        return None
    assert isinstance(part, ast.FormattedValue), "an f-string has plain texts and values"
    if part.conversion not in (-1, ord("s")):
        raise NotInLanguageError("!r and !a are not allowed in an f-string")
    if part.format_spec is not None and not FORMAT.fullmatch(spec := format_of(part)):
        raise NotInLanguageError(f"the format {spec[:20]!r} is not allowed; there are , and .2f (up to .12f)")
    return part.value


def format_of(part: ast.FormattedValue) -> str:
    """What follows the colon in a part of an f-string."""
    if part.format_spec is None:
        return ""
    assert isinstance(part.format_spec, ast.JoinedStr), "a format is a text"
    texts = [piece.value for piece in part.format_spec.values if isinstance(piece, ast.Constant)]
    if len(texts) < len(part.format_spec.values):
        raise NotInLanguageError("a format is written out, not computed")
    return "".join(map(str, texts))


def _comparisons(node: ast.Compare) -> None:
    for operator, value in zip(node.ops, node.comparators, strict=True):
        none = isinstance(value, ast.Constant) and value.value is None
        if isinstance(operator, ast.Is | ast.IsNot) and not none:
            raise NotInLanguageError("`is` is for None alone; write ==")


def _ask(node: ast.Call) -> None:
    if node.keywords or len(node.args) < 2:
        raise NotInLanguageError('ask takes a question and the results to read: ask("Which year?", text)')


def _function(node: ast.Call, name: str) -> None:
    least, most = COUNTS[name]
    if not least <= len(node.args) <= most:
        raise NotInLanguageError(f"{name} takes {least if least == most else f'{least} to {most}'} values")
    for keyword in node.keywords:
        if keyword.arg not in KEYWORDS.get(name, ()):
            raise NotInLanguageError(f"{name} takes no {keyword.arg}=")
        if keyword.arg == "key":
            keyword.value = _keys(node, keyword.value, name)


def _keys(node: ast.Call, key: ast.expr, name: str) -> ast.ListComp:
    """What a list is sorted or compared by, as a comprehension over it: `key=lambda row: row["n"]`."""
    plain = isinstance(key, ast.Lambda) and ast.unparse(key.args).isidentifier()
    if not plain or len(node.args) != 1:
        raise NotInLanguageError(f'the key of {name} is like key=lambda row: row["n"], for one list')
    assert isinstance(key, ast.Lambda), "as was looked at"
    variable = ast.Name(key.args.args[0].arg, ast.Store())
    return ast.ListComp(key.body, [ast.comprehension(variable, node.args[0], [], 0)])


def _near(name: str, known: Iterable[str]) -> str:
    """The names that a wrong one may stand for."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:100], names, 3) or names[:10]
    return f"; there is {', '.join(near)}" if near else ""


_NAMES: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda that is no key of min, max or sorted",
    ast.Set: "a set",
    ast.SetComp: "a comprehension of a set",
    ast.DictComp: "a comprehension of a dict",
    ast.NamedExpr: ":=",
    ast.Starred: "*",
    ast.UnaryOp: "~",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}

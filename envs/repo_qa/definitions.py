"""The definitions of a parsed file: classes, functions and methods, with facts of their code."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from envs.repo_qa.sources import ParsedSource

Kind = Literal["class", "function", "method"]
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Node: TypeAlias = FunctionNode | ast.ClassDef

MOST_NESTED = 20
"""Deepest nesting of classes and statements in which definitions are looked for."""


@dataclass(frozen=True)
class Snippet:
    """A piece of code as text.

    Attributes:
        text: As the source has it, in one line.
        line: The line where it begins.
    """

    text: str
    line: int


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter of a function."""

    name: str
    default: Snippet | None


@dataclass(frozen=True)
class SourceCall:
    """A call in the body of a function.

    Attributes:
        callee: Dotted, as it is written; empty where something else than a name is called.
        keywords: The names of its keyword arguments.
        spread: Whether it passes on a mapping (``**options``), whose keywords are not known.
        line: The line where it begins.
    """

    callee: str
    keywords: tuple[str, ...]
    spread: bool
    line: int


@dataclass(frozen=True)
class Definition:
    """A class, a function, or a method of a class.

    Functions inside functions are part of the function around them.

    Attributes:
        kind: Which of these.
        name: Its own name.
        module: Dotted name of its module.
        path: Of its file.
        line: Of its ``class`` or ``def``.
        owner: The class that it is defined in, dotted where classes are nested; empty for others.
        node: What was parsed.
        decorators: As they are written, without arguments.
    """

    kind: Kind
    name: str
    module: str
    path: str
    line: int
    owner: str
    node: Node = field(repr=False, compare=False)
    decorators: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Of its passage: the file and the line."""
        return f"{self.path}:{self.line}"

    @property
    def title(self) -> str:
        """The qualified name."""
        return ".".join(part for part in (self.module, self.owner, self.name) if part)


def definitions(source: ParsedSource) -> Iterator[Definition]:
    """The definitions of a file outside of functions, in the order of their lines."""
    yield from _inside(source, source.tree.body, "", 0)


def _inside(source: ParsedSource, body: Sequence[ast.stmt], owner: str, level: int) -> Iterator[Definition]:
    if level > MOST_NESTED:
        return
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            kind: Kind = "class" if isinstance(node, ast.ClassDef) else "method" if owner else "function"
            decorators = tuple(
                dotted(expression.func if isinstance(expression, ast.Call) else expression)
                for expression in node.decorator_list
            )
            yield Definition(kind, node.name, source.module, source.path, node.lineno, owner, node, decorators)
            if isinstance(node, ast.ClassDef):
                yield from _inside(source, node.body, f"{owner}.{node.name}" if owner else node.name, level + 1)
        else:
            for block in _blocks(node):
                yield from _inside(source, block, owner, level + 1)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def names_defined(sources: Sequence[ParsedSource]) -> Counter[str]:
    """How often each name is defined by ``class`` or ``def`` anywhere, inside of functions too."""
    counts: Counter[str] = Counter()
    todo: list[ast.stmt] = [node for source in sources for node in source.tree.body]
    while todo:  # definitions are statements, and statements stand in blocks
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            counts[node.name] += 1
        for block in _blocks(node):
            todo.extend(block)
    return counts


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or an attribute; empty of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def snippet(source: ParsedSource, node: ast.expr) -> Snippet:
    """An expression as the source has it, in one line."""
    first, last = node.lineno, node.end_lineno or node.lineno
    text = ast.get_source_segment("\n".join(source.lines[first - 1 : last]), _shifted(node, first - 1)) or ""
    if first != last or not text:
        try:
            text = ast.unparse(node)  # without the comments between its lines
        except RecursionError:
            text = " ".join(text.split())
    return Snippet(text, first)


def _shifted(node: ast.expr, lines: int) -> ast.expr:
    """A node without content at the same place of a text that begins so many lines later."""
    copy = ast.Constant(value=None)
    copy.lineno, copy.col_offset = node.lineno - lines, node.col_offset
    copy.end_lineno, copy.end_col_offset = (node.end_lineno or node.lineno) - lines, node.end_col_offset
    return copy


def parameters(source: ParsedSource, node: FunctionNode) -> tuple[FunctionParameter, ...]:
    """The parameters of a function that have names, in order."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return tuple(
        FunctionParameter(arg.arg, snippet(source, value) if value is not None else None) for arg, value in pairs
    )


@dataclass(frozen=True)
class Body:
    """What a function's code does; functions, classes and lambdas inside of it are not its own code.

    Attributes:
        raised: The exceptions that its ``raise`` statements name, by line; None where one of them names no class.
        calls: Its calls, by line.
        bound: The names that are bound anywhere inside: parameters, variables, imports, functions.
    """

    raised: tuple[Snippet, ...] | None
    calls: tuple[SourceCall, ...]
    bound: frozenset[str]


def read_body(node: FunctionNode) -> Body:
    """Read the code of a function."""
    bound: set[str] = set()
    made: list[SourceCall] = []
    raises: list[Snippet] = []
    clear = True
    todo: list[tuple[ast.AST, bool]] = [(node.args, True), *((part, True) for part in node.body)]
    while todo:
        part, own = todo.pop()
        _bind(part, bound)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            own = False
        elif own and isinstance(part, ast.Raise):
            what = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
            name = dotted(what) if what is not None else ""
            clear = clear and name.rpartition(".")[2].lstrip("_")[:1].isupper()
            raises.append(Snippet(name, part.lineno))
        elif own and isinstance(part, ast.Call):
            words = tuple(word.arg for word in part.keywords if word.arg is not None)
            spread = len(words) < len(part.keywords)
            made.append(SourceCall(dotted(part.func), words, spread, part.lineno))
        todo.extend((inner, own) for inner in ast.iter_child_nodes(part))
    made.sort(key=lambda call: (call.line, call.callee, call.keywords))
    raises.sort(key=lambda item: (item.line, item.text))
    return Body(tuple(raises) if clear else None, tuple(made), frozenset(bound))


def _bind(part: ast.AST, bound: set[str]) -> None:
    """Add the name that a node binds."""
    if isinstance(part, ast.Name):
        if not isinstance(part.ctx, ast.Load):
            bound.add(part.id)
    elif isinstance(part, ast.arg):
        bound.add(part.arg)
    elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        bound.add(part.name)
    elif isinstance(part, ast.alias):
        bound.add(part.asname or part.name.partition(".")[0])
    elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        if part.name:
            bound.add(part.name)
    elif isinstance(part, ast.MatchMapping) and part.rest:
        bound.add(part.rest)

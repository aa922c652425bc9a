"""Reads what a model wrote into a program, as leniently as can be done without guessing."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tape.plan.checks import NotInLanguageError, ProgramChecker
from tape.plan.program import Program, Statement, Stopped, called, without_unused
from tape.plan.vocabulary import ANSWER, Vocabulary

LONGEST_PROGRAM = 20_000
"""Characters of a reply that are looked at."""
MOST_STATEMENTS = 99
"""Statements that a program may have."""
MOST_STARTS = 20
"""Lines of a reply without fences at which a program may begin."""

_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(?P<body>.*?)(^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"(for\s+\S.*\sin\s|while\s|if\s|with\s|class\s|def\s|async\s|try\s*:).*:\s*$")
"""The first line of a block of statements."""
_START = re.compile(rf"#|(await\s+)?[^\W\d][\w.]*(\s*\(|[\w\s,.\[\]\"':*+-]*=(?!=))|{_BLOCK.pattern}")
"""How a line begins that may begin a program: with a comment, an assignment, a call or a block, which ends it at once.

Lines within a block begin none: what stands under a condition is not to be made without it.
"""
_CODE = re.compile(r"(await\s+)?[^\W\d][\w.]*(\(|[\w\s,.\[\]\"':*+-]*=(?!=))")
"""How a line begins that is no prose."""
NO_PYTHON = "it is no statement of Python"
_SKIPPED = (ast.Import, ast.ImportFrom, ast.Pass)


def read(text: str, words: Vocabulary, defined: Iterable[str] = (), *, whole: bool = True) -> Program:
    r"""Read a program.

    ``<think>...</think>`` is left out. With fences the first fenced block is the program; without, it begins at the
    first line from which a statement can be read, or with the first ``name = ...`` or ``name(...)`` of Python that is
    refused. Imports and ``print(...)`` are skipped. A statement that is not understood ends the program. What follows
    an answer is dropped, and so are pure calls whose result nothing uses.

    Args:
        text: What the model wrote.
        words: What may be called.
        defined: Names that have a value already, where the program continues another one.
        whole: It is one program, and no part that others follow: a last assignment may stand for the answer, and what
            is not used is left out.

    Returns:
        The program; without statements where nothing could be read, with the reason.

    Examples:
        >>> from tape.plan.reader import read
        >>> from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
        >>> words = Vocabulary.of(ToolSignature("price", (Parameter("item", "str"),), "float"))
        >>> program = read("# Look it up.\np = price('lamp')\nanswer(3 * p)\nprint(p)", words)
        >>> program.comment, [statement.text for statement in program.statements]
        ('Look it up.', ["p = price('lamp')", 'answer(3 * p)'])
        >>> read("p = prise('lamp')", words).stopped.why[:28]
        'there is no tool prise; ther'
    """
    text = textwrap.dedent(_THINKING.sub("", text[:LONGEST_PROGRAM].replace("\r\n", "\n").replace("\r", "\n")))
    names = frozenset(defined)
    fenced = _FENCE.search(text)
    if fenced is not None:
        program = _read(textwrap.dedent(fenced["body"]), words, names, whole=whole)
        return without_unused(program, words) if whole else program
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _START.match(line)][:MOST_STARTS]
    first: Program | None = None
    for number in starts:
        program = _read("\n".join(lines[number:]), words, names, whole=whole)
        if program.statements or _BLOCK.match(lines[number]) or _is_code(lines[number], program):
            return without_unused(program, words) if whole else program
        first = first or program
    return first or Program(stopped=Stopped(1, lines[0][:200], "there is no statement"))


def _is_code(line: str, program: Program) -> bool:
    """Whether a line is a statement of Python that was refused: what stands below it is not to be run without it."""
    why = "" if program.stopped is None else program.stopped.why
    return _CODE.match(line) is not None and not why.startswith(NO_PYTHON)


def _read(code: str, words: Vocabulary, defined: frozenset[str], *, whole: bool) -> Program:
    """Read a program from its first line on."""
    reading = _Reading(ProgramChecker(words, defined), [])
    comments: list[str] = []
    stopped: Stopped | None = None
    for line in _logical_lines(code):
        if line.comment:
            if not reading.statements:
                comments.append(line.text.lstrip("#").strip())
            continue
        try:
            reading.take(line)
        except NotInLanguageError as refusal:
            stopped = Stopped(line.number, line.text.split("\n", 1)[0][:200], str(refusal))
            break
        if reading.answered:
            break
    statements = reading.statements
    if whole and stopped is None and not reading.answered:
        _stand_in(statements, words)
    if stopped is None and not statements:
        stopped = Stopped(1, code.split("\n", 1)[0][:200], "there is no statement")
    return Program("\n".join(comments), tuple(statements), stopped)


@dataclass
class _Reading:
    """What has been read of one program.

    Attributes:
        checker: Checks the statements.
        statements: Those that were understood.
    """

    checker: ProgramChecker
    statements: list[Statement]

    @property
    def answered(self) -> bool:
        """Whether the last statement is an answer."""
        return bool(self.statements) and self.statements[-1].answers

    def take(self, line: _Line) -> None:
        """Read a logical line."""
        nodes = _parsed(line.text)
        for node in nodes:
            if isinstance(node, _SKIPPED) or _prints(node):
                continue
            if len(self.statements) == MOST_STATEMENTS:
                raise NotInLanguageError(f"a program has at most {MOST_STATEMENTS} statements")
            target, value = self._read(node)
            written = line.text if len(nodes) == 1 else ast.unparse(node)
            self.statements.append(Statement(written, line.number, target, value))
            if self.answered:
                return

    def _read(self, node: ast.stmt) -> tuple[str, ast.expr]:
        """The target and the value of a statement."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.checker.expression(value)
                self.checker.define(name)
                return name, value
            case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name == ANSWER:
                self.checker.answer(call)
                return "", call
            case ast.Expr(value=ast.Call() as call):
                self.checker.expression(call)
                return "", call
            case ast.Expr():
                raise NotInLanguageError("a statement is `name = ...`, a call, or answer(...)")
            case _:
                kind = _KINDS.get(type(node), "this statement")
                instead = ' (there is: [row for row in rows if row["n"] > 1])' if kind == "a loop" else ""
                raise NotInLanguageError(
                    f"{kind} is not allowed{instead}; a statement is `name = ...`, a call, or answer(...)"
                )


_KINDS: dict[type[ast.stmt], str] = {
    ast.If: "`if` (there is: a if condition else b)",
    ast.For: "a loop",
    ast.While: "a loop",
    ast.FunctionDef: "a definition",
    ast.AsyncFunctionDef: "a definition",
    ast.ClassDef: "a definition",
    ast.Return: "`return`",
    ast.Try: "`try`",
    ast.With: "`with`",
    ast.Assign: "an assignment to anything but one name",
    ast.AugAssign: "an assignment such as +=",
    ast.AnnAssign: "an assignment with a type",
    ast.Delete: "`del`",
    ast.Assert: "`assert`",
    ast.Raise: "`raise`",
}


@dataclass(frozen=True)
class _Line:
    """A logical line: a statement that may go over several lines, or a comment."""

    number: int
    text: str
    comment: bool = False


def _logical_lines(code: str) -> Iterator[_Line]:
    """The logical lines, as Python's tokenizer divides them; what has no end is the last one."""
    lines = code.split("\n")
    begun: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT and begun is None:
                yield _Line(token.start[0], token.string, comment=True)
            elif token.type == tokenize.NEWLINE and begun is not None:
                yield _Line(begun, "\n".join(lines[begun - 1 : token.end[0]]))
                begun = None
            elif token.type not in _BETWEEN and begun is None:
                begun = token.start[0]
    except (tokenize.TokenError, SyntaxError):  # an open bracket or text at the end; or an odd indentation
        pass
    if begun is not None:
        yield _Line(begun, "\n".join(lines[begun - 1 :]))


_BETWEEN = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
)


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a logical line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\d", which are texts like others
            # The head of a block is parsed without its body, so that it is named for what it is.
            return ast.parse(f"{text} pass" if text.rstrip().endswith(":") else text).body
    except (SyntaxError, ValueError) as error:
        why = getattr(error, "msg", None) or str(error)
        raise NotInLanguageError(f"{NO_PYTHON}: {str(why)[:200]}") from None
    except (RecursionError, MemoryError):
        raise NotInLanguageError("the statement is too deep; write several") from None


def _prints(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and called(node.value) == "print"


def _stand_in(statements: list[Statement], words: Vocabulary) -> None:
    """Let a last assignment of an expression stand for a missing answer of one field."""
    if not statements or len(words.answer) > 1:
        return
    last = statements[-1]
    if not last.target or called(last.value) in words.tools:
        return
    name = words.answer[0].name if words.answer else ""
    value = ast.Name(last.target, ast.Load())
    call = ast.Call(ast.Name(ANSWER, ast.Load()), [] if name else [value], [ast.keyword(name, value)] if name else [])
    statements.append(Statement(ast.unparse(call), last.line + 1, "", call))

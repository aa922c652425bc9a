"""The passages of a corpus: one piece of code for each definition, short enough that several fit into a prompt.

A function shows its signature, the first paragraph of its docstring and the beginning of its body; a class its header,
the first paragraph of its docstring and the names of its attributes and methods. One comment is added, at the end of
the first line: where it is defined.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from envs.repo_qa.definitions import Definition, FunctionNode, snippet
from envs.repo_qa.sources import ParsedSource
from tape.protocols.search import Passage

WORDS = 60
"""Most words of a passage, the comment of its first line and marks included."""
LINES = 12
"""Most lines of a passage."""
DOC_WORDS = 16
"""Most words of a docstring that are shown."""
CHARACTERS = 300
"""Most characters of a line; a longer one is cut."""
CUT = "..."
"""Stands where something is left out."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class ShownPassage:
    """A passage, and which lines of the source it shows.

    Attributes:
        passage: The passage.
        lines: Line of the source -> the line of the passage that shows it.
        header: The first line of the passage.
        whole_header: Whether signature or bases are all there.
        whole: Whether nothing of a body, or none of a class's names, was left out.
    """

    passage: Passage
    lines: dict[int, str]
    header: str
    whole_header: bool
    whole: bool


def word_count(text: str) -> int:
    """The words of a text: runs of letters and digits."""
    return len(_WORD.findall(text))


def show(source: ParsedSource, definition: Definition) -> ShownPassage:
    """The passage of a definition."""
    node = definition.node
    where = f"{definition.kind} of {definition.owner}" if definition.owner else f"in {definition.module}"
    comment = f"  # {where}"
    header = _class_header(source, node) if isinstance(node, ast.ClassDef) else _signature(source, node)
    budget = WORDS - word_count(comment)
    shortened = _shortened(header, budget)
    header_line = shortened + comment
    lines = [header_line]
    shown: dict[int, str] = {node.lineno: header_line}
    budget -= word_count(shortened)
    if doc := _doc(node, min(budget, DOC_WORDS)):
        lines.append(f'    """{doc}"""')
        budget -= word_count(doc)
    if isinstance(node, ast.ClassDef):
        whole = _add_names(lines, class_names(node), budget)
    else:
        whole = _add_body(lines, shown, source, node, budget)
    passage = Passage(definition.id, definition.title, "\n".join(lines))
    return ShownPassage(passage, shown, header_line, shortened == header, whole)


def _shortened(text: str, budget: int) -> str:
    """A text up to so many words and :data:`CHARACTERS`, with a mark where it is cut."""
    if word_count(text) <= budget and len(text) <= CHARACTERS:
        return text
    ends = [match.end() for match in _WORD.finditer(text) if match.end() <= CHARACTERS][: max(budget, 0)]
    return f"{text[: ends[-1]]}{CUT}" if ends else CUT


def _class_header(source: ParsedSource, node: ast.ClassDef) -> str:
    inside = [snippet(source, base).text for base in node.bases]
    inside += [f"{word.arg}={snippet(source, word.value).text}" for word in node.keywords if word.arg]
    return f"class {node.name}({', '.join(inside)}):" if inside else f"class {node.name}:"


def _signature(source: ParsedSource, node: FunctionNode) -> str:
    given = node.args
    parts: list[str] = []

    def one(arg: ast.arg, default: ast.expr | None = None, star: str = "") -> str:
        text = star + arg.arg
        if arg.annotation is not None:
            text += f": {snippet(source, arg.annotation).text}"
        if default is not None:
            text += (" = " if arg.annotation is not None else "=") + snippet(source, default).text
        return text

    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for number, (arg, default) in enumerate(zip(positional, defaults, strict=True), 1):
        parts.append(one(arg, default))
        if number == len(given.posonlyargs):
            parts.append("/")
    if given.vararg is not None:
        parts.append(one(given.vararg, star="*"))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [one(arg, default) for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        parts.append(one(given.kwarg, star="**"))
    returns = f" -> {snippet(source, node.returns).text}" if node.returns is not None else ""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({', '.join(parts)}){returns}:"


def _doc(node: FunctionNode | ast.ClassDef, budget: int) -> str:
    """The first paragraph of a docstring in one line, cut; empty where there is none."""
    text = ast.get_docstring(node) or ""
    first = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    return _shortened(first, budget) if first and budget > 0 else ""


def class_names(node: ast.ClassDef) -> tuple[list[str], list[str]]:
    """The attributes that a class's body or ``__init__`` sets, and its methods, in order and each once."""
    attributes: dict[str, None] = {}
    methods: dict[str, None] = {}
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            methods[part.name] = None
            if part.name == "__init__":
                for inner in ast.walk(part):
                    if (
                        isinstance(inner, ast.Attribute)
                        and isinstance(inner.ctx, ast.Store)
                        and isinstance(inner.value, ast.Name)
                        and inner.value.id == "self"
                    ):
                        attributes[inner.attr] = None
        elif isinstance(part, ast.Assign):
            attributes.update({target.id: None for target in part.targets if isinstance(target, ast.Name)})
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            attributes[part.target.id] = None
    return list(attributes), list(methods)


def _add_names(lines: list[str], names: tuple[list[str], list[str]], budget: int) -> bool:
    """Add the lines of attributes and methods; whether all of it fits."""
    whole = True
    for what, own in zip(("attributes", "methods"), names, strict=True):
        if not own:
            continue
        text = _shortened(f"{what}: {', '.join(own)}", budget)
        whole = whole and not text.endswith(CUT)
        if text != CUT:
            lines.append(f"    # {text}")
            budget -= word_count(text)
    return whole


def _add_body(lines: list[str], shown: dict[int, str], source: ParsedSource, node: FunctionNode, budget: int) -> bool:
    """Add the beginning of a body, without empty lines; whether all of it fits."""
    body = node.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        body = body[1:]
    if not body:
        return True
    # Decorators of a function in it stand above its line.
    start = min([body[0].lineno, *(item.lineno for item in getattr(body[0], "decorator_list", ()))])
    text = [(number, source.lines[number - 1].rstrip()) for number in range(start, (node.end_lineno or start) + 1)]
    before = source.lines[start - 1].encode()[: body[0].col_offset].decode()
    if start == body[0].lineno and before.strip():  # it begins behind the signature
        text[0] = (start, " " * len(before) + text[0][1][len(before) :])
    text = [(number, line) for number, line in text if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for _, line in text), default=0)
    for position, (number, line) in enumerate(text):
        words = word_count(line)
        last = position == len(text) - 1
        if words > budget or len(line) > CHARACTERS or len(lines) >= (LINES if last else LINES - 1):
            lines.append(f"    {CUT}")
            return False
        shown_line = "    " + line[indent:].replace("\t", "    ")
        lines.append(shown_line)
        shown.setdefault(number, shown_line)
        budget -= words
    return True

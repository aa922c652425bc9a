"""The facts of sources by a search through all of them by name: slow, and written apart from what it checks."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from envs.repo_qa import RepoHop
from tape.protocols.search import UNANSWERABLE

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Sources:
    """All files of a folder but tests, parsed anew."""

    def __init__(self, root: Path, files: list[str]) -> None:
        self.trees = {file: ast.parse((root / file).read_bytes()) for file in files}
        self.classes: list[tuple[str, ast.ClassDef]] = []
        self._functions: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        self._owners: dict[str, set[str]] = defaultdict(set)  # of every function inside of a class, at any depth
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    self._functions[node.name].append((file, node))
                elif isinstance(node, ast.ClassDef):
                    self.classes.append((file, node))
                    for part in ast.walk(node):
                        if isinstance(part, Function):
                            self._owners[part.name].add(node.name)

    def functions(self, name: str) -> list[tuple[str, Function]]:
        """The functions that a name of a question can mean."""
        owner, _, own = name.rpartition(".")
        if not owner:
            return self._functions[own]
        bodies = [(file, part) for file, node in self.classes if node.name == owner for part in node.body]
        return [(file, part) for file, part in bodies if isinstance(part, Function) and part.name == own]

    def one(self, name: str) -> tuple[str, Function]:
        """The one function of a name."""
        [functions] = self.functions(name)
        return functions

    def named(self, name: str) -> tuple[str, ast.ClassDef]:
        """The one class of a name."""
        [pair] = [(file, node) for file, node in self.classes if node.name == name]
        return pair

    def answers(self, hop: RepoHop, argument: str) -> set[str]:
        """Everything that could be an answer."""
        match hop.relation:
            case "class_of":
                return self._owners[hop.subject]
            case "base":
                return {last(base) for base in self.named(hop.subject)[1].bases}
            case "subclass":
                children = [node.name for _, node in self.classes if hop.subject in map(last, node.bases)]
                assert len(children) == len(set(children))
                return set(children)
            case "module":
                every = [*self.functions(hop.subject), *((f, n) for f, n in self.classes if n.name == hop.subject)]
                return {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file, _ in every}
            case "raises":
                return set(raised(self.one(hop.subject)[1]))
            case "raiser":
                path = argument.replace(".", "/")
                [tree] = [tree for f, tree in self.trees.items() if f in (f"{path}.py", f"{path}/__init__.py")]
                functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
                return {node.name for node in functions if hop.subject in raised(node)}
            case "calls":
                made = [part for part in own(self.one(hop.subject)[1]) if isinstance(part, ast.Call)]
                return {last(call.func) for call in made if argument in [word.arg for word in call.keywords]}
            case "default":
                pairs = self.functions(hop.subject)
                if not pairs:
                    assert "." in hop.subject
                    return set()
                [(_, node)] = pairs
                return {ast.unparse(value) for name, value in defaults(node) if name == argument}
            case "returns":
                returns = self.one(hop.subject)[1].returns
                assert returns is not None
                return {ast.unparse(returns)}
        raise AssertionError(hop.relation)

    def check(self, hop: RepoHop, argument: str) -> None:
        """Check that a hop has the one answer that it claims, or none."""
        answers = self.answers(hop, argument)
        if hop.answer != UNANSWERABLE:
            assert {text.strip("'\"") for text in answers} == {normal(hop.answer)}, hop
            return
        assert answers == set(), hop
        if "." in hop.subject and not self.functions(hop.subject):  # nor does it inherit the method
            owner, _, own_name = hop.subject.rpartition(".")
            for base in self.named(owner)[1].bases:
                if last(base) != "object":
                    inherited = RepoHop(hop.relation, f"{last(base)}.{own_name}", "", hop.answer, hop.evidence)
                    self.check(inherited, argument)


def normal(answer: str) -> str:
    """An answer as a default or an annotation is compared."""
    try:
        return ast.unparse(ast.parse(answer, mode="eval")).strip("'\"")
    except SyntaxError:
        return answer


def last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "?"


def own(node: Function) -> Iterator[ast.AST]:
    """The nodes of a function's own code."""
    for part in node.body:
        yield from _own(part)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (*Function.__args__, ast.ClassDef, ast.Lambda)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own(child)


def raised(node: Function) -> list[str]:
    """The last parts of the names of what a function raises."""
    errors = [part.exc for part in own(node) if isinstance(part, ast.Raise)]
    return [last(exc.func if isinstance(exc, ast.Call) else exc) if exc is not None else "?" for exc in errors]


def defaults(node: Function) -> Iterator[tuple[str, ast.expr]]:
    """Parameters with their default values."""
    positional = node.args.posonlyargs + node.args.args
    for arg, value in zip(reversed(positional), reversed(node.args.defaults)):  # noqa: B905 - the first have none
        yield arg.arg, value
    for arg, option in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if option is not None:
            yield arg.arg, option

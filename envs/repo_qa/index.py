"""A repository: its definitions and passages, and what a name means in a module of it."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from envs.repo_qa.definitions import Definition, definitions, names_defined
from envs.repo_qa.passages import ShownPassage, show
from envs.repo_qa.sources import ParsedSource, Skipped, SourcePlace, find_package, find_repo, read_sources
from tape.protocols.search import Passage

MOST_IMPORTS = 20
"""Longest chain of imports that a name is followed through."""


class Repository:
    """The sources of a package or a folder.

    Attributes:
        name: What it is called.
        skipped: Files and folders that are not part of it, with reasons.
        definitions: In the order of files and lines.
        passages: One for each definition, in the same order.
        names: How often each name is defined anywhere, inside of functions too.
    """

    def __init__(self, place: SourcePlace, sources: Sequence[ParsedSource], skipped: Sequence[Skipped] = ()) -> None:
        self.name, self.root = place.name, place.root
        self.skipped = tuple(skipped)
        self.sources: Mapping[str, ParsedSource] = {source.path: source for source in sources}
        self.definitions = tuple(item for source in sources for item in definitions(source))
        self.names = names_defined(sources)
        self._shown = {item.id: show(self.sources[item.path], item) for item in self.definitions}
        self.passages: tuple[Passage, ...] = tuple(self._shown[item.id].passage for item in self.definitions)
        self._by_name: dict[str, list[Definition]] = defaultdict(list)
        self._by_title: dict[str, list[Definition]] = defaultdict(list)
        for definition in self.definitions:
            self._by_name[definition.name].append(definition)
            self._by_title[definition.title].append(definition)
        self._scopes = {source.module: _Scope(source) for source in sources}

    @property
    def digest(self) -> str:
        """A fingerprint of all passages."""
        texts = [[passage.id, passage.title, passage.text] for passage in self.passages]
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]

    @property
    def unusable(self) -> Counter[str]:
        """How many files and folders are not part of it against one's will, by reason: all but tests."""
        return Counter(skipped.reason for skipped in self.skipped if skipped.reason != "tests")

    def shown(self, definition: Definition) -> ShownPassage:
        """The passage of a definition, and what it shows."""
        return self._shown[definition.id]

    def named(self, name: str) -> Sequence[Definition]:
        """The definitions of that own name, outside of functions."""
        return self._by_name.get(name, ())

    def source(self, definition: Definition) -> ParsedSource:
        """The file of a definition."""
        return self.sources[definition.path]

    def resolve(self, module: str, name: str) -> Definition | None:
        """What a dotted name at the top of a module means, followed through imports; None if that is not known.

        Args:
            module: Dotted name of the module.
            name: As it is written there, for instance ``nx.Graph``.
        """
        first, *rest = name.split(".")
        definition = self._lookup(module, first, frozenset())
        for part in rest:
            if not isinstance(definition, str):
                return None  # an attribute of something that is no module
            definition = self._lookup(definition, part, frozenset())
        return definition if isinstance(definition, Definition) else None

    def _lookup(self, module: str, name: str, asked: frozenset[tuple[str, str]]) -> Definition | str | None:
        """A name of a module: a definition, the dotted name of a module of ours, or None if that is not known."""
        if (module, name) in asked or len(asked) > MOST_IMPORTS or (scope := self._scopes.get(module)) is None:
            return None
        asked |= {(module, name)}
        if name in scope.assigned:
            return None
        if name in scope.defined:
            value = self._by_title.get(f"{module}.{name}", [])
            return value[0] if len(value) == 1 else None
        if name in scope.imported:
            target, original = scope.imported[name]
            if original is None:
                return target if target in self._scopes else None
            return self._lookup(target, original, asked)
        if f"{module}.{name}" in self._scopes:
            return f"{module}.{name}"
        for target in scope.stars:
            if (found_there := self._lookup(target, name, asked)) is not None:
                return found_there
        return None


class _Scope:
    """The names at the top of a module.

    Attributes:
        defined: By ``class`` and ``def``, once or in branches.
        assigned: What is bound in another way, or more than once in different ways: not followed.
        imported: Name -> module and the name there, None where it is the module itself.
        stars: Modules of which everything is imported.
    """

    def __init__(self, source: ParsedSource) -> None:
        self.defined: set[str] = set()
        self.imported: dict[str, tuple[str, str | None]] = {}
        self.stars: list[str] = []
        kinds: dict[str, set[str]] = defaultdict(set)
        for node in _top(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.defined.add(node.name)
                kinds[node.name].add("defined")
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.imported[name] = (alias.name if alias.asname else name, None)
                    kinds[name].add(f"import {alias.name if alias.asname else name}")
            elif isinstance(node, ast.ImportFrom):
                module = _target(source, node)
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(module)
                        continue
                    name = alias.asname or alias.name
                    self.imported[name] = (module, alias.name)
                    kinds[name].add(f"from {module} import {alias.name}")
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                kinds[node.id].add("assigned")
        self.assigned = {name for name, ways in kinds.items() if len(ways) > 1 or "assigned" in ways}


def _top(tree: ast.Module) -> Iterator[ast.AST]:
    """What stands at the top of a module, branches included, functions and classes not entered."""
    todo: list[ast.AST] = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


def _target(source: ParsedSource, node: ast.ImportFrom) -> str:
    """The absolute name of the module that something is imported from."""
    if not node.level:
        return node.module or ""
    parts = source.module.split(".")
    up = node.level - (1 if source.is_package else 0)
    base = parts[: len(parts) - up] if up else parts
    return ".".join([*base, *([node.module] if node.module else [])])


@lru_cache(maxsize=8)
def _read(place: SourcePlace) -> Repository:
    return Repository(place, *read_sources(place))


def read_package(name: str) -> Repository:
    """The sources of an installed package, by the name that it is imported by; read once in a process.

    Raises:
        RepoQaError: There is no such package, or it has no usable sources.
    """
    return _read(find_package(name))


def read_repo(folder: Path) -> Repository:
    """The sources of a folder; read once in a process.

    Raises:
        RepoQaError: There is no such folder, or it has no usable sources.
    """
    return _read(find_repo(folder))

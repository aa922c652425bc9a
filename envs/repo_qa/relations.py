"""The certain facts of a repository: relations of its definitions, each with one answer and the line that states it.

An answer is given only where it is the one answer in the whole repository and its passage shows it. What cannot be
decided from the sources alone (a name that is bound in several ways, a ``raise`` of a variable) has no answer here.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from envs.repo_qa.definitions import (
    Body,
    Definition,
    FunctionParameter,
    Snippet,
    dotted,
    parameters,
    read_body,
    snippet,
)
from envs.repo_qa.index import Repository
from envs.repo_qa.passages import class_names
from envs.search.metrics import normalise

LONGEST = 40
"""Characters of the longest answer that is not a name."""

_SAFE = re.compile(r"[\w.\[\]|, /]+")
"""Of these the comparison of answers loses nothing that matters; it drops signs and operators."""
_QUOTED = re.compile(r"[bruBRU]{0,2}('[^'\\]*'|\"[^\"\\]*\")")
_ACCESSORS = ("property", "cached_property", "setter", "getter", "deleter", "overload")


class _Line(NamedTuple):
    """A line of a definition, as it is shown or in its header."""

    where: Definition
    line: int
    in_header: bool = False


@dataclass(frozen=True)
class FactEvidence:
    """Where a fact is stated.

    Attributes:
        passage: Id of the passage.
        path: The file, relative to the root.
        line: The line of the file that states it.
        quote: The line of the passage that shows it.
    """

    passage: str
    path: str
    line: int
    quote: str


@dataclass(frozen=True)
class CodeFact:
    """A relation of a definition that has one answer.

    Attributes:
        relation: Its name.
        subject: Of what.
        argument: A parameter, a keyword or a module; empty where the relation needs none.
        target: The definition that is the answer; None where it is not in the repository.
        answers: Spellings of the answer, the first as the passage has it.
        evidence: Where it is stated.
    """

    relation: str
    subject: Definition
    argument: str
    target: Definition | None
    answers: tuple[str, ...]
    evidence: FactEvidence


class Facts:
    """All facts of a repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.parameters: dict[str, tuple[FunctionParameter, ...]] = {}
        self.bodies: dict[str, Body] = {}
        for definition in repository.definitions:
            if not isinstance(definition.node, ast.ClassDef):
                self.parameters[definition.id] = parameters(repository.source(definition), definition.node)
                self.bodies[definition.id] = read_body(definition.node)
        self.bases: dict[str, tuple[Snippet, Definition | None]] = {}
        self._children: dict[str, list[Definition]] = defaultdict(list)
        self._child_names: Counter[str] = Counter()
        for definition in repository.definitions:
            if isinstance(definition.node, ast.ClassDef):
                self._read_bases(definition, definition.node)
        self._raisers = self._read_raisers()
        self._about = {item.id: tuple(self._of(item)) for item in repository.definitions}
        self.all: tuple[CodeFact, ...] = tuple(fact for facts in self._about.values() for fact in facts)

    def about(self, definition: Definition) -> tuple[CodeFact, ...]:
        """The facts about a definition, in a fixed order."""
        return self._about[definition.id]

    def _of(self, definition: Definition) -> Iterator[CodeFact]:
        if self.name(definition) is None:
            return
        if isinstance(definition.node, ast.ClassDef):
            yield from self._base(definition)
            yield from self._subclass(definition)
            yield from self._raiser(definition)
        else:
            if definition.kind == "method":
                yield from self._class_of(definition)
            yield from self._raises(definition)
            yield from self._calls(definition)
            yield from self._defaults(definition)
            yield from self._returns(definition)
        if definition.kind in ("class", "function"):
            yield from self._module(definition)

    def name(self, definition: Definition) -> str | None:
        """How a question names a definition: by a name that no other one has; None if there is none."""
        if definition.name.startswith("__") or any(
            word.rpartition(".")[2] in _ACCESSORS for word in definition.decorators
        ):
            return None
        if self._repository.names[definition.name] == 1:
            return definition.name
        if definition.kind != "method" or "." in definition.owner or self._repository.names[definition.owner] != 1:
            return None
        twins = [other for other in self._repository.named(definition.name) if other.owner == definition.owner]
        return f"{definition.owner}.{definition.name}" if len(twins) == 1 else None

    # --- what is not there

    def lacks_all_but_its_parameters(self, definition: Definition) -> bool:
        """Whether the passage of a function shows all its parameters, and it takes no others by ``**``."""
        return not isinstance(definition.node, ast.ClassDef) and (
            definition.node.args.kwarg is None and self._repository.shown(definition).whole_header
        )

    def keywords(self, definition: Definition) -> frozenset[str]:
        """All keywords of calls in a function, also in the functions inside of it."""
        calls = (part for part in ast.walk(definition.node) if isinstance(part, ast.Call))
        return frozenset(word.arg for call in calls for word in call.keywords if word.arg is not None)

    def is_closed(self, definition: Definition) -> bool:
        """Whether all names of a class are known, and its passage shows its own."""
        if definition.kind != "class" or self.name(definition) is None or not self._repository.shown(definition).whole:
            return False
        return all(
            isinstance(each.node, ast.ClassDef)
            and not each.decorators
            and not each.node.keywords
            and all(self._means(each, dotted(base)) or dotted(base) == "object" for base in each.node.bases)
            and not {"__getattr__", "__getattribute__"} & {name for names in class_names(each.node) for name in names}
            for each in self._lineage(definition)
        )

    def members(self, definition: Definition) -> frozenset[str]:
        """The names that the bodies of a class and of what it inherits from define."""
        nodes = [each.node for each in self._lineage(definition) if isinstance(each.node, ast.ClassDef)]
        return frozenset(name for node in nodes for names in class_names(node) for name in names)

    def _lineage(self, definition: Definition) -> list[Definition]:
        """A class and all that it inherits from, as far as it is in the repository."""
        definitions = [definition]
        for each in definitions:
            for base in each.node.bases if isinstance(each.node, ast.ClassDef) else ():
                target = self._means(each, dotted(base))
                if target is not None and target not in definitions:
                    definitions.append(target)
        return definitions

    # --- classes

    def _read_bases(self, definition: Definition, node: ast.ClassDef) -> None:
        for base in node.bases:
            name = dotted(base)
            target = self._means(definition, name) if name else None
            if target is not None:
                self._children[target.id].append(definition)
            else:  # perhaps a class of that name, perhaps not
                self._child_names[name.rpartition(".")[2]] += 1
        if len(node.bases) == 1 and (name := dotted(node.bases[0])) not in ("", "object"):
            target = self._means(definition, name)
            if target is not None or not self._repository.names[name.rpartition(".")[2]]:
                self.bases[definition.id] = (snippet(self._repository.source(definition), node.bases[0]), target)

    def _means(self, item: Definition, name: str) -> Definition | None:
        """The class that a name in the header of a class means."""
        if item.owner:
            return None  # it may be a name of the class around it
        definition = self._repository.resolve(item.module, name)
        return definition if definition is not None and definition.kind == "class" else None

    def _base(self, definition: Definition) -> Iterator[CodeFact]:
        if definition.id not in self.bases:
            return
        what, target = self.bases[definition.id]
        yield from self._fact(
            "base", definition, "", target, _named(what.text, target), _Line(definition, what.line, True)
        )

    def _subclass(self, definition: Definition) -> Iterator[CodeFact]:
        children = self._children.get(definition.id, [])
        if len(children) == 1 and not self._child_names[definition.name]:
            child = children[0]
            yield from self._fact("subclass", definition, "", child, (child.name,), _Line(child, child.line, True))

    def _read_raisers(self) -> dict[tuple[str, str], list[tuple[Definition, Snippet]]]:
        """Class and module -> the functions that raise it; a module with what cannot be decided is left out."""
        definitions: dict[tuple[str, str], list[tuple[Definition, Snippet]]] = defaultdict(list)
        unclear: set[str] = set()
        for definition in self._repository.definitions:
            if isinstance(definition.node, ast.ClassDef):
                continue
            names = self.bodies[definition.id].raised
            if names is None:
                unclear.add(definition.module)
                continue
            for name, first in {what.text: what for what in reversed(names)}.items():
                target = self._inside(definition, name)
                if target is not None:
                    definitions[target.id, definition.module].append((definition, first))
                elif self._repository.names[name.rpartition(".")[2]]:
                    unclear.add(definition.module)
        return {key: raisers for key, raisers in definitions.items() if key[1] not in unclear}

    def _raiser(self, definition: Definition) -> Iterator[CodeFact]:
        for (target, module), raisers in self._raisers.items():
            if target == definition.id and len(raisers) == 1:
                function, where = raisers[0]
                name = self.name(function)
                if function.kind == "function" and name is not None:
                    yield from self._fact("raiser", definition, module, function, (name,), _Line(function, where.line))

    # --- functions and methods

    def _inside(self, definition: Definition, name: str) -> Definition | None:
        """What a name in the body of a function means; None if that is not known."""
        if name.partition(".")[0] in self.bodies[definition.id].bound:
            return None
        return self._repository.resolve(definition.module, name)

    def _class_of(self, definition: Definition) -> Iterator[CodeFact]:
        if self._repository.names[definition.name] != 1 or "." in definition.owner:
            return
        classes = [other for other in self._repository.named(definition.owner) if other.path == definition.path]
        if len(classes) == 1:
            yield from self._fact(
                "class_of", definition, "", classes[0], (definition.owner,), _Line(definition, definition.line)
            )

    def _module(self, definition: Definition) -> Iterator[CodeFact]:
        if not definition.owner:
            yield from self._fact(
                "module", definition, "", None, (definition.module, definition.path), _Line(definition, definition.line)
            )

    def _raises(self, definition: Definition) -> Iterator[CodeFact]:
        names = self.bodies[definition.id].raised
        if not names or len({name.text.rpartition(".")[2] for name in names}) != 1:
            return
        target = self._inside(definition, names[0].text)
        if target is None and self._repository.names[names[0].text.rpartition(".")[2]]:
            return
        if target is not None and target.kind != "class":
            return
        yield from self._fact(
            "raises", definition, "", target, _named(names[0].text, target), _Line(definition, names[0].line)
        )

    def _calls(self, definition: Definition) -> Iterator[CodeFact]:
        made = self.bodies[definition.id].calls
        if any(call.spread for call in made):
            return
        for keyword in sorted({word for call in made for word in call.keywords}):
            with_it = [call for call in made if keyword in call.keywords]
            if len({call.callee for call in with_it}) != 1 or not with_it[0].callee:
                continue
            target = self._inside(definition, with_it[0].callee)
            if target is None or target.kind != "function" or target.id == definition.id:
                continue
            for call in with_it:
                shown = self._repository.shown(definition).lines.get(call.line, "")
                if re.search(rf"\b{re.escape(keyword)}\s*=", shown):
                    yield from self._fact(
                        "calls", definition, keyword, target, (target.name,), _Line(definition, call.line)
                    )
                    break

    def _defaults(self, definition: Definition) -> Iterator[CodeFact]:
        header = self._repository.shown(definition).header
        for name, default in ((each.name, each.default) for each in self.parameters[definition.id]):
            spellings = () if default is None else _spellings(default.text)
            if default is None or not spellings:
                continue
            if re.search(rf"\b{re.escape(name)}\b[^,]*=\s?{re.escape(default.text)}(?!\w)", header):
                yield from self._fact(
                    "default", definition, name, None, spellings, _Line(definition, default.line, True)
                )

    def _returns(self, definition: Definition) -> Iterator[CodeFact]:
        returns = getattr(definition.node, "returns", None)
        if returns is not None:
            what = snippet(self._repository.source(definition), returns)
            if spellings := _spellings(what.text):
                yield from self._fact("returns", definition, "", None, spellings, _Line(definition, what.line, True))

    def _fact(
        self,
        relation: str,
        subject: Definition,
        argument: str,
        target: Definition | None,
        answers: tuple[str, ...],
        at: _Line,
    ) -> Iterator[CodeFact]:
        """A fact, where its passage shows it and its answer is unambiguous."""
        where, line, in_header = at
        shown = self._repository.shown(where)
        says = shown.header if in_header else shown.lines.get(line, "")
        if target is not None and self.name(target) != answers[0]:
            return
        if re.search(rf"(?<!\w){re.escape(answers[0])}(?!\w)", says) and all(normalise(answer) for answer in answers):
            evidence = FactEvidence(where.id, where.path, line, says.strip())
            yield CodeFact(relation, subject, argument, target, answers, evidence)


def _named(text: str, target: Definition | None) -> tuple[str, ...]:
    """Spellings of a class as it is written: its own name first."""
    own = text.rpartition(".")[2]
    if target is not None:
        return tuple(dict.fromkeys((target.name, text)))
    return tuple(dict.fromkeys((own, text)))


def _spellings(text: str) -> tuple[str, ...]:
    """Spellings of a value or a type; none where the comparison of answers could take it for another."""
    if len(text) > LONGEST:
        return ()
    if quoted := _QUOTED.fullmatch(text):
        inner = quoted[1][1:-1]
        return (inner, text) if re.fullmatch(r"\w+", inner) and normalise(inner) else ()
    return (text,) if _SAFE.fullmatch(text) and normalise(text) else ()

"""Writes a game's sentences as TextWorld does, without parsing the same rules and copying the whole world each time.

A derivation replaces the symbols of a sentence from left to right. TextWorld copies the rules, the variables and all
that they refer to for every symbol, and parses every condition anew; nothing in a derivation ever changes them. Here
they are parsed once and shared, and only the two dictionaries of variables are copied where a query binds more of them.

This module imports ``textworld``; only :mod:`envs.alfworld.game.textworld_game` imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from textworld.envs.pddl import textgen
from textworld.logic import Rule

from envs.alfworld.errors import GameError
from envs.alfworld.game.closed_grammar import check_expression

_TERM = re.compile(r"(\w+)(?:\.(\w+))?|'([^']*)'")
"""What expressions consist of, joined by ``or`` or ``+``: ``r``, ``r.name``, ``'text'``."""


class Scope(NamedTuple):
    """What the variables of a part of a sentence stand for."""

    variables: Mapping[str, Any]
    mapping: Mapping[Any, Any]


@lru_cache(maxsize=4096)
def _symbols(text: str) -> tuple[Any, ...]:
    """The parsed symbols of a text; they must not be changed."""
    return tuple(textgen._parse_and_convert(text, rule_name="symbols"))


@lru_cache(maxsize=4096)
def _query(expression: str) -> Any:
    """The parsed rule of a condition."""
    return Rule.parse_conjunctive_query(expression)


class FastGrammar(textgen.ContextSensitiveGrammar):  # type: ignore[misc]
    """A grammar that derives the same texts as the one whose rules it has."""

    def __init__(self, rules: Mapping[str, Any]) -> None:
        super().__init__()
        self._rules = rules

    def with_text(self, name: str, text: str) -> FastGrammar:
        """The same grammar with a plain text for one of its symbols."""
        rule = textgen.ProductionRule(name, [textgen.TerminalSymbol(text)])
        return FastGrammar({**self._rules, name: [rule]})

    def derive(self, start: str, context: Mapping[str, Any]) -> str:
        """Write a sentence.

        Args:
            start: Text with symbols.
            context: TextWorld's: ``state``, ``variables``, ``mapping``, ``entity_infos``.
        """
        scope = Scope(context["variables"], context["mapping"])
        parts: list[str] = []
        stack = [(symbol, scope) for symbol in reversed(_symbols(start))]
        while stack:
            symbol, scope = stack.pop()
            if isinstance(symbol, textgen.TerminalSymbol):
                parts.append(str(symbol.symbol))
            else:
                stack.extend(reversed(list(self._expand(symbol, scope, context))))
        return "".join(parts)

    def _expand(self, symbol: Any, scope: Scope, context: Mapping[str, Any]) -> Iterable[tuple[Any, Scope]]:
        """What a symbol is replaced by."""
        if isinstance(symbol, textgen.NonterminalSymbol):
            return [(part, scope) for part in self._chosen(symbol, scope, context)]
        if isinstance(symbol, textgen.ConditionalSymbol):
            scopes = self._bindings(symbol.given, scope, context) if symbol.given else [scope]
            return [(symbol.expression, each) for each in scopes]
        if isinstance(symbol, textgen.ListSymbol):
            return _listed(list(self._expand(symbol.symbol, scope, context)), scope)
        return [(textgen.TerminalSymbol(_value(symbol, scope)), scope)]

    def _chosen(self, symbol: Any, scope: Scope, context: Mapping[str, Any]) -> Any:
        """The right-hand side of the first rule whose condition holds."""
        rules = self._rules.get(str(symbol))
        if not rules:
            raise textgen.CSGUnknownSymbolError(symbol)
        for rule in rules:
            if not rule.condition:
                return rule.rhs
            for _ in context["state"].all_assignments(_query(rule.condition), scope.mapping):
                return rule.rhs
        raise IndexError(f"no rule for {symbol} applies")  # what TextWorld raises too

    def _bindings(self, given: str, scope: Scope, context: Mapping[str, Any]) -> list[Scope]:
        """One scope for every answer to a query."""
        infos = context["entity_infos"]
        scopes = []
        for answer in context["state"].all_assignments(_query(given), scope.mapping):
            more = {placeholder.name: infos[variable.name] for placeholder, variable in answer.items()}
            scopes.append(Scope({**scope.variables, **more}, {**scope.mapping, **answer}))
        return scopes


def _listed(parts: list[tuple[Any, Scope]], scope: Scope) -> list[tuple[Any, Scope]]:
    """Put the grammar's separators between the parts of a list."""
    if not parts:
        return [(textgen.NonterminalSymbol("list_empty"), scope)]
    result = parts[:1]
    for part in parts[1:]:
        name = "list_last_separator" if part is parts[-1] else "list_separator"
        result += [(textgen.NonterminalSymbol(name), scope), part]
    return result


@lru_cache(maxsize=1024)
def _terms(expression: str) -> tuple[str, tuple[re.Match[str], ...]]:
    """An expression taken apart: how its terms are joined, and they. Nothing is ever evaluated as Python."""
    check_expression(expression.strip(" "), "the grammar of a game")
    joined = "+" if "+" in expression else " or "
    matches = [_TERM.fullmatch(part.strip()) for part in expression.split(joined)]
    return joined, tuple(term for term in matches if term is not None)


def _value(symbol: Any, scope: Scope) -> Any:
    """The value of an expression."""
    joined, terms = _terms(symbol.expression)
    values = [_term(term, scope) for term in terms]
    if joined == "+" and len(values) > 1:
        return "".join(values)
    return next((value for value in values if value), values[-1])


def _term(term: re.Match[str], scope: Scope) -> Any:
    """The value of a variable, of its attribute, or of a quoted text."""
    if term[3] is not None:
        return term[3]
    if term[1] not in scope.variables:
        raise GameError(f"the grammar of a game: {term[0]!r} speaks of {term[1]!r}, which stands for nothing there")
    entity = scope.variables[term[1]]
    return getattr(entity, term[2]) if term[2] else entity

"""The only grammar that a game may have: whatever else a file asks for is refused before TextWorld sees any of it.

TextWorld evaluates what stands between braces in a game's sentences and commands as Python. A game file is
foreign data, so nothing of it may run: an expression here is a variable (``r``), its name (``r.name``), several of
them joined by ``or`` or ``+``, and with ``+`` texts in quotes. That is all that the official games and the package's
own have. Rules may not go round in circles, since a sentence would have no end.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence

from envs.alfworld.errors import GameError
from tape.reading import parse_json, shaped, short

ATTRIBUTES = ("name", "id", "definite", "indefinite")
"""What an expression may ask of an object: texts that TextWorld shows."""

MOST_SYMBOLS = 2_000
"""Most symbols that one sentence may unfold to, lists counted once; the official games need 30."""
MOST_CHARACTERS = 200_000
"""Longest grammar; the official ones have 13,000 characters."""
_MOST_CONDITIONS = 6
"""Most facts that one condition may ask for."""

_NAME = r"[a-z][a-z0-9_]{0,60}"
_TEXT = r"'[A-Za-z0-9 ,.:()!?/-]{0,60}'"
_VALUE = rf"{_NAME}(?:\.(?:{'|'.join(ATTRIBUTES)}))?"
_EXPRESSION = re.compile(rf"{_VALUE}(?:(?: +or +{_VALUE})*|(?: *\+ *(?:{_VALUE}|{_TEXT}))*)")
_VARIABLE = re.compile(rf"(?<![\w.']){_NAME}")
_SYMBOL = re.compile(r"#([\w()/!<>\-\s,.]+)#")
_ARGUMENT = rf"{_NAME}(?::{_NAME})?"
_CONDITION = rf"[a-z][a-z0-9_]{{0,60}}\( *(?:{_ARGUMENT}(?: *, *{_ARGUMENT})*)? *\)"
_QUERY = re.compile(rf"{_CONDITION}(?: *& *{_CONDITION}){{0,{_MOST_CONDITIONS - 1}}}")
_BRACES = re.compile(r"\{([^|{}]*)(?:\|([^|{}]*))?\}")
_LISTED = re.compile(r"\{\s*#([^#{}|]*)#\s*\|")

_STRING = r'"([^"\n]*)"'
_BLOCK = r'"""((?:(?!""").)*)"""'
_GRAMMAR = re.compile(rf"\s*grammar\s*::\s*{_BLOCK}\s*;\s*", re.DOTALL)
_ACTION = re.compile(r"\s*action\s+([\w/-]{1,100})\s*\{\s*", re.ASCII)
_FIELD = re.compile(rf"\s*(template|feedback)\s*::\s*{_STRING}\s*;\s*")
_END = re.compile(r"\s*\}\s*")

_PYTHON = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "context", "value"})
"""Names that mean something else than an object of the game where TextWorld evaluates them."""

_FORMS = "a variable, its " + ", ".join(ATTRIBUTES) + ", `or` between them, or `+` between them and 'texts'"


def check_grammar(text: str, source: str) -> Mapping[str, str]:
    """Check the grammar of a game.

    Returns:
        The template of every action's command, by the action's name in lower case.

    Raises:
        GameError: Something in it is of another form than described above; names the file and the expression.
    """
    where = f"{source}: the grammar"
    if len(text) > MOST_CHARACTERS:
        raise GameError(f"{where} has {len(text)} characters; the most that is read is {MOST_CHARACTERS}")
    rules: dict[str, list[str]] = {}
    commands: dict[str, str] = {}
    answers: dict[str, str] = {}
    for kind, action, content in _parts(text, where):
        if kind == "grammar":
            rules |= _rules(content, where)
            continue
        known = commands if kind == "template" else answers
        if action in known:
            raise GameError(f"{where}: action {short(action)} has its {kind} twice; leave one out")
        known[action] = content
        _check_text(content, f"{where}, action {short(action)}")
    _check_ends(rules, [*commands.values(), *answers.values()], where)
    return commands


def _parts(text: str, where: str) -> Iterator[tuple[str, str, str]]:
    """Blocks of rules and the texts of actions, in order: the kind of part, the action in lower case, the content."""
    at = 0
    while at < len(text):
        if match := _GRAMMAR.match(text, at):
            yield "grammar", "", match[1]
        elif match := _ACTION.match(text, at):
            name, inside = match[1].lower(), match.end()
            while True:
                if field := _FIELD.match(text, inside):
                    yield field[1], name, field[2]
                elif field := _GRAMMAR.match(text, inside):
                    yield "grammar", name, field[1]
                else:
                    break
                inside = field.end()
            match = _END.match(text, inside)
        if not match:
            line = text.count("\n", 0, at) + 1
            raise GameError(
                f"{where}, line {line}: {text[at : at + 40].strip()!r} begins neither `grammar` nor a whole `action`"
            )
        at = match.end()


def _rules(block: str, where: str) -> dict[str, list[str]]:
    """The right-hand sides of a block by symbol, all of them checked."""
    mappings = shaped(
        parse_json(block, where, error=GameError), dict[str, list[dict[str, str]]], where, error=GameError
    )
    for name, rules in mappings.items():
        for rule in rules:
            if "rhs" not in rule or set(rule) - {"rhs", "condition"}:
                fields = short(", ".join(rule))
                raise GameError(f"{where}, {short(name)}: a rule has {fields}; it has `rhs` and may have `condition`")
            _check_text(rule["rhs"], f"{where}, {short(name)}")
            if rule.get("condition"):
                _check_query(rule["condition"], f"{where}, {short(name)}")
    return {name: [rule["rhs"] for rule in rules] for name, rules in mappings.items()}


def _check_text(text: str, where: str) -> None:
    """Refuse a text with an expression of an unknown form: every brace has to open a known one."""
    at = text.find("{")
    while at >= 0:
        match = _BRACES.match(text, at)
        if match is None:
            raise _refused(text[at:], where)
        expression, query = match[1].strip(" "), match[2]
        if _SYMBOL.fullmatch(expression) is None:
            check_expression(expression, where)
        if query is not None:
            _check_query(query.strip(" "), where)
        at = text.find("{", match.end())


def check_expression(expression: str, where: str) -> None:
    """Check one expression.

    Raises:
        GameError: It is of another form than this module describes.
    """
    if len(expression) > 1000 or _EXPRESSION.fullmatch(expression) is None:
        raise _refused(expression, where)
    for name in _VARIABLE.findall(re.sub(r"'[^']*'|\bor\b", " ", expression)):
        if name in _PYTHON:
            raise _refused(expression, where)
    try:
        ast.parse(expression.strip(), mode="eval")
    except SyntaxError:  # `or` in the place of a variable
        raise _refused(expression, where) from None


def _check_query(query: str, where: str) -> None:
    if len(query) > 1000 or _QUERY.fullmatch(query) is None:
        raise GameError(
            f"{where}: the condition {query[:80]!r} is refused; known is `fact(variable:type, ...)`, "
            f"joined by &, {_MOST_CONDITIONS} at most"
        )


def _refused(expression: str, where: str) -> GameError:
    return GameError(f"{where}: the expression {expression[:80]!r} is refused; known is {_FORMS}")


def _check_ends(rules: Mapping[str, Sequence[str]], written: Sequence[str], where: str) -> None:
    """Refuse rules that lead back to themselves, unfold to too long a text, or stand in lists within lists."""
    sizes: dict[str, int] = {}
    lists: set[str] = set()
    stack = [(name, False) for name in rules]
    open_: set[str] = set()
    while stack:
        name, done = stack.pop()
        parts = [_SYMBOL.findall(side) for side in rules.get(name, ())]
        if done:
            open_.discard(name)
            sizes[name] = 1 + max((sum(sizes.get(part, 1) for part in each) for each in parts), default=0)
            if sizes[name] > MOST_SYMBOLS:
                raise GameError(f"{where}, {short(name)}: it unfolds to more than {MOST_SYMBOLS} symbols")
            if any("|" in side for side in rules[name]) or any(part in lists for each in parts for part in each):
                lists.add(name)
        elif name not in sizes and name in rules:
            if name in open_:
                raise GameError(f"{where}, {short(name)}: its rules lead back to itself, so the sentence has no end")
            open_.add(name)
            stack.append((name, True))
            stack.extend((part, False) for each in parts for part in each)
    for side in [*(side for sides in rules.values() for side in sides), *written]:
        for listed in _LISTED.findall(side):
            if listed in lists:
                raise GameError(f"{where}: {short(listed)} makes a list inside of a list, which is refused")

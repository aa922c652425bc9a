"""The only PDDL that a game may have: small, of known forms, and with few enough ways to fill its parameters.

The translator behind TextWorld writes out every action for every choice of its parameters, and a condition for every
choice of its alternatives. Rules of a few lines can keep it busy for ever, so what it would write is estimated first,
from above: parameters are filled one after another, each by all of its type, or by as many as a fact that never
changes leaves for what was filled before. The official games take 16,000 at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from envs.alfworld.errors import GameError

MOST_CHARACTERS = 1_000_000
"""Longest PDDL of a part; the official games have 75,000 characters."""
MOST_GROUND = 300_000
"""Most ways to fill the parameters of all actions and of the goal together."""
_MOST_NAME = 100
"""Longest name: the compiled library keeps a whole fact or action in 1,024 bytes."""
_MOST_DEPTH = 20
_MOST_ARGUMENTS = 8
_MOST_ALTERNATIVES = 32
_MOST_ACTIONS = 60
_MOST_WORDS = 400
"""Words of an action or of the goal; the official ones have 90."""
_MOST_OBJECTS = 3_000
_MOST_FACTS = 30_000

Tree = list[Any]
"""Nested lists of words."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_WORD = re.compile(r"\??[a-z0-9][a-z0-9_,.-]*|:[a-z-]+|-|=")
_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
_PARTS = (":domain", ":objects", ":init", ":goal", ":metric")


@lru_cache(maxsize=4)
def parse(text: str, where: str) -> Tree:
    """The outermost list of a PDDL text, in lower case; it must not be changed.

    Args:
        text: PDDL.
        where: The file and the part of it, for messages.

    Raises:
        GameError: It is cut off, too large, too deep, or has words of other characters than PDDL's.
    """
    if len(text) > MOST_CHARACTERS:
        raise GameError(f"{where} has {len(text)} characters; the most that is read is {MOST_CHARACTERS}")
    stack: list[Tree] = [[]]
    known = set[str]()
    for token in _TOKEN.findall(re.sub(r";[^\n]*", "", text).lower()):
        if token == "(":  # noqa: S105
            stack.append([])
            if len(stack) > _MOST_DEPTH:
                raise GameError(f"{where} is nested deeper than {_MOST_DEPTH}")
        elif token != ")":  # noqa: S105
            if token not in known:
                if len(token) > _MOST_NAME or _WORD.fullmatch(token) is None:
                    raise GameError(
                        f"{where} has the word {token[:40]!r}; a word has letters, digits, _, -, {_MOST_NAME} at most"
                    )
                known.add(token)
            stack[-1].append(token)
        elif len(stack) == 1:
            raise GameError(f"{where} has a closing parenthesis too many")
        else:
            done = stack.pop()
            stack[-1].append(done)
    if len(stack) > 1 or len(stack[0]) != 1 or not isinstance(stack[0][0], list):
        raise GameError(f"{where} is cut off or not one list in parentheses")
    return stack[0][0]


def words(tree: Tree) -> Iterator[str]:
    """All words of a tree."""
    for item in tree:
        if isinstance(item, list):
            yield from words(item)
        else:
            yield item


class _Choice(NamedTuple):
    """One alternative of a condition: the variables that it binds, by type, and the facts that it asks for."""

    variables: Mapping[str, str]
    facts: tuple[tuple[str, ...], ...]


@dataclass
class _Rules:
    """What a domain declares.

    Attributes:
        where: File and part, for messages.
        types: Super-type of each type.
        objects: Type of each constant.
        actions: The alternatives of each action's condition, its parameters among their variables.
        changing: Predicates that some action changes.
    """

    where: str
    types: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    actions: dict[str, list[_Choice]] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)


def check_pddl(domain: str, problem: str, source: str) -> None:
    """Check the rules and the house of a game.

    Raises:
        GameError: Something is of another form, or larger, than described above; names the file.
    """
    rules = _read_domain(domain, f"{source}: the PDDL domain")
    where = f"{source}: the PDDL problem"
    objects, facts, goal = dict(rules.objects), list[tuple[str, ...]](), list[_Choice]()
    for part in _lists(_defined(parse(problem, where), "problem", where), where):
        if part[0] not in _PARTS:
            raise GameError(f"{where} has {part[0]!r:.40}; it has {', '.join(_PARTS)}")
        if part[0] == ":objects":
            objects |= _typed(part[1:], where)
        elif part[0] == ":init":
            facts = list(_initial(part[1:], where))
        elif part[0] == ":goal":
            goal = _alternatives(_short(part[1:], f"{where}, the goal"), where)
    if len(objects) > _MOST_OBJECTS or len(facts) > _MOST_FACTS:
        raise GameError(
            f"{where} has {len(objects)} objects and {len(facts)} facts; the most are {_MOST_OBJECTS} and {_MOST_FACTS}"
        )
    counter = _Counter(rules, objects, facts)
    total = 0
    for name, choices in {**rules.actions, "the goal": goal}.items():
        total += sum(map(counter.ways, choices))
        if total > MOST_GROUND:
            raise GameError(
                f"{where}: there are more than {MOST_GROUND} ways to fill the parameters of its rules (at {name!r}), "
                "which the engine would write out one by one"
            )


def _initial(parts: Tree, where: str) -> Iterator[tuple[str, ...]]:
    """The facts at the start; costs are checked and left out."""
    for fact in _lists(parts, where):
        if fact[0] != "=":
            yield _fact(fact, where)
        elif (
            len(fact) != 3
            or not isinstance(fact[1], list)
            or not all(map(_is_word, fact[1]))
            or not _is_number(fact[2])
        ):
            raise GameError(f"{where}: {fact!r:.60} is refused; known is (= (total-cost) 0)")


@lru_cache(maxsize=16)
def _read_domain(text: str, where: str) -> _Rules:
    """The parts of a domain that decide how much there is to write out."""
    rules = _Rules(where)
    for part in _lists(_defined(parse(text, where), "domain", where), where):
        if part[0] not in _SECTIONS:
            raise GameError(f"{where} has {part[0]!r:.40}; it has {', '.join(_SECTIONS)}")
        if part[0] == ":types":
            rules.types |= _typed(part[1:], where)
        elif part[0] == ":constants":
            rules.objects |= _typed(part[1:], where)
        elif part[0] == ":predicates":
            for predicate in _lists(part[1:], where):
                _bound(_typed(predicate[1:], where), where)
        elif part[0] == ":action":
            _read_action(part[1:], rules)
    return rules


def _read_action(part: Tree, rules: _Rules) -> None:
    name = part[0] if part and isinstance(part[0], str) else ""
    where = f"{rules.where}, action {name!r}"
    _short(part, where)
    if len(rules.actions) == _MOST_ACTIONS:
        raise GameError(f"{where} is one too many; the most are {_MOST_ACTIONS}")
    fields = dict(zip(part[1::2], part[2::2], strict=False)) if all(map(_is_word, part[1::2])) else {}
    known = {":parameters", ":precondition", ":effect"}
    if not name or set(fields) - known or not isinstance(fields.get(":effect"), list):
        raise GameError(f"{where} is malformed; it has :parameters, :precondition and :effect")
    given, condition = fields.get(":parameters", []), fields.get(":precondition", [])
    if not isinstance(given, list) or not isinstance(condition, list) or name in rules.actions:
        raise GameError(f"{where} is malformed or there twice")
    parameters = _bound(_typed(given, where), where)
    choices = _alternatives([condition] if condition else [], where)
    conditions = list(_effects(fields[":effect"], rules.changing, where))
    extra = sum(len(_alternatives([each], where)) for each in conditions)
    if extra > _MOST_ALTERNATIVES:
        raise GameError(f"{where} has more than {_MOST_ALTERNATIVES} conditions of effects")
    rules.actions[name] = [
        _Choice(_bound({**parameters, **choice.variables}, where), choice.facts) for choice in choices
    ]


def _short(part: Tree, where: str) -> Tree:
    if sum(1 for _ in words(part)) > _MOST_WORDS:
        raise GameError(f"{where} has more than {_MOST_WORDS} words")
    return part


def _effects(effect: Tree, changing: set[str], where: str) -> Iterator[Tree]:
    """The conditions of an effect; adds what it changes."""
    if not effect or not isinstance(effect[0], str):
        raise GameError(f"{where}: the effect {effect!r:.60} is refused; known are and, not, when, increase and facts")
    head, *rest = effect
    if head == "and":
        for part in _lists(rest, where):
            yield from _effects(part, changing, where)
    elif head == "when" and len(rest) == 2 and all(isinstance(part, list) for part in rest):
        yield rest[0]
        yield from _effects(rest[1], changing, where)
    elif head == "not" and len(rest) == 1 and isinstance(rest[0], list):
        changing.add(_fact(rest[0], where)[0])
    elif head == "increase":
        if rest[:1] != [["total-cost"]] or len(rest) != 2 or not _is_number(rest[1]):
            raise GameError(f"{where}: the cost {effect!r:.60} is refused; known is (increase (total-cost) 5)")
    else:
        changing.add(_fact(effect, where)[0])


def _alternatives(parts: Tree, where: str) -> list[_Choice]:
    """A condition as alternatives, each of facts that all have to hold."""
    numbers = iter(range(10**6))

    def read(tree: Tree, names: Mapping[str, str]) -> list[_Choice]:
        if not tree:
            return [_Choice({}, ())]
        head, *rest = tree
        if head == "and":
            return joined([read(part, names) for part in _lists(rest, where, empty=True)])
        if head == "or":
            outcome = [choice for part in _lists(rest, where) for choice in read(part, names)]
            return outcome if len(outcome) <= _MOST_ALTERNATIVES else refuse()
        if head == "exists" and len(rest) == 2 and isinstance(rest[0], list) and isinstance(rest[1], list):
            # Equal names of different quantifiers are different variables.
            bound = _typed(rest[0], where)
            own = {name: f"{name}#{next(numbers)}" for name in bound}
            more = {own[name]: kind for name, kind in bound.items()}
            inner = read(rest[1], {**names, **own})
            return [_Choice(_bound({**more, **each.variables}, where), each.facts) for each in inner]
        if head == "not" and len(rest) == 1 and isinstance(rest[0], list):
            _fact(rest[0], where)
            return [_Choice({}, ())]
        fact = _fact(tree, where)
        return [_Choice({}, () if fact[0] == "=" else (tuple(names.get(word, word) for word in fact),))]

    def joined(parts: Sequence[Sequence[_Choice]]) -> list[_Choice]:
        result = [_Choice({}, ())]
        for choices in parts:
            if len(result) * len(choices) > _MOST_ALTERNATIVES:
                refuse()
            result = [
                _Choice({**item.variables, **other.variables}, item.facts + other.facts)
                for item, other in product(result, choices)
            ]
        return result

    def refuse() -> list[_Choice]:
        raise GameError(f"{where}: a condition has more than {_MOST_ALTERNATIVES} alternatives")

    return joined([read(part, {}) for part in _lists(parts, where, empty=True)])


class _Counter:
    """Counts in how many ways parameters can be filled, from above."""

    def __init__(self, rules: _Rules, objects: Mapping[str, str], facts: Sequence[tuple[str, ...]]) -> None:
        self._changing = rules.changing
        self._of_type: dict[str, int] = {}
        for kind in objects.values():
            seen = dict[str, None]()
            above = kind
            while above not in seen:
                seen[above] = None
                above = rules.types.get(above, "object")
            for each in seen:
                self._of_type[each] = self._of_type.get(each, 0) + 1
        self._objects = len(objects)
        self._facts: dict[tuple[str, int], list[tuple[str, ...]]] = {}
        for fact in facts:
            if fact:
                self._facts.setdefault((fact[0], len(fact)), []).append(fact)
        self._known: dict[tuple[object, ...], int] = {}

    def ways(self, choice: _Choice) -> int:
        """How often a choice can be written out."""
        left, total = dict(choice.variables), 1
        fixed = [fact for fact in choice.facts if fact[0] not in self._changing]
        while left and total <= MOST_GROUND:
            fewest, name = min((self._fill(name, kind, left, fixed), name) for name, kind in left.items())
            total *= fewest
            del left[name]
        return total

    def _fill(self, name: str, kind: str, left: Mapping[str, str], fixed: Sequence[tuple[str, ...]]) -> int:
        """How many fill one variable, whatever fills those before it."""
        fewest = self._objects if kind == "object" else self._of_type.get(kind, 0)
        for fact in fixed:
            if name in fact[1:]:
                fewest = min(fewest, self._degree(name, left, fact))
        return fewest

    def _degree(self, name: str, left: Mapping[str, str], fact: tuple[str, ...]) -> int:
        """For what is filled already, the most that facts leave for a variable."""
        roles = tuple("x" if w == name else "?" if w in left else "!" if w[:1] == "?" else w for w in fact)
        key = (roles,)
        if key not in self._known:
            groups: dict[tuple[str, ...], set[str]] = {}
            for known in self._facts.get((fact[0], len(fact)), ()):
                pairs = list(zip(roles, known, strict=True))
                if all(role in ("x", "?", "!") or role == word for role, word in pairs):
                    before = tuple(word for role, word in pairs if role == "!")
                    groups.setdefault(before, set()).add(next(word for role, word in pairs if role == "x"))
            self._known[key] = max(map(len, groups.values()), default=0)
        return self._known[key]


def _typed(words_: Tree, where: str) -> dict[str, str]:
    """A list such as ``?a ?b - agent ?l - location`` as types by name; ``object`` where none is declared."""
    texts: dict[str, str] = {}
    waiting: list[str] = []
    given = iter(words_)
    for word in given:
        kind = next(given, None) if word == "-" else None
        if not isinstance(word, str) or (word == "-" and not isinstance(kind, str)):
            raise GameError(f"{where}: {word!r:.40} stands where a name and its type are expected")
        if kind is None:
            waiting.append(word)
        else:
            texts |= dict.fromkeys(waiting, kind)
            waiting = []
    return texts | dict.fromkeys(waiting, "object")


def _bound(variables: dict[str, str], where: str) -> dict[str, str]:
    if len(variables) > _MOST_ARGUMENTS:
        raise GameError(f"{where} has {len(variables)} parameters in one place; the most are {_MOST_ARGUMENTS}")
    return variables


def _fact(tree: Tree, where: str) -> tuple[str, ...]:
    """A fact."""
    if not tree or not all(map(_is_word, tree)) or tree[0] in ("and", "or", "not", "exists", "forall", "when", "imply"):
        raise GameError(f"{where}: {tree!r:.60} is refused; known are and, or, not of a fact, exists, and facts")
    return tuple(tree)


def _defined(tree: Tree, what: str, where: str) -> Tree:
    """The parts of ``(define (domain NAME) ...)``."""
    if tree[:1] != ["define"] or len(tree) < 2 or not isinstance(tree[1], list) or tree[1][:1] != [what]:
        raise GameError(f"{where} does not begin with (define ({what} NAME)")
    return tree[2:]


def _lists(parts: Tree, where: str, *, empty: bool = False) -> list[Tree]:
    """Parts that are lists which begin with a word."""
    for part in parts:
        if not isinstance(part, list) or not (isinstance(part[0], str) if part else empty):
            raise GameError(f"{where}: {part!r:.60} stands where a list that begins with a word is expected")
    return parts


def _is_number(item: object) -> bool:
    """Whether it is a number that the compiled library can hold; at another one it ends the process."""
    return isinstance(item, str) and re.fullmatch("[0-9]{1,6}", item) is not None


def _is_word(item: object) -> bool:
    return isinstance(item, str)

"""Finds the objects for which the atoms of a condition hold: a join over what is true, the most bound atom first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from envs.pddl.expressions import Atom, Binding


class Pattern(NamedTuple):
    """An atom whose arguments are parameters or objects.

    ``parameters`` has the name of the parameter at each place; empty where ``objects`` has the object.
    """

    fluent: str
    parameters: tuple[str, ...]
    objects: tuple[str, ...]


Index: TypeAlias = Mapping[tuple[str, int, str], Sequence[Atom]]
"""Atoms by the fluent, a place and the object there; at place -1 all of a fluent."""


def indexed(facts: Iterable[Atom]) -> Index:
    """An index of atoms."""
    index: dict[tuple[str, int, str], list[Atom]] = {}
    for atom in sorted(facts):
        index.setdefault((atom[0], -1, ""), []).append(atom)
        for place, value in enumerate(atom[1:]):
            index.setdefault((atom[0], place, value), []).append(atom)
    return index


def patterns(conditions: Sequence[Any]) -> tuple[Pattern, ...]:
    """The conditions that are atoms over parameters and objects, each after those that bind the most of it."""
    waiting = []
    for node in conditions:
        plain = node.is_fluent_exp() and node.fluent().type.is_bool_type()
        if plain and all(a.is_parameter_exp() or a.is_object_exp() for a in node.args):
            names = tuple(a.parameter().name if a.is_parameter_exp() else "" for a in node.args)
            fixed = tuple(a.object().name if a.is_object_exp() else "" for a in node.args)
            waiting.append(Pattern(node.fluent().name, names, fixed))
    ordered, bound = list[Pattern](), set[str]()
    while waiting:
        following = min(waiting, key=lambda item: len({*item.parameters} - bound - {""}))
        waiting.remove(following)
        ordered.append(following)
        bound |= {*following.parameters}
    return tuple(ordered)


def matches(
    wanted: Sequence[Pattern], parameters: Sequence[tuple[str, Sequence[str]]], *indices: Index
) -> Iterator[Binding]:
    """Every binding of the parameters under which all patterns hold."""
    allowed = {name: frozenset(objects) for name, objects in parameters}

    def extend(place: int, bound: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        if place == len(wanted):
            yield bound
            return
        for atom in _candidates(wanted[place], bound, indices):
            if (more := _bound(wanted[place], atom, bound, allowed)) is not None:
                yield from extend(place + 1, more)

    for bound in extend(0, {}):
        free = [(name, objects) for name, objects in parameters if name not in bound]
        for chosen in product(*(objects for _, objects in free)):
            yield {**bound, **{name: value for (name, _), value in zip(free, chosen, strict=True)}}


def _candidates(pattern: Pattern, bound: Mapping[str, str], indices: Sequence[Index]) -> Iterator[Atom]:
    known = (
        (pattern.fluent, place, fixed or bound[name])
        for place, (name, fixed) in enumerate(zip(pattern.parameters, pattern.objects, strict=True))
        if fixed or name in bound
    )
    key = next(known, (pattern.fluent, -1, ""))
    for index in indices:
        yield from index.get(key, ())


def _bound(
    pattern: Pattern, atom: Atom, bound: Mapping[str, str], allowed: Mapping[str, frozenset[str]]
) -> Mapping[str, str] | None:
    """The binding with what an atom adds; None where it does not fit."""
    more = dict(bound)
    for name, fixed, value in zip(pattern.parameters, pattern.objects, atom[1:], strict=True):
        if fixed:
            if fixed != value:
                return None
        elif more.setdefault(name, value) != value or value not in allowed[name]:
            return None
    return more

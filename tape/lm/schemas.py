"""JSON schemas as regular expressions: Outlines', with the bounds of numbers, which it passes over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tape.errors import ConstraintError
from tape.lm.number_patterns import BOUNDS, Bounds
from tape.lm.patterns import LONGEST
from tape.plugins import require_extra

_NUMBERS = {"integer": True, "number": False}
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value has names of its own, and a schema for each."""

_UNKEPT = (
    *("uniqueItems", "contains", "if", "not", "minProperties", "maxProperties", "dependentRequired"),
    *("dependentSchemas", "propertyNames"),
)
"""Keywords that no expression keeps, most of them about several parts of an answer at once."""

_DATA = ("enum", "const", "default", "examples", "required")
"""Keywords whose value is no schema."""


def schema_pattern(schema: Mapping[str, Any], *, spaced: bool, strict: bool) -> str:
    """The regular expression of a schema's JSON, on one line.

    ``minimum``, ``maximum`` and their exclusive forms are kept exactly where a type stands beside them; a number that
    has one is written without exponent.

    Args:
        schema: The schema.
        spaced: Whether there is a space behind every colon and comma, as ``json.dumps`` writes it; else none. There is
            no free whitespace: a small model could write nothing else for ever.
        strict: Whether what cannot be kept is refused (a bound, ``uniqueItems``, ``not``, a pattern beside a length);
            else it is left to whoever reads the answer.

    Raises:
        ConstraintError: Outlines makes no expression of it, it is too large, or something of it is refused.
    """
    require_extra("local", "outlines_core", what="a constraint by a JSON schema")
    from outlines_core.json_schema import build_regex_from_schema

    text = json.dumps(schema, ensure_ascii=False)
    free = (mark for mark in map(chr, range(0xE000, 0xF8FF)) if mark not in text)
    gap, marker = next(free), _Marker(next(free), strict)
    asked = json.dumps(marker.marked(schema), ensure_ascii=False)
    try:
        pattern = str(build_regex_from_schema(asked, gap))
    except (ValueError, TypeError, RuntimeError) as error:
        raise ConstraintError(str(error)) from error
    return marker.filled(_laid_out(pattern, gap, spaced))


def _laid_out(pattern: str, gap: str, spaced: bool) -> str:
    """A pattern with one layout.

    JSON without any whitespace is unlike what models know: a quote after a colon is another token than a quote after a
    space, and what follows it is another text.
    """
    if spaced:
        pattern = pattern.replace(f":{gap}", ": ").replace(f",{gap}", ", ")
    return pattern.replace(gap, "")


@dataclass
class _Marker:
    """Puts marks into a schema for the numbers that have bounds, and their patterns in place of the marks.

    Attributes:
        mark: A character that the schema does not have.
        strict: As for :func:`schema_pattern`.
        patterns: What stands for each mark.
    """

    mark: str
    strict: bool
    patterns: dict[str, str] = field(default_factory=dict)

    def marked(self, schema: Any) -> Any:
        """A schema with a mark in place of every number with bounds."""
        if isinstance(schema, list):
            return [self.marked(item) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        if self.strict and (unkept := _unkept(schema)):
            raise ConstraintError(f"{unkept} cannot be enforced; leave it out, and check the answer for it yourself")
        told = {name: schema[name] for name in BOUNDS if schema.get(name) is not None}
        rest = {name: self._inside(name, value) for name, value in schema.items() if name not in told}
        if not told:
            return rest
        try:
            return self._bounded(rest, Bounds.of(told))
        except ConstraintError:
            if self.strict:
                raise
            return {**rest, **told}

    def _inside(self, name: str, value: Any) -> Any:
        if name in _DATA:
            return value
        if name in _NAMED and isinstance(value, Mapping):
            return {key: self.marked(item) for key, item in value.items()}
        return self.marked(value)

    def _bounded(self, rest: dict[str, Any], bounds: Bounds) -> Any:
        """A schema whose numbers keep these bounds."""
        values = [rest["const"]] if "const" in rest else rest.get("enum")
        if isinstance(values, list):
            kept = [value for value in values if not _is_number(value) or bounds.admit(value)]
            if not kept:
                raise ConstraintError(f"none of {values!r:.200} keeps {bounds}; change the one or the other")
            return {**{name: value for name, value in rest.items() if name != "const"}, "enum": kept}
        kinds = rest.get("type")
        named = kinds if isinstance(kinds, list) else [kinds]
        if kinds is None or "$ref" in rest:
            raise ConstraintError(f"{bounds} stands beside no type; write the type integer or number beside it")
        if not any(kind in _NUMBERS for kind in named):
            return rest  # a bound says nothing of anything but numbers
        found = [
            self._marked_number(bounds, whole=_NUMBERS[kind]) if kind in _NUMBERS else {**rest, "type": kind}
            for kind in named
        ]
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _marked_number(self, bounds: Bounds, *, whole: bool) -> dict[str, str]:
        name = f"{self.mark}{len(self.patterns)}{self.mark}"
        self.patterns[name] = bounds.pattern(whole=whole)
        return {"const": name}

    def filled(self, pattern: str) -> str:
        """A pattern with those of the numbers in place of their marks.

        Raises:
            ConstraintError: It comes to more than is read.
        """
        for name, number in self.patterns.items():
            if len(pattern) + pattern.count(name) * len(number) > LONGEST:
                raise ConstraintError(f"it comes to more than {LONGEST} characters as a pattern; simplify it")
            pattern = pattern.replace(f'"{name}"', f"(?:{number})")
        return pattern


def _unkept(schema: Mapping[str, Any]) -> str:
    """What of a schema no expression keeps, in words; empty where there is nothing."""
    if unkept := [name for name in _UNKEPT if schema.get(name) not in (None, False)]:
        return unkept[0]
    if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) > 1:
        return "allOf of several"
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        if "minLength" in schema or "maxLength" in schema:
            return "a pattern beside minLength or maxLength"
        if _writes_marks(pattern):
            return f"the pattern {pattern[:100]!r}, which may write a quote, a backslash or a line break into a text,"
    names = schema.get("properties")
    if isinstance(names, Mapping):
        if odd := [name for name in names if json.dumps(name, ensure_ascii=False) != f'"{name}"']:
            return f"the name {odd[0][:100]!r}, which JSON writes otherwise,"
        required = schema.get("required")
        if isinstance(required, list) and (others := [one for one in required if one not in names]):
            return f"a required {str(others[0])[:100]!r} that is no property"
    values, kind = schema.get("enum"), schema.get("type")
    if isinstance(values, list) and kind == "string" and not all(isinstance(value, str) for value in values):
        return "an enum with what is no text beside the type string"
    return ""


_MARKS = ('"', "\\")
_ODD_ESCAPES = frozenset('SWDs\\"nrtfv0xuUN')
"""What behind a backslash may stand for such a mark or a control character."""


def _writes_marks(pattern: str) -> bool:
    """Whether a regular expression may match what JSON writes otherwise within a text; in doubt it may."""
    inside, position = False, 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            if pattern[position + 1 : position + 2] in _ODD_ESCAPES:
                return True
            position += 2
            continue
        if char == '"' or ord(char) < 32 or (char == "." and not inside):
            return True
        if char == "[" and not inside:
            inside = True
            if pattern[position + 1 : position + 2] == "^":
                return True
        elif char == "]":
            inside = False
        elif (
            inside
            and char == "-"
            and any(pattern[position - 1] <= mark <= pattern[position + 1 : position + 2] for mark in _MARKS)
        ):
            return True
        position += 1
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

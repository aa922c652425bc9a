"""JSON schemas that come from outside: copied within bounds, in the form of today, and checked against within bounds.

No regular expression of a schema is run, and nothing is fetched: what such words ask for, their author checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, cached_property
from itertools import count
from typing import Any

from tape.reading import short
from tape.tools.results import cut

MOST_PARTS, DEEPEST = 5000, 30
"""Values in a schema, and lists and objects inside each other."""

MOST_STEPS = 20_000
"""Words of a schema that are applied to the values of one call."""

LONGEST_DESCRIPTION = 1000
"""Bytes of a description, and of a default or option."""

_WORDS = ("description", "title")
_RISKY = ("pattern", "patternProperties", "format", "$schema", "$id")
"""What a validator may run for ever on, or fetch, or read by other rules."""
_NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
"""Words whose keys are names, each of a schema."""
_DATA = ("const", "enum", "default", "examples")
_MESSAGE = 200


class _EndlessError(Exception):
    """Checks have taken more steps than they may."""


def described(text: Any) -> str:
    """A description in one line, its length bounded; empty where it is no text."""
    if not isinstance(text, str):
        return ""
    clear = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_DESCRIPTION])
    return cut(" ".join(clear.split()), LONGEST_DESCRIPTION)


def cleaned(schema: Mapping[str, Any], error: Callable[[str], Exception], *, elsewhere: bool = False) -> dict[str, Any]:
    """A copy of a schema: its words in one line each, older drafts written as today, without what is dangerous.

    Args:
        schema: The schema; nothing in it is checked yet.
        error: Makes what is raised.
        elsewhere: It may refer to other schemas, which are left out: of what they describe, anything is taken.
    """
    counted = count()

    def copied(value: Any, depth: int, inside: str) -> Any:
        if next(counted) > MOST_PARTS or depth > DEEPEST:
            raise error(f"its schema has more than {MOST_PARTS} parts, or {DEEPEST} levels")
        if isinstance(value, list):
            return [copied(item, depth + 1, inside) for item in value]
        if not isinstance(value, Mapping):
            return value
        if inside:
            below = "" if inside == "names" else inside
            return {key: copied(held, depth + 1, below) for key, held in value.items()}
        made = {}
        for key, held in value.items():
            if key in _WORDS and isinstance(held, str):
                made[key] = described(held)
            elif key == "$ref" and not str(held).startswith("#"):
                if not elsewhere:
                    raise error(f"its schema refers to {short(held)}, which is elsewhere")
            elif key not in _RISKY:
                kind = "names" if key in _NAMED else "data" if key in _DATA else ""
                made[key] = copied(held, depth + 1, kind)
        return _of_today(made, others="patternProperties" in value)

    made: dict[str, Any] = copied(schema, 0, "")
    return made


def _of_today(schema: dict[str, Any], *, others: bool) -> dict[str, Any]:
    """A schema, which is changed, as the draft of 2020 writes it; a pattern that is not run may let others in."""
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(limit), bool) and schema.pop(limit) and bound in schema:
            schema[limit] = schema.pop(bound)
    if "required" in schema:
        required = schema.pop("required")
        if isinstance(required, list):
            schema["required"] = [name for name in required if isinstance(name, str)]
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    if others:
        schema["additionalProperties"] = True
        schema.pop("unevaluatedProperties", None)
    return schema


class SchemaChecker:
    """Says what is wrong with values by parts of one schema, the cleaned ``root``."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self.begin()

    def begin(self, values: Any = None) -> Any:
        """The values of another call are checked from now on; returns them."""
        self._steps = count()
        return values

    def wrong(self, part: Any, value: Any) -> str:
        """What is wrong with a value by a part of the schema; empty where nothing is, or it cannot be told here."""
        from referencing.exceptions import Unresolvable

        if self._validator is None:
            return ""
        _steps.set(self._steps)
        try:
            error = next(self._validator.evolve(schema=part).iter_errors(value), None)
        except (_EndlessError, RecursionError, Unresolvable):
            return ""  # whose schema it is checks it
        return "" if error is None else cut(f"{error.json_path}: {error.message}", _MESSAGE)

    @cached_property
    def _validator(self) -> Any:
        """None where the schema is none."""
        from jsonschema import Draft202012Validator, SchemaError
        from referencing import Registry

        try:
            Draft202012Validator.check_schema(self._root)
        except SchemaError:
            return None
        return _bounded()(self._root, registry=Registry())  # that of the package would fetch what a reference names


_steps: ContextVar[Iterator[int]] = ContextVar("steps")


@cache
def _bounded() -> Any:
    """A class of validators that count their steps."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    words = Draft202012Validator.VALIDATORS

    def counting(word: str, apply: Any) -> Any:
        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            pairs = len(instance) ** 2 if word == "uniqueItems" and isinstance(instance, list) else 0
            if next(_steps.get()) + pairs > MOST_STEPS:
                raise _EndlessError
            yield from apply(validator, value, instance, schema) or ()

        return counted

    return extend(Draft202012Validator, {word: counting(word, own) for word, own in words.items()})

"""From constraints to regular expressions of Python, to check texts by, and to what the decoder writes texts by."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from tape.errors import ConstraintError
from tape.lm.base import Choice, Constraint, Forced, Grammar, JsonSchema, Regex
from tape.lm.patterns import literal, written_out

_GRAMMAR = '%llguidance {"no_forcing": true}\nstart: '
"""A grammar of llguidance in which a text may be written by any tokens."""

_JSON = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,
    "coerce_one_of": True,
}
"""JSON is written as ``json.dumps`` writes it: a model has read it so, and free whitespace may go on for ever. What
llguidance does not know of a schema is left to the reader of the answer."""

_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z?"
_FORMATS = {"time": _CLOCK, "date-time": rf"[0-9]{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T{_CLOCK}"}
"""Formats as pydantic writes them: llguidance insists on a time zone."""

_NAMED = ("properties", "patternProperties", "$defs", "definitions")
"""Keywords whose value has names of its own, and a schema for each."""

_DATA = ("enum", "const", "default", "examples", "required")
"""Keywords whose value is no schema."""

_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")


def escape(text: str) -> str:
    """Escape a literal for a pattern; unlike ``re.escape``, as other engines than Python's read it too."""
    return _META.sub(lambda m: "\\" + m.group(), text)


def to_pattern(constraint: Constraint) -> str:
    """The regular expression of a constraint, as ``re.fullmatch`` reads it.

    Raises:
        ConstraintError: A grammar or a schema, which is no regular expression.
    """
    match constraint:
        case Forced(text):
            return escape(text)
        case Choice(options):
            # Longest first: a decoder that takes the first alternative that matches never ends "drawer 10" after
            # "drawer 1"; endpoints' may.
            return "(?:" + "|".join(escape(o) for o in sorted(options, key=lambda o: (-len(o), o))) + ")"
        case Regex(pattern):
            return pattern
        case JsonSchema(model):
            raise ConstraintError(f"the JSON schema of {model.__name__} is no regular expression")
        case Grammar():
            raise ConstraintError("this backend cannot enforce a context-free grammar; use a Regex or JsonSchema")


@lru_cache(maxsize=128)
def to_decoder(constraint: Constraint) -> str:
    """The regular expression of a constraint in the decoder's syntax (:mod:`tape.lm.patterns`).

    Raises:
        ConstraintError: A grammar, a schema, a pattern with more than :class:`tape.lm.base.Regex` offers, one too
            large, or a literal with a lone surrogate.
    """
    match constraint:
        case Forced(text):
            return literal(text)
        case Choice(options):
            return f"(?:{'|'.join(map(literal, options))})"
        case _:
            return written_out(to_pattern(constraint))


@lru_cache(maxsize=128)
def to_grammar(constraint: Constraint) -> str:
    """The grammar of llguidance for a constraint.

    The JSON of a schema is on one line, its properties in the order of the schema, and no others.

    Raises:
        ConstraintError: As for :func:`to_decoder`; of schemas only their patterns.
    """
    if isinstance(constraint, JsonSchema):
        schema = {**_decodable(constraint.model.model_json_schema()), "x-guidance": _JSON}
        return f"{_GRAMMAR}%json {json.dumps(schema)}"
    return f"{_GRAMMAR}/{to_decoder(constraint) or '(?:)'}/"


def _decodable(schema: Any) -> Any:
    """A schema whose objects have the properties that are named alone, and whose texts match patterns as a whole."""
    if isinstance(schema, list):
        return [_decodable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: value if name in _DATA else _decodable(value) for name, value in schema.items()}
    for name in _NAMED:
        if isinstance(schema.get(name), dict):
            found[name] = {key: _decodable(value) for key, value in schema[name].items()}
    if isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    if found.get("format") in _FORMATS and "pattern" not in found:
        found["pattern"] = _FORMATS[found.pop("format")]
    if isinstance(found.get("pattern"), str):
        found["pattern"] = f"^(?:{written_out(found['pattern'])})$"
    return found


def literals(constraint: Constraint | None) -> tuple[str, ...]:
    """The texts that a constraint spells out in full; a tokenizer must be able to write each."""
    match constraint:
        case Forced(text):
            return (text,)
        case Choice(options):
            return options
        case _:
            return ()

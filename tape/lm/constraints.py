"""From constraints to regular expressions of Python, to check texts by, and to what decoders write texts by.

llama.cpp is given grammars in GBNF. A grammar of our own has two advantages over a JSON schema that llama.cpp would
turn into one: choices and patterns need no JSON around them, and the same texts are allowed as by every other backend.
The notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, TypeAlias

from pydantic.json_schema import GenerateJsonSchema

from tape.errors import ConstraintError
from tape.lm.base import Constraint, Forced, Grammar, JsonSchema, OneOf, Regex
from tape.lm.constraint_types import literal, written_out

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

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
_HOUR, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_CLOCK = rf"{_HOUR}:{_SIXTY}:{_SIXTY}(?:\.[0-9]{{1,6}})?"
_ZONE = f"(?:Z|[+-]{_HOUR}:{_SIXTY})"
_HOURS, _MINUTES, _SECONDS = "(?:[01]?[0-9]|2[0-3])H", "[0-5]?[0-9]M", r"[0-5]?[0-9](?:\.[0-9]{1,6})?S"
_SPAN = f"T(?:{_HOURS}(?:{_MINUTES})?(?:{_SECONDS})?|{_MINUTES}(?:{_SECONDS})?|{_SECONDS})"
_DAYS = "(?:[0-9]{1,6}Y(?:[0-9]{1,3}D)?|[0-9]{1,8}D)"
_FORMATS = {
    "date": _DATE,
    "time": f"{_CLOCK}{_ZONE}?",
    "date-time": f"{_DATE}T{_CLOCK}{_ZONE}?",
    "uuid": "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "duration": f"-?P(?:{_DAYS}(?:{_SPAN})?|{_SPAN})",
}
"""Formats as pydantic writes them; llguidance knows no February, insists on a time zone, and on no sign or fraction."""

_DECIMAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:E[+-]?[0-9]{1,3})?"

_MOST = 10**18
"""Bounds of numbers are enforced up to this size; a wider one is left to the reader of the answer."""

_BOUNDS = {"minimum": -1, "exclusiveMinimum": -1, "maximum": 1, "exclusiveMaximum": 1}

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
        case OneOf(options):
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
    """The regular expression of a constraint in the decoder's syntax (:mod:`tape.lm.constraint_types`).

    Raises:
        ConstraintError: A grammar, a schema, a pattern with more than :class:`tape.lm.base.Regex` offers, one too
            large, or a literal with a lone surrogate.
    """
    match constraint:
        case Forced(text):
            return literal(text)
        case OneOf(options):
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
    if is_optional(constraint):
        from llguidance.gbnf_to_lark import any_to_lark

        assert isinstance(constraint, Grammar), "no other constraint is optional"
        return str(any_to_lark(constraint.text))
    if isinstance(constraint, JsonSchema):
        schema = {**_decodable(constraint.model.model_json_schema(schema_generator=_Schemas)), "x-guidance": _JSON}
        return f"{_GRAMMAR}%json {json.dumps(schema)}"
    return f"{_GRAMMAR}/{to_decoder(constraint) or '(?:)'}/"


class _Schemas(GenerateJsonSchema):
    """With what pydantic reads and its schemas do not say."""

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        constraint = schema.get("tz_constraint")
        if constraint is None:
            return super().datetime_schema(schema)
        return {"type": "string", "pattern": f"{_DATE}T{_CLOCK}{'' if constraint == 'naive' else _ZONE}"}

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        decimal_schema = super().decimal_schema(schema)
        texts = [
            item | {"pattern": _DECIMAL} if item.get("type") == "string" else item
            for item in decimal_schema.get("anyOf", ())
        ]
        return {**decimal_schema, "anyOf": texts} if texts else decimal_schema

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        dict_schema, keys = super().dict_schema(schema), schema.get("keys_schema", {"type": "any"})
        names = self.generate_inner(keys)
        pattern = names.get("pattern") or _FORMATS.get(names.get("format", ""))
        if texts := [key.value for key in keys.get("members", ())] or keys.get("expected", ()):
            pattern = "|".join(escape(str(text)) for text in texts)
        elif keys["type"] == "int":
            pattern = "0|-?[1-9][0-9]*"
        elif not pattern and names.keys() & {"minLength", "maxLength"}:
            pattern = rf"[\s\S]{{{names.get('minLength', 0)},{names.get('maxLength', '')}}}"
        if not pattern:
            return dict_schema
        values = dict_schema.pop("additionalProperties", True)
        values = next(iter(dict_schema.pop("patternProperties", {}).values()), values)
        dict_schema.pop("propertyNames", None)
        return {**dict_schema, "patternProperties": {pattern: values}, "additionalProperties": False}


def _decodable(schema: Any) -> Any:
    """A schema whose objects have the properties that are named alone, and whose texts match patterns as a whole."""
    if isinstance(schema, list):
        return [_decodable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    values_by_name = {name: value if name in _DATA else _decodable(value) for name, value in schema.items()}
    for name in _NAMED:
        if isinstance(schema.get(name), dict):
            values_by_name[name] = {key: _decodable(value) for key, value in schema[name].items()}
    if isinstance(values_by_name.get("properties"), dict):
        values_by_name.setdefault("additionalProperties", False)
    if values_by_name.get("format") in _FORMATS and "pattern" not in values_by_name:
        values_by_name["pattern"] = _FORMATS[values_by_name.pop("format")]
    if isinstance(values_by_name.get("pattern"), str):
        values_by_name["pattern"] = f"^(?:{written_out(values_by_name['pattern'])})$"
    if isinstance(keys := values_by_name.get("patternProperties"), dict):
        values_by_name["patternProperties"] = {f"^(?:{written_out(key)})$": value for key, value in keys.items()}
    for name, sign in _BOUNDS.items():
        bound = values_by_name.get(name)
        if isinstance(bound, int | float) and sign * bound > _MOST:
            del values_by_name[name]
        elif isinstance(bound, int | float) and sign * bound < -_MOST:
            raise ConstraintError(f"{name} {bound}: numbers are decoded up to a size of {_MOST:.0e}; use a larger unit")
    return values_by_name


def is_optional(constraint: Constraint | None) -> bool:
    """Whether the model may write freely where a constraint cannot be enforced."""
    return isinstance(constraint, Grammar) and not constraint.required


def literals(constraint: Constraint | None) -> tuple[str, ...]:
    """The texts that a constraint spells out in full; a tokenizer must be able to write each."""
    match constraint:
        case Forced(text):
            return (text,)
        case OneOf(options):
            return options
        case _:
            return ()


MOST_COUNT = 2000
"""The largest count that llama.cpp takes; a larger upper one it reads as none."""

_PART = re.compile(
    r"(?P<code>\\x\{(?P<hex>[0-9a-f]+)\})|(?P<plain>[A-Za-z0-9])"
    r"|\[(?P<ranges>(?:\\x\{[0-9a-f]+\}-\\x\{[0-9a-f]+\})+)\]"
    r"|(?P<open>\(\?:)|(?P<close>\)(?:\{(?P<low>[0-9]+),(?P<high>[0-9]*)\})?)|(?P<bar>\|)"
)
"""What the decoder's syntax is made of (:mod:`tape.lm.constraint_types`)."""

_HEX = re.compile(r"[0-9a-f]+(?=\})")


@lru_cache(maxsize=128)
def to_gbnf(constraint: Constraint) -> str:
    """The grammar of a constraint; that of a :class:`tape.lm.base.Grammar` is its own text.

    Raises:
        ConstraintError: It is no regular language, too large, or counts as llama.cpp does not.
    """
    return constraint.text if isinstance(constraint, Grammar) else grammar_of(to_decoder(constraint))


def grammar_of(pattern: str) -> str:
    """The grammar of a pattern in the decoder's syntax.

    Every group has a rule of its own, shared with equal ones: llama.cpp writes out what is counted, and refuses counts
    within counts that come to too much, but it counts a rule's name as one.
    """
    rules: dict[str, str] = {}
    # For each open group: its alternatives so far, each a row of items, with whether an item may be empty.
    stack: list[list[list[_Item]]] = [[[]]]
    literal: list[int] = []

    def close_literal() -> None:
        if literal:
            stack[-1][-1].append(('"' + "".join(map(_code, literal)) + '"', False))
            literal.clear()

    for part in _PART.finditer(pattern):
        if part["code"] or part["plain"]:
            literal.append(int(part["hex"], 16) if part["code"] else ord(part["plain"]))
            continue
        close_literal()
        if part["ranges"]:
            codes = [int(code, 16) for code in _HEX.findall(part["ranges"])]
            runs = zip(codes[::2], codes[1::2], strict=True)
            stack[-1][-1].append(("[" + "".join(f"{_code(low)}-{_code(high)}" for low, high in runs) + "]", False))
        elif part["open"]:
            stack.append([[]])
        elif part["bar"]:
            stack[-1].append([])
        else:
            alternatives = stack.pop()
            if any(alternatives) and part["high"] != "0":
                stack[-1][-1].append(_counted(alternatives, rules, part["low"] or "1", part["high"]))
    close_literal()
    [top] = stack
    return "\n".join([f"root ::= {_body(top)}", *(f"{name} ::= {body}" for body, name in rules.items()), ""])


_Item: TypeAlias = tuple[str, bool]
_COUNTS = {("0", ""): "*", ("1", ""): "+", ("0", "1"): "?", ("1", "1"): "", ("1", None): ""}


def _body(alternatives: list[list[_Item]]) -> str:
    return " | ".join(" ".join(text for text, _ in items) or '""' for items in alternatives)


def _counted(alternatives: list[list[_Item]], rules: dict[str, str], low: str, high: str | None) -> _Item:
    """A counted group; ``high`` is empty where there is no limit, and None where there is no count."""
    body = _body(alternatives)
    empty = any(all(may for _, may in items) for items in alternatives)
    count = _COUNTS.get((low, high))
    if count is None:
        count = f"{{{low}}}" if low == high else f"{{{low},{high}}}"
        if max(int(low), int(high or 0)) > MOST_COUNT:
            raise ConstraintError(f"llama.cpp counts to {MOST_COUNT} at most, and the constraint further: {count}")
    if empty and count not in ("", "?"):
        raise ConstraintError(f"llama.cpp cannot count what may be empty: {body[:200]}")
    name = body if _NAME.fullmatch(body) else rules.setdefault(body, f"r{len(rules) + 1}")
    return name + count, empty or low == "0"


_NAME = re.compile(r"r[0-9]+")


def _code(character: int) -> str:
    """A character in a literal or a class."""
    if character < 0x80 and (chr(character).isalnum() or chr(character) in " _{}:,.<>=+*/()#'"):
        return chr(character)
    return f"\\u{character:04X}" if character < 0x10000 else f"\\U{character:08X}"

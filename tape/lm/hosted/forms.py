"""How a constraint is put to an endpoint, and how the answer is read back and checked here.

Endpoints enforce JSON schemas; few know choices and regular expressions. What an endpoint does not know is wrapped:
``Choice(("a", "b"))`` becomes the schema of ``{"answer": "a" or "b"}`` and the answer is taken out again. Whatever the
endpoint promises, every answer is checked here. For llama.cpp choices and patterns become grammars
(:mod:`tape.lm.constraints`).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from tape.errors import ConstraintError
from tape.lm.base import Constraint, Forced, Grammar, JsonSchema, OneOf, Regex
from tape.lm.constraints import to_gbnf, to_pattern

FormKind = Literal["free", "schema", "regex", "choice", "grammar"]

ANSWER = "answer"
"""The one field of a wrapped answer."""

BOUNDS = frozenset(
    ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of", "too_long", "too_short")
) | {"string_too_long", "string_too_short", "string_pattern_mismatch", "value_error", "assertion_error"}
"""Pydantic's names of what decoders commonly do not enforce; breaking one does not show that a schema was ignored."""

_FENCE = re.compile(r"^```[a-z]*\s*\n(.*?)\n?\s*```$", re.DOTALL)


@dataclass(frozen=True)
class Form:
    """A constraint as one endpoint is asked for it.

    Attributes:
        kind: What the endpoint enforces; ``free``: nothing.
        value: A JSON schema, a pattern, a list of options or a grammar.
        wrapped: The answer stands in the field ``answer`` of a JSON object.
    """

    kind: FormKind
    value: Any = None
    wrapped: bool = False


FREE_FORM = Form("free")


def form_of(constraint: Constraint | None, native: frozenset[str]) -> Form:
    """The form of a constraint for an endpoint that enforces the kinds in ``native``.

    Args:
        constraint: What is to be enforced.
        native: Names of kinds; ``gbnf``: choices and patterns are asked for by grammars of llama.cpp.

    Raises:
        ConstraintError: A grammar, and the endpoint enforces none.
    """
    if (grammar := _grammar(constraint, native)) is not None:
        return Form("grammar", grammar)
    match constraint:
        case None:
            return FREE_FORM
        case JsonSchema(model):
            return Form("schema", portable(model.model_json_schema()))
        case OneOf() | Forced():
            options = [constraint.text] if isinstance(constraint, Forced) else list(constraint.options)
            if "choice" in native:
                return Form("choice", options)
            return Form("schema", _wrapper({"type": "string", "enum": options}), wrapped=True)
        case Regex(pattern):
            if "regex" in native:
                return Form("regex", pattern)
            # A JSON schema's pattern may match anywhere in the text unless it is anchored.
            return Form("schema", _wrapper({"type": "string", "pattern": f"^(?:{pattern})$"}), wrapped=True)
        case Grammar(text):
            if "grammar" in native:
                return Form("grammar", text)
            if not constraint.required:
                return FREE_FORM
            raise ConstraintError("this endpoint cannot enforce a context-free grammar; use a Regex or JsonSchema")


def _grammar(constraint: Constraint | None, native: frozenset[str]) -> str | None:
    """A constraint as a grammar of llama.cpp's; None where the endpoint knows none, or there is none."""
    if constraint is None or "gbnf" not in native:
        return None
    try:
        return to_gbnf(constraint)
    except ConstraintError:
        return None  # a schema, or one that counts too far: it is put in the server's own way


def _wrapper(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {ANSWER: inner}, "required": [ANSWER], "additionalProperties": False}


def portable(schema: Any) -> Any:
    """The same schema without tuples: endpoints know arrays of one item type, and few know ``prefixItems``."""
    if isinstance(schema, list):
        return [portable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    items = schema.get("prefixItems")
    if items and all(item == items[0] for item in items):
        rest = {key: value for key, value in schema.items() if key != "prefixItems"}
        schema = {**rest, "items": items[0], "minItems": len(items), "maxItems": len(items)}
    return {key: portable(value) for key, value in schema.items()}


MOST_EASE = 2
"""The highest level of :func:`eased`, where nothing is enforced."""

_BOUNDS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "multipleOf"))
_BOUNDS |= {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}


def eased(form: Form, level: int) -> Form:
    """A form that asks for less: 1: a schema without bounds, which some endpoints refuse; 2: nothing."""
    if level == 0 or form.kind == "free":
        return form
    if level == 1:
        return replace(form, value=_unbounded(form.value)) if form.kind == "schema" else form
    return replace(FREE_FORM, wrapped=form.wrapped)


def _unbounded(schema: Any, *, names: bool = False) -> Any:
    """A schema without bounds; with ``names``, the keys are names that the schema gives, and all stay."""
    if isinstance(schema, list):
        return [_unbounded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if names or key not in _BOUNDS}
    return {key: _unbounded(value, names=not names and key in ("properties", "$defs")) for key, value in kept.items()}


def describe(constraint: Constraint | None) -> str:
    """What a constraint asks for, in words; for endpoints that enforce nothing, and for asking again."""
    match constraint:
        case None:
            return ""
        case JsonSchema(model):
            schema = json.dumps(portable(model.model_json_schema()), separators=(",", ":"))
            return f"Answer with one JSON object of this schema and with nothing else: {schema}"
        case OneOf(options):
            return f"Answer with one of these texts and with nothing else: {json.dumps(list(options))}"
        case Forced(text):
            return f"Answer with this text and with nothing else: {json.dumps(text)}"
        case Regex(pattern):
            return f"Answer with a text that matches this regular expression and with nothing else: {pattern}"
        case Grammar(required=False):
            return ""
        case Grammar(text):
            return f"Answer with a text of this grammar and with nothing else: {text}"


def most_tokens(request_tokens: int, constraint: Constraint | None, native: frozenset[str]) -> int:
    """The length limit for one sample, with tokens for the wrapper and for white space where there may be some.

    A text of B bytes has at most B tokens, so a wrapped choice is never cut off. Limits are sized for compact JSON,
    and many endpoints write an indented line for each item: 1.2 to 1.7 times as many tokens, in the answers of 25 roles
    of our environments by the tokenizer of SmolLM2.
    """
    match constraint:
        case OneOf() | Forced():
            options = (constraint.text,) if isinstance(constraint, Forced) else constraint.options
            longest = max(len(json.dumps(option)) for option in options)
            return max(request_tokens, longest) + _WRAPPER_TOKENS
        case Regex() if "regex" not in native and _grammar(constraint, native) is None:
            return request_tokens + 2 * _WRAPPER_TOKENS
        case JsonSchema() if "compact" not in native and _grammar(constraint, native) is None:
            return math.ceil(_INDENTED * request_tokens)
        case _:
            return request_tokens


_INDENTED = 1.75
_WRAPPER_TOKENS = 16
"""Room for ``{"answer": ""}`` with white space; twice that where quotes inside the answer must be escaped."""


def read_back(form: Form, constraint: Constraint | None, text: str) -> str:
    """The answer to the constraint in an endpoint's text; the text itself where it cannot be taken out.

    Surrounding white space and a code fence are dropped where that makes the answer a valid one.
    """
    candidates = [text, text.strip()]
    fenced = _FENCE.match(text.strip())
    if fenced:
        candidates.append(fenced[1])
    # An endpoint that ignores the wrapper may answer the bare text, and one that enforces nothing may use the wrapper.
    wrapped = [inner for text in candidates for inner in _unwrapped(text)] if form.wrapped else []
    for candidate in [*wrapped, *candidates]:
        if problem_of(constraint, candidate) is None:
            return candidate
    return wrapped[0] if wrapped else text


_WRAPPED = re.compile(r'\s*\{\s*"answer"\s*:\s*"(.*)"\s*\}\s*', re.DOTALL)


def _unwrapped(text: str) -> list[str]:
    """What a wrapped answer may mean.

    Grammars that are made of a schema's pattern put what matches it between the quotes as it is, its own quotes too:
    ``{"answer": "{"a":1}"}``, which is no JSON.
    """
    raw = _WRAPPED.fullmatch(text)
    texts = [raw[1]] if raw else []
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return texts
    inner = loaded.get(ANSWER) if isinstance(loaded, dict) and len(loaded) == 1 else None
    return [inner, *texts] if isinstance(inner, str) else []


@dataclass(frozen=True)
class FormProblem:
    """Why an answer does not meet its constraint.

    Attributes:
        reason: In words.
        ignored: An endpoint that enforces the constraint could not have written it.
    """

    reason: str
    ignored: bool = True


def problem_of(constraint: Constraint | None, text: str) -> FormProblem | None:
    """What is wrong with an answer; None where nothing is, or it cannot be checked (grammars)."""
    match constraint:
        case None | Grammar():
            return None
        case JsonSchema(model):
            try:
                model.model_validate_json(text)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"]))
                ignored = any(item["type"] not in BOUNDS for item in error.errors(include_url=False))
                return FormProblem(f"{where}: {first['msg']}" if where else first["msg"], ignored)
            return None
        case OneOf(options):
            return None if text in options else FormProblem("it is none of the options")
        case Forced(wanted):
            return None if text == wanted else FormProblem("it is another text")
        case Regex():
            return None if re.fullmatch(to_pattern(constraint), text) else FormProblem("it does not match the pattern")

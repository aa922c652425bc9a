"""From constraints to regular expressions that Outlines compiles."""

from __future__ import annotations

import json
import re

from tape.errors import ConstraintError
from tape.lm.base import Choice, Constraint, Forced, Grammar, JsonSchema, Regex
from tape.plugins import require_extra

_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")


def escape(text: str) -> str:
    """Escape a literal for the regular expressions of outlines-core (Rust syntax, unlike ``re.escape``)."""
    return _META.sub(lambda m: "\\" + m.group(), text)


def to_pattern(constraint: Constraint) -> str:
    """The regular expression of a constraint.

    Raises:
        ConstraintError: A grammar: outlines-core has no context-free grammars.
    """
    match constraint:
        case Forced(text):
            return escape(text)
        case Choice(options):
            # Longest first: with a prefix first, "drawer 1" hides "drawer 10".
            return "(?:" + "|".join(escape(o) for o in sorted(options, key=lambda o: (-len(o), o))) + ")"
        case Regex(pattern):
            return pattern
        case JsonSchema(model):
            require_extra("local", "outlines_core", what="a constraint by a JSON schema")
            from outlines_core.json_schema import build_regex_from_schema

            # No free whitespace: a small model could write nothing else for ever.
            return str(build_regex_from_schema(json.dumps(model.model_json_schema()), ""))
        case Grammar():
            raise ConstraintError("this backend cannot enforce a context-free grammar; use a Regex or JsonSchema")


def literals(constraint: Constraint | None) -> tuple[str, ...]:
    """The texts that a constraint spells out in full; a tokenizer must be able to write each."""
    match constraint:
        case Forced(text):
            return (text,)
        case Choice(options):
            return options
        case _:
            return ()

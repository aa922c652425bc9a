"""From constraints to regular expressions: of Python, to check texts by, and of the decoder, to write texts by."""

from __future__ import annotations

import re
from functools import lru_cache

from tape.errors import ConstraintError
from tape.lm.base import Choice, Constraint, Forced, Grammar, JsonSchema, Regex
from tape.lm.patterns import literal, written_out
from tape.lm.schemas import schema_pattern

_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")


def escape(text: str) -> str:
    """Escape a literal for a pattern; unlike ``re.escape``, as other dialects than Python's read it too."""
    return _META.sub(lambda m: "\\" + m.group(), text)


def to_pattern(constraint: Constraint) -> str:
    """The regular expression of a constraint, as ``re.fullmatch`` reads it.

    Raises:
        ConstraintError: A grammar, which is no regular expression, or a schema that Outlines makes none of.
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
            try:
                return schema_pattern(model.model_json_schema(), spaced=True, strict=False)
            except ConstraintError as error:
                raise ConstraintError(f"the JSON schema of {model.__name__} cannot be decoded by: {error}") from error
        case Grammar():
            raise ConstraintError("this backend cannot enforce a context-free grammar; use a Regex or JsonSchema")


@lru_cache(maxsize=128)
def to_decoder(constraint: Constraint) -> str:
    """The regular expression of a constraint in the dialect of the decoder (:mod:`tape.lm.patterns`).

    Raises:
        ConstraintError: A grammar, a pattern with more than :class:`tape.lm.base.Regex` offers, one too large, or a
            literal with a lone surrogate.
    """
    match constraint:
        case Forced(text):
            return literal(text)
        case Choice(options):
            return f"(?:{'|'.join(map(literal, options))})"
        case _:
            return written_out(to_pattern(constraint))


def literals(constraint: Constraint | None) -> tuple[str, ...]:
    """The texts that a constraint spells out in full; a tokenizer must be able to write each."""
    match constraint:
        case Forced(text):
            return (text,)
        case Choice(options):
            return options
        case _:
            return ()

"""Constraints on what a model writes; requests have one (:mod:`tape.lm.base`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pydantic import BaseModel

from tape.errors import ConstraintError
from tape.lm.patterns import written_out


@dataclass(frozen=True)
class Forced:
    """The completion is this very text (the model still decodes it).

    Examples:
        >>> from tape.lm.base import Forced, Request
        >>> Request("Next action:", max_tokens=5, constraint=Forced("left")).constraint.text
        'left'
    """

    text: str


@dataclass(frozen=True)
class OneOf:
    """The completion is one of these texts.

    Attributes:
        options: The texts, one at least, all different.

    Raises:
        ConstraintError: There is none, one is there twice, or one is no text.

    Examples:
        >>> from tape.lm.base import OneOf, Request
        >>> Request("Is it solved?", max_tokens=1, constraint=OneOf(("yes", "no"))).constraint.options
        ('yes', 'no')
        >>> OneOf(())
        Traceback (most recent call last):
            ...
        tape.errors.ConstraintError: a choice needs at least one option and no duplicates, got ()
    """

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(option, str) for option in self.options):
            raise ConstraintError(f"the options of a choice are texts, got {self.options!r:.200}")
        if not self.options or len(set(self.options)) != len(self.options):
            raise ConstraintError(f"a choice needs at least one option and no duplicates, got {self.options!r:.200}")


@dataclass(frozen=True)
class Regex:
    r"""The completion matches this regular expression, as a whole, as Python's ``re.fullmatch`` reads it.

    What there is: literals and escaped ones; ``.`` (all but a newline); classes ``[a-z]`` and ``[^"]``; ``\d \w \s``
    and ``\D \W \S``, of all of Unicode as in Python; groups ``(...)``, ``(?:...)``, ``(?P<name>...)``, which only
    group; ``|``; ``* + ? {m} {m,} {,n} {m,n}``, lazy or not, which are the same texts; ``^ $ \A \Z`` at the ends, where
    they change nothing. Everything else is refused, since it is not about which texts match or cannot be enforced in
    decoding: look-around, backreferences, conditional and atomic groups, possessive quantifiers, ``\b``, anchors
    inside, inline flags such as ``(?i)``.

    Raises:
        ConstraintError: The pattern is malformed or uses something that is refused; names the construct.

    Examples:
        >>> from tape.lm.base import Regex, Request
        >>> request = Request("How many boxes?", max_tokens=2, constraint=Regex(r"\d{1,2}"))
        >>> Regex(r"(?=box)")
        Traceback (most recent call last):
            ...
        tape.errors.ConstraintError: ...
    """

    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise ConstraintError(f"the pattern of a constraint is a text, got {self.pattern!r:.200}")
        written_out(self.pattern)


@dataclass(frozen=True)
class JsonSchema:
    """The completion is a JSON object of this pydantic model; validated again after decoding.

    Not all that a model of pydantic asks for can be enforced: validators of its own, the distinct items of a set,
    bounds of dates, of spans and of decimals as text, bounds of numbers above 1e18, the length of keys that have a
    pattern, and at an endpoint what that passes over. Numbers with bounds are written without exponents, and spans of
    less than a million years.

    Examples:
        >>> from pydantic import BaseModel
        >>> from tape.lm.base import JsonSchema, Request
        >>> class Move(BaseModel):
        ...     direction: str
        >>> request = Request("Which way?", max_tokens=20, constraint=JsonSchema(Move))
        >>> request.constraint.model.model_validate_json('{"direction": "left"}').direction
        'left'
    """

    model: type[BaseModel]


@dataclass(frozen=True)
class Grammar:
    """The completion belongs to this context-free grammar; few backends can enforce one.

    Attributes:
        text: The grammar as the server reads it, for instance GBNF for llama.cpp.
        required: Without it, backends that cannot enforce it let the model write freely.

    Examples:
        >>> from tape.lm.base import Grammar, Request
        >>> request = Request("Count.", max_tokens=20, constraint=Grammar('root ::= "1" ("," "1")*'))
        >>> request.constraint.text
        'root ::= "1" ("," "1")*'
    """

    text: str
    required: bool = True


Constraint: TypeAlias = Forced | OneOf | Regex | JsonSchema | Grammar

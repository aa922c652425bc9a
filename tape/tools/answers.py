"""The declared type of a task's answers: its schema for decoders and prompts, and the check of what was answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import isroutine
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError, WithJsonSchema

from tape.tools.calls import as_text
from tape.tools.errors import InvalidCallError, ToolError

MOST_SHOWN = 3
"""Faults of an answer that are named."""

_PLACEHOLDER = {"type": "string", "pattern": "^#[1-9][0-9]?$"}


class AnswerType:
    """What an answer has to be."""

    def __init__(self, asked: Any) -> None:
        self.name = asked.__name__ if isinstance(asked, type) else str(asked)
        try:
            if isroutine(asked):  # pydantic would check calls of it
                raise TypeError("it is a function")
            self._adapter = TypeAdapter[Any](asked)
            self.schema = self._adapter.json_schema()
        except Exception as error:  # pydantic has no common base of what it refuses
            why = str(error).partition("\n")[0].rstrip(".")
            raise ToolError(
                f"answer={asked!r:.80} is no type of answers: {why}; give a pydantic model, or a type such as list[int]"
            ) from error

    @cached_property
    def written(self) -> Any:
        """The type as decoders write it: each value may be a placeholder. When it is given it is checked."""
        return Annotated[Any, WithJsonSchema(_part(self.schema, self.schema.get("$defs", {}), ()))]

    def checked(self, value: Any) -> Any:
        """A JSON value as a value of the type; what is no text is written as one where a text is asked for."""
        try:
            return self._validated(value)
        except ValidationError as error:
            texts = [fault["loc"] for fault in error.errors(include_url=False) if fault["type"] == "string_type"]
        try:
            return self._validated(_with_texts_at(value, texts))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            shown = [
                f"{'.'.join(map(str, details['loc']))}: {details['msg']}".lstrip(": ")
                for details in faults[:MOST_SHOWN]
            ]
            more = [f"and {len(faults) - MOST_SHOWN} more"] if len(faults) > MOST_SHOWN else []
            raise InvalidCallError(f"the answer is no {self.name}: {'; '.join((*shown, *more))}") from None

    def _validated(self, value: Any) -> Any:
        return self._adapter.validate_json(json.dumps(value))


def _with_texts_at(value: Any, places: Sequence[tuple[int | str, ...]]) -> Any:
    """A copy of a JSON value with what stands at some places as texts."""
    whole = {"": json.loads(json.dumps(value))}
    for place in places:
        at: Any = whole
        *path, last = ("", *place)
        try:
            for key in path:
                at = at[key]
            at[last] = at[last] if at[last] is None else as_text(at[last])
        except (LookupError, TypeError):
            continue  # of several types that a value may have, pydantic names the one, which is no place
    return whole[""]


def _part(schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    """A schema each of whose values may be a placeholder."""
    opened = _opened(schema, definitions, inside)
    if not opened or (opened.get("type") == "string" and opened.keys() <= {"type", "title", "description"}):
        return opened  # any text, placeholders too
    return {"anyOf": [opened, _PLACEHOLDER]}


def _opened(schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    """A schema whose parts may be placeholders, without references; one that refers to itself ends in any JSON."""
    if not isinstance(schema, dict):
        return schema
    if (reference := schema.get("$ref")) is not None:
        name = reference.removeprefix("#/$defs/")
        return {} if name in inside else _opened(definitions[name], definitions, (*inside, name))
    values_by_key = {key: value for key, value in schema.items() if key not in ("$defs", "discriminator")}
    for key in ("items", "additionalProperties"):
        if isinstance(values_by_key.get(key), dict):
            values_by_key[key] = _part(values_by_key[key], definitions, inside)
    if "properties" in values_by_key:
        values_by_key["properties"] = {
            name: _part(item, definitions, inside) for name, item in values_by_key["properties"].items()
        }
    if "prefixItems" in values_by_key:
        values_by_key["prefixItems"] = [_part(item, definitions, inside) for item in values_by_key["prefixItems"]]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in values_by_key:
            values_by_key[key] = [_opened(item, definitions, inside) for item in values_by_key[key]]
    return values_by_key

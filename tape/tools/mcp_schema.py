"""JSON schemas of MCP servers' tools as pydantic models. A schema is the server's: all of it is checked and bounded.

What types of Python cannot say is taken as JSON, and checked by the schema before a call.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
    model_validator,
)

from tape.reading import short
from tape.tools.errors import ToolError, ToolFailedError
from tape.tools.json_schemas import LONGEST_DESCRIPTION, SchemaChecker, cleaned, described
from tape.tools.results import cut
from tape.tools.words import python_names

MOST_PARTS = 500
"""Properties of an object; and schemas within the schema of one tool, references followed, that become types: what is
beyond is taken as JSON."""

_PLAIN = {"string": str, "number": float, "integer": int, "boolean": bool, "null": None}
_NUMBERS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_WHOLE = {"minimum": ceil, "maximum": floor, "exclusiveMinimum": floor, "exclusiveMaximum": ceil}
_TEXTS = {"minLength": "min_length", "maxLength": "max_length"}
_ITEMS = {"minItems": "min_length", "maxItems": "max_length"}
_BOUNDS = {"string": _TEXTS, "number": _NUMBERS, "integer": _NUMBERS, "array": _ITEMS}
_KINDS = ("type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const")
"""Words that say what a value is."""
_BESIDE = frozenset((
    "allOf", "not", "if", "prefixItems", "contains", "propertyNames", "dependentSchemas", "dependentRequired",
    "multipleOf", "uniqueItems", "minProperties", "maxProperties", "unevaluatedItems", "unevaluatedProperties",
))  # fmt: skip
"""Words that no type says; beside one they are checked by the schema."""
_RESERVED = frozenset(dir(BaseModel))
"""Names that pydantic has a meaning of its own for."""
_DEEPEST = 20
_LONGEST = 2**31
"""Largest bound on a length."""


@dataclass(frozen=True)
class _Sent:
    """What the server calls an argument, and whether null is sent; else it means, by decoders, that it is left out."""

    name: str
    null: bool


def arguments_model(tool: str, schema: Any, reserved: Collection[str] = ()) -> type[BaseModel]:
    """The model of a tool's arguments, by names of Python; :func:`sent` gives them the server's names again.

    Texts, numbers, booleans, null, lists, objects, enums, constants, unions (``anyOf``, ``oneOf``), references within
    the schema, and bounds become types. Patterns and formats the server checks itself: no regular expression of a
    server is run here.
    """

    def error(what: str) -> ToolError:
        return ToolError(f"MCP tool {tool}: {what}")

    if not isinstance(schema, Mapping):
        raise error(f"its arguments are described by {short(schema)}, no JSON schema")
    if schema.get("type", "object") != "object":
        raise error(f"its arguments are of the type {short(schema['type'])}, not an object")
    if not isinstance(properties := schema.get("properties", {}), Mapping):
        raise error(f"its properties are {short(properties)}, no JSON schema")
    root = cleaned(schema, error, elsewhere=True)
    if len(names := {*properties, *root.get("required", [])}) > MOST_PARTS:
        raise error(f"it has {len(names):,} arguments, more than {MOST_PARTS}")
    return _Reader(root, reserved).model(f"{tool}_arguments", root)


def sent(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the server gets them: what was written, by the server's names."""
    made = {}
    for name, value in values.items():
        field = model.model_fields.get(name)
        how = next((item for item in field.metadata if isinstance(item, _Sent)), None) if field is not None else None
        if how is None or value is not None or how.null:
            made[how.name if how is not None else name] = _plain(value)
    return made


def _plain(value: Any) -> Any:
    """An argument as JSON; of objects inside it only what was given."""
    if isinstance(value, BaseModel):
        named = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        return sent(type(value), named | (value.model_extra or {}))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _as_written(value: Any, check: Callable[[Any], Any]) -> Any:
    """A number as it was written, 1 not as 1.0."""
    checked = check(value)
    return value if type(value) is int else checked


class _Reader:
    """Reads one tool's schema, the cleaned ``root``; no argument gets a reserved name."""

    def __init__(self, root: Mapping[str, Any], reserved: Collection[str]) -> None:
        self._root, self._reserved, self._checker = root, reserved, SchemaChecker(root)
        self._parts = 0
        self._inside: tuple[str, ...] = ()
        """The references that are being followed."""

    def model(self, name: str, schema: Mapping[str, Any], depth: int = 0) -> type[BaseModel]:
        """A model of an object with named properties."""
        required = schema.get("required", [])
        described_ = schema.get("properties") or {}
        properties = {**described_, **{key: True for key in required if key not in described_}}
        names = python_names(properties, _RESERVED.union(self._reserved if depth == 0 else ()))
        fields: dict[str, Any] = {
            names[key]: self._field(key, value, depth, required=key in required) for key, value in properties.items()
        }
        is_open = schema.get("additionalProperties", False) is not False
        config = ConfigDict(extra="allow" if is_open else "forbid", protected_namespaces=())
        checks: dict[str, Any] = {}
        if depth == 0:
            checks["begin"] = model_validator(mode="before")(lambda cls, values: self._checker.begin(values))  # noqa: ARG005
            if _says_more({"type": "object", "properties": {}, **schema}):
                checks["by_schema"] = model_validator(mode="after")(self._check(schema))
        return create_model(name, __config__=config, __validators__=checks, **fields)

    def _field(self, key: str, schema: Any, depth: int, *, required: bool) -> tuple[Any, Any]:
        kind, about = self._type(schema, depth), schema if isinstance(schema, Mapping) else {}
        more: dict[str, Any] = {"description": described(about.get("description")) or None}
        if depth:
            more["alias"] = key  # within a value the model writes the server's names
        if required:
            return (Annotated[kind, _Sent(key, null=True)], Field(**more))
        # What is left out is not sent, so that the server's own default holds.
        default = about.get("default") if len(json.dumps(about.get("default"))) <= LONGEST_DESCRIPTION else None
        kind = Annotated[Union[kind, None], _Sent(key, null=_takes_null(kind))]  # noqa: UP007 - some hints know no |
        return (kind, Field(default, **more))

    def _check(self, schema: Any) -> Callable[[Any], Any]:
        def checked(value: Any) -> Any:
            if problem := self._checker.wrong(schema, _plain(value)):
                raise ValueError(problem)
            return value

        return checked

    def _type(self, schema: Any, depth: int) -> Any:
        """The type of values of a schema; any JSON that it lets through where no type says it."""
        self._parts += 1
        if schema is True or schema == {}:
            return Any
        is_read = isinstance(schema, Mapping) and depth <= _DEEPEST and self._parts <= MOST_PARTS
        kind = self._typed(schema, depth) if is_read else Any
        if kind is not Any and not _says_more(schema):
            return kind
        return Annotated[kind, AfterValidator(self._check(schema))]

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        if "$ref" in schema:
            return self._referred(schema["$ref"], depth)
        for union in ("anyOf", "oneOf"):
            options = schema.get(union)
            if isinstance(options, list) and options and not schema.get("properties") and all(map(_says, options)):
                kinds = tuple(self._type(option, depth + 1) for option in options[:MOST_PARTS])
                return Union[kinds] if len(options) <= MOST_PARTS else Any  # noqa: UP007 - their number is known here
        if "const" in schema or "enum" in schema:
            return self._enum(schema["enum"] if "enum" in schema else [schema["const"]])
        named = schema.get("type", "object" if schema.get("properties") else None)
        if isinstance(named, list) and named:
            kinds = tuple(self._named(schema, name, depth + 1) for name in named)
            return Union[kinds]  # noqa: UP007 - how many they are is known here only
        if named is None and isinstance(whole := schema.get("allOf"), list) and len(whole) == 1:
            return self._type(whole[0], depth + 1)
        return self._named(schema, named, depth)

    def _named(self, schema: Mapping[str, Any], named: Any, depth: int) -> Any:
        """The type of values whose schema gives it by name."""
        if named == "array":
            items = Any if "prefixItems" in schema else self._type(schema.get("items", True), depth + 1)
            item: Any = list[items]  # type: ignore[valid-type]
        elif named == "object":
            item = self._object(schema, depth)
        elif isinstance(named, str) and named in _PLAIN:
            item = _PLAIN[named]
        else:
            return Any
        # JSON schema ignores a bound of another type.
        own = {key: to for key, to in _BOUNDS.get(named, {}).items() if _is_bound(key, schema.get(key))}
        bounds: dict[str, Any] = {
            to: schema[key] if named == "number" else _WHOLE.get(key, int)(schema[key]) for key, to in own.items()
        }
        kind = Annotated[item, Field(**bounds)] if bounds else item
        return Annotated[kind, WrapValidator(_as_written)] if named == "number" else kind

    def _enum(self, values: Any) -> Any:
        if not isinstance(values, list) or not values:
            return Any
        are_plain = all(isinstance(name, str | int | None) and len(str(name)) <= LONGEST_DESCRIPTION for name in values)
        return Literal[tuple(values)] if are_plain else Any

    def _object(self, schema: Mapping[str, Any], depth: int) -> Any:
        properties, others = schema.get("properties"), schema.get("additionalProperties", True)
        if isinstance(properties, Mapping) and 0 < len({*properties, *schema.get("required", [])}) <= MOST_PARTS:
            return self.model(f"object_{self._parts}", schema, depth + 1)
        return dict[str, self._type(True if others is False else others, depth + 1)]  # type: ignore[misc]

    def _referred(self, reference: Any, depth: int) -> Any:
        """The type of a part; any JSON where it leads nowhere, or into itself."""
        root: Any = self._root
        parts = reference.split("/") if isinstance(reference, str) else [""]
        for part in parts[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            root = root.get(key) if isinstance(root, Mapping) else None
        if parts[0] != "#" or root is None or reference in self._inside:
            return Any
        self._inside += (reference,)
        kind = self._type(root, depth + 1)
        self._inside = self._inside[:-1]
        return kind


def _takes_null(kind: Any) -> bool:
    """Whether null is a value of a type."""
    try:
        TypeAdapter(kind).validate_python(None)
    except ValidationError:
        return False
    return True


def _says_more(schema: Mapping[str, Any]) -> bool:
    """Whether a schema of a known type says what the type does not."""
    others = isinstance(schema.get("additionalProperties"), Mapping) and "properties" in schema
    union = ("type" in schema or "properties" in schema) and ("anyOf" in schema or "oneOf" in schema)
    return bool(schema.keys() & _BESIDE) or others or union


def _says(option: Any) -> bool:
    """Whether an option of a union says what a value is, and not only more of it."""
    return isinstance(option, Mapping) and any(word in option for word in _KINDS)


def _is_bound(key: str, value: Any) -> bool:
    """Whether a value bounds numbers, or lengths."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max if key in _NUMBERS else 0 <= value <= _LONGEST and value == int(value)


_NAME = 200
"""Bytes of what is said of one content that is no text."""


class Contents(str):
    """The text of a result that names what is no text; ``contents`` are all as the server gave them, data too."""

    contents: Sequence[Mapping[str, Any]] = ()


class StructuredContents(dict[str, Any]):
    """``{"result": ..., "contents": [texts and names]}``: a structured result and what it does not hold, as above."""

    contents: Sequence[Mapping[str, Any]] = ()


def value_of(result: Mapping[str, Any], *, wrapped: bool) -> Any:
    """The structured result, where there is one, else its text; `wrapped` ones stand in ``{"result": ...}``.

    Raises:
        ToolFailedError: The server reports an error, asks for something, or gave nothing to work with.
    """
    content, entry = result.get("content") or [], result.get("structuredContent")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise ToolFailedError(f"the server answers {short(content)}, no list of contents")
    if result.get("resultType") == "input_required":
        raise ToolFailedError("the server asks for something before it answers, and nobody is there to give it")
    if not all(isinstance(block.get("text"), str) for block in content if block.get("type") == "text"):
        raise ToolFailedError("the server answers a text that is none")
    text = text_of(content)
    if result.get("isError") not in (None, False):
        raise ToolFailedError(text or "the server reports an error and does not say which")
    others = [block for block in content if block.get("type") != "text"]
    value = entry["result"] if wrapped and isinstance(entry, dict) and entry.keys() == {"result"} else entry
    if not others:
        return text if entry is None else value
    named: Contents | StructuredContents = Contents(text)
    if entry is not None:
        named = StructuredContents(result=value, contents=[text_of([block]) for block in others])
    named.contents = content
    return named


def text_of(content: Any) -> str:
    """All texts among the contents of a result, those of embedded resources too; what is no text is named."""
    blocks = content if isinstance(content, list) else []
    return "\n".join(_text(block) for block in blocks if isinstance(block, Mapping))


def _text(block: Mapping[str, Any]) -> str:
    inner = block.get("resource")
    held = inner if isinstance(inner, Mapping) else block
    if isinstance(held.get("text"), str):
        return str(held["text"])
    data = held.get("blob", held.get("data"))
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else held.get("size")
    parts = [block.get("type"), *(held.get(key) for key in ("name", "uri", "mimeType"))]
    parts.append(f"{size:,} bytes" if type(size) is int else "")
    return f"[{cut(', '.join(filter(None, map(described, parts))), _NAME)}]"

"""Tools as the language of plans has them: their stubs, by names of Python."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain, count
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict, is_typeddict

from tape.budget import in_units
from tape.plan.shown import comment, literal
from tape.plan.vocabulary import RESERVED, Parameter, ToolSignature, Vocabulary
from tape.tools.answers import AnswerType
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox

LONGEST = 100
"""Characters of a name that is made."""


def is_python_name(name: str) -> bool:
    """Whether a name is one of Python that begins with a letter, is no keyword, and is read as it is written."""
    return (
        name.isidentifier()
        and not name.startswith("_")
        and not keyword.iskeyword(name)
        and len(name) <= LONGEST
        and unicodedata.normalize("NFKC", name) == name
    )


def python_names(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """A name of Python for each name, no two alike; one that is such a name stays as it is.

    What a name becomes depends on the names together, not on their order.

    Returns:
        The names of Python by the names that were given.

    Examples:
        >>> python_names(["page-size", "page_size", "from", "$filter", "_meta", "2fa"])
        {'page-size': 'page_size_2', 'page_size': 'page_size', 'from': 'from_', '$filter': 'filter', '_meta': 'meta', '2fa': 'x2fa'}
    """  # noqa: E501 - a line of output
    given = list(dict.fromkeys(names))
    made = {name: name for name in given if is_python_name(name) and name not in reserved}
    taken = {*reserved, *made}
    for name in sorted({*given} - made.keys()):
        plain = _plain(name)
        if keyword.iskeyword(plain) or plain in reserved:
            plain += "_"
        made[name] = next(text for text in chain([plain], (f"{plain}_{k}" for k in count(2))) if text not in taken)
        taken.add(made[name])
    return {name: made[name] for name in given}


def _plain(name: str) -> str:
    """The nearest name of Python; it may be a keyword, and others may come to the same."""
    letters = "".join(c if f"a{c}".isidentifier() else " " for c in unicodedata.normalize("NFKC", name))
    joined = "_".join(letters.replace("_", " ").split())[: LONGEST - 10]
    return joined if joined.isidentifier() else f"x{joined}"


MOST_VOCABULARIES = 32
"""Of a toolbox that are kept."""
MOST_FIELDS = 12
"""Fields of an object that are shown."""
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "array": "list",
          "object": "dict"}  # fmt: skip
_BOUNDS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}


def vocabulary(
    toolbox: Toolbox, answer: AnswerType | None = None, capped: Collection[str] = (), *, each: bool = False
) -> Vocabulary:
    """What programs over some tools may call, with the prices in the capped resources.

    With `each` every tool has a name, ``rate_live``, for agents that choose variants; else every kind has one.
    """
    key = (answer, frozenset(capped), each)
    if (known := toolbox.vocabularies.get(key)) is not None:
        return known
    named = names(toolbox, each=each)
    tools = [
        _signature(name, toolbox.of_kind(kind)[0] if variant is None else toolbox.named(kind, variant), toolbox, capped,
                   whole=variant is None)
        for name, (kind, variant) in named.items()
    ]  # fmt: skip
    operators: dict[str, str] = {}
    for name, (kind, variant) in named.items():
        for item in toolbox.of_kind(kind):
            if item.operator and variant in (None, item.variant):
                operators.setdefault(item.operator, name)  # where variants have names, the first is the operator
    fields = () if answer is None else _fields(answer.schema)
    if len(toolbox.vocabularies) >= MOST_VOCABULARIES:  # a toolbox that is shared by tasks with answers of their own
        toolbox.vocabularies.clear()
    return toolbox.vocabularies.setdefault(key, Vocabulary.of(*tools, answer=fields, operators=operators))


def names(toolbox: Toolbox, *, each: bool = False) -> dict[str, tuple[str, str | None]]:
    """Kind and variant behind each name; the variant is None where the name is that of the kind."""
    if each:
        pairs: dict[str, tuple[str, str | None]] = {}
        given = {item.kind for item in toolbox.all() if not item.variant}
        for item in toolbox.all():
            name = f"{item.kind}_{item.variant}" if item.variant else item.kind
            while name in pairs or (item.variant and name in given):
                name += "_"
            pairs[name] = (item.kind, item.variant)
    else:
        pairs = {kind: (kind, None) for kind in toolbox.kinds}
    made = python_names(pairs, [] if all(name.isidentifier() for name in pairs) else RESERVED)
    return {made[name]: pair for name, pair in pairs.items()}


def _signature(name: str, item: Tool, toolbox: Toolbox, capped: Collection[str], *, whole: bool) -> ToolSignature:
    priced = toolbox.of_kind(item.kind) if whole else (item,)
    quality = "" if whole or item.quality is None else f"right with probability {item.quality:g}"
    shown = [price for price in (_price(priced, capped), quality) if price]
    return ToolSignature(
        name,
        parameters(item.arguments),
        returned(item.function),
        item.description,
        changes=not item.pure,
        price="; ".join(shown),
    )


def _price(items: Collection[Tool], capped: Collection[str]) -> str:
    """What a call costs at most, in what is capped; of several variants from the cheapest to the dearest."""
    parts = []
    for kind in sorted({*capped} - {"steps"}):
        counts = [count for item in items if (count := item.worst[kind]) is not None]
        if any(counts):
            least, most = in_units(kind, min(counts)), in_units(kind, max(counts))
            parts.append(most if least == most else f"{least} to {most}")
    return ", ".join(parts)


@lru_cache(maxsize=1024)
def parameters(model: type[BaseModel]) -> tuple[Parameter, ...]:
    """The parameters of a tool, in order."""
    schema = model.model_json_schema()
    return _fields(schema, {field.alias or name: name for name, field in model.model_fields.items()})


def _fields(schema: Mapping[str, Any], named: Mapping[str, str] | None = None) -> tuple[Parameter, ...]:
    """The properties of an object as parameters; none where it is no object of known fields."""
    definitions = schema.get("$defs", {})
    schema = _resolved(schema, definitions)
    properties: Mapping[str, Any] = schema.get("properties", {})
    made = [] if named is None and not all(name.isidentifier() for name in properties) else [*properties.items()]
    return tuple(
        Parameter(
            (named or {}).get(name, name),
            shown_type(part, definitions),
            name in schema.get("required", ()),
            _default(part.get("default")),
            _note(part),
        )
        for name, part in made
    )


def _default(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, bool) else literal(value)


def _note(part: Mapping[str, Any]) -> str:
    bounds = [f"{sign} {part[word]:g}" for word, sign in _BOUNDS.items() if isinstance(part.get(word), int | float)]
    return ", ".join(filter(None, [str(part.get("description", "")).rstrip("."), *bounds]))


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema, its reference followed."""
    if not isinstance(schema, Mapping):
        return {}
    if (reference := schema.get("$ref")) is not None:
        return {**_resolved(definitions.get(str(reference).rpartition("/")[2]), {}), **schema}
    return schema


def shown_type(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> str:
    """A JSON schema as a type of Python that a model reads: ``list[str]``, ``"a" | "b"``, ``{name: str}``."""
    part = _resolved(schema, definitions)
    if "const" in part or "enum" in part:
        options = part.get("enum", [part.get("const")])
        return " | ".join(literal(option) for option in options[:MOST_FIELDS])
    for word in ("anyOf", "oneOf"):
        if part.get(word):
            return " | ".join(dict.fromkeys(shown_type(option, definitions, depth) for option in part[word]))
    kind = part.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(option), "Any") for option in kind)
    if kind == "array" and part.get("items") and depth < 3:
        return f"list[{shown_type(part['items'], definitions, depth + 1)}]"
    if kind == "object" and part.get("properties") and depth < 3:
        fields = [
            f"{name if name.isidentifier() else comment(name)}: {shown_type(held, definitions, depth + 1)}"
            for name, held in part["properties"].items()
        ]
        more = ", ..." if len(fields) > MOST_FIELDS else ""
        return f"{{{', '.join(fields[:MOST_FIELDS])}{more}}}"
    return _TYPES.get(str(kind), "Any")


def _described(hint: Any) -> Any:
    """A hint whose records pydantic can describe: before Python 3.12 it refuses those of ``typing.TypedDict``."""
    if is_typeddict(hint):
        fields = {name: _described(kind) for name, kind in get_type_hints(hint, include_extras=True).items()}
        return TypedDict(hint.__name__, fields, total=hint.__total__)  # type: ignore[operator]
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(map(_described, parts))]  # noqa: UP007  # made of parts
    return origin[tuple(map(_described, parts))] if origin in (list, dict) else hint


@lru_cache(maxsize=1024)
def returned(function: Any) -> str:
    """The type of a function's result, as it is shown; ``Any`` where it is not declared."""
    try:
        hint = get_type_hints(function).get("return", Any)
        schema = TypeAdapter[Any](_described(hint)).json_schema(mode="serialization")
    except Exception:  # a hint that cannot be read, or of which pydantic has no schema, is no reason to refuse a tool
        return "Any"
    return shown_type(schema, schema.get("$defs", {}))

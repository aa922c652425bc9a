"""How tools are listed for general models, how a text is given to them to read, and examples with other tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tape.budget import in_units
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox

READING = """You read texts. Use only what they state. Copy the sentence that answers the question as the quote,
then give the shortest answer, in words of the quote. If no sentence answers the question, both are empty."""


def reading_question(question: str, text: str) -> str:
    """A text and what it is read for; the text comes first, since several questions may share it."""
    return f"Text:\n{text}\n\nQuestion: {question}\n\nWhich sentence answers the question, and what is the answer?"


def listed(toolbox: Toolbox) -> str:
    """The tools, what they take, do and cost; variants that all kinds have alike are listed once."""
    tools = toolbox.all()
    pure = all(item.pure for item in tools)
    shared = _shared_variants(toolbox)
    if shared is None:
        lines = (f"{_tool(item, item.name)} {_price(item)}{_effect(item, pure)}" for item in tools)
        return "\n".join(["Tools:", *lines])
    firsts = [toolbox.of_kind(kind)[0] for kind in toolbox.kinds]
    kinds = [f"{_tool(item, item.kind)}{_effect(item, pure)}" for item in firsts]
    variants = [f"- {item.variant}: {_price(item)[0].lower()}{_price(item)[1:]}" for item in shared]
    example = toolbox.of_kind(toolbox.kinds[0])[0].name
    return "\n".join(
        [
            "Tools:",
            *kinds,
            f"Each of them has these variants, which do the same at different prices; write them as in {example}:",
            *variants,
        ]
    )


def _shared_variants(toolbox: Toolbox) -> tuple[Tool, ...] | None:
    """The variants of the first kind, if there are several and all kinds have the same; else None."""
    first = toolbox.of_kind(toolbox.kinds[0])
    if len(first) < 2:
        return None
    table = [(item.variant, _price(item)) for item in first]
    for kind in toolbox.kinds:
        mine = toolbox.of_kind(kind)
        if [(item.variant, _price(item)) for item in mine] != table or len({item.description for item in mine}) > 1:
            return None
    return first


def _tool(item: Tool, name: str) -> str:
    takes = [
        f"{key}: {field.get('type', 'value')}"
        for key, field in item.arguments.model_json_schema().get("properties", {}).items()
    ]
    takes += ["values of other names"] * item.is_open
    return f"- {name}({', '.join(takes)}): {item.description}"


def _effect(item: Tool, all_pure: bool) -> str:
    return " Destructive." if item.destructive else " Read-only." if item.pure and not all_pure else ""


def _price(item: Tool) -> str:
    worst = item.worst
    costs = ", ".join(in_units(kind, count) for kind, count in worst.items() if count is not None)
    costs += ", for the rest nobody knows" if None in worst.values() else ""
    quality = "" if item.quality is None else f"; right with probability {item.quality:g}"
    return f"Costs at most {costs}{quality}."


def read_example(question: str, text: str, quote: str, answer: str) -> tuple[str, str]:
    """A worked example of reading; with an empty quote the text does not say."""
    return reading_question(question, text), json.dumps({"quote": quote, "answer": answer}, ensure_ascii=False)


_READ: Sequence[tuple[str, str]] = (
    read_example(
        "builder of the Osprey Bridge",
        "Osprey Bridge: Osprey Bridge crosses the Minch in two spans. The stone for it was cut by Ingrid Lund's men, "
        "who built it in 1931. Heron Bridge: Heron Bridge was built by Paul Sauer.",
        "The stone for it was cut by Ingrid Lund's men, who built it in 1931.",
        "Ingrid Lund's men",
    ),
    read_example("owner of the Osprey Bridge", "Heron Bridge: Heron Bridge is owned by Paul Sauer.", "", ""),
)

_OTHER_TOOLS = (
    "(An example with other tools: price(item: string) tells what one piece of a thing costs, times(a: number, "
    "b: number) multiplies.)\n\nTask: What do 3 lamps cost?\n\nSo far:\n"
)
_PLAN = {
    "thought": "The price of one lamp has to be looked up, then it is taken 3 times.",
    "calls": [
        {"tool": "price", "arguments": {"item": "lamp"}},
        {"tool": "times", "arguments": {"a": "#1", "b": 3}},
    ],
    "answer": "#2",
}
_ACT = {
    "thought": "One lamp costs 20, so 3 lamps are 3 times that.",
    "call": {"tool": "times", "arguments": {"a": "#1", "b": 3}},
}

DEFAULT: Mapping[str, Sequence[tuple[str, str]]] = {
    "plan": ((f"{_OTHER_TOOLS}nothing obtained yet\n\nList the calls and the answer.", json.dumps(_PLAN)),),
    "act": ((f'{_OTHER_TOOLS}#1 price(item="lamp") = 20\n\nMake the next call.', json.dumps(_ACT)),),
    "read": _READ,
}
"""Worked examples where an environment has none of its own."""

"""A small lexicon for the compact prompt format, and the tools that go with it."""

import json
import re
from collections.abc import Sequence

from tape.errors import InvalidOutputError
from tape.tools import Tool, tool
from tape.tools.calls import Call
from tape.tools.domain import ToolDomain
from tape.tools.prompts.compact import CompactToolFormat, Reading
from tape.tools.state import ToolState
from tape.tools.toolbox import Toolbox

NUMBERS = {"n1": 3, "n2": 4, "n3": 5}
ENTITIES = {"e1": "Acme", "e2": "Ann Ode"}


class SlotLexicon:
    """Numbers are slots of the task; ``search`` takes a relation and an entity."""

    def task(self) -> list[str]:
        return ["ann", "has", "n1", "n2", "n3"]

    def arguments(self, state: ToolState, call: Call) -> list[str]:
        names = {json.dumps(value): slot for slot, value in {**NUMBERS, **ENTITIES}.items()}
        return [names.get(value, value.strip('"')) for _, value in call.args]

    def result(self, state: ToolState, number: int) -> list[str]:
        found = state.got[number - 1]
        return [] if found.value is None or found.call.kind != "search" else ["=", "e2"]

    def pattern(self, state: ToolState, kind: str, references: str) -> str:
        last = f"|{references}" if references else ""
        return f"founder (?:e1|e2{last}) " if kind == "search" else f"(?:(?:n1|n2|n3{last}) ){{2}}"

    def read(self, state: ToolState, kind: str, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        values = [word if word.startswith("#") else json.dumps((NUMBERS | ENTITIES).get(word, word)) for word in words]
        known = {*NUMBERS, *ENTITIES, "founder"}
        if len(words) != 2 or not all(word in known or re.fullmatch("#[1-9]", word) for word in words):
            raise InvalidOutputError("no arguments")
        return tuple(zip(("relation", "of") if kind == "search" else ("a", "b"), values, strict=True))

    def reading(self, state: ToolState) -> Reading | None:
        found = state.unread()
        if found is None:
            return None
        options = {word: json.dumps(name) for word, name in ENTITIES.items()}
        return Reading(tuple(found.text.split()), ("founder", "e1"), options)

    def longest_call(self, kind: str) -> list[str]:
        return ["founder", "e1", "=", "e2"] if kind == "search" else ["n1", "n2"]

    def longest_reading(self) -> Reading | None:
        return Reading(("acme",) * 20, ("founder", "e1"), dict.fromkeys(ENTITIES, ""))


def tools() -> list[Tool]:
    made = []
    for rank, (usd, quality) in enumerate([("0.001", 0.5), ("0.004", 0.9), ("0.02", 1.0)], 1):
        settings = {"variant": f"grade{rank}", "usd": usd, "quality": quality}

        def number(a: float, b: float) -> float:
            """Compute."""
            return a + b

        def text(relation: str, of: str) -> str:
            """Search."""
            return ""

        made += [tool(kind="add", **settings)(number), tool(kind="multiply", **settings)(number)]  # type: ignore[arg-type]
        made.append(tool(kind="search", reads=True, **settings)(text))  # type: ignore[arg-type]
    return made


DOMAIN = ToolDomain("Ann has 3, 4, 5.", Toolbox(tools()))
FORMAT = CompactToolFormat(DOMAIN, SlotLexicon())

"""Outputs that a model may write instead of what it is asked for, seeded: shared by the sweeps of outputs."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tape.lm.base import Forced, JsonSchema, OneOf, Request
from tape.testing.garbage import GARBAGE

VALID = [
    '{"steps": [{"kind": "collect", "goal": "the gyms"}]}',
    '{"actions": [{"do": "scrape", "what": "https://a.example/"}]}',
    '{"quotes": [{"address": "https://a.example/", "quote": "It is open."}], "finding": "open", "complete": true}',
    '{"reason": "it says so", "verdict": "pass"}',
    '{"reason": "found", "answer": "5"}',
    " U D L R R",
    " (1,2) (2,3)",
    " invalid",
    " next: push L action: L",
    '{"thought": "I go behind the box.", "actions": ["up", "down", "left", "right"]}',
    '{"move": "right", "meets": "box that moves", "player": "(2,3)", "boxes": ["(2,4)"]}',
    '{"1": {"move": "up", "meets": "nothing", "player": "(1,2)", "boxes": ["(2,4)"]}, "2": {"move": "right", '
    '"meets": "wall", "player": "(1,2)", "boxes": ["(2,4)"]}}',
    '{"thought": "I go left, so that the box is not blocked; then up.", "action": "left"}',
    '{"answer": "possible"}',
    '```json\n{"answer": "possible"}\n```',
    '# Add.\nn = add(a=1, b=r1)\nkept = note(f"see {n}", tags=["x"])\nanswer(kept["text"] if n > 2 else n)',
    "```python\nfound = multiply_exact(2.5, r1)\nanswer(round(found, 2))\n```",
    "rows = [divide(a, 2) for a in [1, 2, 3] if a != 2]\nanswer(sum(rows) / len(rows))",
    'add(a=1, b=[#1, "x", {}])',
    "add(a=1, b=#1)",
    "r2 = add(a=1, b=r1)",
    "answer(r1)",
    '{"quote": "Ann Ode founded it.", "answer": "Ann Ode"}',
    '{"reason": "so it was found", "answer": "Ann Ode"}',
    " add v1 n1 n2 ; multiply v3 #1 n2 ; answer #2",
    " search v2 founder e1",
    " answer #1",
    " e1",
    '{"actions": ["go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "use desklamp 1"]}',
    '{"thought": "it is closed", "action": "put apple in/on fridge 1"}',
    "go to fridge 1 -> arrived, cannot be closed",
    "put apple in/on fridge 1 -> put",
    '{"step_1": "put apple in/on fridge 1 -> put", "step_2": "open fridge 1 -> nothing"}',
    "go fridge1 open fridge1 put apple fridge1 use desklamp",
    "put apple fridge1",
    "at fridge1 shut",
    "take apple fridge1",
    "fridge1",
    "fridge 1",
    "yes",
    "First, I move right instead of left, because the wall is on the left. Then up.",
    '{"states": [{"at": "mill", "delivered": []}, null]}',
    '{"actions": [{"name": "Walk", "arguments": {"to": "mill"}}, {"name": "Deliver", "arguments": {}}]}',
    '{"possible": true, "state": {"at": "mill", "delivered": ["mill"]}}',
    '{"thought": "", "action": {"name": "Walk", "arguments": {"to": "ford"}}}',
    '{"predicates": ["shut(fridge 1)", "not inside(apple, fridge 1) and shut(fridge 1)"]}',
    '{"k": 1, "reason": "it is seen"}',
    '{"thought": "", "action": "find: {\\"hop\\": 1, \\"finding\\": \\"x\\", \\"title\\": \\"y\\"}"}',
    '{"thought": "so be it", "action": "answer: Ada Quill"}',
    '{"thought": "so", "steps": [{"do": "search", "query": "who built it?"}, {"do": "find", "question": "q?", '
    '"quote": "It says x.", "answer": "x", "title": "Aldera"}, {"do": "answer", "answer": "x"}, {"do": "finish"}]}',
    '{"1": "Who built Aldera?", "2": "Who founded #1?"}',
    "shut(fridge 1)",
]
"""What every kind of prompt may be answered by; the wrong kind is part of the sweep."""

PIECES = ["{", "}", "[", "]", '"', "\\", ",", ":", "(", ")", " ", "\n", "null", "NaN", "Infinity", "true", "-1"]
PIECES += ["\x00", "\x07", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "\x85", "\x9b31m", "\r", "\v"]  # control characters
PIECES += ["\u2028", "\u200f", "\u202e", "\u2066", "\ufeff", "\u0301" * 9, "\ufffe", "\U0010ffff"]  # and what marks
PIECES += ["\ud800", "\udfff", "\\ud800", "\\udc00\\ud800", "\\u0000", "é", "😀", "中", "٣", "ﬀ"]
PIECES += ["1e999", "-0.0", "1E400", "9" * 40, "9" * 400, "9" * 5000, "0x1", "١٢", "1_000", "0" * 300]
PIECES += ["U", "then ", "not ", "action:", "plan:", "(9,9)", "->", "```", "=", "a=1", ";", "../../x", "=1+1", "<b>"]
PIECES += ["#1", "#99", "#0", "#" + "9" * 30, "v1", "answer", "add", "add(", '"tool"', '"arguments": {', "__class__"]

HUGE = ["[" * 100_000, '{"a":' * 100_000, "[" * 50_000 + "]" * 50_000, '"' + "a" * 1_000_000, "9" * 1_000_000]
HUGE += ["U " * 500_000, " (1,1)" * 170_000, '{"actions": [' + '"U",' * 250_000 + '"U"]}', "\\" * 1_000_000]
HUGE += ["\u202e" * 300_000, "then " * 200_000, "not " * 250_000, "(" * 1_000_000, "add(" * 250_000, "#1 " * 300_000]
HUGE += ['{"thought": "' + "x" * 1_000_000 + '", "action": "U"}', '{"answer": ' + "[" * 3_000 + "]" * 3_000 + "}"]
HUGE += ["go to fridge 1 " * 60_000, "shut(" * 200_000, '{"a": 1, ' * 100_000, "```json\n" * 100_000, "\n" * 1_000_000]
"""Longer or deeper than any answer; what takes more than linear time is seen by these."""


WORDS = ("", "1", "#1", "U", "mill", "Walk", "a b", "answer(value=#1)", "\ud800", "\x1b[2J", "9" * 500)
"""What stands where a text is asked for."""


def mutated(rng: random.Random, text: str | None = None) -> str:
    """A valid output, or the text given, after some edits; some are hostile as they are, or very long."""
    if text is None:
        if rng.random() < 0.02:
            return rng.choice(GARBAGE)
        text = rng.choice(VALID)
    for _ in range(rng.randint(0, 6)):
        at, to = sorted(rng.randint(0, len(text)) for _ in range(2))
        match rng.randrange(7):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[at:to] * rng.randint(2, 4) + text[to:]
            case 3:
                text = text[:at] + rng.choice(PIECES) + text[at + 1 :]
            case 4:
                text = text[:to]
            case 5:
                text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x110000)))) + text[at:]
            case 6:  # a part of another answer
                other = rng.choice(VALID)
                begin = rng.randint(0, len(other))
                text = text[:at] + other[begin : begin + 20] + text[at:]
        text = text[:8000]
    if rng.random() < 0.01:
        piece = rng.choice([*PIECES, "[[", '{"a":', "R, ", "U then "])
        text = text[: rng.randint(0, 20)] + piece * rng.randint(2, 4000)
    return text[:50_000]


def sampled(rng: random.Random, request: Request) -> str:
    """An answer of the form that a request asks for; its content is random."""
    match request.constraint:
        case OneOf(options):
            return rng.choice(options)
        case Forced(text):
            return text
        case JsonSchema(model):
            schema = model.model_json_schema()
            return json.dumps(_value(rng, schema, schema.get("$defs", {}), 0), separators=(",", ":"))
        case _:
            return rng.choice(VALID)


def _value(rng: random.Random, schema: dict[str, Any], known: dict[str, Any], depth: int) -> Any:
    if "$ref" in schema:
        return _value(rng, known[schema["$ref"].rpartition("/")[2]], known, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _value(rng, rng.choice(schema[several]), known, depth + 1)
    match schema.get("type"):
        case "object":
            return {name: _value(rng, inner, known, depth + 1) for name, inner in schema.get("properties", {}).items()}
        case "array":
            fixed = [_value(rng, inner, known, depth + 1) for inner in schema.get("prefixItems", ())]
            return fixed or [_value(rng, schema.get("items", {}), known, depth + 1) for _ in range(rng.randint(0, 3))]
        case "integer":
            return rng.choice((0, 1, 2, 3, -1, 10**9, 10**300))
        case "number":
            return rng.choice((0, 1.5, -2, 1e308, 10**300))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return rng.choice(WORDS)


class HangError(BaseException):
    """Something has not ended. Not an Exception, which would be taken for a failure of a tool or a file."""


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Fail instead of hanging; in processor time, for it is no speed test and other processes share the cores."""

    def stop(*_: object) -> None:
        raise HangError(f"it has not ended within {seconds:g} s of processor time")

    handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)

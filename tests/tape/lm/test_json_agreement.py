"""The decoder and pydantic agree: what masks admit of a type is read, and what pydantic writes of it is admitted."""

from __future__ import annotations

import enum
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Union
from uuid import UUID

import pytest
from pydantic import AwareDatetime, BaseModel, Field, NaiveDatetime, RootModel, TypeAdapter, create_model

from tape.errors import ConstraintError
from tape.lm.base import JsonSchema
from tape.lm.constraints import to_grammar
from tape.lm.outlines_engine import Automaton
from tests.tape.lm.decoded import END, admits, single_bytes

LONGEST = 400
"""Bytes of a text that is drawn."""

WRITABLE = [*range(32, 127), END]

Draw = Callable[[random.Random], Any]
Kind = tuple[str, Any, Draw]


class Word(enum.Enum):
    PLAIN = "plain"
    ODD = 'é"\n'


class Level(enum.IntEnum):
    LOW = -5
    HIGH = 12


class Inner(BaseModel):
    at: AwareDatetime
    after: timedelta | None = None


def moment(rng: random.Random, *, aware: bool) -> datetime:
    day = date.fromordinal(rng.randint(2, date.max.toordinal() - 1))
    zone = timezone(timedelta(minutes=rng.randint(-1439, 1439))) if aware else None
    return datetime.combine(day, clock(rng), zone)


def clock(rng: random.Random) -> time:
    return time(rng.randrange(24), rng.randrange(60), rng.randrange(60), rng.choice([0, 0, 120, rng.randrange(10**6)]))


def span(rng: random.Random) -> timedelta:
    parts = {"days": rng.choice([0, 1, 365, 10**4, 10**8]), "seconds": rng.choice([0, 59, 3600, rng.randrange(86400)])}
    return timedelta(**parts, microseconds=rng.choice([0, 1, 500_000])) * rng.choice([1, -1])


def number(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(-(10**12), 10**12)).scaleb(rng.randint(-15, 15))


LEAVES: list[Kind] = [
    ("datetime", datetime, lambda rng: moment(rng, aware=rng.random() < 0.5)),
    ("aware", AwareDatetime, lambda rng: moment(rng, aware=True)),
    ("naive", NaiveDatetime, lambda rng: moment(rng, aware=False)),
    ("date", date, lambda rng: moment(rng, aware=False).date()),
    ("date from", Annotated[str, Field(json_schema_extra={"format": "date"})], lambda rng: "2024-02-29"),
    ("time", time, lambda rng: clock(rng).replace(tzinfo=rng.choice([None, timezone(timedelta(minutes=330))]))),
    ("timedelta", timedelta, span),
    ("int", int, lambda rng: rng.randint(-(10**30), 10**30)),
    ("int >= -2^70", Annotated[int, Field(ge=-(2**70))], lambda rng: rng.randint(-(2**70), 2**70)),
    ("int < 2^70", Annotated[int, Field(ge=3, lt=2**70)], lambda rng: rng.randint(3, 10**18)),
    ("int within", Annotated[int, Field(gt=-20, le=1500)], lambda rng: rng.randint(-19, 1500)),
    ("int of threes", Annotated[int, Field(multiple_of=3)], lambda rng: 3 * rng.randint(-9, 99)),
    ("float", float, lambda rng: rng.choice([-0.1, 1e300, 1e-7, float(rng.randint(-9, 9)), rng.uniform(-1e6, 1e6)])),
    ("float < 1e30", Annotated[float, Field(lt=1e30)], lambda rng: rng.choice([1e29, -1e300, rng.uniform(-9, 9)])),
    ("float within", Annotated[float, Field(ge=-2, lt=7)], lambda rng: rng.randint(-16, 55) / 8),
    ("Decimal", Decimal, number),
    ("UUID", UUID, lambda rng: UUID(int=rng.getrandbits(128))),
    ("enum", Word, lambda rng: rng.choice([*Word])),
    ("whole enum", Level, lambda rng: rng.choice([*Level])),
    ("Literal", Literal["a", 'b"', 7, True, None], lambda rng: rng.choice(["a", 'b"', 7, True, None])),
    ("bool", bool, lambda rng: rng.random() < 0.5),
    ("bytes", bytes, lambda rng: rng.choice(["", "é", '"\\', "a b"]).encode()),
    ("str", Annotated[str, Field(min_length=1, max_length=4)], lambda rng: rng.choice(["a", "é😀", '"\\\n', "abcd"])),
    ("pattern", Annotated[str, Field(pattern="^(?:a|bc)+$", max_length=6)], lambda rng: rng.choice(["a", "bcbc"])),
    ("letters", Annotated[str, Field(pattern="^[a-c]+$")], lambda rng: rng.choice(["a", "bcbc"])),
    ("model", Inner, lambda rng: Inner(at=moment(rng, aware=True), after=rng.choice([None, span(rng)]))),
]  # fmt: skip
KEYS = {"date", "int", "UUID", "enum", "letters", "str", "timedelta", "naive"}
LISTED = "a list of 1 to 3"


def drawn(rng: random.Random, depth: int = 0) -> Kind:
    """A type, and what draws values of it."""
    form = rng.choice(
        ["leaf", "leaf", LISTED, "set", "tuple", "optional", "union", "dict", "fields"] if depth < 2 else ["leaf"]
    )
    if form == "leaf":
        return rng.choice(LEAVES)
    name, kind, draw = drawn(rng, depth + 1)
    other, second, draw_second = drawn(rng, depth + 1)
    named = f"{form} ({name}, {other})"
    match form:
        case "a list of 1 to 3":
            few = Annotated[list[kind], Field(min_length=1, max_length=3)]  # type: ignore[valid-type]
            return f"{form} ({name})", few, lambda rng: [draw(rng) for _ in range(rng.randint(1, 3))]
        case "set":
            name, kind, draw = rng.choice([leaf for leaf in LEAVES if leaf[0] in KEYS])
            return f"set ({name})", set[kind], lambda rng: {draw(rng) for _ in range(rng.randint(0, 3))}  # type: ignore[valid-type]
        case "tuple":
            return named, tuple[kind, second], lambda rng: (draw(rng), draw_second(rng))  # type: ignore[valid-type]
        case "optional":
            return f"{form} ({name})", kind | None, lambda rng: rng.choice([None, draw(rng)])
        case "union":
            return named, Union[kind, second], lambda rng: rng.choice([draw, draw_second])(rng)  # noqa: UP007
        case "dict":
            key, of_keys, draw_key = rng.choice([leaf for leaf in LEAVES if leaf[0] in KEYS])
            held = dict[of_keys, second]  # type: ignore[valid-type]
            return f"{form} ({key}, {other})", held, lambda rng: {draw_key(rng): draw_second(rng)}
        case _:
            made: Any = create_model("Fields", first=(kind, ...), second=(second, ...))
            return named, made, lambda rng: made.model_construct(first=draw(rng), second=draw_second(rng))


def laid_out(text: str) -> str:
    """JSON as the decoder writes it; numbers stay as they are."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [part.replace(",", ", ").replace(":", ": ") for part in parts[::2]]
    return "".join(parts)


def text_of(constraint: JsonSchema, rng: random.Random) -> str | None:
    """A text that the masks admit; None where it gets too long."""
    automaton, text = Automaton(single_bytes(), to_grammar(constraint), END), bytearray()
    while len(text) < LONGEST:
        mask = automaton.allowed()
        allowed = [byte for byte in WRITABLE if mask[byte]]
        if not allowed:
            return None  # within a character of several bytes
        ends = [byte for byte in allowed if byte in (END, *b'"]}')]
        byte = rng.choice(ends if ends and rng.random() < 0.4 else allowed)
        if byte == END:
            return text.decode()
        automaton.advance(byte)
        text.append(byte)
    return None


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(1_000, 4_000), marks=pytest.mark.soak)], ids=["40", "3,000"]
)
def test_what_is_admitted_is_read_and_what_is_written_is_admitted(
    seeds: range, record_property: Callable[[str, object], None]
) -> None:
    counted: Counter[str] = Counter(types=len(seeds))
    for seed in seeds:
        rng = random.Random(seed)
        name, kind, draw = LEAVES[seed] if seed < len(LEAVES) else drawn(rng)
        adapter, constraint = TypeAdapter(kind), JsonSchema(RootModel[kind])
        for _ in range(4):
            written = laid_out(adapter.dump_json(draw(rng)).decode())
            adapter.validate_json(written)
            assert admits(constraint, written) == [True], f"seed {seed}: {name}: pydantic writes {written}"
            counted["values written"] += 1
        for _ in range(4):
            text = text_of(constraint, rng)
            if text is None or re.search(r"[eE][+-]?[0-9]{2}|[0-9]{19}", text):  # beyond floats; beyond bounds
                counted["texts too long, or beyond 64 bits"] += 1
                continue
            try:
                adapter.validate_json(text)
            except ValueError as error:
                raise AssertionError(f"seed {seed}: {name}: {text} is admitted") from error
            counted["texts read"] += 1
    for what, count in counted.items():
        record_property(what, count)
    if len(seeds) > 100 and (folder := os.environ.get("TAPE_SOAK_RESULTS")):
        (Path(folder) / "json_agreement.json").write_text(json.dumps(dict(counted), indent=1) + "\n")


@pytest.mark.parametrize(
    ("kind", "written", "refused"),
    [
        (datetime, ["2024-02-29T13:05:09+05:30", "2024-02-29T13:05:09Z"], ["2023-02-29T00:00:00"]),
        (AwareDatetime, ["2024-02-29T13:05:09-00:30"], ["2024-02-29T13:05:09", "2024-02-29T13:05:09+24:00"]),
        (NaiveDatetime, ["2024-02-29T13:05:09.000120"], ["2024-02-29T13:05:09Z", "2024-02-29T13:05:09+01:00"]),
        (date, ["2000-02-29"], ["1900-02-29", "0000-01-01", "2024-04-31"]),
        (time, ["13:05:09-01:00"], ["24:00:00"]),
        (timedelta, ["-PT1H", "PT0.5S", "P1DT2H", "P1Y35DT1H1M1S"], ["P", "PT", "P1DT", "PT24H"]),
        (Decimal, ["1E+30", "-0.10"], ["one", "NaN", ""]),
    ],
)  # fmt: skip
def test_texts_of_a_kind(kind: Any, written: list[str], refused: list[str]) -> None:
    texts = [json.dumps(text) for text in (*written, *refused)]
    assert admits(JsonSchema(RootModel[kind]), *texts) == [True] * len(written) + [False] * len(refused)


def test_a_bound_too_wide_is_left_to_the_reader_and_one_out_of_reach_is_refused() -> None:
    assert admits(JsonSchema(RootModel[Annotated[int, Field(ge=-(2**70), le=5)]]), "-7", "6") == [True, False]
    assert admits(JsonSchema(RootModel[Annotated[float, Field(gt=0, lt=float("inf"))]]), "7", "0") == [True, False]
    with pytest.raises(
        ConstraintError, match=r"minimum 1180591620717411303424: numbers are decoded up to a size of 1e\+18"
    ):
        admits(JsonSchema(RootModel[Annotated[int, Field(ge=2**70)]]), "1")
    assert admits(JsonSchema(RootModel[dict[int, int]]), '{"7": 1, "-8": 2}', '{"a": 1}') == [True, False]
